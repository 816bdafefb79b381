"""
A tour in the terminal
======================

``make demo``, or ``python examples/demo.py``: seventeen watermelons by hand, models compared on the census table, and a
model that learns rows, forgets them and is merged with another. Needs nothing beyond the package itself.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Sequence
from itertools import pairwise
from textwrap import fill, indent
from typing import Any

import numpy as np
from sklearn.dummy import DummyClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

from tallybayes import BayesClassifier, NaiveBayes, StreamingBayes
from tallybayes.datasets import load_census, load_watermelon
from tallybayes.errors import UnseenCategoryWarning

Rows = list[dict[str, Any]]
WIDTH = 78


def drawable(text: str, instead: str) -> str:
    """The text, or what stands for it where the terminal cannot show it."""
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return instead
    return text


BAR = drawable("█·", "#.")
RULE = drawable("━", "-")


def main() -> None:
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a terminal without Π shows ? and the tour goes on
    warnings.simplefilter("ignore", UnseenCategoryWarning)  # the tour says it in words
    started = time.perf_counter()
    melons()
    rows, y = load_census()
    chosen = compare(rows, y)
    ensemble(chosen, rows)
    adding(rows, y)
    print(f"\nThe whole tour took {time.perf_counter() - started:.1f} s. More: docs/index.md")


# --- the small things that print ---------------------------------------------------------------------------------


def title(text: str) -> None:
    line = f"{RULE * 2} {text} "
    if sys.stdout.isatty():
        print(f"\n\033[1m{line}{RULE * (WIDTH - len(line))}\033[0m\n")
    else:
        print(f"\n{line}{RULE * (WIDTH - len(line))}\n")


def bar(share: float, width: int) -> str:
    full, empty = BAR
    return (full * round(share * width)).ljust(width, empty)


def show_table(model: NaiveBayes, column: str) -> None:
    """P(level | class) of a column, one line per level."""
    found = model.describe(column)
    classes = list(found)
    print(f"  P({column} | class)".ljust(24) + "".join(f"{label!s:<28}" for label in classes).rstrip())
    for level in found[classes[0]]:
        cells = [f"{bar(found[c][level], 18)} {found[c][level]:.3f}" for c in classes]
        print(f"    {level:<20}" + "".join(f"{cell:<28}" for cell in cells).rstrip())


def show_posterior(model: NaiveBayes, row: dict[str, Any]) -> None:
    for label, p in model.predict_proba_one(row).items():
        print(f"    {label!s:<6}{bar(p, 40)} {p:.4f}")


# --- one: seventeen melons ---------------------------------------------------------------------------------------


def melons() -> None:
    title("1. Seventeen watermelons: words and numbers in one model")
    rows, y = load_watermelon()
    first = rows[0]
    print("The table (Zhou, Machine Learning, table 4.3): six nominal columns and two real")
    print("ones; is the melon ripe? The first one:\n")
    print("    " + ", ".join(f"{k}: {v}" for k, v in list(first.items())[:4]))
    print("    " + ", ".join(f"{k}: {v}" for k, v in list(first.items())[4:]) + f"  →  {y[0]}\n")

    plain = NaiveBayes(alpha=0, ddof=1, var_smoothing=0).fit(rows, y)
    print("As the textbook counts, without smoothing:\n")
    for label, n in zip(plain.classes_, plain.class_count_, strict=True):
        print(f"    P({label}) = {n:.0f}/{len(y)}".ljust(20) + f"{bar(n / len(y), 40)} {n / len(y):.3f}")
    print()
    show_table(plain, "texture")
    print()
    for column in ("density", "sugar"):
        for label, d in plain.describe(column).items():
            print(f"    {column:<8} | {label:<4} Gaussian, mean {d['mean']:.3f}, deviation {d['variance'] ** 0.5:.3f}")
    joint = dict(zip(plain.classes_.tolist(), np.exp(plain.predict_joint_log_proba([first])[0]), strict=True))
    print("\nP(class) Π P(x_j | class) of the first melon:\n")
    print(f"    ripe      {joint['yes']:.4f}       (the textbook, rounding on the way: 0.052)")
    print(f"    not ripe  {joint['no']:.2e}     (the textbook: 6.80e-05)")

    print("\nNo ripe melon here is blurry, so that count is zero: one zero factor would veto")
    print("all the rest. Laplace smoothing (alpha=1, the default) removes the veto:\n")
    model = NaiveBayes(priors="laplace", ddof=1).fit(rows, y)
    show_table(model, "texture")
    print("\n  The first melon:")
    show_posterior(model, first)
    print("  The same melon, texture and sugar unknown (their factors are left out):")
    show_posterior(model, {k: v for k, v in first.items() if k not in ("texture", "sugar")})
    print("  A melon of which only the sound is known (crisp):")
    show_posterior(model, {"sound": "crisp"})


# --- two: ten thousand people ------------------------------------------------------------------------------------


def without(rows: Rows, columns: Sequence[str]) -> Rows:
    return [{k: v for k, v in row.items() if k not in columns} for row in rows]


def compare(rows: Rows, y: list[str]) -> BayesClassifier:
    """Prints how they do, and returns the last BayesClassifier."""
    title("2. Ten thousand people: which distribution suits the numbers?")
    order = np.random.default_rng(0).permutation(len(rows))
    train, test = order[:7000], order[7000:]
    X, z = [rows[i] for i in train], [y[i] for i in train]
    X_new, z_new = [rows[i] for i in test], [y[i] for i in test]
    holes = sorted({k for row in rows for k, v in row.items() if v is None})
    missing = sum(v is None for row in rows for v in row.values())
    print("Census rows, as plain dicts: 8 columns of categories, 6 of numbers. Does one")
    print(f"person earn more than 50,000 dollars? {len(X):,} rows to learn, {len(X_new):,} to predict.")
    print(f"{missing:,} values are missing, in {', '.join(holes)}.")
    print("Nothing is imputed.\n")

    capital = ("capital-gain", "capital-loss")
    redundant = ("education-num", "relationship")
    logistic = make_pipeline(DictVectorizer(), MaxAbsScaler(), LogisticRegression(max_iter=500))
    contenders: list[tuple[str, Any, Callable[[Rows], Any]]] = [
        ("always the larger class", DummyClassifier(), lambda r: np.zeros((len(r), 1))),
        ("NaiveBayes('gaussian')", NaiveBayes("gaussian"), lambda r: r),
        ("NaiveBayes('kernel')", NaiveBayes("kernel"), lambda r: r),
        ("NaiveBayes('frequency')", NaiveBayes("frequency"), lambda r: r),
        ("NaiveBayes('mdl')", NaiveBayes("mdl"), lambda r: r),
        ("gaussian, capital-* mdl", NaiveBayes(dict.fromkeys(capital, "mdl")), lambda r: r),
        ("no redundant columns **", NaiveBayes(dict.fromkeys(capital, "mdl")), lambda r: without(r, redundant)),
        ("BayesClassifier('fast')", BayesClassifier("fast"), lambda r: r),
        ("BayesClassifier()", BayesClassifier(), lambda r: r),
        ("logistic regression *", logistic, lambda r: without(r, holes)),
    ]
    print(f"  {'':<25}{'accuracy':>9}{'log-loss':>10}{'fit':>11}{'predict':>11}")
    for name, model, prepare in contenders:
        A, B = prepare(X), prepare(X_new)
        t0 = time.perf_counter()
        model.fit(A, z)
        t1 = time.perf_counter()
        p = model.predict_proba(B)
        t2 = time.perf_counter()
        accuracy = float(np.mean(model.classes_[p.argmax(axis=1)] == np.array(z_new)))
        loss = log_loss(z_new, p, labels=model.classes_)
        times = f"{1e3 * (t1 - t0):>8.0f} ms{1e3 * (t2 - t1):>8.0f} ms"
        print(f"  {name:<25}{accuracy:>9.3f}{loss:>10.3f}{times}")
    print(f"\n   * scikit-learn, one-hot, on the {len(rows[0]) - len(holes)} complete columns.")
    print(f"  ** without {' and '.join(redundant)}: education and")
    print("     marital-status repeat them. Chosen on these scores, so a little biased.")
    print("  Times include reading the dicts. One split: accuracy is good to about ±0.007.")
    zeros = [np.mean([row[k] == 0 for row in X]) for k in capital]
    print(f"""
Look at the log-loss, which measures the probabilities. The two capital columns
are 0 in {zeros[0]:.0%} and {zeros[1]:.0%} of the rows and thousands in the rest. A Gaussian or a
kernel smears that spike, by another width in each class, and takes the width
for evidence. Bins ('mdl', 'frequency') do not: use them for such columns, and
the Gaussian for columns that look like one. Naive Bayes also counts evidence
twice if two columns repeat each other: that is what logistic regression gains
here, and leaving out redundant columns wins it back.
BayesClassifier, which needs no such choices, is what part 3 looks into.
""")
    cut = NaiveBayes("mdl").fit(X, z)
    print("What the cuts say of age:\n")
    show_table(cut, "age")
    return next(model for _, model, _ in contenders if isinstance(model, BayesClassifier) and model.effort != "fast")


# --- three: the ensemble ------------------------------------------------------------------------------------------


def ensemble(model: BayesClassifier, rows: Rows) -> None:
    title("3. BayesClassifier: a stacked ensemble that needs no tuning")
    print("Bayesian networks with different bins and structures, naive Bayes, target")
    print("encoding and a Gaussian discriminant; stacking weights by leave-one-out;")
    print("gradient-boosted trees on the residuals. What it did:\n")
    lines = [
        fill(line, WIDTH - 4, subsequent_indent="  ") if len(line) > WIDTH - 4 else line
        for line in model.summary().splitlines()
    ]
    print(indent("\n".join(lines), "    "))
    asked = rows[0]
    print("\nWhy, for the first person:\n")
    print(indent(model.explain([asked]).text(0), "    "))
    graph = str(model.network(0).graph_).splitlines()
    print("\nOne network of them, alone: what some of its columns depend on.\n")
    print(indent("\n".join(graph[:4]), "    "))


# --- four: learning is adding -----------------------------------------------------------------------------------


def adding(rows: Rows, y: list[str]) -> None:
    title("4. Learning is adding; forgetting is subtracting")
    half = len(rows) // 2
    whole = NaiveBayes("gaussian").fit(rows, y)
    here = NaiveBayes("gaussian").fit(rows[:half], y[:half])
    there = NaiveBayes("gaussian").fit(rows[half:], y[half:])
    both = here.copy().merge(there)
    asked = rows[:2000]
    print("Two machines see half of the rows each, and send models, not data:\n")
    for name, model in (("here", here), ("there", there), ("merged", both), ("fit of all rows", whole)):
        print(f"    {name:<18}" + "   ".join(f"{c}: {n:,.0f}" for c, n in counted(model)))
    print(f"\n    largest difference in 2,000 predictions, sum against whole: {difference(both, whole, asked):.1e}\n")

    last = slice(len(rows) - 100, None)
    never = NaiveBayes("gaussian").fit(rows[:-100], y[:-100])
    print("A hundred people ask to be forgotten:\n")
    print(f"    before forgetting, against a fit without them:     {difference(whole, never, asked):.1e}")
    whole.forget(rows[last], y[last])
    print(f"    after whole.forget(rows, labels):                  {difference(whole, never, asked):.1e}")
    same = np.array_equal(whole.class_count_, never.class_count_)
    print(f"    counts equal, to the last bit:                     {'yes' if same else 'NO'}\n")
    stream(rows[:4000], y[:4000])


def counted(model: NaiveBayes) -> list[tuple[str, float]]:
    return list(zip(model.classes_.tolist(), model.class_count_.tolist(), strict=True))


def difference(a: NaiveBayes, b: NaiveBayes, rows: Rows) -> float:
    return float(np.abs(a.predict_proba(rows) - b.predict_proba(rows)).max())


def stream(rows: Rows, y: list[str]) -> None:
    print("One row at a time: predict, then learn. Accuracy of NaiveBayes, and of")
    print("StreamingBayes:\n")
    kinds = {k: "real" if isinstance(v, int) else "categorical" for k, v in rows[0].items()}
    naive, naive_time = prequential_hits(NaiveBayes(schema=kinds), rows, y)
    adaptive, adaptive_time = prequential_hits(StreamingBayes(schema=kinds), rows, y)
    for a, b in pairwise([0, 50, 100, 500, 1000, 2000, len(naive)]):
        one, two = float(np.mean(naive[a:b])), float(np.mean(adaptive[a:b]))
        print(f"    rows {a + 2:>5,} to {b + 1:>5,}   {bar(one, 18)} {one:.3f}   {bar(two, 18)} {two:.3f}")
    print("\n    Rows 52 to 101: until row 75 only people below 50,000 have had a capital")
    print("    loss. The other class has nothing but zeros there, so its Gaussian has next")
    print("    to no variance, and every further zero speaks for that class.")
    print("    StreamingBayes learns from its mistakes how far to trust each expert.")
    print(f"\n    A typical row, predicted and learned: {naive_time:.0f} and {adaptive_time:.0f} microseconds.")


def prequential_hits(model: Any, rows: Rows, y: list[str]) -> tuple[list[bool], float]:
    """Whether each row after the first was predicted right, and the median time in microseconds."""
    model.learn_one(rows[0], y[0])
    right: list[bool] = []
    spent: list[float] = []
    for row, label in zip(rows[1:], y[1:], strict=True):
        t0 = time.perf_counter()
        right.append(model.predict_one(row) == label)
        model.learn_one(row, label)
        spent.append(time.perf_counter() - t0)
    return right, 1e6 * float(np.median(spent))


if __name__ == "__main__":
    main()
