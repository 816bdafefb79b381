"""A case of the random caller: one number → the lines of a Python program that makes a model and calls it.

The lines are text, so that a case that fails can be shortened, printed and run by hand. A line that starts with
`answer = ` only asks: the model must be the same after it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

import tallybayes as tb
from tests.every_estimator import ESTIMATORS, LEARNED
from tests.hostile.random_tables import World

PRELUDE = """\
import pickle
import numpy as np
import pandas as pd
import tallybayes as tb
from tests.every_estimator import ESTIMATORS, LEARNED
from tests.hostile.random_tables import World, broken, broken_labels, strange, strange_labels, weights
from tests.hostile.soundness import finite, kept, lazy, leave_one_out, no_nan, several_targets, sound, to_bytes
"""

CLASSES = (
    "AODE", "AnDE", "BayesClassifier", "BayesNetwork", "BernoulliNB", "CategoricalNB", "ComplementNB", "GaussianNB",
    "GaussianDiscriminant", "KDB", "KernelNB", "LinearDiscriminantAnalysis", "MultinomialNB", "NaiveBayes", "PoissonNB",
    "QuadraticDiscriminantAnalysis", "RegularizedDiscriminantAnalysis", "SPODE", "TAN",
)  # fmt: skip

# parameter: what is (mostly) allowed, what is not. NAN stands for np.nan.
PARAMETERS: dict[str, tuple[str, str]] = {
    "alpha": ("0.0|0.5|1|1.0|1e-300|1e300|2.5|'auto'|np.float32(0.5)", "-1.0|None|NAN|'x'|[]|np.inf|True"),
    "answers": ("None", "[]|['a', 'a']|7"),
    "bandwidth": ("'silverman'|'scott'|0.5|1e-300|1e300|{'x0': 0.5}", "0|-1|'x'|None|NAN|{}"),
    "binarize": ("0.0|None|2.0|-1e300|1e300", "'x'|NAN|[]"),
    "bins": ("2|3|10|100", "0|1|-1|2.5|'x'|None|10**9"),
    "class_prior": ("None|[0.5, 0.5]|[1.0]|[0.2, 0.3, 0.5]|[0, 1]", "[-1, 2]|'x'|NAN|[NAN, 1]|7|{}"),
    "class_weight": (
        "None|'balanced'|{'a': 2.0}|{'a': 1e-300, 'b': 1e299}|{0: 3, 1: 1}",
        "'x'|7|{'nope': 1.0}|{'a': -1}|{'a': 1e300}",
    ),
    "covariance": ("'full'|'diagonal'|'spherical'", "'x'|None|7"),
    "covariance_estimator": ("None", "7|'x'"),
    "cuts": ("None|'mdl'|'frequency'|'width'", "'x'|7|[]"),
    "ddof": ("0|1", "2|-1|None|0.5|'x'"),
    "distributions": (
        "None|'gaussian'|'kernel'|'mdl'|'frequency'|'width'|'poisson'|'student'|'gamma'|'categorical'"
        "|'bernoulli'|{'x0': 'kernel'}|{'real': 'mdl'}|'lognormal'|'exponential'",
        "'x'|7|{'x0': 'x'}|{'nope': 'kernel'}|[]",
    ),
    "effort": ("'fast'|'balanced'|'best'", "'x'|None|7"),
    "fit_prior": ("True|False", "None|'x'|7"),
    "force_alpha": ("True|False", "None|'x'"),
    "graph": ("None|'x0 -> x1'|{'x1': 'x0'}|{'x0': []}", "'x0 -> x0'|'x0 -> x1 -> x0'|'nope -> x0'|7|'->'|{'x0': 7}"),
    "k": ("0|1|2|3", "-1|None|'x'|1.5|99"),
    "members": ("None|1|2|3", "0|-1|'x'|1.5|10**9"),
    "memory": ("'sums'|'rows'|'rows'", "None|'x'|7"),
    "min_categories": ("None|1|5|[3]|[3, 3]", "-1|'x'|NAN|10**9|[[1]]"),
    "min_count": ("1|3|0.5|1e300|1e-300", "0|-1|None|'x'|NAN"),
    "half_life": ("None|1|2.5|3|50.0|1e300|np.int64(7)|np.inf|'auto'", "0|-1|0.5|'x'|NAN|-np.inf|True|[3]"),
    "n": ("1|2|3", "0|4|None|'x'|1.5"),
    "n_components": ("None|1|2", "0|-1|99|'x'|1.5"),
    "norm": ("True|False", "None|'x'"),
    "own_covariance": ("'auto'|0.0|0.5|1.0|1e-300", "-1|2|'x'|None|NAN"),
    "parents": ("None|0|1|2", "-1|9|'x'"),
    "parts": ("None|['networks']|['gaussian']|('networks', 'gaussian')", "[]|['x']|'networks'|7"),
    "priors": (
        "None|'uniform'|'laplace'|[0.5, 0.5]|[1.0]|[0.2, 0.3, 0.5]|pd.Series({'a': 0.5, 'b': 0.5})|{'a': 1, 'b': 3}"
        "|np.array([0.0, 1.0])|[1e-300, 1]|pd.Series([0.5, 0.5])",
        "[-1, 2]|'x'|NAN|[NAN, 1]|7|{}|[]|[0, 0]|[[0.5, 0.5]]|{'a': None}|pd.Series(dtype=float)|[np.inf, 1]",
    ),
    "random_state": ("0|7|None|np.random.RandomState(3)", "-1|'x'|1.5"),
    "reg_param": ("0.0|0.5|1.0|1e-300", "-1|2|'x'|None|NAN"),
    "root": ("'auto'|None|'x0'|0", "'nope'|99|-1|[]|1.5"),
    "schema": (
        "None|'categorical'|'real'|'count'|'binary'|{'x0': 'categorical'}|{'x0': 'real'}|{'x0': 'count'}"
        "|{'x0': ['red', 'green']}|{'x0': 'binary'}",
        "'x'|7|{'nope': 'real'}|{'x0': 'x'}|{'x0': None}|[]",
    ),
    "select": ("True|False", "None|'x'"),
    "shrinkage": ("None|'auto'|'oas'|'ledoit-wolf'|0.0|0.5|1.0", "-1|2|'x'|NAN|True"),
    "smoothing": ("'backoff'|'laplace'", "'x'|None|7"),
    "solver": ("'svd'|'eigen'|'lsqr'", "'x'|None"),
    "store_covariance": ("True|False", "None|'x'"),
    "subsumption": ("True|False", "None|'x'"),
    "superparent": ("'auto'|None|'x0'|0", "'nope'|99|-1|[]"),
    "targets": ("None", "[]|['a', 'a']|7"),
    "tempered": ("True|False|True", "None|'x'|7"),
    "tol": ("1e-4|0.0|0.5|1e300", "-1|'x'|None|NAN"),
    "unseen": ("'ignore'|'error'|'other'", "'x'|None"),
    "var_smoothing": ("0.0|1e-9|1e-300|1.0|1e300", "-1|'x'|None|NAN"),
    "variance": ("'own'|'shared'", "'x'|None"),
    "verbose": ("True|False|0", "None|'x'|[]"),
    "weighting": ("None|'information'|'temperature'|'discriminative'|'equal'", "'x'|7"),
}  # fmt: skip

# What no option allows, or hardly one: for each of them.
HOSTILE = (
    "np.array([1.0, 2.0])", "np.array([])", "np.array(None)", "pd.NA", "[1]", "[[]]", "{}", "{'a': []}", "{1: None}",
    "()", "set()", "lambda: 1", "lambda n: n", "object()", "b'x'", "pd.Series([1])", "pd.Timestamp('2020')",
    "slice(1)", "1j", "10**30", "-10**400", "np.datetime64('NaT')", "pd.DataFrame()", "int", "[pd.NA]", "{'x0': pd.NA}",
    "np.array(['x'])", "{'x0': np.array([1, 2])}", "'\\ud800'", "range(2)",
    "np.ma.masked", "{frozenset(): 1}",
)  # fmt: skip
LEARN = ("fit", "partial_fit", "partial_fit")
ASK = (
    "sound(model, {X})",
    "sound(model, {X})",
    "sound(model, {X})",
    "kept(model, {X})",
    "kept(model, {X})",
    "no_nan(model.score_samples({X}))",
    "no_nan(model.explain({X}).log_joint)",
    "no_nan(model.explain({X}).values)",
    "model.explain({X}).text(0)",
    "no_nan(model.explain())",
    "model.explain().text()",
    "model.explain({X}, against={label!r})",
    "finite(model.novelty(n=50).p_value({X}))",
    "finite(model.novelty({X}).p_value({X}))",
    "leave_one_out(model.leave_one_out({X}, {y}))",
    "leave_one_out(model.leave_one_out({X}, {y}, {w}))",
    "sound(model.with_prior({priors}), {X})",
    "finite(model.predict_proba({X}, priors={priors}))",
    "finite(model.adapt_prior({X}).prior)",
    "sound(model.adapt_prior({X}).model, {X})",
    "str(model.adapt_prior({X}, max_iter=3))",
    "sound(model, model.sample(3, random_state=1)[0])",
    "model.sample(2, y={label!r}, random_state=1)",
    "no_nan(model.describe({column!r}))",
    "model.describe('nope')",
    "model.summary() if hasattr(model, 'summary') else repr(model)",
    "finite(model.logistic().coef_)",
    "finite(model.quadratic()[:2])",
    "finite(model.boundary({label!r}, {label!r}))",
    "finite(model.predict_proba_one({row}))",
    "model.predict_one({row})",
    "repr(model)",
    "sound(pickle.loads(pickle.dumps(model)).merge(model), {X})",
    "sound(model.copy().merge(model), {X})",
    "sound(tb.BayesDecision(model, reject={number}).fit({X}, {y}), {X})",
    "sound(tb.BayesDecision(model).fit({X}, {y}, sample_weight={w}), {X})",
    "sound(tb.SemiSupervised(model, max_iter=5).fit({X}, {some}), {X})",
    "sound(tb.SemiSupervised(model, max_iter=3, weight={number}).fit({X}, {some}, {w}), {X})",
    "sound(tb.SemiSupervised(model, max_iter=3, n_classes={few}, n_init=2).fit({X}, {some}), {X})",
    "sound(tb.BayesDecision(model, loss={loss}, reject_label={label!r}).fit({X}, {y}), {X})",
    "sound(tb.StreamingBayes().fit({X}, {y}).partial_fit({X}, {y}), {X})",
    "tb.StreamingBayes(schema={schema}).partial_fit({X}, {y}).learn_one({row}, {label!r}).predict_proba_one({row})",
    "tb.StreamingBayes().fit({X}, {y}).predict_proba(broken({seed}))",
    "lazy(model, {X}, {y})",
    "lazy(model.copy(), broken({seed}), {y})",
    "several_targets(tb.BayesNetwork(targets=['t', 'u'], schema={schema}), {X}, {y}, {some})",
    "str(tb.evaluation.check_assumptions({X}, {y}))",
    "model.predict(broken({seed}))",
    "model.predict_proba(broken({seed}))",
    "model.explain(broken({seed}))",
)
CHANGE = (
    "model.forget({X}, {y})",
    "model.forget({X}, {y}, {w})",
    "model.forget({X}, {y}, {w})",
    "model.decay({number})",
    "model.decay({number})",
    "model.merge(other)",
    "model.merge(model)",
    "other = model.copy()",
    "other = model.copy()",
    "model = other",
    "model.learn_one({row}, {label!r})",
    "model.learn_one({row}, {label!r})",
    "model.learn_one({row}, {label!r}, {number})",
    "model.forget([{row}], [{label!r}])",
    "model.forget_one({row}, {label!r})",
    "model.forget_one({row}, {label!r}, {number})",
    "model.temper({X}, {y})",
    "model.temper({X}, {y}, {w})",
    "model.set_params({setting})",
    "model.set_params({setting})",
    "model.relearn() if hasattr(model, 'relearn') else None",
    "model.fit({X}, broken_labels({seed}, {n}))",
    "model.partial_fit({X}, broken_labels({seed}, {n}))",
    "model.partial_fit(broken({seed}), {y})",
    "model.fit(broken({seed}), broken_labels({seed}, 3))",
    "model.partial_fit({X}, {y}, classes={classes!r})",
    "model = pickle.loads(pickle.dumps(model))",
    "model = model.with_prior({priors})",
)
NUMBERS = (
    "1.0",
    "0.5",
    "0.9",
    "1e-300",
    "5e-324",
    "1e-160",
    "0.0",
    "-1.0",
    "np.nan",
    "2.0",
    "'x'",
    "None",
    "1e299",
    "0.3",
)


class _Writer:
    """Writes the lines of one case."""

    def __init__(self, case: int) -> None:
        self.rng = np.random.default_rng([case, 0])
        self.world = World(case)
        self.lines = [f"world = World({case})"]
        self.tables: list[tuple[str, str, str, int]] = []
        self.rows: list[str] = []
        self.given: list[str] = []
        self.strange = self.number() if self.rng.random() < 0.15 else None  # the kind of table that is no usual one

    def pick(self, pool: Any) -> Any:
        return pool[int(self.rng.integers(len(pool)))]

    def number(self) -> int:
        return int(self.rng.integers(10_000))

    def new_table(self) -> tuple[str, str, str, int]:
        i, n = len(self.tables), self.world.rows if self.rng.random() < 0.8 else self.pick((1, 2, 5, 40))
        kind = self.strange
        table = "world.table(" if kind is None else f"strange({kind}, "
        self.lines.append(f"X{i} = {table}{self.number()}, {n})")
        labels = "world.labels(" if self.rng.random() < 0.9 else f"strange_labels({self.number()}, "
        self.lines.append(f"y{i} = {labels}{self.number()}, {n})")
        self.lines.append(f"w{i} = " + (f"weights({self.number()}, {n})" if self.rng.random() < 0.4 else "None"))
        self.tables.append((f"X{i}", f"y{i}", f"w{i}", n))
        return self.tables[-1]

    def estimator(self) -> str:
        """What makes a model: one of tests/every_estimator.py, or with parameters of its own."""
        if self.rng.random() < 0.25:
            name = self.pick(list({**ESTIMATORS, **LEARNED}))
            self.given = ["tempered"]  # which all of them have
            return f"{{**ESTIMATORS, **LEARNED}}[{name!r}][0]()"
        name = self.pick(CLASSES)
        self.given = list(inspect.signature(getattr(tb, name)).parameters)
        if name in ("BayesClassifier", "AnDE"):  # in small, so that a second holds many cases
            small = {"BayesClassifier": "members=2", "AnDE": "n=2"}[name]
            given = [p for p in self.given if p != small.split("=")[0]]
            return f"tb.{name}({', '.join([small, *self.settings(given)])})"
        return f"tb.{name}({', '.join(self.settings(self.given))})"

    def settings(self, names: list[str], share: float = 0.25) -> list[str]:
        return [self.setting(name) for name in names if self.rng.random() < share]

    def setting(self, name: str) -> str:
        good, bad = PARAMETERS.get(name, ("None", "'x'"))
        found = self.pick((good if self.rng.random() < 0.93 else bad).split("|"))
        if self.rng.random() < 0.05:
            found = self.pick(HOSTILE)
        return f"{name}={found.replace('NAN', 'np.nan')}"

    def filled(self, template: str) -> str:
        X, y, w, n = self.pick(self.tables)
        if self.rows and self.rng.random() < 0.5:
            row = self.pick(self.rows)
        else:
            row = f"world.row({self.number()})"
            self.rows.append(row)
        return template.format(
            X=X, y=y, w=w, n=n, row=row, seed=self.number(), label=self.pick(self.world.classes()),
            classes=self.world.classes(), column=self.pick(list(self.world.columns)), number=self.pick(NUMBERS),
            priors=self.setting("priors").partition("=")[2], some=f"world.some_labels({self.number()}, {n})",
            schema=self.setting("schema").partition("=")[2], few=self.pick(("None", "1", "2", "5", "0", "'x'")),
            loss=self.pick(("None", "[[0, 1], [5, 0]]", "[[0, 1e300], [1e300, 0]]", "[[np.nan, 1], [1, 0]]", "'x'")),
            setting=self.setting(self.pick(self.given)) if self.given else "",
        )  # fmt: skip

    def write(self) -> list[str]:
        self.lines.append(f"model = {self.estimator()}")
        self.lines.append("other = model.copy()")
        X, y, w, _ = self.new_table()
        first = self.pick(("fit", "fit", "fit", "partial_fit"))
        how: Callable[[], bool] = lambda: bool(self.rng.random() < 0.25)  # noqa: E731
        self.lines.append(f"model.{first}({X}, {y}, sample_weight={w})" if how() else f"model.{first}({X}, {y})")
        for _ in range(int(self.rng.integers(2, 10))):
            kind = self.rng.random()
            if kind < 0.2:
                X, y, w, _ = self.new_table()
                self.lines.append(f"model.{self.pick(LEARN)}({X}, {y}, sample_weight={w})")
            elif kind < 0.5:
                self.lines.append(self.filled(self.pick(CHANGE)))
            else:
                self.lines.append("answer = " + self.filled(self.pick(ASK)))
        self.lines.append(f"answer = sound(model, {X})")
        return self.lines


def lines_of(case: int) -> list[str]:
    """The program of a case, without its prelude."""
    return _Writer(case).write()
