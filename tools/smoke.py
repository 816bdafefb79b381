"""What a wheel must be able to do where nothing but it and what it needs is installed. Any warning is an error."""

from __future__ import annotations

import sys
import tempfile
import warnings
from pathlib import Path

warnings.simplefilter("error")

import numpy as np  # noqa: E402

import tallybayes as tb  # noqa: E402
from tallybayes.datasets import load_census, load_watermelon  # noqa: E402
from tallybayes.utils.versions import versions  # noqa: E402


def main() -> None:
    assert "site-packages" in str(tb.__file__), f"not the installed one: {tb.__file__}"
    rows, y = load_watermelon()
    melons = tb.NaiveBayes().fit(rows, y)
    assert melons.score(rows, y) >= 0.8
    assert abs(sum(melons.predict_proba_one(rows[0]).values()) - 1.0) < 1e-12

    rows, y = load_census()
    rows, y = rows[:2000], y[:2000]
    model = tb.BayesClassifier("fast").fit(rows[:1500], y[:1500])
    p = model.predict_proba(rows[1500:])
    assert np.isfinite(p).all()
    assert np.mean(model.classes_[p.argmax(axis=1)] == np.array(y[1500:])) > 0.8
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.tb"
        tb.save(model, path)
        assert np.array_equal(tb.load(path).predict_proba(rows[1500:]), p)

    texts = [{"body": text} for text in ("win a free prize", "奖金 免费", "see you at noon", "明天 会议")]
    letters = tb.NaiveBayes({"body": "words"}, schema={"body": "text"}).fit(texts, ["spam", "spam", "ham", "ham"])
    assert letters.predict([{"body": "free \ud800"}, {"body": "会议"}]).tolist() == ["spam", "ham"]
    mixed = tb.NaiveBayes("categorical").fit([{"a": 1, "b": "x"}, {"a": 2, "b": None}, {"a": 1.5, "b": "é"}], [0, 1, 1])
    assert mixed.predict([{"a": np.float32(1.5), "b": "é"}]).tolist() == [1]

    X = np.random.default_rng(0).normal(size=(500, 4))
    halves = tb.GaussianNB().fit(X[:250], X[:250, 0] > 0).merge(tb.GaussianNB().fit(X[250:], X[250:, 0] > 0))
    assert np.mean(halves.predict(X) == (X[:, 0] > 0)) > 0.9
    for name, value in versions().items():
        print(f"    {name:<27}{value}")
    assert "not installed" in str(versions()["pandas"]), "this is no empty environment"
    print(f"    smoke test passed on Python {sys.version.split()[0]}")


if __name__ == "__main__":
    main()
