"""save and load: the same bits, the same life afterwards; and the file on disk is the old one or the new one."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import itertools
import json
import os
import pickle
import random
import resource
import signal
import stat
import sys
import time
import warnings
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tallybayes as tb
from tallybayes import distributions
from tallybayes.datasets import load_census, load_watermelon
from tallybayes.distributions import Binned, Kernel
from tallybayes.distributions.statistics import arrays_of
from tallybayes.errors import ForgetError, ModelFileError, OptionError
from tallybayes.io import file_lock
from tallybayes.io.model_document import estimator
from tests.every_estimator import ESTIMATORS, labels
from tests.hostile.broken_files import from_bytes, parts, to_bytes
from tests.quick import THOROUGH

NAMES = sorted(ESTIMATORS)


def again(model: Any) -> Any:
    return from_bytes(to_bytes(model))


def fitted(name: str, n: int = 60, seed: int = 0) -> tuple[Any, Any, Any]:
    make, data = ESTIMATORS[name]
    rng = np.random.default_rng(seed)
    table = data(rng, n)
    y = labels(rng, n)
    return make().fit(table, y), table, y


def assert_twins(a: Any, b: Any, table: Any) -> None:
    """All that can be seen of the two is the same, to the last bit."""
    assert type(a) is type(b)
    assert a.classes_.dtype == b.classes_.dtype
    assert a.classes_.tolist() == b.classes_.tolist()
    assert str(a.schema_) == str(b.schema_)
    assert a.schema_.levels == b.schema_.levels
    for method in ("predict_joint_log_proba", "predict_proba", "score_samples", "predict"):
        np.testing.assert_array_equal(getattr(a, method)(table), getattr(b, method)(table))
    assert [type(t.statistics) for t in a.fitted_.terms] == [type(t.statistics) for t in b.fitted_.terms]
    np.testing.assert_equal(
        [arrays_of(t.statistics) for t in a.fitted_.terms], [arrays_of(t.statistics) for t in b.fitted_.terms]
    )
    assert a.fitted_.classes_fixed == b.fitted_.classes_fixed
    seen = {key for key in dir(a) if key.endswith("_") and not key.startswith("_") and hasattr(a, key)}
    assert seen == {key for key in dir(b) if key.endswith("_") and not key.startswith("_") and hasattr(b, key)}
    for key in seen - {"schema_", "fitted_", "predictor_"}:
        np.testing.assert_equal(getattr(a, key), getattr(b, key), err_msg=key)


@pytest.mark.parametrize("name", NAMES)
def test_the_same_bits_and_the_same_life(name: str) -> None:
    model, table, y = fitted(name)
    counterpart = again(model)
    assert_twins(model, counterpart, table)
    drawn, classes = model.sample(20, random_state=0)
    same, same_classes = counterpart.sample(20, random_state=0)
    np.testing.assert_array_equal(classes, same_classes)
    np.testing.assert_array_equal(np.asarray(drawn), np.asarray(same))
    assert repr(model) == repr(counterpart)
    _, more, more_y = fitted(name, 30, 1)
    other = model.copy().partial_fit(more, more_y)
    steps = (
        lambda m: m.partial_fit(more, more_y),
        lambda m: m.forget(table[:5], y[:5]),
        lambda m: m.merge(other),
        lambda m: m.decay(0.5),
    )
    for step in steps:
        assert_twins(step(model), step(counterpart), table)
        counterpart = again(counterpart)  # and saved again at every station
    assert_twins(model.copy().merge(other), counterpart.copy().merge(again(other)), table)
    assert to_bytes(model) == to_bytes(counterpart)


def test_one_row_at_a_time() -> None:
    rows, ripe = load_watermelon()
    model = tb.NaiveBayes().fit(rows[:12], ripe[:12])
    model.learn_one(rows[12], ripe[12])  # the fast path is open: the statistics are written to in place
    counterpart = again(model)
    for row, label in zip(rows[13:], ripe[13:], strict=True):
        assert model.predict_proba_one(row) == counterpart.predict_proba_one(row)
        model.learn_one(row, label)
        counterpart.learn_one(row, label)
    assert_twins(model, counterpart, rows)
    fresh = model.predict_proba(rows)
    counterpart.learn_one(rows[0], "no")  # what was loaded is its own
    np.testing.assert_array_equal(model.predict_proba(rows), fresh)


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 1, 2, 2]),
        np.array([3, 200, 7, 7], dtype=np.uint8),
        np.array([True, False, True, False]),
        np.array([1.0, 2.0, 2.0, -4.0], dtype=np.float32),
        np.array(["a", "ψ", "", "\U0001f600"]),
        np.array([b"a", b"bc", b"a", b""]),
        np.array(["ab", "c" * 40, "ab", "x"], dtype=object)[:4],
        np.array([1, 2.0, 3, True], dtype=object),
        np.array([2**63, 2**64 - 1, 1, 2], dtype=object),
        np.array([b"\xff", b"a", b"a", b"\x00b"], dtype=object),
        pd.Series(["u", "v", "u", "w"], dtype="category"),
        np.array([5, 6, 7, 8], dtype=">i4"),
    ],
    ids=lambda y: f"{y.dtype}",
)
def test_labels_of_every_kind(y: Any) -> None:
    X = np.arange(8.0).reshape(4, 2)
    model = tb.GaussianNB().fit(X, y)
    counterpart = again(model)
    assert counterpart.classes_.dtype == model.classes_.dtype.newbyteorder("=")
    assert counterpart.classes_.tolist() == model.classes_.tolist()
    assert [type(v) for v in counterpart.classes_.tolist()] == [type(v) for v in model.classes_.tolist()]
    np.testing.assert_array_equal(counterpart.partial_fit(X, y).class_count_, model.partial_fit(X, y).class_count_)


@pytest.mark.skipif(not hasattr(np.dtypes, "StringDType"), reason="NumPy 2")
def test_labels_of_numpys_string_type(monkeypatch: Any) -> None:
    y = np.array(["a", "bcd"], dtype=np.dtypes.StringDType())
    model = tb.GaussianNB().fit([[1.0], [2.0]], y)
    assert again(model).classes_.dtype == model.classes_.dtype
    assert again(model).predict([[2.0]]).tolist() == ["bcd"]
    data = to_bytes(model)
    monkeypatch.delattr(np.dtypes, "StringDType")  # NumPy 1 has none
    with pytest.raises(ModelFileError, match="NumPy's StringDType, which needs NumPy 2"):
        from_bytes(data)


@pytest.mark.parametrize("label", [Decimal("1.5"), (1, 2), 2**70])
def test_labels_of_other_kinds_are_refused(label: Any) -> None:
    y = np.empty(2, dtype=object)
    y[:] = [label, label]
    with pytest.raises(ModelFileError, match=f"The target has the label .* of type {type(label).__name__}. .*string"):
        to_bytes(tb.GaussianNB().fit([[1.0], [2.0]], y))


def test_levels_of_every_kind() -> None:
    table = pd.DataFrame(
        {
            "text": ["a", "ö", None, "\U0001f600"],
            "number": pd.Categorical([1.5, 2.0, 3.5, 1.5]),
            "whole": pd.Categorical([2**40, -3, 5, 5], categories=[-3, 5, 2**40, 9]),
            "truth": [True, False, None, True],
        }
    )
    model = tb.NaiveBayes().fit(table, [0, 1, 0, 1])
    assert_twins(model, again(model), table)
    assert again(model).schema_.levels == model.schema_.levels
    odd = pd.DataFrame({"x": pd.Categorical([Decimal(1), Decimal(2)])})
    with pytest.raises(ModelFileError, match=r"Column 'x' has the label Decimal\('1'\)"):
        to_bytes(tb.NaiveBayes().fit(odd, [0, 1]))


# --- parameters ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options",
    [
        {"priors": [0.5, 0.5]},
        {"priors": np.array([0.25, 0.75], dtype=np.float32)},
        {"priors": {"a": np.float64(0.1), "b": 0.9}},
        {"alpha": np.int64(2), "ddof": np.int8(1)},
        {"distributions": {"sugar": "kernel", "density": Binned(method="width", bins=3, alpha=0.5)}},
        {"distributions": "mdl"},
        {"schema": {"sugar": "real"}},
        {"unseen": "other", "variance": "shared"},
    ],
    ids=str,
)
def test_parameters(options: dict[str, Any]) -> None:
    rows, ripe = load_watermelon()
    y = ["ab"[v == "yes"] for v in ripe]
    model = tb.NaiveBayes(**options).fit(rows, y)
    counterpart = again(model)
    np.testing.assert_equal(counterpart.get_params(), model.get_params())
    assert_twins(model.partial_fit(rows[:3], y[:3]), counterpart.partial_fit(rows[:3], y[:3]), rows)


def test_one_distribution_for_two_columns_stays_one() -> None:
    rng = np.random.default_rng(0)
    shared = Kernel("scott")
    chosen = {"x0": shared, "x1": shared, "x2": Kernel("scott")}
    model = tb.NaiveBayes(chosen).fit(rng.normal(size=(9, 3)), [0, 1, 2] * 3)
    assert [g.columns for g in model.fitted_.terms] == [(0, 1), (2,)]
    counterpart = again(model)
    more = rng.normal(size=(2, 3))
    assert_twins(model.partial_fit(more, [0, 1]), counterpart.partial_fit(more, [0, 1]), more)


def test_a_schema_as_a_parameter() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 2)), rng.integers(0, 2, 40)
    first = tb.NaiveBayes("frequency").fit(X[:20], y[:20])
    second = again(tb.NaiveBayes("frequency", schema=first.schema_).fit(X[20:], y[20:]))
    assert first.copy().merge(second).class_count_.sum() == 40
    assert second.fit(X, y).schema_.cuts[0].points.tolist() == first.schema_.cuts[0].points.tolist()


@pytest.mark.parametrize(
    ("value", "what"),
    [
        (lambda x: x, "function"),
        (np.random.RandomState(0), "RandomState"),
        (pd.Index([0.5, 0.5]), "Index"),
        ({0: 0.5, 1: 1 + 2j}, "complex"),
        ({0: 0.5, (1, 2): 0.5}, "tuple"),
        (np.array([1 + 2j]), "complex128"),
        (10**5000, "16610 bits"),
        ({1, 2}, "set"),
    ],
    ids=lambda v: v if isinstance(v, str) else "",
)
def test_what_a_parameter_cannot_be(value: Any, what: str) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    model.priors = value
    with pytest.raises(ModelFileError, match=rf"The parameter 'priors' of GaussianNB.*{what}"):
        to_bytes(model)


def test_what_nests_without_end() -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    model.priors = loop = []
    loop.append(loop)
    with pytest.raises(ModelFileError, match="'priors' of GaussianNB is nested more than 32 deep"):
        to_bytes(model)


def test_a_file_that_could_not_be_read_is_not_written() -> None:
    model = tb.NaiveBayes().fit([[1.0], [2.0]], [0, 1]).set_params(distributions="kernel")
    with pytest.raises(ModelFileError, match=r"NaiveBayes cannot be saved\. Its parameters ask for other"):
        to_bytes(model)
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1]).set_params(var_smoothing=-1)
    with pytest.raises(ModelFileError, match=r"GaussianNB cannot be saved\. .*var_smoothing must be"):
        to_bytes(model)


def test_a_column_that_was_cut_and_is_now_a_category() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 9, size=(40, 1)).astype(float), rng.integers(0, 2, 40)
    cut = tb.NaiveBayes("mdl").fit(X, y)
    model = tb.NaiveBayes({"x0": "categorical"}, schema=cut.schema_).fit(X, y)
    assert len(model.describe("x0")[0]) == 9
    assert_twins(model, again(model), X)


def test_object_arrays_as_parameters() -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    value = np.empty(2, dtype=object)
    value[:] = [0.5, 0.5]
    assert again(model.set_params(priors=value)).priors.tolist() == [0.5, 0.5]
    value[0] = [1, [2]]
    with pytest.raises(ModelFileError, match="GaussianNB cannot be saved"):  # the error of priors, not of their form
        to_bytes(model)


def test_what_is_chosen_on_the_first_rows_is_kept() -> None:
    _, X, y = fitted("LinearDiscriminantAnalysis")
    model = tb.RegularizedDiscriminantAnalysis().fit(X, y)
    counterpart = again(model)
    assert (counterpart.own_covariance_, counterpart.shrinkage_) == (model.own_covariance_, model.shrinkage_)
    assert_twins(model.partial_fit(X[:9], y[:9]), counterpart.partial_fit(X[:9], y[:9]), X)
    ledoit = tb.QuadraticDiscriminantAnalysis(shrinkage="auto").fit(X, y)
    assert again(ledoit).shrinkage_ == ledoit.shrinkage_


def test_declared_classes_stay_closed_and_forgotten_ones_stay_forgotten() -> None:
    model = tb.GaussianNB().partial_fit([[1.0], [2.0]], [0, 1], classes=[0, 1, 2])
    counterpart = again(model.forget([[1.0], [2.0]], [0, 1]))
    with pytest.raises(NotFittedError, match="has forgotten every row"):
        counterpart.predict([[1.0]])
    with pytest.raises(ValueError, match="do not exist in the initial classes"):
        counterpart.partial_fit([[1.0]], [3])
    assert counterpart.partial_fit([[1.0]], [2]).predict([[1.0]]).tolist() == [2]
    with pytest.raises(ForgetError):
        counterpart.forget([[1.0], [1.0]], [2, 2])


def test_a_model_that_forgot_every_row_and_class_raises(tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1]).forget([[1.0], [2.0]], [0, 1])
    with pytest.raises(ModelFileError, match=r"has forgotten every row.*nothing to save.*learn other rows first"):
        tb.save(model, tmp_path / "m.tb")
    assert list(tmp_path.iterdir()) == []


def test_the_name_of_a_folder_is_refused(tmp_path: Path) -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [0, 1])
    for folder in (f"{tmp_path}/new/", f"{tmp_path}/"):
        with pytest.raises(OSError, match="add the name of a file"):
            tb.save(model, folder)
    assert list(tmp_path.iterdir()) == []


def test_what_scikit_learn_keeps_in_a_model() -> None:
    _, X, y = fitted("LinearDiscriminantAnalysis")
    model = tb.LinearDiscriminantAnalysis().set_output(transform="pandas").fit(X, y)
    assert isinstance(again(model).transform(X), pd.DataFrame)


def test_what_cannot_be_saved_at_all() -> None:
    with pytest.raises(NotFittedError):
        to_bytes(tb.GaussianNB())
    with pytest.raises(OptionError, match=r"save takes an estimator of tallybayes; got Pipeline\. .*joblib"):
        to_bytes(make_pipeline(StandardScaler(), tb.GaussianNB()).fit([[1.0], [2.0]], [0, 1]))

    class Mine(tb.GaussianNB):
        pass

    with pytest.raises(OptionError, match="got Mine"):
        to_bytes(Mine().fit([[1.0], [2.0]], [0, 1]))


def test_notes(tmp_path: Path) -> None:
    notes = {"source": ["a.csv", "b.csv"], "target": "ripe", "rows": 17, "share": 0.5, "nothing": None}
    model, table, _ = fitted("GaussianNB")
    tb.save(model, tmp_path / "m.tb", notes=notes)
    assert tb.io.load_notes(tmp_path / "m.tb") == notes
    assert_twins(tb.load(tmp_path / "m.tb"), model, table)
    tb.save(model, tmp_path / "m.tb")
    assert tb.io.load_notes(tmp_path / "m.tb") == {}
    with pytest.raises(ModelFileError, match="The note 'when' holds a Path"):
        tb.save(model, tmp_path / "m.tb", notes={"when": type("Path", (), {})()})


# --- distributions of one's own ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Flat(tb.distributions.SimpleDistribution):
    """The same density everywhere: what it learns is only how much."""

    width: float = 1.0

    name = "flat"
    parameters = ("height",)

    def statistics(self, x: Any) -> Any:
        return [x]

    def estimate_one(self, n: Any, sums: Any) -> Any:  # noqa: ARG002
        return [n / (n.sum() * self.width)]

    def log_density(self, x: Any, height: Any) -> Any:
        return np.log(height) + 0 * x

    def draw(self, rng: Any, height: Any) -> Any:
        return rng.random(len(height))


def test_a_distribution_of_ones_own(monkeypatch: Any) -> None:
    monkeypatch.setattr(distributions, "_REGISTRY", dict(distributions._REGISTRY))
    X, y = [[1.0, 2.0], [2.0, 3.0], [3.0, 1.0]], [0, 1, 1]
    model = tb.NaiveBayes(Flat(width=2.0)).fit(X, y)
    with pytest.raises(ModelFileError, match=r"the distribution Flat, .* put @register above the class"):
        to_bytes(model)
    tb.distributions.register(Flat)
    data = to_bytes(model)
    assert_twins(from_bytes(data).partial_fit(X, y), model.copy().partial_fit(X, y), X)
    del distributions._REGISTRY["flat"]
    with pytest.raises(ModelFileError, match="uses the distribution 'flat', which is not registered here"):
        from_bytes(data)


def test_a_distribution_whose_types_are_for_a_type_checker(monkeypatch: Any) -> None:
    """Their names do not exist when the file is read: such options are not compared with them."""
    monkeypatch.setattr(distributions, "_REGISTRY", dict(distributions._REGISTRY))

    @tb.distributions.register
    @dataclass(frozen=True)
    class Typed(Flat):
        weight: NameOfAChecker = 1  # type: ignore[name-defined]  # noqa: F821

        name = "typed"

    X, y = [[1.0], [2.0], [3.0]], [0, 1, 1]
    model = tb.NaiveBayes(Typed(width=2.0, weight=3)).fit(X, y)
    found = again(model)
    assert found.fitted_.terms[0].distribution == Typed(width=2.0, weight=3)
    assert_twins(found, model, X)


# --- on disk -------------------------------------------------------------------------------------------------------


@pytest.fixture
def small() -> Any:
    return tb.GaussianNB().fit([[1.0], [2.0], [7.0], [8.0]], ["low", "low", "high", "high"])


def test_paths_and_files(small: Any, tmp_path: Path) -> None:
    for path in (tmp_path / "a.tb", str(tmp_path / "ä.tb"), os.fsencode(tmp_path / "c.tb")):
        tb.save(small, path)
        assert tb.load(path).predict([[6.0]]).tolist() == ["high"]
    with open(tmp_path / "d.tb", "wb", buffering=0) as raw:
        tb.save(small, raw)
        tb.save(small, raw)
    with open(tmp_path / "d.tb", "rb") as f:  # one after the other in one stream
        assert [type(tb.load(f)).__name__ for _ in range(2)] == ["GaussianNB"] * 2
    assert (tmp_path / "a.tb").read_bytes() == to_bytes(small)  # nothing in it depends on the time or the place


def test_files_of_the_wrong_sort(small: Any, tmp_path: Path) -> None:
    with pytest.raises(OptionError, match="Expected a path or a binary file; got int"):
        tb.save(small, 3)
    with pytest.raises(OptionError, match="Expected a path or a binary file; got float"):
        tb.load(3.5)
    with pytest.raises(OptionError, match="binary mode"), open(tmp_path / "t", "w") as f:
        tb.save(small, f)
    with pytest.raises(ModelFileError, match="binary mode"):
        tb.load(io.StringIO("text"))


def test_a_raw_file_may_take_a_part_at_a_time(small: Any) -> None:
    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(bytes(data)[:7])

        def read(self, size: int | None = -1) -> bytes:
            return super().read(min(5, size or 5))

    slow = Slow()
    tb.save(small, slow)
    assert slow.getvalue() == to_bytes(small)
    slow.seek(0)
    assert tb.load(slow).classes_.tolist() == ["high", "low"]


def test_permissions_and_links(small: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.tb"
    old = os.umask(0o027)
    try:
        tb.save(small, path)
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    path.chmod(0o604)
    tb.save(small.copy().decay(0.5), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o604
    (tmp_path / "link").symlink_to(path)
    tb.save(small, tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert tb.load(path).class_count_.tolist() == [2.0, 2.0]
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link", "m.tb"]


def test_missing_folders_and_files(small: Any, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\.tb"):
        tb.load(tmp_path / "nothing.tb")
    with pytest.raises(FileNotFoundError, match=r"Cannot save the model: .*no/m\.tb"):
        tb.save(small, tmp_path / "no" / "m.tb")
    with pytest.raises(IsADirectoryError, match="Cannot save the model"):
        tb.save(small, tmp_path)
    with pytest.raises(ModelFileError, match="It is a folder"):
        tb.load(tmp_path)
    with pytest.raises(ModelFileError, match="It is not a file"):
        tb.load("/dev/zero")
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match="It is not a file"):
        tb.load(tmp_path / "pipe")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
def test_a_full_device(small: Any) -> None:
    with pytest.raises(OSError, match="Cannot save the model: No space left on device: '/dev/full'"):
        tb.save(small, "/dev/full")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)  # it was written to, not replaced


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_cannot_be_written_to(small: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(PermissionError, match="Cannot save the model"):
        tb.save(small, tmp_path / "m.tb")


@pytest.mark.parametrize("call", ["open", "fsync", "fchmod", "replace"])
def test_what_fails_leaves_the_old_file_and_no_litter(small: Any, tmp_path: Path, call: str, monkeypatch: Any) -> None:
    path = tmp_path / "m.tb"
    tb.save(small, path)
    before = path.read_bytes()

    def fail(*_: Any, **__: Any) -> Any:
        raise PermissionError(13, "Permission denied", "beside")

    with monkeypatch.context() as patch:
        patch.setattr(os, call, fail)
        with pytest.raises(PermissionError, match=f"Cannot save the model: .*{path}"):
            tb.save(small.copy().decay(0.5), path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.tb"]


@pytest.mark.parametrize(("number", "passes"), [(errno.EINVAL, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_a_disk_that_does_not_sync_folders(
    number: int, passes: bool, small: Any, tmp_path: Path, monkeypatch: Any
) -> None:
    sync = os.fsync

    def fail(fd: int) -> None:
        if stat.S_ISDIR(os.fstat(fd).st_mode):
            raise OSError(number, os.strerror(number))
        sync(fd)

    monkeypatch.setattr(os, "fsync", fail)
    with contextlib.nullcontext() if passes else pytest.raises(OSError, match="Cannot save the model: Input/output"):
        tb.save(small, tmp_path / "m.tb")
    assert tb.load(tmp_path / "m.tb").predict([[7.5]]).tolist() == ["high"]  # what is not certain is to stay


def in_a_child(work: Any) -> int:
    """Runs work in a child process; what it exits with."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: the child only saves
        child = os.fork()
    if child == 0:
        try:
            os._exit(work() or 0)
        except BaseException as e:
            print(e, file=sys.stderr)
            os._exit(99)
    return child


def test_a_disk_that_is_full_half_way(small: Any, tmp_path: Path) -> None:
    path = tmp_path / "m.tb"
    tb.save(small, path)
    before = path.read_bytes()
    large = tb.GaussianNB().fit(np.random.default_rng(0).normal(size=(9, 5000)), [0, 1, 2] * 3)

    def work() -> int:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            tb.save(large, path)
        except OSError as e:
            return 7 if e.filename == str(path) else 8
        return 9

    _, status = os.waitpid(in_a_child(work), 0)
    assert os.waitstatus_to_exitcode(status) == 7
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["m.tb"]


def test_killed_at_any_moment_of_a_save(tmp_path: Path) -> None:
    """40 times (200 in `make test-slow`): the old file or the new one, whole, never neither."""
    path = tmp_path / "m.tb"
    X = np.random.default_rng(0).normal(size=(6, 50))
    models = [tb.GaussianNB().fit(X, [k, k, k, 9, 9, 9]) for k in range(3)]
    whole = {to_bytes(m) for m in models}
    tb.save(models[0], path)
    began = time.perf_counter()
    tb.save(models[0], path)
    long = time.perf_counter() - began
    chance = random.Random(0)
    found = set()

    def save_for_ever(turn: int, to_parent: int) -> None:
        for i in itertools.count(turn):
            os.write(to_parent, b"!")
            tb.save(models[i % 3], path)

    for turn in range(200 if THOROUGH else 40):
        from_child, to_parent = os.pipe()
        child = in_a_child(functools.partial(save_for_ever, turn, to_parent))
        for _ in range(chance.randint(1, 2)):  # it begins another save
            os.read(from_child, 1)
        time.sleep(chance.uniform(0.0, 1.2 * long))
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
        os.close(from_child)
        os.close(to_parent)
        assert os.waitstatus_to_exitcode(status) == -signal.SIGKILL
        found.add(path.read_bytes())
        assert found <= whole
    assert len(found) == 3
    assert {p.name for p in tmp_path.iterdir() if not p.name.startswith(".tallybayes-")} == {"m.tb"}


# --- the format ----------------------------------------------------------------------------------------------------


def test_the_header_is_json_for_people(small: Any) -> None:
    header, arrays = parts(to_bytes(small))
    assert header["model"]["class"] == "GaussianNB"
    given = {
        "priors": None,
        "class_weight": None,
        "var_smoothing": 1e-9,
        "ddof": 0,
        "variance": "own",
        "tempered": False,
        "half_life": None,
        "verbose": False,
        "memory": "sums",
    }
    assert header["model"]["parameters"] == given
    assert header["tallybayes"] == tb.__version__
    assert json.dumps(header).isascii()
    assert len(arrays) == sum(
        -(-np.dtype(a["dtype"]).itemsize * int(np.prod(a["shape"])) // 8) * 8 for a in header["arrays"]
    )


def test_the_census(tmp_path: Path) -> None:
    rows, y = load_census()
    model = tb.NaiveBayes({"age": "kernel", "hours-per-week": "mdl"}, {"education-num": "real"}).fit(rows, y)
    tb.save(model, tmp_path / "census.tb")
    assert_twins(model, tb.load(tmp_path / "census.tb"), rows[:500])


GOLDEN = sorted((Path(__file__).parents[1] / "golden").glob("*.tb"))


@pytest.mark.parametrize("path", GOLDEN, ids=lambda p: p.stem)
def test_golden_files_load_and_predict_as_before(path: Path) -> None:
    expected = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))
    model = tb.load(path)
    assert tb.io.load_notes(path) == {"name": path.stem}
    assert model.classes_.tolist() == expected["classes"]
    if isinstance(model, tb.BayesDecision):
        assert_decides(model, expected)
        return
    found = model.predict_joint_log_proba(expected["rows"])
    rtol = 1e-5 if isinstance(model, tb.BayesClassifier) else 1e-9  # its weights are chosen in float32
    np.testing.assert_allclose(found, expected["joint"], rtol=rtol, atol=1e-12)
    rows = expected["rows"]
    first = [v[0] for v in model.outputs_.values()] if getattr(model, "targets", None) else expected["classes"][0]
    y = [first] * len(rows)
    after = model.copy().partial_fit(rows, y).forget(rows, y)
    if after.schema_ == model.schema_:  # else a declared level without rows lost its name: forget leaves none behind
        np.testing.assert_allclose(after.predict_joint_log_proba(rows), expected["joint"], rtol=1e-6)
    else:
        np.testing.assert_array_equal(after.class_count_, model.class_count_)


def assert_decides(model: tb.BayesDecision, expected: dict[str, Any]) -> None:
    rows, amounts = expected["rows"], expected["amounts"]
    np.testing.assert_allclose(model.predict_proba(rows), expected["proba"], rtol=1e-9)
    np.testing.assert_allclose(model.conditional_risk(rows, amount=amounts), expected["risk"], rtol=1e-9, atol=1e-12)
    assert model.predict(rows, amount=amounts).tolist() == expected["decisions"]


def test_every_estimator_and_distribution_has_a_golden_file() -> None:
    kinds = {type(tb.load(path)) for path in GOLDEN}
    assert kinds == {tb.BayesDecision, *filter(None, map(estimator, tb.__all__))}
    used = {d["name"] for path in GOLDEN for d in parts(path.read_bytes())[0]["distributions"]}
    assert used >= {"gaussian", "kernel", "categorical", "bernoulli", "binned", "threshold", "poisson", "multinomial"}
    assert used >= {"complement", "gaussian block", "gaussian axes"}


# --- other ways to keep a model ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_pickle_and_joblib(name: str, tmp_path: Path) -> None:
    model, table, y = fitted(name)
    joblib.dump(model, tmp_path / "model.joblib")
    for counterpart in (pickle.loads(pickle.dumps(model)), joblib.load(tmp_path / "model.joblib")):
        assert_twins(model, counterpart, table)
        assert_twins(model.copy().partial_fit(table, y), counterpart.partial_fit(table, y), table)


@pytest.mark.parametrize("name", NAMES if THOROUGH else NAMES[::5])  # skops looks at types, and takes a second
def test_skops(name: str) -> None:
    skops = pytest.importorskip("skops.io")
    model, table, y = fitted(name)
    data = skops.dumps(model)
    unknown = skops.get_untrusted_types(data=data)
    assert all(kind.startswith("tallybayes.") or kind == "builtins.frozenset" for kind in unknown), unknown
    counterpart = skops.loads(data, trusted=unknown)
    assert_twins(model, counterpart, table)
    assert_twins(model.copy().partial_fit(table, y), counterpart.partial_fit(table, y), table)


def test_a_tempered_model_under_another_prior_is_saved() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    model = tb.GaussianNB(tempered=True).fit(X, y)
    for kept in (model, model.with_prior([0.1, 0.9]), model.adapt_prior(X[y == 0]).model):
        file = io.BytesIO()
        tb.save(kept, file)
        file.seek(0)
        np.testing.assert_array_equal(tb.load(file).predict_proba(X), kept.predict_proba(X))


# --- the lock of a file ----------------------------------------------------------------------------------------------


def nobody_waits(holder: str) -> None:
    raise AssertionError(holder)


@pytest.mark.skipif(sys.platform == "win32", reason="it has no locks there")
@pytest.mark.parametrize(("number", "passes"), [(errno.ENOLCK, True), (errno.ENOTSUP, True), (errno.EIO, False)])
def test_a_disk_without_locks(number: int, passes: bool, tmp_path: Path, monkeypatch: Any) -> None:
    def refuse(*_: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(file_lock.fcntl, "flock", refuse)
    entered = False
    said = contextlib.nullcontext() if passes else pytest.raises(OSError, match="Cannot lock the model")
    with said, file_lock.held(str(tmp_path / "m.tb"), "a test", nobody_waits):
        entered = True
    assert entered is passes


def test_a_lock_that_is_a_folder(tmp_path: Path) -> None:
    (tmp_path / ".m.tb.lock").mkdir()
    refused = pytest.raises(IsADirectoryError, match="Cannot lock the model")
    with refused, file_lock.held(str(tmp_path / "m.tb"), "a test", nobody_waits):
        pass


@pytest.mark.skipif(sys.platform == "win32", reason="it has no locks there")
@pytest.mark.parametrize("replaced", [False, True])
def test_a_lock_that_its_holder_takes_away_meanwhile(replaced: bool, tmp_path: Path, monkeypatch: Any) -> None:
    """Who locks a file that has just been removed, or replaced by the next one's, holds nothing, and looks again."""
    beside, real, calls = tmp_path / ".m.tb.lock", file_lock.fcntl.flock, []

    def late(fd: int, how: int) -> None:
        if not calls:
            beside.unlink()
            if replaced:
                beside.touch()
        calls.append(fd)
        real(fd, how)

    monkeypatch.setattr(file_lock.fcntl, "flock", late)
    with file_lock.held(str(tmp_path / "m.tb"), "a test", nobody_waits):
        assert len(calls) == 2
        assert "a test" in beside.read_text()
    assert list(tmp_path.iterdir()) == []


def test_semi_supervised_advises_what_can_be_saved(tmp_path: Path) -> None:
    X, y = [[0.0], [0.4], [1.0], [9.0], [9.6], [10.0]], ["low", "low", None, "high", "high", None]
    model = tb.SemiSupervised(tb.GaussianNB())
    for each in (model, model.fit(X, y)):
        with pytest.raises(OptionError, match=r"save\(model.estimator_, path\)"):
            tb.save(each, tmp_path / "model.tb")
    tb.save(model.estimator_, tmp_path / "model.tb")
    np.testing.assert_array_equal(tb.load(tmp_path / "model.tb").predict_proba(X), model.predict_proba(X))
