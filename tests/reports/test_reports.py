"""The report as a file: what it says, of any model and any rows. In a browser: tests/web."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
import warnings
from html import unescape
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import tallybayes as tb
from tallybayes.errors import LabelError, OptionError, TableError
from tallybayes.reports import effects, page, performance, pictures, predicted_rows, report, slices, verdict
from tallybayes.reports.controls import interval_order, usual_values
from tallybayes.reports.html import level, number, share, table
from tests.every_estimator import ESTIMATORS, LEARNED, labels, mixed

EVERY = {**ESTIMATORS, **LEARNED}


def text_of(html: str) -> str:
    """What a reader sees."""
    body = re.sub(r"<(script|style)[^>]*>.*?</\1>", " ", html.replace("<wbr>", ""), flags=re.DOTALL)
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", " ", body))


@pytest.mark.parametrize("name", EVERY)
def test_every_model_has_a_report(name: str) -> None:
    make, data = EVERY[name]
    rng = np.random.default_rng(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = make().fit(data(rng, 60), labels(rng, 60))
        html = report(model, data(rng, 40), labels(rng, 40)).html
    assert len(html) < 2_000_000
    for head in (
        "Verdict",
        "Performance",
        "Calibration",
        "Confusion matrix",
        "What if?",
        "Effect of each column",
    ):
        assert f">{head}</h2>" in html
    assert 'id="play"' in html


@pytest.mark.parametrize("parts", [("gaussian",), ("neighbors", "target_encoding")])
def test_a_model_that_draws_nothing_has_a_report(parts: Any) -> None:
    rng = np.random.default_rng(1)
    X, y = mixed(rng, 60), labels(rng, 60)
    html = report(tb.BayesClassifier(parts=parts).fit(X, y), X, y).html
    assert 'id="play"' in html


def test_nothing_is_asked_of_anybody() -> None:
    model = tb.NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1])
    html = unescape(page(model))
    assert "default-src 'none'" in html
    assert "connect-src 'none'" in html
    assert "unsafe" not in html
    assert not re.search(r'(?:src|href)="(?!#)', html)
    assert "connect-src 'self'" in unescape(page(model, refresh="model.json"))


def test_figures_are_those_of_evaluate() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 2)) + np.repeat([[0.0], [1.0]], 100, axis=0)
    y = np.repeat(["a", "b"], 100)
    model = tb.GaussianNB().fit(X[::2], y[::2])
    said = text_of(report(model, X[1::2], y[1::2]).html)
    accuracy = (model.predict(X[1::2]) == y[1::2]).mean()
    assert f"this model {accuracy:.4f} ±" in said
    assert "logistic regression, 5-fold cross-validated on these rows, " in said
    assert "not the rows that the model learned" in said
    assert "the prior alone 0.5000 ± 0.0500" in said


def test_learned_rows_are_judged_without_themselves() -> None:
    rows_, ripe = tb.datasets.load_watermelon()
    model = tb.NaiveBayes().fit(rows_, ripe)
    said = text_of(report(model, rows_, ripe).html)
    alone = model.leave_one_out(rows_, ripe).argmax(axis=1)
    accuracy = (model.classes_[alone] == np.asarray(ripe)).mean()
    assert f"this model, leave-one-out {accuracy:.4f} ±" in said
    assert "the rows that it learned (too optimistic)" in said
    assert "leave-one-out" not in text_of(report(model, rows_[:9], ripe[:9]).html)


def test_redundant_columns_missing_values_and_levels() -> None:
    X = pd.DataFrame(
        {"km": [1.0, 2.0, 3.0, 4.0] * 5, "miles": [0.62, 1.24, 1.86, 2.48] * 5, "who": ["a", None, "b", "a"] * 5}
    )
    said = text_of(report(tb.NaiveBayes().fit(X, [0, 1] * 10), X, [0, 1] * 10).html)
    assert "of which one is enough: km and miles" in said
    assert "5 (25.0%)" in said
    assert "a (67%), b (33%)" in said


def test_thresholds_count_what_their_names_mean() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 1)), rng.integers(0, 2, 80)
    model = tb.GaussianNB().fit(X, y)
    judged = predicted_rows.judge(model, X, y)
    found = performance.thresholds(judged, 2)
    p = np.exp(judged.log_proba[:, 1])
    for i in (0, 37, 50, 100):
        assert found["each"][1]["missed"][i] == ((p < i / 100) & (y == 1)).sum()
        assert found["each"][1]["alarms"][i] == ((p >= i / 100) & (y == 0)).sum()
    t, cost = performance.best_threshold(found["each"][1], 3.0)
    grid = [3 * ((p < c) & (y == 1)).sum() + ((p >= c) & (y == 0)).sum() for c in np.linspace(0, 1, 101)]
    assert cost == min(grid)
    assert grid[round(t * 100)] == min(grid)


def test_what_the_page_cannot_predict_is_noted() -> None:
    model = tb.NaiveBayes().fit([{"a": b"x"}, {"a": b"y"}], [0, 1])
    for html in (page(model), report(model).html):
        assert "This page cannot compute predictions: Column &#x27;a&#x27; has the label" in html
        assert 'id="play"' not in html


def test_odd_tables() -> None:
    one = tb.NaiveBayes().fit([{"a": 1.0}], ["only"])
    assert "only" in text_of(report(one, [{"a": 2.0}], ["only"]).html)
    empty = pd.DataFrame({"a": [np.nan] * 6, "b": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tb.NaiveBayes().fit(empty, list("xyxyxy"))
        assert "all missing" in text_of(report(model, empty, list("xyxyxy")).html)
    many = np.arange(120) % 40
    wide = tb.GaussianNB().fit(np.random.default_rng(0).normal(size=(120, 2)), many)
    said = text_of(report(wide, np.random.default_rng(1).normal(size=(120, 2)), many).html)
    assert "most frequent confusions" in said
    assert "Recall and precision of each class class rows recall precision" in said
    assert "Of the 6 most frequent classes." in said
    words = tb.MultinomialNB().fit(np.eye(300), np.arange(300) % 2)
    assert "24 most informative columns of 300" in text_of(report(words).html)


def test_wrong_calls_are_refused() -> None:
    model = tb.NaiveBayes().fit([{"a": "x"}, {"a": "y"}], [0, 1])
    with pytest.raises(OptionError, match="together"):
        report(model, [{"a": "x"}])
    with pytest.raises(TableError, match="0 sample"):
        report(model, pd.DataFrame({"a": []}), [])
    with pytest.raises(LabelError, match="does not know"):
        report(model, [{"a": "x"}], [7])
    with pytest.raises(OptionError, match="page"):
        report(model.predictor_)
    assert "What if?" in page(model.predictor_)


def test_a_sample_of_many_rows(monkeypatch: Any) -> None:
    monkeypatch.setattr(predicted_rows, "MOST_ROWS", 50)
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(90, 2)), rng.integers(0, 2, 90)
    assert "50 of 90 rows, drawn at random" in text_of(report(tb.GaussianNB().fit(X, y), X, y).html)


def test_the_baseline_is_left_out_where_a_part_has_one_class() -> None:
    """Chance may put all five rows of a class into one part of the five."""
    part = np.random.default_rng(0).permutation(np.arange(25) % 5)
    X, y = np.random.default_rng(1).normal(size=(25, 2)), np.where(part == 3, "rare", "common")
    assert "left out: a part of the rows has one class only" in text_of(report(tb.GaussianNB().fit(X, y), X, y).html)


def test_a_model_too_large_for_a_page_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tallybayes.reports.whatif.MOST_BYTES", 1_000)
    X = pd.DataFrame({"a": [f"a level with a long name, the {i}th" for i in range(10_000)] * 2})
    model = tb.NaiveBayes(schema={"a": "categorical"}).fit(X, np.arange(20_000) % 2)
    for html in (page(model), report(model).html):
        assert re.search(r"The tables of this model take \d+\.\d MB, and a page holds 0 MB of them", html)


def test_a_number_that_no_row_had_has_a_slider_from_0_to_1() -> None:
    html = page(tb.KernelNB().fit([[1.0, np.nan], [2.0, np.nan], [4.0, np.nan]], ["a", "b", "a"]))
    found = re.search(r'"controls":\s*\{"columns":\s*(\[.*?\])', html)
    assert found is not None
    assert json.loads(found[1])[1] == {"start": 0.0, "low": 0.0, "high": 1.0, "step": 0.01}


def test_a_column_of_one_value_has_nowhere_to_slide_to() -> None:
    rows = [{"a": float(i), "b": 3.7} for i in range(10)]
    html = report(tb.GaussianNB().fit(rows, list("xy") * 5), rows, list("xy") * 5).html
    found = re.search(r'"controls":\s*\{"columns":\s*(\[.*?\])', html)
    assert found is not None
    one = json.loads(found[1])[1]
    assert one["low"] == one["high"] == one["start"] == 3.7
    assert "the same in every row" in html


def test_it_is_saved_and_shown(tmp_path: Any) -> None:
    found = report(tb.NaiveBayes().fit([{"a": "ä"}, {"a": "y"}], [0, 1]))
    found.save(tmp_path / "r.html")
    assert (tmp_path / "r.html").read_text(encoding="utf-8") == found.html
    assert 'sandbox="allow-scripts" srcdoc="&lt;!DOCTYPE' in found._repr_html_()
    assert "characters of HTML" in repr(found)


def test_a_page_alone_does_not_wait_for_what_looks_at_rows() -> None:
    slow = "{'tallybayes.evaluation.leaderboard', 'tallybayes.evaluation.assumptions'}"
    code = f"import sys, tallybayes.reports; print({slow} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"


def test_long_texts_do_not_make_a_long_report() -> None:
    rng = np.random.default_rng(0)
    letters = [" ".join(rng.choice(["good", "bad", "fine"], 60_000)) for _ in range(12)]
    X, y = pd.DataFrame({"letter": letters, "n": np.arange(12.0)}), rng.choice(["k", "l"], 12)
    model = tb.NaiveBayes(schema={"letter": "text"}).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = report(model, X, y[::-1])
    assert len(found.html) < 200_000
    assert "try it" not in found.html.partition("<script>")[0]  # What if takes texts, but not of 300,000 characters
    assert "cannot compute predictions" not in found.html


def test_redundant_columns_and_those_that_only_vary() -> None:
    """Measurements are all different: that any two of them are one to one says nothing."""
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 60))
    level = np.array(["a", "b", "c"])[np.arange(60) % 3]
    table = {"x": x, "z": z, "x in feet": 3.28 * x, "x, turned": -x, "level": level, "code": np.arange(60) % 3 + 7}
    X = pd.DataFrame(table | {"name": [f"n{i // 2 * 2}{i}" for i in range(60)], "one": 1.0, "two": "2"})
    y = [0, 1] * 30
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said = text_of(report(tb.NaiveBayes(schema={"name": "categorical"}).fit(X, y), X, y).html)
    assert "of which one is enough: x and x in feet and x, turned; level and code." in said
    X = X[["x", "z", "name"]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = tb.NaiveBayes(schema={"name": "categorical"}).fit(X, y)
        assert "No two columns are redundant." in text_of(report(model, X, y).html)


def test_dates_and_large_numbers_are_written_as_people_write_them() -> None:
    rng = np.random.default_rng(0)
    when = pd.date_range("2021-03-27", periods=90, freq="31h")
    X = pd.DataFrame({"when": when, "weight": rng.normal(190_000, 9_000, 90)})
    y = np.where(rng.random(90) < 0.5, "a", "b")
    html = report(tb.NaiveBayes("gaussian").fit(X, y), X, y).html
    said = text_of(html)
    assert "2021-03-27 … 2021-05-23 … 2021-07-19" in said
    assert "e+05" not in said


def credit(n: int = 400) -> tuple[pd.DataFrame, pd.Series]:
    rng = np.random.default_rng(4)
    X = pd.DataFrame(
        {"amount": rng.gamma(2, 100, n).round(), "age": rng.integers(18, 80, n), "job": rng.choice(["a", "b", "c"], n)}
    )
    score = (X["amount"] - 200) / 100 + (X["job"] == "c") + rng.normal(size=n)
    return X, pd.Series(np.where(score > 0.5, "bad", "good"), name="risk")


def test_the_baseline_learns_the_training_rows() -> None:
    """Fitted on the rows that the model learned, and its log-loss is that of the same regression by hand."""
    from tallybayes.evaluation.baselines import Logistic

    X, y = credit()
    model = tb.NaiveBayes().fit(X[:300], y[:300])
    said = text_of(report(model, X[300:], y[300:], train=(X[:300], y[:300])).html)
    codes = np.searchsorted(model.classes_, y)
    by_hand = Logistic(model.schema_).fit(X[:300], codes[:300]).predict_log_proba(X[300:])
    loss = -by_hand[np.arange(100), codes[300:]].mean()
    found = re.search(r"logistic regression [\d.]+ ± [\d.]+ ([\d.]+) ±", said)
    assert found is not None
    assert float(found[1]) == pytest.approx(loss, abs=6e-5)
    assert "Logistic regression was fitted on the 300 training rows." in said
    assert "cross-validated" not in said
    assert "left out" in text_of(report(model, X[300:], y[300:], baseline=False).html)
    with pytest.raises(OptionError, match=r"\(X, y\)"):
        report(model, X[300:], y[300:], train=X[:300])
    with pytest.raises(OptionError, match="give these too"):
        report(model, train=(X[:300], y[:300]))


def test_the_verdict() -> None:
    from sklearn.metrics import log_loss, roc_auc_score

    X, y = credit()
    model = tb.BayesClassifier().fit(X[:300], y[:300])
    said = text_of(report(model, X[300:], y[300:]).html)
    p = model.predict_proba(X[300:])
    assert "Predicts risk (2 classes) from 3 columns. Trained on 300 rows, evaluated on 100 rows." in said
    assert said.count("BayesClassifier: risk") == 2  # the title and the heading
    assert "BayesClassifier: repaid" in report(model, X[300:], y[300:], target="repaid", baseline=False).html
    assert f"AUC {roc_auc_score(y[300:] == 'good', p[:, 1]):.3f} " in said
    assert f"Log-loss {log_loss(y[300:], p):.3f} " in said
    assert "Assumptions of this model" not in said
    assert "Independence given the class" in text_of(report(tb.NaiveBayes().fit(X, y), X[:300], y[:300]).html)


def test_a_model_that_loses_has_that_verdict() -> None:
    X, y = credit(200)
    model = tb.NaiveBayes().fit(X, np.where(y == "good", "bad", "good"))  # everything the wrong way round
    said = text_of(report(model, X[:120], y[:120]).html)
    assert "Warning: the prior alone, which looks at no column, has a lower log-loss" in said
    assert re.search(r"Warning: logistic regression, .+?, has a lower log-loss, .+? more often: [\d.]+% against", said)
    assert "than guessing the largest class" in said
    assert "Overconfident by" in said


def test_curves_slices_and_associations() -> None:
    from sklearn.metrics import roc_auc_score

    rng = np.random.default_rng(0)
    score, y = rng.normal(size=300).round(1), rng.random(300) < 0.3
    assert verdict.auc(score, y) == pytest.approx(roc_auc_score(y, score))
    assert verdict.auc(score, np.zeros(300, dtype=bool)) is None
    a = rng.integers(0, 4, 5000)
    assert slices.cramers_v(a, (a + 1) % 4) == pytest.approx(1)
    assert slices.cramers_v(a, rng.integers(0, 4, 5000)) < 0.05
    X, labels_ = credit()
    hard = X["job"].to_numpy() == "b"
    noisy = np.where(hard & (rng.random(400) < 0.5), "bad", labels_)
    model = tb.NaiveBayes().fit(X[:200], labels_[:200])
    shown = report(model, X[200:], noisy[200:]).html
    first = text_of(shown[shown.index('id="slices"') :])
    assert re.search(r"standard errors above job b \d+", first)
    assert "Cumulative gains" in shown
    assert "precision" in shown


def test_a_text_shows_its_most_telling_words() -> None:
    texts = ["free prize now", "win a prize", "lunch at noon", "see you at lunch"] * 5
    y = ["spam", "spam", "ham", "ham"] * 5
    model = tb.BayesClassifier().fit([{"body": t} for t in texts], y)
    for html in (report(model).html, report(model, [{"body": t} for t in texts], y).html):
        card = html.split("Effect of each column")[1]
        assert "prize" in card
        assert "lunch" in card
        assert "No picture" not in card
    assert "There is one column only" not in html


def test_words_speak_for_the_classes_that_are_shown() -> None:
    """Of nine classes six are shown: each has its own word, above all that has little to say."""
    y = [f"class.{k}" for k in range(9) for _ in range(10 + k)]
    texts = [f"the word{v[-1]} is in the text" for v in y]
    model = tb.BayesClassifier(schema={"body": "text"}).fit([{"body": t} for t in texts], y)
    html = report(model).html
    card = html[html.index('<article class="card') : html.index("</article>")]
    words = re.findall(r'<th scope="row">(.*?)</th>', card)
    assert [k for k in range(9) if any(f"word{k}" in word for word in words)] == [3, 4, 5, 6, 7, 8]
    assert 'scope="col" class="number">rows' not in card  # nobody has counted them
    assert "one word: " in card
    assert "class.<wbr>8" not in card  # a line ends after a dot where a letter follows
    assert "a.<wbr>b" in table(("a.b",), [], "")


def test_a_calibration_that_few_rows_cannot_show_is_not_called_good() -> None:
    rng = np.random.default_rng(0)
    said = {}
    for n in (40, 20_000):
        p = rng.uniform(0.6, 0.9, n)
        y = (rng.random(n) > p - 0.1).astype(np.int64)  # beside the noise of 40 rows 10% is little
        found: Any = SimpleNamespace(y=y, n=n, log_proba=np.log(np.stack([p, 1 - p], axis=1)))
        said[n] = verdict.calibration_sentence(found)
    assert said[40].startswith("Calibrated on average as far as 40 rows can tell (")
    assert said[20_000].startswith("Overconfident by ")


def test_hours_are_a_curve_over_their_counts() -> None:
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90 * 86400, 600), unit="s")
    X = pd.DataFrame({"when": when, "size": rng.normal(size=600)})
    y = np.where((when.hour > 17) | (X["size"] > 1), "late", "early")
    html = report(tb.BayesClassifier().fit(X[:400], y[:400]), X[400:], y[400:], baseline=False).html
    cards = {re.findall("<h3>(.*?)</h3>", card)[0]: card for card in html.split("<article")[1:]}
    for name, most in (("when: hour", 24), ("size", 25)):
        assert cards[name].count("<polyline") == 1
        assert 10 <= cards[name].count('class="often"') <= most
    assert cards["when: weekday"].count("<rect") == 7


def test_a_label_fits_where_it_stands() -> None:
    assert pictures.fitted_label("short", 100) == "short"
    assert pictures.fitted_label("a name that is too long", 80) == "a name tha…"
    assert pictures.fitted_label("颜色颜色颜色颜色", 60) == "颜色颜色…"


def test_a_usual_row_has_medians_and_modes() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.gamma(2.0, 10.0, 400).round(1), "k": rng.poisson(2.0, 400), "s": list("aaba" * 100)})
    X["rare"] = np.where(np.arange(400) % 3 == 0, "here", None)
    X["gain"] = np.where(rng.random(400) < 0.9, 0.0, rng.gamma(2.0, 1000.0, 400).round(1))
    fitted = tb.BayesClassifier().fit(X, rng.integers(0, 2, 400)).fitted_
    found = {fitted.schema.name(j): v for j, v in usual_values(fitted).items()}
    assert abs(found["x"] - X["x"].median()) < 1
    assert round(found["k"]) == X["k"].median()
    assert fitted.schema.levels[2].labels[found["s"]] == "a"
    assert found["rare"] is None
    assert found["gain"] == 0  # nine tenths of the rows, in the first bin


def test_a_column_of_mostly_zeros_shows_the_other_numbers() -> None:
    rng = np.random.default_rng(0)
    gain = np.where(rng.random(400) < 0.95, 0.0, rng.integers(1, 90, 400) * 100.0)
    edges = effects._bin_edges(gain)
    groups = [set(gain[np.searchsorted(edges, gain, side="right") == g].tolist()) for g in range(len(edges) + 1)]
    assert groups[0] == {0.0}
    assert len(groups) > 3
    assert all(groups)
    rows = predicted_rows.judge(
        tb.GaussianNB().fit(gain[:, None], np.arange(400) % 2), gain[:, None], np.arange(400) % 2
    )
    codes, names = slices.grouped(rows, 0)
    assert names[0] == "0"
    assert np.array_equal(codes == 0, gain == 0)


def test_whole_numbers_and_days_are_called_what_they_are() -> None:
    rng = np.random.default_rng(0)
    day = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 360, 300), unit="D")
    X = pd.DataFrame({"age": rng.integers(18, 81, 300), "since": day, "rank": rng.choice(["10", "9", "8"], 300)})
    y = np.where(X["age"] + rng.normal(0, 9, 300) > 50, "old", "young")
    model = tb.NaiveBayes(schema={"rank": "categorical"}).fit(X, y)
    rows = predicted_rows.judge(model, X[:200], y[:200])
    codes, names = slices.grouped(rows, model.schema_.names.index("age"))
    for code, name in enumerate(names[:-1]):
        low, high = map(int, name.split(" to "))
        ages = X["age"][:200].to_numpy()[codes == code]
        assert (ages.min() >= low, ages.max() <= high) == (True, True)
    html = report(model, X[:200], y[:200]).html.partition("Assumptions of this model</h2>")[0]
    assert "days since 1970" not in text_of(html)
    assert "since: weekday" in text_of(html)
    assert "since – since" not in text_of(html)
    months = re.findall(r"<title>([A-Z][a-z]{2})</title>", html)[:12]
    assert months == ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    assert re.findall(r"<title>(10|9|8)</title>", html)[:3] == ["8", "9", "10"]


def test_only_all_is_a_hundred_per_cent() -> None:
    assert [*map(share, (0.0, 0.004, 0.5, 0.996, 1.0))] == ["0%", "<1%", "50%", ">99%", "100%"]


def test_numbers_and_levels_as_people_write_them() -> None:
    assert [number(v) for v in (2022.0, 15945.0, -0.25, -0.0)] == ["2022", "15,945", "\u22120.25", "0"]
    assert [level(v) for v in ("a", "", " ", 0)] == ["a", "(empty)", "(empty)", "0"]
    values = 1000 + np.arange(50) / 1000
    X = pd.DataFrame({"narrow": values, "note": ["", "late"] * 25})
    y = list("ab") * 25
    model = tb.NaiveBayes(schema={"note": "categorical"}).fit(X, y)
    judged = predicted_rows.judge(model, X, y)
    assert len(set(slices.grouped(judged, 0)[1])) == 6  # five intervals that can be distinguished, and missing
    assert slices.grouped(judged, 1)[1][:2] == ["(empty)", "late"]


@pytest.mark.parametrize(
    ("levels", "rising"),
    [
        (["no account", "0<=X<200", ">=200", "<0"], ["<0", "0<=X<200", ">=200", "no account"]),
        (["over 30", "10 to 30", "under 10"], ["under 10", "10 to 30", "over 30"]),
        (["[10, 20)", "[0, 10)", "20+"], ["[0, 10)", "[10, 20)", "20+"]),
        (["100-199", "5-9", "-5-0"], ["-5-0", "5-9", "100-199"]),
        (["red", "blue", "<3"], ["red", "blue", "<3"]),
    ],
)
def test_intervals_are_in_their_order(levels: list[str], rising: list[str]) -> None:
    assert [levels[i] for i in interval_order(levels)] == rising


def test_labels_break_between_words() -> None:
    assert pictures.label_lines("short", 120) == ["short"]
    assert pictures.label_lines("critical/other existing credit", 120) == ["critical/other", "existing credit"]
    assert pictures.label_lines("installment_commitment", 120) == ["installment_", "commitment"]
    assert pictures.label_lines("a" * 40, 70)[0].endswith("…")
    assert len(pictures.label_lines("one two three four five six seven eight nine", 70)) == 2


def test_a_person_sees_how_far_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    class Screen(io.StringIO):
        def isatty(self) -> bool:
            return True

    X, y = credit(200)
    model = tb.NaiveBayes().fit(X[:100], y[:100])
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    report(model, X[100:], y[100:], train=(X[:100], y[:100]))
    assert "tallybayes: report: baseline: logistic regression" in screen.getvalue()
    assert "tallybayes: report: predictions" in screen.getvalue()
    screen.truncate(0)
    report(model, X[100:], y[100:], baseline=False)
    assert "baseline" not in screen.getvalue()
