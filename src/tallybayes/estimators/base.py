"""The face that all classifiers of this library share: learn, forget, merge, decay; predict in every form.

Every way of learning is the same line: rows are read, counted, and added to what was there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from tallybayes.data.encoding import CUT
from tallybayes.data.schema import Schema, infer_schema
from tallybayes.data.table import read_table
from tallybayes.errors import ModelFileError
from tallybayes.estimators.asking import Answers
from tallybayes.estimators.evidence import Explains
from tallybayes.estimators.generate import Generates
from tallybayes.estimators.learning import Learns
from tallybayes.estimators.linear import LinearForms
from tallybayes.estimators.one_row import OneRow
from tallybayes.estimators.prior_shift import Priors
from tallybayes.estimators.remote import Far
from tallybayes.estimators.sklearn_bases import ClassifierMixin
from tallybayes.model.fitted import Fitted
from tallybayes.model.priors import log_prior
from tallybayes.model.term import same_shape

if TYPE_CHECKING:
    from sklearn.utils import Tags


class TallyClassifier(
    Answers,
    Learns,
    ClassifierMixin,  # type: ignore[misc]
    OneRow,
    Far,
    Generates,
    Priors,
    LinearForms,
    Explains,
):
    """Fit, partial_fit, forget, merge, decay; predict in every form. Subclasses say which distributions."""

    def restore(self, fitted: Fitted, kept: Mapping[str, object]) -> Fitted:
        """Take over a model that was stored: its Fitted, and what ``kept`` gave back; for those who keep models.

        Parameters
        ----------
        fitted : Fitted
            What was learned; its sums are checked by who read them.
        kept : mapping
            Attributes by name.

        Returns
        -------
        again : Fitted
            The same sums as more rows would be counted: their distributions are those that the parameters ask for.

        Raises
        ------
        ModelFileError or ValueError
            If the parts do not fit together.
        """
        for name, value in kept.items():
            known = name in self._held_elsewhere or hasattr(type(self), name) or name in vars(self)
            if known or not name.isidentifier() or name.startswith("__"):
                raise ModelFileError(f"{type(self).__name__} cannot have the attribute {name!r:.60}.")
            setattr(self, name, value)
        self._check_held(fitted)
        self._check_options()
        terms = self._choose_again(fitted)
        if not same_shape(terms, fitted.terms):
            raise ModelFileError("Its parameters ask for other distributions than those it was fitted with.")
        if fitted.weight.sum() > 0:
            log_prior(fitted.weight, fitted.classes, self._prior())
        self.hold(fitted)
        return fitted.with_terms(terms)

    def _check_held(self, fitted: Fitted) -> None:  # noqa: ARG002
        """Raises ValueError if what is held besides the sums (it comes from a file) does not suit them."""
        self._check_temperature()
        self._check_kept_weights()

    def schema_of(self, X: object) -> Schema:
        """Tell what this model would take the columns of a table for.

        Parameters
        ----------
        X : table of shape (n_rows, n_columns)
            pandas, polars, pyarrow, NumPy, scipy sparse, or a list of dicts.

        Returns
        -------
        Schema
            Names and kinds, by the types of the columns and what ``schema=`` says; no levels and no cuts.
        """
        return infer_schema(read_table(X), self._given_schema(), self._kind(), self._reads_text, type(self).__name__)

    def settles_on_rows(self, schema: Schema) -> bool:
        """Tell whether something is chosen on the first rows: cuts, a structure, options, a temperature.

        Parameters
        ----------
        schema : Schema
            What the columns are, such as ``schema_of`` tells.

        Returns
        -------
        bool
            If so, parts of a table that are counted apart need a plan that all of them share.
        """
        return self._asks_again() or self._cuts_on_rows(schema)

    def _cuts_on_rows(self, schema: Schema) -> bool:
        given = self._given_schema()
        cuts = given.cuts if isinstance(given, Schema) else {}
        terms = [t for t in self._choose(replace(schema, cuts=cuts)) if t.distribution.needs in ("cuts", "codes")]
        coded = [j for t in terms for j in t.columns[: len(t.columns) - getattr(t.distribution, "reals", 0)]]
        return any(schema.kinds[j] in CUT and j not in cuts for j in coded)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.sparse = True
        return tags
