"""The state of a classifier: one `Fitted`, what is made of it when first needed, and the hooks of subclasses."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Self, TypeVar

import numpy as np

from tallybayes.data import row_hashes
from tallybayes.data.encoding import CUT
from tallybayes.data.packed_rows import pack, unpack
from tallybayes.data.schema import Kind, Schema
from tallybayes.errors import MergeError, ModelFileError, OptionError, TallybayesError, brief, is_number
from tallybayes.estimators import half_life_mixture, provenance, row_memory
from tallybayes.estimators.learned_state import LearnedState
from tallybayes.estimators.learning import refit
from tallybayes.estimators.memory_errors import name_sizes
from tallybayes.estimators.model_lock import lock_of
from tallybayes.estimators.parameters import check_shared, check_weights, given_prior, memory_of
from tallybayes.estimators.row_weights import check_same_weights
from tallybayes.estimators.sklearn_bases import BaseEstimator, not_fitted
from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import PredictionOptions, Predictor
from tallybayes.model.priors import log_prior
from tallybayes.model.temperature import MAX_BETA, MIN_BETA, Temperature
from tallybayes.model.term import Term, same_shape
from tallybayes.utils.array_types import Array, Floats

if TYPE_CHECKING:
    from tallybayes.data.labels import Target
    from tallybayes.data.table import Table
    from tallybayes.distributions import Distribution
    from tallybayes.estimators.provenance import Choice
    from tallybayes.model.rows import Rows


R = TypeVar("R")
Model = TypeVar("Model", bound="ModelState")


@lru_cache(maxsize=1)
def _first_columns(d: int) -> tuple[int, ...]:
    """Kept for the next table, which is mostly as wide: 50,000 numbers take a millisecond to make."""
    return tuple(range(d))


LEARNED = ", until other rows are learned"


class TemperatureAttribute:
    """An attribute that only a model with a temperature has; where it is not, its error says what to turn on."""

    def __init__(self, until: str = "") -> None:
        self.until = until

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __get__(self, model: Any, owner: type) -> object:
        if model is None:
            raise AttributeError(self.name)  # of the class itself there is none
        held = model.__dict__.get("_state")
        if held is not None and held.stale:  # memory='rows': the fit that chooses it is still to come
            model.fitted_  # noqa: B018
            if self.name in model.__dict__:
                return model.__dict__[self.name]
        raise AttributeError(
            f"This {owner.__name__} has no {self.name}: it is there after fit with tempered=True or temper(X, y)"
            f"{self.until}."
        )


class ModelState(BaseEstimator):  # type: ignore[misc]
    """Holds a fitted model, which changes in one place, `_set_fitted`: a call that fails before that changes nothing.

    A subclass says which distributions (`_make_terms`, or `_distribution` where one is for all columns), checks its
    options, and may choose something on the first rows (`_select_distributions` before they are counted,
    `_select_structure` after).
    """

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    tempered: bool = False
    verbose: bool = False
    half_life: float | str | None = None
    class_weight: object = None
    memory: str = "sums"
    class_weight_: dict[object, float]
    if TYPE_CHECKING:
        temperature_: float
        loo_log_proba_: Floats
        loo_score_: float
    else:
        loo_log_proba_, loo_score_, temperature_ = (
            TemperatureAttribute(LEARNED),
            TemperatureAttribute(LEARNED),
            TemperatureAttribute(),
        )
    privacy_loss_: float  # the privacy loss of noisy counts, see privacy/private_counts.py; exact counts have none
    _state: LearnedState
    _kind: Kind = "real"  # of a numeric column of which nothing else is known
    _can_be_other = True  # unseen='other' is a choice
    _reads_text = False  # a column of texts by their words
    _memories: tuple[str, ...] = ("sums", "hashes", "sample", "rows")
    _samples_itself = False  # memory='sample' is a row sample in the statistics
    _structure_name = "options"  # what `_select_structure` chooses, as a receipt names it
    # what follows from fitted_; then scikit-learn's objects for routing, and what was said of each row learned
    _derived_attributes = frozenset(("_state", "_lock", "schema_", "classes_", "n_features_in_", "feature_names_in_"))
    _unsaved_attributes = frozenset(("_metadata_request", "loo_log_proba_", "loo_score_"))

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        name_sizes(cls)

    # --- what a subclass decides -------------------------------------------------------------------------------

    def _check_options(self) -> None:
        """Raises OptionError if a parameter is outside what is allowed."""
        check_shared(self)

    def _distribution(self, d: int) -> Distribution:
        """The distribution of all d columns, from the parameters."""
        raise NotImplementedError

    def _make_terms(self, schema: Schema) -> tuple[Term, ...]:
        """Which distribution models which columns."""
        return (Term(self._distribution(schema.d), _first_columns(schema.d)),)

    def _terms_for_update(self, fitted: Fitted) -> tuple[Term, ...]:
        """The same for more rows, after these: with the parameters as they are now."""
        return self._make_terms(fitted.schema)

    _for_plan = False  # while a plan is made: what learns with it may be sent, and must keep no values of rows

    def _given_schema(self) -> object:
        """What the user says of the columns."""
        return getattr(self, "schema", None)

    def _prior(self) -> object:
        """None, 'uniform', 'laplace', or one number per class."""
        return given_prior(self, "priors")

    def _offset(self, log_prior: Floats) -> Floats:
        """What the log joint starts from."""
        return log_prior

    def _select_distributions(self, table: Table, schema: Schema, target: Target) -> Schema:  # noqa: ARG002
        """The schema with what the first rows choose before anything is counted: distributions of numbers."""
        return schema

    def _arranged(self, terms: tuple[Term, ...], rows: Rows) -> tuple[tuple[Term, ...], Rows]:
        """The terms with their columns in another order, and the rows as these read them."""
        return terms, rows

    def _select_structure(self, fitted: Fitted, rows: Rows) -> Fitted:  # noqa: ARG002
        """The first rows, counted, with what is chosen on them: options, and which columns depend on which."""
        return fitted

    def _has_structure(self) -> bool:
        """Whether `_select_structure` chooses something; if not, the first rows are not kept encoded."""
        return type(self)._select_structure is not ModelState._select_structure

    def _chosen_on_rows(self) -> str:
        """What `_select_structure` has chosen, in words; empty if nothing."""
        return self._structure_name if self._has_structure() else ""

    def _chooses_on_rows(self, schema: Schema) -> bool:
        """Whether something is chosen on the first rows: bins, a structure, options, a temperature."""
        return self.tempered or self._has_structure() or bins_on_rows(self, schema)

    def _estimates_eagerly(self, fitted: Fitted) -> bool:
        """Whether parameters are estimated while learning, or only when they are first used.

        A plan, which has no rows yet, waits: parts of any size can be counted. So does a model whose statistics are
        never refused: more rows then cost what they are, not what there is to estimate.
        """
        waits = self.is_fitted and (self._planned() or all(t.distribution.waits for t in fitted.terms))
        return not waits

    def _labels(self, y: object) -> object:
        """y as class labels, of rows that were learned."""
        return y

    def _require_adding(self) -> None:
        """Raises OptionError if rows cannot be added to what was learned, nor removed."""
        if self.__dict__.get("_given_parameters"):
            raise OptionError(
                f"This {type(self).__name__} was made from given parameters, not from rows: nothing can be added or "
                "removed. fit(X, y) learns anew."
            )

    def _require_exact(self) -> None:
        """Raises OptionError if the counts have noise: exact rows beside them would not be private."""
        if "privacy_loss_" in self.__dict__:
            raise OptionError(
                f"The counts of this {type(self).__name__} have noise (privacy_loss_={self.privacy_loss_:g}): it "
                "learns and forgets no rows. Merge it with the private counts of other rows, or fit it again."
            )

    def _require_learnable(self) -> None:
        """Raises OptionError if an option is wrong, or no row can be added or removed."""
        self._check_options()
        self._require_adding()
        self._require_exact()

    def _check_merge(self, other: ModelState) -> None:
        """Raises an error if the two do not add, and there is more to say than that their terms differ."""
        self._require_fit()
        if type(other) is not type(self):
            raise MergeError(f"Cannot merge a {type(other).__name__} into a {type(self).__name__}.")
        self._require_adding()
        other._require_adding()
        self._check_options()
        other._check_options()
        check_same_weights(self, other)
        half_life_mixture.check_merge(self, other)

    def _check_restored(self, fitted: Fitted) -> None:
        """Raises ValueError if what is held besides the statistics (it comes from a file) does not suit them."""
        beta, weights = self._beta, self.__dict__.get("class_weight_")
        if not is_number(beta) or not MIN_BETA <= beta <= MAX_BETA:
            raise ValueError(f"its temperature is {beta!r:.40}")
        if weights is not None and not isinstance(weights, dict):
            raise ValueError("its class_weight_ is no dict")
        spent = self.__dict__.get("privacy_loss_", 1.0)
        if not isinstance(spent, float) or not 0 < spent < np.inf:
            raise ValueError(f"its privacy_loss_ is {spent!r:.40}")
        try:
            check_weights(weights or {})
        except OptionError as e:
            raise ValueError(str(e)) from None
        provenance.check_origins(self.__dict__.get("_origins", {}))
        row_memory.check_kept(self, fitted)

    @property
    def _unseen(self) -> str:
        found = getattr(self, "unseen", "ignore")
        if not isinstance(found, str):
            raise OptionError(f"unseen must be 'ignore', 'error' or, in naive Bayes, 'other'; got {brief(found)}.")
        return found

    # --- what is held ------------------------------------------------------------------------------------------

    @property
    def fitted_(self) -> Fitted:
        """Fitted: the model as data: schema, classes, and the statistics of each term; what a model file holds."""
        self._require_fit()
        held = self._state
        if not isinstance(held.fast_row, FastRow) and not held.stale:  # no row can come while we look
            return held.fitted
        with lock_of(self):
            self._refit_if_stale()
            self._state.flush_fast_path()
            return self._state.fitted

    @property
    def predictor_(self) -> Predictor:
        """Predictor: the model compiled for prediction, with its parameters (``predictor_.fitted``); never saved."""
        self._require_fit()
        half_life_mixture.require_one(self)
        return self._own_predictor()

    def _own_predictor(self) -> Predictor:
        """The same; of a mixture of half-lives, that of all rows."""
        self._require_fit()
        held, options = self._state, self._prediction_options()
        ready = held.predictor
        if ready is not None and not isinstance(held.fast_row, FastRow) and ready.options == options:
            return ready
        with lock_of(self):  # another thread may be learning on the fast path, or making the same
            self._refit_if_stale()
            return self._compiled(self._state)

    def _compiled(self, held: LearnedState) -> Predictor:
        """These statistics compiled with the options as they are now, while the lock is held."""
        options = self._prediction_options()
        held.flush_fast_path()
        if held.predictor is None:
            held.estimated = held.estimated or self._estimated(held.fitted)
            held.predictor = Predictor(held.estimated, self._offset(held.estimated.prior), options)
        elif held.predictor.options != options:
            held.predictor = held.predictor.with_options(options)
        return held.predictor

    @property
    def schema_(self) -> Schema:
        """Schema: what each column is: name, kind, levels, bins. Print it."""
        self._require_attribute("schema_")
        return self.fitted_.schema

    @property
    def provenance_(self) -> dict[str, Choice]:
        """dict from str to Choice: what was chosen on rows, on which, and whether rows forgotten since took part."""
        self._require_attribute("provenance_")
        return provenance.provenance(self)

    @property
    def class_count_(self) -> Floats:
        """ndarray of shape (n_classes,): the weight of the rows of each class."""
        self._require_attribute("class_count_")
        return self.fitted_.weight.copy()

    @property
    def _beta(self) -> float:
        """The inverse temperature: the exponent of the likelihood."""
        beta: float = self.__dict__.get("temperature_", 1.0)
        return beta

    def _prediction_options(self) -> PredictionOptions:
        return PredictionOptions(self._beta, self._unseen, self._can_be_other, type(self).__name__)

    def _extra_attributes(self) -> dict[str, object]:
        """Attributes besides parameters and `fitted_`: what else a copy of the model needs."""
        without = self._derived_attributes | self._unsaved_attributes | set(self._get_param_names())
        found = {name: value for name, value in vars(self).items() if name not in without}
        names = ("_rows", "_origins", "_hashes", "_fading")
        rows, origins, hashes, fading = (found.pop(name, None) for name in names)
        if isinstance(fading, half_life_mixture.Fading) and half_life_mixture.is_auto(self):
            found["_fading"] = fading.packed()
        where = row_memory.place(self)
        if rows is not None and where == "_rows":
            found["_rows"] = pack(rows)
        if hashes is not None and where == "_hashes":
            found["_hashes"] = row_hashes.pack(hashes)
        if memory_of(self) == "rows":  # the rows are the origin of every choice
            return found
        return {**found, "_origins": provenance.without_times(origins)} if origins else found

    def _restore(self, fitted: Fitted, kept: Mapping[str, object]) -> Fitted:
        """Takes over a stored model, and returns its statistics with the terms that the parameters ask for."""
        for name, value in kept.items():
            known = name in self._derived_attributes or hasattr(type(self), name) or name in vars(self)
            if known or not name.isidentifier() or name.startswith("__"):
                raise ModelFileError(f"{type(self).__name__} cannot have the attribute {name!r:.60}.")
            if name == "_fading":
                value = half_life_mixture.unpacked(value, fitted)
            read = {"_rows": unpack, "_hashes": row_hashes.unpack}.get(name)
            setattr(self, name, value if read is None else read(value))
        self._check_restored(fitted)
        self._check_options()
        terms = self._terms_for_update(fitted)
        if not same_shape(terms, fitted.terms):
            raise ModelFileError("Its parameters ask for other distributions than those it was fitted with.")
        if fitted.weight.sum() > 0:
            log_prior(fitted.weight, fitted.classes, self._prior())
        self._set_fitted(fitted)
        return fitted.with_terms(terms)

    def _parameters(self) -> Fitted:
        """What was learned, with its parameters."""
        return self._own_predictor().fitted

    def _estimated(self, fitted: Fitted) -> Fitted:
        self._require_rows(fitted)
        return fitted.estimate(self._prior())

    def _require_rows(self, fitted: Fitted) -> None:
        if not fitted.weight.sum() > 0:
            raise not_fitted(
                f"This {type(self).__name__} has forgotten every row it learned, or was made empty. Fit it again, or "
                "let it learn rows."
            )

    def _with_current_options(self) -> Fitted:
        """What was learned, to be read and added to with the parameters as they are now."""
        self._check_options()
        fitted = self.fitted_
        row_memory.take(self, None)  # if memory was changed, from here on there are sums alone
        terms = self._terms_for_update(fitted)
        if not same_shape(terms, fitted.terms):
            raise OptionError(
                "A parameter that says what is counted was changed after the fit; the rows learned so far do not suit "
                "it. Fit again, or change it back."
            )
        return fitted.with_terms(terms)

    def _estimate_and_set(self, fitted: Fitted) -> None:
        """Takes over what was learned, after its parameters could be read."""
        self._set_fitted(fitted, self._estimated_if_eager(fitted))

    def _estimated_if_eager(self, fitted: Fitted) -> Fitted | None:
        """The same with its parameters, if they are estimated while learning."""
        if not fitted.weight.sum() > 0:
            return None
        if self._estimates_eagerly(fitted):
            return fitted.estimate(self._prior())
        log_prior(fitted.weight, fitted.classes, self._prior())  # classes that it does not name are refused now
        return None

    def _set_fitted(self, fitted: Fitted, estimated: Fitted | None = None) -> None:
        """Becomes a model that has learned this. estimated: the same with its parameters, if they are known."""
        before: LearnedState | None = self.__dict__.get("_state")
        self._state = LearnedState(fitted, estimated)
        if before is not None:
            before.close_fast_path()  # a thread may be on its way into the old fast path
        self._drop_leave_one_out()  # now there are other rows
        self.classes_ = fitted.classes
        self.n_features_in_ = fitted.schema.n_inputs
        if fitted.schema.input_names is not None:
            self.feature_names_in_ = np.array(fitted.schema.input_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def _refit_if_stale(self) -> None:
        """With memory='rows': fits the rows that are kept, if they have changed since the last fit."""
        if self._state.stale:
            refit(self)

    def _replace_by(self, other: Self, fitted: Fitted) -> None:
        """Becomes what a copy of it has become."""
        self.__dict__.update(with_fitted(other, fitted, self._estimated_if_eager(fitted)).__getstate__())

    def _planned(self) -> bool:
        """Whether it is a plan: fitted, with no rows."""
        return not self._state.fitted.weight.sum() > 0

    def _drop_leave_one_out(self) -> None:
        for stale in ("loo_log_proba_", "loo_score_"):
            self.__dict__.pop(stale, None)

    def _take_temperature(self, chosen: Temperature | None) -> None:
        """What a fit has chosen, None where it was not asked to."""
        self._drop_leave_one_out()
        self.__dict__.pop("temperature_", None)
        if chosen is not None:
            self._state.close_fast_path()  # the next row has to take away what is said here of those before it
            self.temperature_, self.loo_log_proba_, self.loo_score_ = chosen

    def _params_of(self, name: str, kind: type[R]) -> R:
        """The parameters of the only term, for a fitted attribute of that name."""
        self._require_attribute(name)
        params: Any = self._parameters().terms[0].params
        assert isinstance(params, kind)
        return params

    def _statistics_of(self, name: str, kind: type[R]) -> R:
        """The sufficient statistics of the only term, for a fitted attribute of that name."""
        self._require_attribute(name)
        statistics: Any = self.fitted_.terms[0].statistics
        assert isinstance(statistics, kind)
        return statistics

    def set_params(self, **params: Any) -> Self:
        """Set parameters; most take effect at the next fit, a class prior that suits the classes learned at once.

        Parameters
        ----------
        **params : object
            Parameters by name.

        Returns
        -------
        self : estimator
            The same model.
        """
        super().set_params(**params)
        if "_state" in self.__dict__ and not {"priors", "class_prior", "fit_prior"}.isdisjoint(params):
            with lock_of(self):
                self._state.flush_fast_path()
                fitted, stale = self._state.fitted, self._state.stale
                try:
                    if fitted.weight.sum() > 0:
                        log_prior(fitted.weight, fitted.classes, self._prior())
                except TallybayesError:
                    return self  # it is for other classes, or wrong: the next fit says so
                self._state.close_fast_path()
                if "_fading" in self.__dict__:
                    self.__dict__["_fading"] = self.__dict__["_fading"].settled()
                self._state = LearnedState(fitted)  # the prior is part of what was estimated
                self._state.stale = stale
        return self

    def copy(self) -> Self:
        """Copy the model.

        Returns
        -------
        copy : estimator
            A model that has learned the same; what either learns from now on, the other does not.
        """
        other = type(self).__new__(type(self))
        other.__dict__.update(self.__getstate__())
        return other

    def __copy__(self) -> Self:
        return self.copy()

    def __getstate__(self) -> dict[str, object]:
        """Arrays and plain values: what is compiled is compiled again when needed."""
        with lock_of(self):
            state = {k: v for k, v in super().__getstate__().items() if k != "_lock"}
            if "_state" in state:
                state["_state"] = LearnedState(self.fitted_, self._state.estimated)
            if "_fading" in state:
                state["_fading"] = self.__dict__["_fading"].settled()
        return state

    @property
    def is_fitted(self) -> bool:
        """bool: whether it has learned anything yet.

        Examples
        --------
        >>> from tallybayes import GaussianNB
        >>> model = GaussianNB()
        >>> model.is_fitted, model.fit([[1.0], [2.0]], ["a", "b"]).is_fitted
        (False, True)
        """
        return hasattr(self, "_state")

    def __sklearn_is_fitted__(self) -> bool:
        return self.is_fitted

    def _require_fit(self) -> None:
        if not self.is_fitted:
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _require_attribute(self, name: str) -> None:
        """Before the fit, a fitted attribute does not exist."""
        if not self.is_fitted:
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it is not fitted yet.")


def with_fitted(model: Model, fitted: Fitted, estimated: Fitted | None = None) -> Model:
    """A copy of the model that has learned something else. estimated: the same with its parameters, if known."""
    other = model.copy()
    other._set_fitted(fitted, estimated)
    return other


def bins_on_rows(model: ModelState, schema: Schema) -> bool:
    """Whether the first rows choose bins of a column."""
    given = model._given_schema()
    cuts = given.cuts if isinstance(given, Schema) else {}
    terms = [t for t in model._make_terms(replace(schema, cuts=cuts)) if t.distribution.needs in ("cuts", "codes")]
    coded = [j for t in terms for j in t.columns[: len(t.columns) - getattr(t.distribution, "reals", 0)]]
    return any(schema.kinds[j] in CUT and j not in cuts for j in coded)


def read_only(value: Array) -> Array:
    """What people read is not what they may write: a view of the model's own array."""
    value = value.view()
    value.flags.writeable = False
    return value
