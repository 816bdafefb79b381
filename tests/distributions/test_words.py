"""Texts by their words: beside CountVectorizer and scikit-learn's classifiers, and beside fits without a row."""

from __future__ import annotations

import json
import pickle
import sys
import unicodedata
import warnings
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import sklearn.naive_bayes as sk
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_matrix
from sklearn.feature_extraction.text import CountVectorizer
from threadpoolctl import threadpool_limits

from tallybayes import TAN, NaiveBayes, _core, load, merge_all, save
from tallybayes.data.schema import Levels
from tallybayes.distributions import Words
from tallybayes.distributions.context import Context
from tallybayes.distributions.text.word_counts import WordStatistics
from tallybayes.errors import (
    ForgetError,
    MergeError,
    OptionError,
    SharedWordsWarning,
    TableError,
    TallybayesError,
    TextColumnWarning,
)
from tests.command_line import run
from tests.quick import examples

PEERS = {"multinomial": sk.MultinomialNB, "complement": sk.ComplementNB, "bernoulli": sk.BernoulliNB}
WAYS = [*((model, False) for model in PEERS), ("multinomial", True), ("complement", True)]  # and length_normalized
MAIL = [
    "Free money now!", "WIN free money", "free free lunch money", "win a prize, win money",
    "lunch at noon?", "See you at noon", "minutes of the meeting", "are you at the meeting at noon",
]  # fmt: skip
KIND = ["spam"] * 4 + ["ham"] * 4
# Letters, marks and signs that have been in Unicode since 2002: what they are does not change with Python's version.
OLD = [chr(i) for i in range(sys.maxunicode + 1) if unicodedata.ucd_3_2_0.category(chr(i)) not in ("Cn", "Cs", "Co")]
LIVELY = "abcAB éÉßſİıΣσςΔдЖ_'.-: \n\t09中文字ไทยかな😀\u0301\u00ad\u200d"
texts = st.lists(
    st.one_of(
        st.text(st.sampled_from(LIVELY), max_size=40),
        st.text(st.sampled_from(OLD), max_size=20),
        st.text(st.sampled_from("ab cd"), max_size=30),
    ),
    min_size=2,
    max_size=12,
)


def words_of(
    text: str, analyzer: str = "word", ngrams: tuple[int, int] = (1, 1), lowercase: bool = True
) -> Counter[str]:
    return Counter(_core.words_of(text, analyzer, *ngrams, lowercase))


# --- words ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "options", [{}, {"ngram_range": (1, 3)}, {"analyzer": "char", "ngram_range": (1, 3)}, {"lowercase": False}]
)
@settings(max_examples=examples(60), deadline=None)
@given(rows=texts)
def test_words_are_those_of_count_vectorizer(options: dict[str, Any], rows: list[str]) -> None:
    analyze = CountVectorizer(**options).build_analyzer()
    analyzer, ngrams = options.get("analyzer", "word"), options.get("ngram_range", (1, 1))
    for text in rows:
        assert words_of(text, analyzer, ngrams, options.get("lowercase", True)) == Counter(analyze(text))


@pytest.mark.skipif(unicodedata.unidata_version != "14.0.0", reason="the tables are those of Unicode 14")
def test_every_character_is_as_python_has_it() -> None:
    analyze = CountVectorizer().build_analyzer()
    for i in range(sys.maxunicode + 1):
        if not 0xD800 <= i < 0xE000:
            text = f"A{chr(i)}Σb{chr(i)}{chr(i)}"
            assert _core.words_of(text, "word", 1, 1, True) == analyze(text), hex(i)


@settings(max_examples=examples(60), deadline=None)
@given(rows=texts)
def test_every_way_to_hold_a_text_gives_the_same_words(rows: list[str]) -> None:
    """Characters of 1, 2 and 4 bytes in Python, UTF-8 in Arrow."""
    rows = [*rows, "Ascii Only", "naïve Über", "Δελτα Σας", "😀 Emoji Text"]
    plain = _core.word_counts(rows, _core.LevelList(), True, "auto", (1, 1), True, (1 << 20, 1))
    for column in (
        pa.array(rows),
        pa.array(rows, pa.large_string()),
        pl.Series(rows),
        pa.array(rows, pa.string_view()),
    ):
        other = _core.word_counts(column, _core.LevelList(), True, "auto", (1, 1), True, (1 << 20, 1))
        assert other[3].labels() == plain[3].labels()
        assert all(np.array_equal(a, b) for a, b in zip(other[:3], plain[:3], strict=True))


def test_a_script_without_spaces_is_read_by_characters() -> None:
    assert words_of("我爱北京ok 天安 门", "auto") == Counter(
        ["我", "爱", "北", "京", "我爱", "爱北", "北京", "ok", "天", "安", "天安", "门"]
    )
    assert words_of("我爱北京ok", "word") == Counter(["我爱北京ok"])
    assert words_of("한국어 단어", "auto") == Counter(["한국어", "단어"])  # Korean has spaces
    assert words_of("one 二 three four", "auto", (1, 2)) == Counter(["one", "二", "three", "four", "three four"])


def test_half_a_surrogate_pair_is_no_letter() -> None:
    assert words_of("ab\ud800cd") == Counter(["ab", "cd"])
    assert words_of("a\ud800", "char") == Counter(["a", "\ufffd"])


def test_nul_and_long_texts() -> None:
    assert words_of("ab\x00cd ef") == Counter(["ab", "cd", "ef"])
    long = "word " * 2_000_000 + "x" * 1_000_000
    values, _, indptr, levels, _ = _core.word_counts(
        [long, "word"], _core.LevelList(), True, "auto", (1, 1), True, (9, 1)
    )
    assert values.dtype == np.int32
    assert values.tolist() == [1, 2_000_000, 1, 1, 1]
    assert indptr.tolist() == [0, 3, 5]
    assert len(levels.labels()[1]) == 1_000_000


def test_any_number_of_threads_numbers_the_words_alike() -> None:
    rng = np.random.default_rng(0)
    rows = [" ".join(f"w{k}" for k in rng.zipf(1.3, 40) % 50_000) for _ in range(4000)]
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            found.append(_core.word_counts(rows, _core.LevelList(), True, "word", (1, 2), True, (9999, 7)))
    first = found[0]
    for other in found[1:]:
        assert other[3].labels() == first[3].labels()
        assert all(np.array_equal(a, b) for a, b in zip(other[:3], first[:3], strict=True))
    order = list(dict.fromkeys(w for text in rows for w in _core.words_of(text, "word", 1, 1, True)))
    numbered = _core.word_counts(rows, _core.LevelList(), True, "word", (1, 1), True, (1 << 20, 7))[3].labels()
    assert list(numbered) == order


# --- models --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", PEERS)
@pytest.mark.parametrize("ngrams", [(1, 1), (1, 2)])
@settings(max_examples=examples(40), deadline=None)
@given(rows=texts, asked=texts, data=st.data())
def test_same_answers_as_scikit_learn(
    model: str, ngrams: tuple[int, int], rows: list[str], asked: list[str], data: st.DataObject
) -> None:
    y = data.draw(st.lists(st.sampled_from("abc"), min_size=len(rows), max_size=len(rows)))
    w = np.array(data.draw(st.lists(st.sampled_from([1.0, 2.0, 0.5]), min_size=len(rows), max_size=len(rows))))
    vectorizer = CountVectorizer(ngram_range=ngrams)
    try:
        X = vectorizer.fit_transform(rows)
    except ValueError:  # an empty vocabulary
        return
    if len(set(y)) < 2:
        return
    peer = PEERS[model](alpha=0.7).fit(X, y, sample_weight=w)
    ours = NaiveBayes(Words(model, ngrams, "word", alpha=0.7)).fit(rows, y, sample_weight=w)
    assert ours.schema_.kinds == ("text",)
    expected = peer.predict_joint_log_proba(vectorizer.transform(asked))
    if model == "complement":  # scikit-learn leaves the prior out
        expected = expected + np.log(ours.class_count_ / ours.class_count_.sum())
    np.testing.assert_allclose(ours.predict_joint_log_proba(asked), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("model", "normalized"), WAYS)
@pytest.mark.parametrize("weighted", [False, True])
def test_left_out_is_a_fit_without_the_row(model: str, normalized: bool, weighted: bool) -> None:
    rows = [*MAIL, "", None, "unique words only here", "noon noon noon free", "noon at lunch " * 5]
    y = [*KIND, "ham", "spam", "spam", "ham", "ham"]
    how = Words(model, alpha=0.5, length_normalized=normalized)
    w = np.linspace(0.25, 1.0, len(rows)) if weighted else np.ones(len(rows))
    whole = NaiveBayes({"x0": how}).fit(_frame(rows), y, sample_weight=w)
    found = whole.predictor_.fitted
    term = found.terms[0]
    codes = np.array([found.classes.tolist().index(v) for v in y], dtype=np.int32)
    data = whole.predictor_.read(_frame(rows)).of(term)
    left = term.distribution.leave_one_out(data, codes, w, term.statistics, term.params, found.context(term))
    for i, text in enumerate(rows):
        keep = [j for j in range(len(rows)) if j != i]
        less = NaiveBayes({"x0": how})
        less.fit(_frame([rows[j] for j in keep]), [y[j] for j in keep], sample_weight=w[keep])
        expected = less.predictor_.likelihood(less.predictor_.read(_frame([text])))
        np.testing.assert_allclose(left[i], expected[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["multinomial", "complement"])
def test_a_long_text_counts_as_fewer_words(model: str) -> None:
    plain, normal = (NaiveBayes(Words(model, length_normalized=on)).fit(MAIL, KIND) for on in (False, True))
    for asked, length in (("free lunch", 2), ("free lunch unheard of", 2), ("free lunch " * 50, 100)):
        log = plain.predictor_.likelihood(plain.predictor_.read([asked]))
        expected = log * min(1.0, 3.5 / length**0.75)
        np.testing.assert_allclose(normal.predictor_.likelihood(normal.predictor_.read([asked])), expected, rtol=1e-12)


def test_naive_bayes_normalizes_the_length_of_texts_by_itself() -> None:
    """A class whose texts repeat their words: naive Bayes without it is sure, and wrong about how often."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 400)
    usual = rng.dirichlet(np.full(40, 0.5), size=2)
    rows = [
        " ".join(f"w{v}" for v in np.repeat(rng.choice(40, 12, p=0.2 * usual[k] + 0.8 * usual.mean(axis=0)), 20))
        for k in y
    ]

    def loss(model: NaiveBayes) -> float:
        log = model.fit(rows[:200], y[:200]).predict_log_proba(rows[200:])
        return float(-log[np.arange(200), y[200:]].mean())

    assert loss(NaiveBayes()) < 0.5 * loss(NaiveBayes(Words()))
    assert loss(NaiveBayes()) == loss(NaiveBayes({"text": "words"}))


def _frame(rows: list[Any]) -> pd.DataFrame:
    return pd.DataFrame({"x0": pd.Series(rows, dtype=object)})


def test_what_has_no_text_has_no_evidence() -> None:
    model = NaiveBayes({"body": "words"}).fit(pd.DataFrame({"body": MAIL}), KIND)
    for text in (None, "", "?!", "xyzzy plugh"):
        assert model.predict_proba(pd.DataFrame({"body": pd.Series([text], dtype=object)})).tolist() == [[0.5, 0.5]]
    bernoulli = NaiveBayes({"body": Words("bernoulli")}).fit(pd.DataFrame({"body": MAIL}), KIND)
    missing, empty = bernoulli.predict_proba(pd.DataFrame({"body": pd.Series([None, ""], dtype=object)}))
    assert missing.tolist() == [0.5, 0.5]
    assert empty.tolist() != [0.5, 0.5]


def test_texts_without_any_word_can_be_learned() -> None:
    model = NaiveBayes({"body": "words"}).fit([{"body": ""}, {"body": "?"}, {"body": None}], ["a", "b", "b"])
    assert model.predict_proba([{"body": "anything"}]).round(3).tolist() == [[0.333, 0.667]]
    assert model.partial_fit([{"body": "now words"}], ["a"]).predict([{"body": "words"}]).tolist() == ["a"]


# --- adding --------------------------------------------------------------------------------------------------------


def _same(a: NaiveBayes, b: NaiveBayes, asked: Any) -> None:
    np.testing.assert_allclose(a.predict_log_proba(asked), b.predict_log_proba(asked), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("model", "normalized"), WAYS)
@settings(max_examples=examples(30), deadline=None)
@given(rows=texts, data=st.data())
def test_laws(model: str, normalized: bool, rows: list[str], data: st.DataObject) -> None:
    """Merge, forget, batches, weights and permutations."""
    n = len(rows)
    y = np.array(data.draw(st.lists(st.sampled_from("ab"), min_size=n, max_size=n)))
    cut = data.draw(st.integers(1, n - 1))
    order = np.array(data.draw(st.permutations(range(n))))
    if len(set(y[:cut])) < 2 or len(set(y[cut:])) < 2:
        return
    column, asked = np.array(rows, dtype=object), [*rows, "free money", " ".join(rows)]

    def fit(which: Any, w: Any = None) -> NaiveBayes:
        return NaiveBayes(Words(model, length_normalized=normalized)).fit(column[which], y[which], sample_weight=w)

    whole, head, tail = fit(slice(None)), fit(slice(cut)), fit(slice(cut, None))
    _same(whole, merge_all([head, tail]), asked)
    _same(whole, merge_all([tail, head]), asked)
    _same(whole, head.copy().partial_fit(column[cut:], y[cut:]), asked)
    _same(head, whole.copy().forget(column[cut:], y[cut:]), asked)
    _same(whole, fit(order), asked)
    _same(fit(slice(None), np.r_[np.full(cut, 2.0), np.ones(n - cut)]), merge_all([whole, head]), asked)
    _same(head, fit(slice(None), np.r_[np.ones(cut), np.zeros(n - cut)]), asked)


def test_words_that_are_forgotten_are_gone() -> None:
    first = NaiveBayes().fit([{"body": t} for t in MAIL], KIND)
    again = first.copy().partial_fit([{"body": "brand new words"}], ["spam"])
    assert len(again.schema_.levels[0]) == len(first.schema_.levels[0]) + 3
    _same(first, again.forget([{"body": "brand new words"}], ["spam"]), [{"body": "brand new free money"}])
    with pytest.raises(ForgetError):
        first.forget([{"body": "never learned"}], ["spam"])


def test_decay_makes_old_words_count_less() -> None:
    model = NaiveBayes(Words(alpha=0.5)).fit(MAIL, KIND).decay(0.5)
    _same(model, NaiveBayes(Words(alpha=0.5)).fit(MAIL, KIND, sample_weight=np.full(8, 0.5)), MAIL)


def test_models_that_count_other_words_do_not_merge() -> None:
    one, two = NaiveBayes(Words()).fit(MAIL, KIND), NaiveBayes(Words(ngrams=(1, 2))).fit(MAIL, KIND)
    with pytest.raises(MergeError):
        one.merge(two)


def test_more_words_than_the_bound_share_cells() -> None:
    rows = [f"common word{i:03d} number{i % 7}" for i in range(100)]
    y = ["a", "b"] * 50
    with pytest.warns(SharedWordsWarning, match="more than 24 words"):
        model = NaiveBayes(Words(max_words=24)).fit(rows, y)
    words = model.schema_.levels[0].labels
    own, cells = [w for w in words if isinstance(w, str)], [w for w in words if not isinstance(w, str)]
    assert len(own) == 24
    assert set(cells) == {0, 1, 2}
    assert {"common", *(f"number{i}" for i in range(7))} <= set(own)  # the most frequent stay
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.partial_fit(rows, y)  # it was said once
    before = model.predict_log_proba(rows)
    more = [f"another{i}" for i in range(50)]
    model.partial_fit(more, ["a"] * 50).forget(more, ["a"] * 50)
    np.testing.assert_allclose(model.predict_log_proba(rows), before, rtol=1e-9)
    with pytest.warns(SharedWordsWarning):
        first, second = [NaiveBayes(Words(max_words=24)).fit(rows[s], y[s]) for s in (slice(50), slice(50, None))]
    both = first.merge(second)
    assert sum(isinstance(w, str) for w in both.schema_.levels[0].labels) == 24
    assert both.predictor_.fitted.terms[0].statistics.count.sum() == 300  # no word is lost


# --- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make",
    [
        list,
        tuple,
        np.array,
        lambda t: np.array(t, dtype=object),
        lambda t: pd.Series(t, name="body"),
        lambda t: pl.Series("body", t),
        lambda t: pa.chunked_array([t[:3], t[3:]]),
        lambda t: pd.DataFrame({"body": t}),
        lambda t: pl.DataFrame({"body": t}),
        lambda t: pa.table({"body": t}),
        lambda t: pa.table({"body": pa.array(t).dictionary_encode()}),
        lambda t: pd.DataFrame({"body": pd.Categorical(t)}),
        lambda t: [{"body": v} for v in t],
        lambda t: np.array(t, dtype=object).reshape(-1, 1),
    ],
)
def test_texts_in_any_table(make: Any) -> None:
    expected = NaiveBayes(schema="text").fit(MAIL, KIND).predict_proba(MAIL[::-1])
    model = NaiveBayes(schema="text").fit(make(MAIL), KIND)
    assert model.schema_.kinds == ("text",)
    assert np.array_equal(model.predict_proba(make(MAIL[::-1])), expected)


def test_text_beside_other_columns() -> None:
    rows = [{"body": t, "size": float(len(t)), "from": t[0]} for t in MAIL]
    model = NaiveBayes().fit(rows, KIND)
    assert model.schema_.kinds == ("text", "real", "categorical")
    assert [t.distribution.name for t in model.fitted_.terms] == ["words", "gaussian", "categorical"]
    alone = [
        NaiveBayes(schema={k: "text"} if k == "body" else None).fit([{k: r[k]} for r in rows], KIND) for k in rows[0]
    ]
    together = sum(m.predict_joint_log_proba([{k: r[k]} for r in rows]) for m, k in zip(alone, rows[0], strict=True))
    expected = together - 2 * alone[0].fitted_.estimate(None).log_prior
    np.testing.assert_allclose(model.predict_joint_log_proba(rows), expected)


def test_two_columns_of_text_have_words_of_their_own() -> None:
    rows = [{"title": t.split()[0], "body": t} for t in MAIL]
    model = NaiveBayes({"title": "words", "body": Words("complement")}).fit(rows, KIND)
    assert [t.columns for t in model.fitted_.terms] == [(0,), (1,)]
    assert len(model.schema_.levels[0]) < len(model.schema_.levels[1])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        (MAIL, True),
        (["red", "green"] * 10, False),
        (["New York", "Los Angeles"] * 10, False),
        ([f"{w} Smith" for w in ("Ann", "Bob", "Eve")], False),
        ([f"name{i} Smith" for i in range(30)], True),
        ([f"id-{i:08x}" for i in range(40)], False),
        ([f"2024-01-{1 + i % 28:02d} 12:{i:02d}:00" for i in range(40)], False),
        (["今天天气很好我们去公园", "这部电影非常好看推荐", "服务太差了不会再来这里"], True),
        (["北京", "上海", "广州"], False),
        ([None, *MAIL, None], True),
        (["one text of quite some words here"], True),
        (["two words"], False),
        ([None, None], False),
    ],
)
def test_what_is_taken_as_text(values: list[Any], text: bool) -> None:
    for table in (
        pd.DataFrame({"v": pd.Series(values, dtype=object)}),
        pl.DataFrame({"v": pl.Series(values, dtype=pl.String)}),
    ):
        kinds = NaiveBayes().fit(table, [0, 1] * (len(values) // 2) + [0] * (len(values) % 2)).schema_.kinds
        assert (kinds == ("text",)) is text
    said = NaiveBayes(schema={"v": "categorical"}).fit(table, [0] * len(values))
    assert said.schema_.kinds == ("categorical",)


def test_a_model_that_reads_no_text_refuses_it() -> None:
    rows = [{"body": t, "n": len(t)} for t in MAIL]
    with pytest.warns(TextColumnWarning, match="'body'"):
        assert TAN().fit(rows, KIND).schema_.kinds[0] == "categorical"
    with pytest.raises(OptionError, match="TAN does not read"):
        TAN(schema={"body": "text"}).fit(rows, KIND)


@pytest.mark.parametrize("bad", [3.5, True, b"bytes here"])
def test_what_is_no_text_is_refused(bad: Any) -> None:
    model = NaiveBayes(schema={"body": "text"}).fit([{"body": t} for t in MAIL], KIND)
    with pytest.raises(TableError, match="'body'"):
        model.predict([{"body": bad}])
    with pytest.raises(TableError, match="'body'"):
        model.partial_fit([{"body": "fine text"}, {"body": bad}], ["spam", "ham"])
    with pytest.raises(TableError, match=r"text|numbers"):
        NaiveBayes(schema="text").fit(np.ones((2, 1)), [0, 1])


def test_bytes_that_are_no_utf8_are_refused() -> None:
    raw = pa.StringArray.from_buffers(3, pa.py_buffer(np.array([0, 2, 4, 6], np.int32)), pa.py_buffer(b"ab\xff\xfecd"))
    with pytest.raises(TableError, match=r"not valid UTF-8 \(row 1\)"):
        NaiveBayes(schema={"body": "text"}).fit(pa.table({"body": raw}), [0, 1, 1])


@pytest.mark.parametrize(
    "options",
    [
        {"model": "poisson"}, {"analyzer": "line"}, {"ngrams": (0, 1)}, {"ngrams": (2, 1)}, {"ngrams": 2},
        {"lowercase": "yes"}, {"max_words": 0}, {"max_words": 1.5}, {"alpha": -1.0}, {"alpha": [1.0, 2.0]},
        {"model": "bernoulli", "alpha": 0.0}, {"length_normalized": 1},
        {"model": "bernoulli", "length_normalized": True},
    ],
)  # fmt: skip
def test_options_outside_what_is_allowed(options: dict[str, Any]) -> None:
    with pytest.raises(OptionError):
        Words(**options)


# --- keeping and drawing -------------------------------------------------------------------------------------------


def test_files_and_pickles(tmp_path: Path) -> None:
    model = NaiveBayes({"body": Words("complement", (1, 2), "char", max_words=40)})
    with pytest.warns(SharedWordsWarning):
        model.fit([{"body": t, "n": float(i)} for i, t in enumerate(MAIL)], KIND)
    save(model, tmp_path / "model")
    for counterpart in (load(tmp_path / "model"), pickle.loads(pickle.dumps(model))):
        assert counterpart.schema_ == model.schema_
        asked = [{"body": "free lunch at the meeting 😀"}, {"body": None}]
        assert np.array_equal(counterpart.predict_proba(asked), model.predict_proba(asked))
        counterpart.partial_fit([{"body": "and on it goes"}], ["ham"])


@pytest.mark.parametrize("model", PEERS)
def test_drawn_texts_are_of_the_words(model: str) -> None:
    fitted = NaiveBayes(Words(model)).fit(MAIL, KIND)
    X, y = fitted.sample(50, random_state=0)
    assert X.shape == (50, 1)
    assert {w for (t,) in X for w in t.split()} <= set(fitted.schema_.levels[0].labels)
    assert fitted.score(X, y) > 0.7


def test_describe_lists_the_words_of_a_class() -> None:
    found = NaiveBayes(schema="text").fit(pd.DataFrame({"body": MAIL}), KIND).describe("body")
    assert set(list(found["spam"])[:2]) == {"money", "free"}
    assert set(list(found["ham"])[:2]) == {"at", "noon"}
    assert all(0 < p < 1 for p in found["spam"].values())


def test_one_row_at_a_time() -> None:
    model = NaiveBayes().fit([{"body": t, "n": 1.0 * len(t)} for t in MAIL], KIND)
    assert "words" in model.one_row or model.one_row == "compiled"
    row = {"body": "free lunch", "n": 10.0}
    assert model.predict_proba_one(row) == dict(
        zip(["ham", "spam"], model.predict_proba([row])[0].tolist(), strict=True)
    )
    table = model.copy().partial_fit([row], ["spam"])
    model.learn_one(row, "spam")
    assert model.predict_proba_one(row) == dict(
        zip(["ham", "spam"], table.predict_proba([row])[0].tolist(), strict=True)
    )
    assert model.schema_ == table.schema_


# --- why -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("model", "normalized"), WAYS)
@pytest.mark.parametrize("labels", [KIND, ["a", "b", "c", "c", "a", "b", "c", "a"]])
def test_explain_names_the_words(model: str, normalized: bool, labels: list[str]) -> None:
    rows = [{"body": t, "size": float(len(t))} for t in MAIL]
    fitted = NaiveBayes({"body": Words(model, length_normalized=normalized)}).fit(rows, labels)
    found = fitted.explain([{"body": "free free lunch, xyzzy", "size": 9.0}, {"body": None}, {"body": "free " * 40}])
    np.testing.assert_allclose(found.words(2).values.sum(axis=1)[0], found.values.sum(axis=1)[2], atol=1e-12)
    words = found.words(0)
    assert words.names == ("body 'free' ×2" if model != "bernoulli" else "body 'free'", "body 'lunch'", "size") or (
        model == "bernoulli" and words.names[0] == "body no word"
    )
    np.testing.assert_allclose(words.probability[0], found.probability[0])
    np.testing.assert_allclose(words.values.sum(axis=1)[0], found.values.sum(axis=1)[0], atol=1e-12)
    assert "'free'" in found.text(0)
    assert "xyzzy" not in found.text(0)
    assert found.words(1).names == ("size",)
    assert set(words.frame("dict")["feature"]) == {"(prior)", *words.names}


@pytest.mark.parametrize("name", ["naive-text", "bayes-text"])
def test_explain_is_unchanged(name: str) -> None:
    golden = Path(__file__).parents[1] / "golden" / name
    expected = json.loads(golden.with_suffix(".json").read_text(encoding="utf-8"))
    found = load(golden.with_suffix(".tb")).explain(expected["rows"])
    assert [found.text(i) for i in range(len(expected["rows"]))] == expected["explained"]
    assert "'free' ×2" in expected["explained"][0]


def test_explain_of_a_sparse_matrix_takes_names() -> None:
    vectorizer = CountVectorizer()
    X = vectorizer.fit_transform(MAIL)
    model = NaiveBayes("multinomial").fit(X, KIND)
    names = vectorizer.get_feature_names_out()
    assert "free = 1" in model.explain(X[:1], feature_names=names).text()
    assert set(model.explain(feature_names=names).names) == set(names)
    with pytest.raises(OptionError, match="one for each column"):
        model.explain(X, feature_names=names[1:])
    with pytest.raises(OptionError, match="knows the names"):
        NaiveBayes().fit([{"a": 1.5}, {"a": 2.5}], [0, 1]).explain([{"a": 1.0}], feature_names=["b"])


# --- sums that no rows can have, and the command line --------------------------------------------------------------


@pytest.mark.parametrize(
    ("count", "rows", "words", "options"),
    [
        ([[1.0, -1.0]], [1.0], ["aa", "bb"], {}),
        ([[1.0, np.nan]], [1.0], ["aa", "bb"], {}),
        ([[1.0, 1.0, 1.0]], [1.0], ["aa", "bb"], {}),
        ([[1.0]], [1.0, 1.0], ["aa"], {}),
        ([[1.0]], [1.0], [3.5], {}),
        ([[1.0]], [1.0], [7], {"max_words": 8}),  # there is one cell
        ([[2.0]], [1.0], ["aa"], {"model": "bernoulli"}),
    ],
)
def test_sums_that_no_rows_can_have_are_refused(count: Any, rows: Any, words: Any, options: dict[str, Any]) -> None:
    statistics = WordStatistics(np.array(count), np.array(rows))
    with pytest.raises(ValueError, match=r"word|count|rows|expected|texts"):
        Words(**options).check(statistics, Context(np.ones(1), [Levels(words)]))
    with pytest.raises(ValueError, match="one column"):
        Words().check(statistics, Context(np.ones(1), [None]))


def test_a_text_column_of_a_file(tmp_path: Path) -> None:
    table = pd.DataFrame({"body": [*MAIL, ""], "kind": [*KIND, "ham"]})
    table.to_csv(tmp_path / "mail.csv", index=False)
    model = tmp_path / "model"
    run("fit", tmp_path / "mail.csv", "-t", "kind", "-m", "NaiveBayes", "--kind", "body=text", "-o", model)
    assert load(model).schema_.kinds == ("text",)
    (tmp_path / "ask.csv").write_text("body\nfree prize money\nnoon\n12\n", encoding="utf-8")
    said = run("predict", model, tmp_path / "ask.csv").stdout.split()
    assert [v.strip('"') for v in said] == ["prediction", "spam", "ham", "ham"]
    assert "'free'" in run("explain", model, tmp_path / "ask.csv").stdout


# --- a table is counted some rows at a time ------------------------------------------------------------------------


def _containers(texts: list[str | None]) -> dict[str, object]:
    return {
        "list": texts,
        "objects": pd.DataFrame({"body": pd.Series(texts, dtype=object, index=range(7, 7 + len(texts)))}),
        "pandas": pd.DataFrame({"body": pd.Series(texts, dtype="string[pyarrow]", index=range(7, 7 + len(texts)))}),
        "category": pd.DataFrame({"body": pd.Series(texts, dtype="category")}),
        "polars": pl.DataFrame({"body": texts}),
        "arrow": pa.table({"body": pa.chunked_array([texts[:11], texts[11:]], pa.string())}),
    }


def _many(n: int = 1500) -> list[str | None]:
    """Texts of several blocks and rounds, with new words to the end."""
    rng = np.random.default_rng(3)
    texts: list[str | None] = [
        " ".join(f"word{k}" for k in rng.zipf(1.4, rng.integers(0, 40)) % 9999) for _ in range(n)
    ]
    texts[4] = texts[n - 9] = None
    return texts


@pytest.mark.parametrize("model", PEERS)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", ["list", "objects", "pandas", "category", "polars", "arrow"])
def test_sums_while_reading_are_those_of_the_counts(model: str, weighted: bool, kind: str) -> None:
    texts, rng = _many(), np.random.default_rng(5)
    y, w = rng.integers(0, 3, len(texts)), rng.integers(0, 4, len(texts)).astype(float) if weighted else None
    X = _containers(texts)[kind]
    settled: dict[str, Any] = {} if kind == "list" else {"schema": {"body": "text"}}
    fitted = NaiveBayes(Words(model), **settled).fit(X, y, w).fitted_
    (term,), schema = fitted.terms, fitted.schema
    values, index, start, levels, _ = _core.word_counts(
        texts, _core.LevelList(), True, "auto", (1, 1), True, (1 << 20, 1)
    )
    assert schema.levels[0].labels == levels.labels()
    counts = csr_matrix((values, index, start), shape=(len(texts), 1 + len(levels))).toarray().astype(float)
    counts = np.minimum(counts, 1.0) if model == "bernoulli" else counts
    expected = np.stack([(counts * (1.0 if w is None else w[:, None]))[y == k].sum(axis=0) for k in range(3)])
    assert np.array_equal(term.statistics.count, expected[:, 1:])
    assert np.array_equal(term.statistics.rows, expected[:, 0])


def test_sums_while_reading_are_the_same_bits_for_any_number_of_threads() -> None:
    texts, rng = _many(), np.random.default_rng(6)
    y, w = rng.integers(0, 3, len(texts)), rng.random(len(texts))
    statistics = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads):
            statistics.append(NaiveBayes("words").fit(texts, y, w).fitted_)
    for other in statistics[1:]:
        assert np.array_equal(other.terms[0].statistics.count, statistics[0].terms[0].statistics.count)
        assert other.schema.levels[0].labels == statistics[0].schema.levels[0].labels


@pytest.mark.parametrize(("model", "normalized"), WAYS)
@pytest.mark.parametrize("most", [1 << 19, 40])
@pytest.mark.parametrize("kind", ["objects", "pandas", "category", "polars", "arrow"])
@pytest.mark.filterwarnings("ignore::tallybayes.errors.SharedWordsWarning")
def test_scores_while_reading_are_those_of_the_counts(model: str, normalized: bool, most: int, kind: str) -> None:
    texts = _many()
    y = np.random.default_rng(5).integers(0, 3, len(texts))
    X = _containers([*texts, "never met words", "", "word1 " * 300])[kind]
    learned = _containers(texts)[kind]
    how = Words(model, max_words=most, length_normalized=normalized)
    fitted = NaiveBayes(how, schema={"body": "text"}).fit(learned, y)
    predictor = fitted.predictor_
    rows = predictor.read(X)
    (term,) = predictor.fitted.terms
    found = predictor.likelihood(rows)
    counted = replace(rows, data={term.columns[0]: rows.of(term).counted})
    assert np.array_equal(found, predictor.likelihood(counted))
    with threadpool_limits(1):
        assert np.array_equal(found, predictor.likelihood(predictor.read(X)))


def test_weights_beyond_all_numbers_still_choose_a_class() -> None:
    model = NaiveBayes(Words(weight=1e306)).fit(["aa bb", "aa cc"], [0, 1])
    assert model.predict(["bb " * 999, "cc " * 999]).tolist() == [0, 1]


def test_too_many_words_are_shared_in_the_proportions_of_all_rows() -> None:
    texts = [f"one two rare{i} seldom{i % 17}" for i in range(400)]
    y = np.arange(400) % 2
    with pytest.warns(SharedWordsWarning):
        model = NaiveBayes(Words(max_words=19)).fit(texts, y)
    own = {w for w in model.schema_.levels[0].labels if isinstance(w, str)}
    assert own == {"one", "two", *(f"seldom{i}" for i in range(17))}


@pytest.mark.parametrize("rows", [30, 3000])
def test_a_text_that_is_none_is_named_by_its_row(rows: int) -> None:
    raw = [b"some words"] * rows
    fine = pa.table({"body": pa.array([v.decode() for v in raw])})
    raw[rows - 10] = raw[rows - 4] = b"\xff\xfe"
    bad = pa.table({"body": pa.Array.from_buffers(pa.string(), rows, pa.array(raw, pa.binary()).buffers())})
    model = NaiveBayes(schema={"body": "text"}).fit(fine, np.arange(rows) % 2)
    before = model.predict_proba(fine)
    for ask in (model.predict_proba, model.explain, lambda X: model.partial_fit(X, np.arange(rows) % 2)):
        with pytest.raises(TableError, match=rf"'body'.*not valid UTF-8 \(row {rows - 10}\)"):
            ask(bad)
    assert np.array_equal(model.predict_proba(fine), before)


def test_sums_of_words_that_overflow_are_refused() -> None:
    with pytest.raises(TallybayesError):
        NaiveBayes("words").fit(["aa bb", "aa cc", "aa aa"], [0, 1, 1], sample_weight=[1e308, 1e308, 1e308])
