"""Any bytes give a model or one ModelFileError: damaged files, and files that somebody made with care."""

from __future__ import annotations

import json
import re
import sys
import tracemalloc
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tallybayes as tb
from tallybayes.errors import ModelFileError
from tallybayes.io.container import DIGEST, MAGIC, START
from tests.hostile.broken_files import assemble, exercise, from_bytes, models, parts, seeded, to_bytes
from tests.quick import examples

ROWS = [{"x": 1.0, "w": "a"}, {"x": 2.0, "w": "b"}, {"x": 4.0, "w": "a"}]
SMALL = to_bytes(tb.NaiveBayes().fit(ROWS, ["yes", "no", "no"]))


def refused(data: bytes) -> str:
    with pytest.raises(ModelFileError, match=r"^Cannot load the model file 'BytesIO'\. ") as e:
        from_bytes(data)
    return str(e.value)


def said(data: bytes) -> str:
    """The message and the one of its cause, which a traceback shows too; nothing if the file is a model."""
    try:
        from_bytes(data)
    except ModelFileError as e:
        return f"{e} {e.__cause__}"
    return ""


# --- damage --------------------------------------------------------------------------------------------------------


def test_every_byte_flipped() -> None:
    for i in range(len(SMALL)):
        for bits in (0x01, 0x80, 0xFF):
            refused(SMALL[:i] + bytes([SMALL[i] ^ bits]) + SMALL[i + 1 :])


def test_every_truncation() -> None:
    assert "It is empty" in refused(b"")
    for i in range(1, len(SMALL)):
        assert "It is cut off" in refused(SMALL[:i])


def test_more_than_the_file(tmp_path: Path) -> None:
    (tmp_path / "m.tb").write_bytes(SMALL + b"\0")
    with pytest.raises(ModelFileError, match=r"Cannot load the model file '.*m\.tb'\. It goes on after its end"):
        tb.load(tmp_path / "m.tb")


@pytest.mark.parametrize(
    "data",
    [bytes(99), b"a,b,c\n1,2,3\n", b"PK\x03\x04" + bytes(60), b"\x80\x04\x95", SMALL[1:], b"\x89PNG\r\n\x1a\n"],
    ids=["zeros", "csv", "zip", "pickle", "shifted", "png"],
)  # fmt: skip
def test_other_files(data: bytes) -> None:
    assert "It is not a tallybayes model" in refused(data)


def test_a_copy_with_other_line_ends() -> None:
    assert "It is not a tallybayes model" in refused(SMALL.replace(b"\r\n", b"\n"))


def test_a_file_of_the_future() -> None:
    header, arrays = parts(SMALL)
    assert "format 7; this version of tallybayes reads format 3. Upgrade" in refused(
        assemble(header, arrays, version=7)
    )
    assert "format 7" in refused(assemble(header, arrays, version=7)[:60])  # whatever the rest may mean then
    old = refused(assemble(header, arrays, version=1))
    assert "format 1 by a version of tallybayes before 0.3; this version reads format 3. Fit the model again, or" in old


def test_lengths_that_lie_take_no_memory() -> None:
    """A few bytes that claim to be the start of exabytes."""
    tracemalloc.start()
    try:
        for total, length in ((1 << 62, 1 << 40), (1 << 63, 8), ((1 << 64) - 8, (1 << 64) - 1), (0, 0), (64, 1 << 63)):
            refused(START.pack(MAGIC, 1, 0, total, length) + bytes(100))
        assert tracemalloc.get_traced_memory()[1] < 5 << 20
    finally:
        tracemalloc.stop()


# --- malice: the checksum is right -----------------------------------------------------------------------------------


def changed(path: str, value: Any, model: Any = None, add: bool = False) -> bytes:
    """A file in whose header one place is another; path: 'model/schema/kinds'."""
    header, arrays = parts(SMALL if model is None else to_bytes(model))
    *steps, last = (int(p) if p.isdigit() else p for p in path.split("/"))
    place: Any = header
    for step in steps:
        place = place[step]
    if not add:
        place[last]  # it is there
    place[last] = value
    return assemble(header, arrays)


def test_the_tool_of_these_tests() -> None:
    header, arrays = parts(SMALL)
    assert from_bytes(assemble(header, arrays)).predict(ROWS).tolist() == ["yes", "no", "no"]
    assert from_bytes(changed("model/closed", True)).fitted_.classes_fixed


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        ("model/class", "os.system", "no estimator of this version"),
        ("model/class", "GenerativeClassifier", "no estimator of this version"),
        ("model/class", "Schema", "no estimator of this version"),
        ("model/class", ["GaussianNB"], "no estimator of this version"),
        ("model/class", "KernelNB", "no parameter 'alpha'"),
        ("model/parameters", [], "is not an object"),
        ("model/parameters/alpha", "a", "alpha must be a number"),
        ("model/parameters/alpha", {"array": 0}, "used elsewhere|alpha"),
        ("model/parameters/priors", [0.5, 0.4], "sum of the priors"),
        ("model/parameters/priors", {"lambda": 1}, "does not know"),
        ("model/parameters/unseen", 3, "unseen"),
        ("model/parameters/distributions", "mdl", "other distributions"),
        ("model/schema/kinds", ["real"], "whole number from 0 to 0"),
        ("model/schema/kinds", ["real", "imaginary"], "not known ones"),
        ("model/schema/kinds", [], "whole number from 0 to -1|not known"),
        ("model/schema/names", ["x", "x"], "different names"),
        ("model/schema/names", [1, 2], "not all strings"),
        ("model/schema/container", "excel", "container"),
        ("model/schema/levels", [[1, {"labels": ["a", "a"], "declared": []}]], "a level twice"),
        ("model/schema/levels", [[1, {"labels": [1, True], "declared": []}]], "a level twice"),
        ("model/schema/levels", [[1, {"labels": ["a", "b"], "declared": [2]}]], "declared is 2"),
        ("model/schema/levels", [[9, {"labels": [], "declared": []}]], "whole number from 0 to 1"),
        ("model/schema/levels", [[1, {"labels": [[]], "declared": []}]], "a label that is none"),
        ("model/schema/levels", [[1, {"labels": [None], "declared": []}]], "a label that is none"),
        ("model/schema/levels", [[1, {"labels": [10**30], "declared": []}]], "a label that is none"),
        ("model/schema/levels/0/1/labels", ["a"], "number of levels"),
        ("model/schema/ambiguous", [-1], "ambiguous is -1"),
        ("model/schema/levels", [[1, {"labels": [], "declared": []}]] * 2, "levels names a column twice"),
        ("model/schema/cuts", [[0, {"points": {"array": 0}, "low": 0, "high": 1.0}]], "not two numbers"),
        ("model/schema/chosen", [[0, {"name": "kernel", "losses": [["kernel", 1]], "rows": 3}]], "names and finite"),
        ("model/schema/chosen", [[0, {"name": "kernel", "losses": [], "rows": True}]], "not names of distributions"),
        ("model/parameters/priors", {"dict": [["a", 0.5], ["a", 0.5]]}, "has a key twice"),
        ("model/parameters/priors", {"dict": [[{"bytes": "0g"}, 1.0]]}, "not hexadecimal"),
        ("model/parameters/priors", {"dict": [[{"bytes": 3}, 1.0]]}, "not hexadecimal"),
        ("model/parameters/priors", [{"float": "1e3"}, 0.5], "expected nan, inf or -inf"),
        ("model/parameters/priors", [{"float": ["nan"]}, 0.5], "expected nan, inf or -inf"),
        ("model/parameters/priors", {"tuple": [], "dict": []}, "is not a value"),
        ("model/groups", [], "each column once"),
        ("model/groups/0/columns", [1], "each column once"),
        ("model/groups/0/columns", [0, 0], "each column once"),
        ("model/groups/0/distribution", 5, "whole number from 0 to 1"),
        ("model/groups/0/distribution", 1, "The tally of 'categorical' is not one"),
        ("model/classes", ["no", "yes"], "not labels"),
        ("model/classes", {"objects": ["yes", "no"]}, "sorted list"),
        ("model/classes", {"objects": ["no", "no"]}, "sorted list"),
        ("model/classes", {"objects": [{"dict": []}, "no"]}, "not labels"),
        ("model/classes", {"objects": ["a", "b", "c"]}, "one weight for each"),
        ("model/weight", {"array": 77}, "not there"),
        ("model/weight", [1.0, 2.0], "entries array"),
        ("model/stats", [], "0 tallies"),
        ("model/stats/0", {}, "is not one"),
        ("model/closed", 1, "neither true nor false"),
        ("model/attributes", {"predict": 1}, "cannot have the attribute 'predict'"),
        ("model/attributes", {"class_count_": 1}, "cannot have the attribute"),
        ("model/attributes", {"alpha": 1}, "cannot have the attribute"),
        ("model/attributes", {"_state": 1}, "cannot have the attribute"),
        ("model/attributes", {"__dict__": {"dict": []}}, "cannot have the attribute"),
        ("model", {}, "does not have the entries"),
        ("distributions/0/name", "flat", "not registered here"),
        ("distributions/0/name", "os.system", "not registered here"),
        ("distributions/0/options", {"evil": 1}, "no option 'evil'"),
        ("distributions/0/options/shared", "yes", "cannot be 'yes'"),
        ("distributions/0/options/var_smoothing", -1, "var_smoothing"),
        ("distributions/0/options/var_smoothing", {"float": "nan"}, "var_smoothing"),
        ("notes", 3, "not an object"),
        ("arrays", {}, "no list of arrays"),
        ("arrays/0/dtype", "|O", "no type that model files have"),
        ("arrays/0/dtype", "<U9999999", "longer than the file"),
        ("arrays/0/shape", [1 << 47], "longer than the file"),
        ("arrays/0/shape", [0, 1 << 47, 1 << 47], "no valid shape"),
        ("arrays/0/shape", [-1], "no valid shape"),
        ("arrays/0/shape", [1] * 40, "no valid shape"),
        ("arrays/0/shape", [1.0], "no valid shape"),
        ("arrays/1/shape", [1, 2], "one weight for each"),
        ("arrays/1/dtype", "<i8", "one weight for each"),
        ("arrays/1/dtype", "<f4", "belong to no array"),
    ],
)  # fmt: skip
def test_headers_made_with_care(path: str, value: Any, message: str) -> None:
    assert re.search(message, refused(changed(path, value)))


@pytest.mark.parametrize("names", [[], ["x"], ["x", "w", "v"], ["w", "x"], ["x", None]])
def test_columns_that_do_not_follow_from_those_given(names: list[str | None]) -> None:
    given: list[dict[str, Any]] = [{"name": name, "what": "column", "parts": [], "zone": None} for name in names]
    assert "follow from what it is given" in refused(changed("model/schema/given", given, add=True))


def test_values_nested_deep() -> None:
    deep: Any = 1
    for _ in range(200):
        deep = [deep]
    assert "deep" in refused(changed("model/parameters/priors", deep))


CUT = tb.NaiveBayes("frequency").fit(np.arange(40.0)[:, None], [0, 1] * 20)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("low", {"float": "nan"}, "not two numbers"),
        ("low", 99.0, "cuts do not rise"),
        ("points", {"array": 99}, "not there"),
    ],
)
def test_cuts_made_with_care(key: str, value: Any, message: str) -> None:
    assert message in refused(changed(f"model/schema/cuts/0/1/{key}", value, CUT))


@pytest.mark.parametrize(
    ("point", "message"), [(np.nan, "not finite numbers"), (np.inf, "not finite"), (-1e9, "do not rise")]
)
def test_points_of_cuts_made_with_care(point: float, message: str) -> None:
    header, arrays = parts(to_bytes(CUT))
    points = CUT.schema_.cuts[0].points.tobytes()
    assert arrays.count(points) == 1
    other = points[:-8] + np.float64(point).tobytes()
    assert message in refused(assemble(header, arrays.replace(points, other)))


@pytest.mark.parametrize(
    "text",
    [b"", b"[]", b"{", b"null", b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000, b'{"a":' * 50_000, b'{"a": 1, "a": 2}',
     b"1" * 10_000, '{"ä": 1}'.encode()],
)  # fmt: skip
def test_headers_that_are_none(text: bytes) -> None:
    assert "header" in refused(assemble(text, b""))


def test_numbers_too_large_for_a_float() -> None:
    header, arrays = parts(SMALL)
    text = json.dumps(header).replace('"alpha": 1.0', '"alpha": 1e999').encode()
    assert "too large for a float64" in refused(assemble(text, arrays))


def place(header: Any, i: int) -> int:
    """Where array i begins among the arrays."""
    sizes = [np.dtype(a["dtype"]).itemsize * int(np.prod(a["shape"])) for a in header["arrays"]]
    return sum(-(-size // 8) * 8 for size in sizes[:i])


def poked(model: Any, key: str, value: Any) -> bytes:
    """A file in which the first number of an array of the first tally is another."""
    header, arrays = parts(to_bytes(model))
    at = place(header, header["model"]["stats"][0][key]["array"])
    number = np.array(value, dtype=getattr(model.fitted_.terms[0].statistics, key).dtype).tobytes()
    return assemble(header, arrays[:at] + number + arrays[at + 8 :])


def _tallies() -> list[Any]:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20)
    codes = rng.integers(0, 3, size=(20, 2))
    gap = X.copy()
    gap[3, 1] = np.nan
    wide = rng.normal(size=(6, 300))
    bad = (np.nan, np.inf, -1.0)
    makers = [
        (tb.GaussianNB().fit(X, y), {"n": bad, "m2": bad, "mean": bad[:2], "low": bad}),
        (tb.GaussianDiscriminant("diagonal").fit(X, y), {"m2": bad, "low": bad}),
        (tb.PoissonNB().fit(codes, y), {"n": bad, "sum": bad}),
        (tb.MultinomialNB().fit(codes, y), {"sum": bad}),
        (tb.BernoulliNB().fit(codes, y), {"no": bad, "yes": bad}),
        (tb.CategoricalNB().fit(codes, y), {"count": bad, "sizes": (-1, 2, 4, 1 << 40)}),
        (tb.KernelNB().fit(X, y), {"value": (np.nan, 1e9), "weight": bad, "start": (-1, 1, 1 << 60), "K": (0, 3, -2)}),
        (tb.LinearDiscriminantAnalysis().fit(X, y), {"n": bad, "mean": bad[:2], "low": bad, "scatter": bad}),
        (tb.GaussianDiscriminant(own_covariance=1.0).fit(gap, y), {"n": bad, "mean": bad[:2], "scatter": bad}),
        (
            tb.LinearDiscriminantAnalysis().fit(wide, [0, 0, 0, 1, 1, 1]),
            {"mean": bad[:2], "rows": bad[:2], "owner": (-1, 2, 1 << 40)},
        ),
    ]
    return [
        pytest.param(model, key, value, id=f"{type(model).__name__}-{key}-{value}")
        for model, keys in makers
        for key, values in keys.items()
        for value in values
    ]


@pytest.mark.parametrize(("model", "key", "value"), _tallies())
def test_numbers_that_no_tally_has(model: Any, key: str, value: float) -> None:
    assert "is not one" in refused(poked(model, key, value))


@pytest.mark.parametrize("weight", [np.nan, -1.0, np.inf, 1e308])
def test_weights_that_no_class_has(weight: float) -> None:
    model = tb.LinearDiscriminantAnalysis().fit([[1.0], [2.0], [4.0]], ["a", "b", "b"])
    header, arrays = parts(to_bytes(model))
    at = place(header, header["model"]["weight"]["array"])
    assert np.frombuffer(arrays, np.float64, 2, at).tolist() == [1.0, 2.0]
    changed_arrays = arrays[:at] + np.float64(weight).tobytes() + arrays[at + 8 :]
    assert "weights of its classes" in refused(assemble(header, changed_arrays))


def test_the_arrays_bytes_suit_their_type() -> None:
    model = tb.GaussianNB().fit([[1.0], [2.0]], [False, True])
    header, arrays = parts(to_bytes(model))
    assert "not of its type bool" in refused(assemble(header, b"\x00\x07" + arrays[2:]))
    model = tb.GaussianNB().fit([[1.0], [2.0]], ["a", "b"])
    header, arrays = parts(to_bytes(model))
    assert "not of its type <U1" in refused(assemble(header, b"\xff\xff\xff\xff" + arrays[4:]))


def test_a_file_that_promises_much_takes_little() -> None:
    """Many classes, many declared levels: the table of both would not fit anywhere; the file has neither."""
    K, L = 10_000, 50_000
    model = tb.NaiveBayes().fit([{"w": "a"}], ["b"])
    header, _ = parts(to_bytes(model))
    m = header["model"]
    m["classes"] = {"objects": list(range(K))}
    m["schema"]["levels"] = [[0, {"labels": list(range(L)), "declared": list(range(L))}]]
    m["weight"], m["stats"] = {"array": 0}, [{"count": {"array": 1}, "sizes": {"array": 2}}]
    header["arrays"] = [
        {"dtype": "<f8", "shape": [K]}, {"dtype": "<f8", "shape": [K, 0]}, {"dtype": "<i8", "shape": [1]}
    ]  # fmt: skip
    data = assemble(header, np.ones(K).tobytes() + np.zeros(1, np.int64).tobytes())
    tracemalloc.start()
    try:
        assert len(from_bytes(data).classes_) == K
        assert tracemalloc.get_traced_memory()[1] < 100 * len(data)
    finally:
        tracemalloc.stop()


def test_many_columns_take_no_time_squared() -> None:
    """Each with a distribution of its own, named in a dict; a minute if anything is looked up in a list."""
    d = 20_000
    names = [f"c{j}" for j in range(d)]
    model = tb.NaiveBayes(dict.fromkeys(names, "gaussian")).fit([dict.fromkeys(names, 1.0)] * 2, [0, 1])
    assert from_bytes(to_bytes(model)).n_features_in_ == d


# --- at random -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("i", range(len(models())))
def test_the_mutated_models_are_sound_to_begin_with(i: int) -> None:
    assert exercise(to_bytes(models()[i])) == "loaded"


def test_mutants() -> None:
    most = examples(700)
    found = seeded(seconds=60, seed=20, most=most)
    assert found["refused"] > 0.4 * most
    assert found["loaded"] > 0.08 * most


def test_random_bytes_with_a_right_checksum() -> None:
    rng = np.random.default_rng(3)
    for _ in range(300):
        refused(assemble(rng.bytes(int(rng.integers(0, 60))), rng.bytes(int(rng.integers(0, 60)))))
        data = START.pack(MAGIC, 1, 0, *(int(v) for v in rng.integers(0, 200, 2))) + rng.bytes(150)
        refused(data + blake2b(data, digest_size=DIGEST).digest())


def test_nothing_is_imported() -> None:
    """A module that exists and is not imported yet: it stays so."""
    for name in ("this.Zen", "antigravity.geohash"):
        refused(changed("model/class", name))
        refused(changed("distributions/0/name", name))
    assert not {"this", "antigravity"} & set(sys.modules)


@pytest.mark.parametrize(
    "path",
    ["model/class", "model/parameters/unseen", "model/parameters/alpha", "model/parameters/priors",
     "model/parameters/distributions", "model/schema/container", "model/schema/kinds", "model/schema/names",
     "distributions/0/name", "distributions/0/options", "distributions/0/options/shared", "model/classes",
     "model/stats", "model/attributes", "model/weight", "notes", "arrays"],
)  # fmt: skip
def test_messages_are_short_whatever_the_file_holds(path: str) -> None:
    long = "x" * 10_000
    values = (long, {long: long}, [long] * 3, {"dict": [[long, long]]}, {long: {long: 1}}, {"tuple": [long] * 99})
    reported = [said(changed(path, value)) for value in values]
    assert max(map(len, reported)) < 800
    assert path in ("notes", "model/attributes") or all(reported)  # there a file may say what it likes


def _of_networks() -> dict[str, Any]:
    rows = [{"a": "ab"[i % 2], "b": "uvw"[i % 3], "c": "xy"[i // 3 % 2], "d": float(i)} for i in range(24)]
    y = ["p", "q"] * 12
    return {
        "TAN": tb.TAN(cuts=None).fit(rows, y),  # d is real
        "KDB": tb.KDB(k=2).fit(rows, y),
        "AODE": tb.AODE().fit(rows, y),
        "Bayes": tb.BayesClassifier(members=2).fit(rows, y),
        "targets": tb.BayesNetwork(targets=["t"]).fit(rows, {"t": y}),
        "weighted": tb.GaussianNB(class_weight="balanced").fit([[1.0], [2.0], [4.0]], ["p", "q", "q"]),
        "counts": tb.MultinomialNB(alpha=[1.0, 2.0]).fit([[1, 2], [2, 1]], ["p", "q"]),
        "codes": tb.CategoricalNB(min_categories=[3, 3]).fit([[1, 2], [2, 1]], ["p", "q"]),
    }


NETWORKS = _of_networks()


def _tuples(*parts: Any) -> dict[str, Any]:
    return {"tuple": [_tuples(*p) if isinstance(p, tuple) else p for p in parts]}


@pytest.mark.parametrize(
    ("model", "option", "value", "message"),
    [
        ("TAN", "blind", _tuples(9), "'blind' does not name columns"),
        ("TAN", "parents", _tuples((), (0,), (1,)), "'parents' are not columns, one list for each"),
        ("TAN", "parents", _tuples((), (0,), (1,), (3,)), "'parents' are not columns, one list for each"),
        ("TAN", "parents", _tuples((), (0, 0), (1,), (1,)), "a parent is named twice"),
        ("TAN", "parents", _tuples((), (0,), (0, 1), (1,)), "a family is not among the sets that are counted"),
        ("TAN", "parents", _tuples((), (0,), (1,), (0, 1)), "parents of a real column are not among the sets"),
        ("TAN", "parents", _tuples((1,), (0,), (1,), (1,)), "has a cycle"),
        ("TAN", "reals", 9, "9 of its 4 columns are real"),
        ("TAN", "reals", 0, "it has moments of real columns"),
        ("TAN", "order", 9, "sets of 9 columns are not counted"),
        ("TAN", "real_extra", _tuples(((), (0,))), "is not a set of parents"),
        ("TAN", "real_extra", _tuples(((0, 1), (5,))), "are not real columns, each once"),
        ("KDB", "extra", _tuples((2, 1, 0), (0, 2, 3)), "is not a set of columns"),
        ("KDB", "extra", _tuples((0, 1, 2), (0, 1, 2)), "a set of columns is named twice"),
        ("KDB", "order", 1, "'joint' is uint32 of shape"),
        ("targets", "groups", _tuples((0, 1), (0, 1), (0, 1)), "are not groups of the classes, for each column"),
        ("targets", "groups", _tuples((0, 7), (0, 1), (0, 1), (0, 1)), "are not groups of the classes"),
        ("AODE", "reals", 1, "other distributions than those it was fitted with"),
        ("AODE", "n", 2, "n = 2 parents do not go with sets of 2 columns"),
        ("AODE", "min_count", 0, "'min_count' is not a number above 0"),
        ("AODE", "weighting", "mine", "weighting must be None or 'information'"),
        ("Bayes", "parts", _tuples(), "it has no components"),
        ("Bayes", "boosting", 99, "'boosting' is 99"),
        (
            "counts",
            "alpha",
            [1.0, 2.0, 3.0],
            r"alpha has the shape \(3,\) for 2 columns|other distributions|is not one",
        ),
        ("codes", "min_categories", [3, 3, 3], r"min_categories has the shape \(3,\)|other distributions|is not one"),
    ],
)
def test_options_of_distributions_made_with_care(model: str, option: str, value: Any, message: str) -> None:
    found = said(changed(f"distributions/0/options/{option}", value, NETWORKS[model]))
    assert re.search(message, found), found


@pytest.mark.parametrize(
    ("model", "attribute", "value", "message"),
    [
        ("weighted", "class_weight_", [1.0, 2.0], "class_weight_ is no dict|cannot"),
        ("weighted", "class_weight_", {"dict": [["p", -1.0], ["q", 1.0]]}, "weight"),
        ("targets", "_several", _tuples((), ()), "its targets are not names with labels"),
    ],
)
def test_attributes_made_with_care(model: str, attribute: str, value: Any, message: str) -> None:
    found = said(changed(f"model/attributes/{attribute}", value, NETWORKS[model]))
    assert re.search(message, found), found


@pytest.mark.parametrize("value", [np.nan, -1.0, np.inf])
def test_counts_with_weights_that_no_table_has(value: float) -> None:
    """Counts of weighted rows are numbers; others are whole, and can be nothing else."""
    rows = [["ab"[i % 2], "uvw"[i % 3]] for i in range(12)]
    model = tb.TAN().fit(rows, ["p", "q"] * 6, sample_weight=np.linspace(0.5, 1.5, 12))
    assert "'joint' holds NaN, an infinity or a negative number" in said(poked(model, "joint", value))


def test_an_integer_of_very_many_digits() -> None:
    assert "holds an integer of more than" in refused(changed("model/parameters/alpha", -(1 << 5000)))


def test_weights_that_are_no_numbers_and_cuts_that_are_gone() -> None:
    header, arrays = parts(to_bytes(tb.GaussianNB().fit([[1.0], [2.0]], [True, False])))
    header["model"]["weight"], header["model"]["classes"] = header["model"]["classes"], header["model"]["weight"]
    assert "weight is an array of type bool, not of numbers" in refused(assemble(header, arrays))
    cut = tb.NaiveBayes("width").fit([[1.0], [2.0], [3.0], [4.0]], ["p", "q", "p", "q"])
    assert "has no cuts" in refused(changed("model/schema/cuts", [], cut))
