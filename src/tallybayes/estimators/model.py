"""What every classifier of this library holds: one Fitted, and what is made of it when it is first needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

import numpy as np

from tallybayes import _core
from tallybayes.data.schema import Kind, Schema
from tallybayes.distributions.capabilities import LogPrior, capability
from tallybayes.errors import OptionError, brief
from tallybayes.estimators.sklearn_bases import BaseEstimator, not_fitted
from tallybayes.model.fast_row import FastRow
from tallybayes.model.fitted import Fitted
from tallybayes.model.predictor import PredictionOptions, Predictor
from tallybayes.model.priors import log_prior
from tallybayes.model.term import Term
from tallybayes.utils.array_types import Array, Floats

KEPT_BY_0_1 = ("_groups", "_tally", "_closed", "_model", "_door")  # under these names


class Held:
    """What was learned, and what was made of it: with parameters, compiled, opened for single rows."""

    def __init__(self, fitted: Fitted, estimated: Fitted | None = None) -> None:
        self.fitted, self.estimated = fitted, estimated
        self.plain = fitted.schema.expansion is None and not fitted.schema.extra  # rows are read as they are given
        self.predictor: Predictor | None = None
        self.fast_row: FastRow | str | None = None  # a text: why there is none; None: not tried yet

    def lock_out(self) -> None:
        """Rows that come without the lock have to take it from now on: there is more to do than to learn them."""
        if isinstance(self.fast_row, FastRow):
            self.fast_row.let_in(False)

    def settle(self) -> None:
        """Takes over the rows that came through the door, which stays open."""
        if isinstance(self.fast_row, FastRow):
            fitted = self.fast_row.catch_up(self.fitted)
            if fitted is not self.fitted:
                self.fitted, self.estimated, self.predictor = fitted, None, None


class Model(BaseEstimator):  # type: ignore[misc]
    """Holds a fitted model; subclasses say which distributions, and what can be asked.

    A fitted model changes in one place, `hold`: a call that fails before changes nothing.
    """

    classes_: Array
    n_features_in_: int
    feature_names_in_: Array
    tempered: bool = False
    verbose: bool = False
    temperature_: float
    _held: Held
    _lock: _core.Lock
    _unseen = "ignore"
    _can_be_other = True  # unseen='other' is a choice
    _reads_text = False  # a column of texts by their words
    # what follows from fitted_; then scikit-learn's objects for routing, and what was said of each row learned
    _held_elsewhere = frozenset(
        ("_held", "_lock", "schema_", "classes_", "n_features_in_", "feature_names_in_", *KEPT_BY_0_1)
    )
    _not_kept = frozenset(("_metadata_request", "loo_log_proba_", "loo_score_"))

    # --- what a subclass decides -------------------------------------------------------------------------------

    def _choose(self, schema: Schema) -> tuple[Term, ...]:
        """Which distribution looks after which columns."""
        raise NotImplementedError

    def _choose_again(self, fitted: Fitted) -> tuple[Term, ...]:
        """The same for more rows, after these: with the parameters as they are now."""
        return self._choose(fitted.schema)

    def _kind(self) -> Kind:
        """The kind of a numeric column of which nothing else is known."""
        return "real"

    def _given_schema(self) -> object:
        return None

    def _prior(self) -> object:
        """None, 'uniform', 'laplace', one number per class, or a function of the classes' weights."""
        return None

    def _start(self, log_prior: Floats) -> Floats:
        """What the log joint starts from."""
        return log_prior

    def _at_once(self, fitted: Fitted) -> bool:
        """Whether parameters are estimated while learning, or only when they are first asked for.

        Where no tally is refused, more rows cost what they are, not what there is to estimate.
        """
        return not (self._fitted() and all(t.distribution.waits for t in fitted.terms))

    def _check_options(self) -> None:
        """Raises OptionError if a parameter is outside what is allowed."""
        if not isinstance(self.tempered, bool | np.bool_):
            raise OptionError(f"tempered must be True or False; got {brief(self.tempered)}.")
        if not isinstance(self.verbose, bool | np.bool_ | int):
            raise OptionError(f"verbose must be True or False; got {brief(self.verbose)}.")

    # --- what is held ------------------------------------------------------------------------------------------

    @property
    def fitted_(self) -> Fitted:
        """Fitted: the model as data: schema, classes, and the sums of each term. What files hold and machines send."""
        self._require_fit()
        held = self._held
        if not isinstance(held.fast_row, FastRow):  # no row can come while we look
            return held.fitted
        with self._learning():
            self._held.settle()
            return self._held.fitted

    @property
    def predictor_(self) -> Predictor:
        """Predictor: the model made for answering, with its parameters (``predictor_.fitted``); never saved."""
        self._require_fit()
        held, options = self._held, self._prediction_options()
        ready = held.predictor
        if ready is not None and not isinstance(held.fast_row, FastRow) and ready.options == options:
            return ready
        with self._learning():  # another thread may be learning through the door, or making the same
            held = self._held
            held.settle()
            if held.predictor is None:
                held.estimated = held.estimated or self._estimated(held.fitted)
                held.predictor = Predictor(held.estimated, self._start(held.estimated.prior), options)
            elif held.predictor.options != options:
                held.predictor = held.predictor.with_options(options)
            return held.predictor

    @property
    def schema_(self) -> Schema:
        """Schema: what each column is: name, kind, levels, cuts. Print it."""
        self._require_attribute("schema_")
        return self.fitted_.schema

    @property
    def class_count_(self) -> Floats:
        """ndarray of shape (n_classes,): the weight of the rows of each class."""
        self._require_attribute("class_count_")
        return self.fitted_.weight.copy()

    @property
    def _beta(self) -> float:
        """How many times the log-likelihood counts."""
        beta: float = self.__dict__.get("temperature_", 1.0)
        return beta

    def _prediction_options(self) -> PredictionOptions:
        return PredictionOptions(self._beta, self._unseen, self._can_be_other, type(self).__name__)

    @classmethod
    def parameter_names(cls) -> list[str]:
        """List what the constructor takes.

        Returns
        -------
        list of str
            The names of the parameters.
        """
        return list(cls._get_param_names())

    def kept(self) -> dict[str, object]:
        """List what there is besides parameters and ``fitted_``: what else a copy of the model needs.

        Returns
        -------
        dict
            Values by the names of attributes.
        """
        without = self._held_elsewhere | self._not_kept | set(self.parameter_names())
        return {name: value for name, value in vars(self).items() if name not in without}

    def _parameters(self) -> Fitted:
        """What was learned, with its parameters."""
        return self.predictor_.fitted

    def _estimated(self, fitted: Fitted) -> Fitted:
        self._require_rows(fitted)
        return fitted.estimate(self._prior())

    def penalty(self) -> float:
        """Sum the log priors that the smoothing of this model stands for: what EM climbs beside the likelihood.

        Returns
        -------
        float
            Of the parameters, and of the class shares if the prior is 'laplace'; up to a constant.
        """
        predictor, asked = self.predictor_, self._prior()
        of_classes = float(predictor.start.sum()) if isinstance(asked, str) and asked == "laplace" else 0.0
        priors = [(capability(t.distribution, LogPrior), t) for t in predictor.fitted.terms]
        return of_classes + sum(0.0 if d is None else d.log_prior_density(t.statistics, t.params) for d, t in priors)

    def _require_rows(self, fitted: Fitted) -> None:
        if not fitted.weight.sum() > 0:
            raise not_fitted(
                f"This {type(self).__name__} has forgotten every row it learned, or was made empty. Fit it again, or "
                "let it learn rows."
            )

    def _keep(self, fitted: Fitted) -> None:
        """Takes over what was learned, after its parameters could be read."""
        self.hold(fitted, self._ready(fitted))

    def _ready(self, fitted: Fitted) -> Fitted | None:
        """The same with its parameters, if they are estimated while learning."""
        if not fitted.weight.sum() > 0:
            return None
        if self._at_once(fitted):
            return fitted.estimate(self._prior())
        log_prior(fitted.weight, fitted.classes, self._prior())  # classes that it does not name are refused now
        return None

    def hold(self, fitted: Fitted, estimated: Fitted | None = None) -> None:
        """Become a model that has learned this: the one place where a fitted model changes.

        Parameters
        ----------
        fitted : Fitted
            What it has learned.
        estimated : Fitted, default=None
            The same with its parameters, if they are known; else they are estimated when they are first asked for.
        """
        before: Held | None = self.__dict__.get("_held")
        self._held = Held(fitted, estimated)
        if before is not None:
            before.lock_out()  # a thread may be on its way to the door of what was
        self._drop_left_out()  # now there are other rows
        self.classes_ = fitted.classes
        self.n_features_in_ = fitted.schema.n_inputs
        if fitted.schema.input_names is not None:
            self.feature_names_in_ = np.array(fitted.schema.input_names, dtype=object)
        else:
            self.__dict__.pop("feature_names_in_", None)

    def holding(self, fitted: Fitted, estimated: Fitted | None = None) -> Self:
        """Make a copy that has learned something else.

        Parameters
        ----------
        fitted : Fitted
            What it has learned.
        estimated : Fitted, default=None
            The same with its parameters, if they are known.

        Returns
        -------
        estimator
            With the parameters of this one.
        """
        twin = self.copy()
        twin.hold(fitted, estimated)
        return twin

    def _drop_left_out(self) -> None:
        for stale in ("loo_log_proba_", "loo_score_"):
            self.__dict__.pop(stale, None)

    def _learning(self) -> _core.Lock:
        """The lock of this model, one writer at a time: what several threads teach it is all learned."""
        lock: _core.Lock | None = self.__dict__.get("_lock")
        return self.__dict__.setdefault("_lock", _core.Lock()) if lock is None else lock

    def copy(self) -> Self:
        """A model of its own that knows the same.

        Returns
        -------
        copy : estimator
            What either learns from now on, the other does not.
        """
        twin = type(self).__new__(type(self))
        twin.__dict__.update(self.__getstate__())
        return twin

    def __copy__(self) -> Self:
        return self.copy()

    def save(self, path: object, *, notes: Mapping[str, object] | None = None) -> None:
        """Write the fitted model into a file, which ``tallybayes.load`` reads: what ``tallybayes.save`` does.

        Parameters
        ----------
        path : str, path or binary file
            Where to write it. A file that is there already is replaced in one step.
        notes : dict, default=None
            What else to keep beside the model, such as where the data came from; ``tallybayes.io.load_notes`` reads it.

        Examples
        --------
        >>> import io
        >>> from tallybayes import GaussianNB, load
        >>> file = io.BytesIO()
        >>> GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"]).save(file)
        >>> _ = file.seek(0)
        >>> load(file).predict([[6.0]]).tolist()
        ['high']
        """
        from tallybayes import save  # when it is called: files know of models, models nothing of files

        save(self, path, notes=notes)

    def __getstate__(self) -> dict[str, object]:
        """Arrays and plain values: what is compiled is compiled again when needed."""
        with self._learning():
            state = {k: v for k, v in super().__getstate__().items() if k != "_lock"}
            if "_held" in state:
                state["_held"] = Held(self.fitted_, self._held.estimated)
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
        return self._fitted()

    def _fitted(self) -> bool:
        return hasattr(self, "_held")

    def __sklearn_is_fitted__(self) -> bool:
        return self._fitted()

    def _require_fit(self) -> None:
        if not self._fitted():
            raise not_fitted(
                f"This {type(self).__name__} instance is not fitted yet. Call 'fit' with appropriate arguments before "
                "using this estimator."
            )

    def _require_attribute(self, name: str) -> None:
        """Before the fit, a fitted attribute does not exist."""
        if not self._fitted():
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}: it is not fitted yet.")
