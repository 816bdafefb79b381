"""What the site consists of: the pages of docs/, in the order of their tables, and the public names, by group.

docs/conf.py makes the table of contents of the former and gives each of the latter a page; tests look whether a page
or a name was left out.
"""

from __future__ import annotations

import inspect
import re
from importlib import import_module
from pathlib import Path

from sklearn.base import BaseEstimator, ClassifierMixin

import tallybayes

HERE = Path(__file__).parent
CONTENTS = ("index", "guide", "explanation", "reference", "zh/index")  # pages whose tables name other pages
ROW = re.compile(r"^\| *\[[^\]]+\]\(([\w./-]+)\.md\)", re.MULTILINE)
OWN = ("Classifiers", "Around a classifier", "Functions", "Results")
PACKAGES = {  # besides tallybayes itself: their __all__, or all that they define
    "tallybayes.plots": "Plots",
    "tallybayes.evaluation": "Evaluation",
    "tallybayes.explain": "Explanations",
    "tallybayes.decision": "Decision theory",
    "tallybayes.io": "Model files",
    "tallybayes.data": "Schema",
    "tallybayes.distributions": "Distributions",
    "tallybayes.engines": "Row sources",
    "tallybayes.engines.sql": "Databases",
    "tallybayes.engines.spark_ml": "Spark pipelines",
    "tallybayes.export": "Export",
    "tallybayes.export.mlflow": "MLflow",
    "tallybayes.reports": "Reports",
    "tallybayes.datasets": "Datasets",
    "tallybayes.errors": "Errors and warnings",
}

MEMBERS = {  # of every classifier, by what they are for; a name that is not here comes last
    "Learn": "fit partial_fit learn_one learn_from plan empty merge decay relearn temper",
    "Forget": "forget forget_one forget_from",
    "Predict": "predict predict_proba predict_log_proba predict_joint_log_proba predict_one predict_proba_one "
    "predict_to",
    "Evaluate": "score leave_one_out score_samples novelty",
    "Explain": "explain describe sample coefficients logistic quadratic boundary feature_importances_",
    "Priors, tempering": "with_prior adapt_prior temperature_ loo_score_ loo_log_proba_",
    "Keep": "save copy ignore_extra",
    "State": "is_fitted class_count_ schema_ provenance_ one_row fitted_ predictor_",
}


def contents(page: str) -> list[str]:
    """The pages below a page, in the order of its tables, by their path from that page's folder."""
    text = (HERE / f"{page}.md").read_text(encoding="utf-8")
    return list(dict.fromkeys(ROW.findall(text)))


def in_chinese() -> set[str]:
    """The pages of docs/zh; one of the same name as an English page is its counterpart."""
    return {page.stem for page in (HERE / "zh").glob("*.md")}


def strays() -> list[str]:
    """Pages that no table names."""
    named = {name for page in CONTENTS if "/" not in page for name in contents(page)} | {"index"}
    return sorted({page.stem for page in HERE.glob("*.md")} - named)


def groups() -> dict[str, list[str]]:
    """Whole names of all public classes and functions, by the heading that they stand under; no object stands twice."""
    found: dict[str, list[str]] = {h: [] for h in (*OWN, *PACKAGES.values())}
    known: set[int] = set()
    for name in sorted(tallybayes.__all__, key=str.lower):
        thing = getattr(tallybayes, name)
        known.add(id(thing))
        found[_heading(thing)].append(f"tallybayes.{name}")
    for package, heading in PACKAGES.items():
        names = found[heading]
        for name, thing in _defined(package):
            if id(thing) not in known:
                known.add(id(thing))
                names.append(f"{package}.{name}")
    return {heading: names for heading, names in found.items() if names}


def members(thing: type, shared: type) -> dict[str, object]:
    """What stands on the page of a classifier: its own methods, and those of every classifier by group.

    On the page of `shared` itself the groups are tables (`groups`), elsewhere links to them (`shared`).
    """
    public = [n for n in dir(thing) if not n.startswith(("_", "set_"))]
    home = {n: next((base for base in thing.__mro__ if n in vars(base)), thing) for n in public}
    ours = [n for n in public if home[n].__module__.startswith("tallybayes") and hasattr(vars(home[n])[n], "__get__")]
    common = {n for n in dir(shared) if n in ours and home[n] in shared.__mro__}
    named = {heading: [n for n in names.split(" ") if n in common] for heading, names in MEMBERS.items()}
    rest = common - {n for names in named.values() for n in names}
    groups = {heading: names for heading, names in {**named, "Others": sorted(rest)}.items() if names}
    own = [n for n in ours if n not in common and not isinstance(vars(home[n])[n], property)]
    return {"own": own, "shared": {} if thing is shared else groups, "groups": groups if thing is shared else {}}


def errors() -> str:
    """A table of the errors and warnings, from their docstrings: what happened, and below it what to do."""
    rows = ["| name | when | what to do | also a |", "|---|---|---|---|"]
    for name, thing in _defined("tallybayes.errors"):
        when, _, then = (inspect.getdoc(thing) or "").split("\n\nParameters")[0].partition("\n\n")
        above = [base.__name__ for base in getattr(thing, "__bases__", ())]
        bases = ", ".join(f"`{base}`" for base in above if base not in ("Exception", "TallybayesError"))
        rows.append(f"| `{name}` | {' '.join(when.split())} | {' '.join(then.split())} | {bases} |")
    return "\n".join(rows)


def _heading(thing: object) -> str:
    if not isinstance(thing, type):
        return "Functions"
    if issubclass(thing, ClassifierMixin) and hasattr(thing, "forget"):
        return "Classifiers"
    return "Around a classifier" if issubclass(thing, BaseEstimator) or hasattr(thing, "predict") else "Results"


def _defined(package: str) -> list[tuple[str, object]]:
    module = import_module(package)
    own = [n for n, v in vars(module).items() if not n.startswith("_") and getattr(v, "__module__", "") == package]
    named = [(n, getattr(module, n)) for n in getattr(module, "__all__", own)]
    functions = package != "tallybayes.errors"  # those there are for the library's own messages
    return [(n, v) for n, v in named if inspect.isclass(v) or (functions and callable(v))]
