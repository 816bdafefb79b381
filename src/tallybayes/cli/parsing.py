"""What is written on the command line → what the library takes: models, parameters, kinds, priors, types of columns."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import pyarrow as pa
import typer

from tallybayes.data.schema import DECLARABLE
from tallybayes.errors import OptionError, did_you_mean


def model_class(name: str) -> Any:
    """A classifier of the library by its name, whatever its case and dashes."""
    import tallybayes
    from tallybayes.io.model_document import estimator

    key = name.lower().replace("-", "").replace("_", "")
    found = next((estimator(public) for public in tallybayes.__all__ if public.lower() == key), None)
    if found is None:
        known = [public for public in tallybayes.__all__ if estimator(public) is not None]
        raise typer.BadParameter(
            f"there is no model {name!r}. Models: {', '.join(known)}.{did_you_mean(name, known)}", param_hint="--model"
        )
    return found


def make_model(name: str, given: Sequence[str], schema: object) -> Any:
    """schema: kinds by column, or another model's schema."""
    model = model_class(name)
    allowed = sorted(signature(model).parameters)
    options = pairs(given, "--set")
    for key in options:
        if key not in allowed:
            known = ", ".join(allowed) or "none"
            raise typer.BadParameter(
                f"{name} has no parameter {key!r}. Parameters: {known}.{did_you_mean(key, allowed)}", param_hint="--set"
            )
    if schema and "schema" not in allowed:
        raise typer.BadParameter(f"{name} takes columns of one kind only; use NaiveBayes.", param_hint="--kind")
    if schema:
        options["schema"] = schema
    return model(**options)


def pairs(given: Sequence[str], option: str) -> dict[str, object]:
    """['alpha=0.5', 'distributions=mdl'] → {'alpha': 0.5, 'distributions': 'mdl'}: JSON where it is, else text."""
    out: dict[str, Any] = {}
    for item in given:
        key, equals, value = item.partition("=")
        if not equals or not key:
            raise typer.BadParameter(f"expected key=value; got {item!r}.", param_hint=option)
        _once(key, out, option)
        out[key] = _value(value)
    return out


def _value(text: str) -> object:
    python = {"None": None, "True": True, "False": False}
    if text in python:
        return python[text]
    try:
        return json.loads(text)
    except ValueError:
        return text


def read_kinds(given: Sequence[str]) -> dict[str, str]:
    """['zip=categorical'] → {'zip': 'categorical'}. The name may hold '=': the last one counts."""
    out: dict[str, str] = {}
    for item in given:
        name, equals, kind = item.rpartition("=")
        if not equals or kind not in DECLARABLE:
            allowed = ", ".join(DECLARABLE)
            raise typer.BadParameter(
                f"expected column=kind with a kind of {allowed}; got {item!r}.", param_hint="--kind"
            )
        _once(name, out, "--kind")
        out[name] = kind
    return out


def _once(key: str, said: Mapping[str, object], option: str) -> None:
    if key in said:
        raise typer.BadParameter(f"{key!r} is said twice. Say it once.", param_hint=option)


def read_prior(text: str | None, classes: Sequence[object]) -> Any:
    """'uniform', 'laplace', '0.2,0.8' in the order of the classes, or 'no=0.2,yes=0.8'."""
    if text is None:
        return None
    if text in ("uniform", "laplace"):
        return text
    parts = text.split(",")
    names = {str(label): label for label in classes}
    try:
        if not any("=" in part for part in parts):
            return [float(part) for part in parts]
        cut = [part.rpartition("=") for part in parts]
        unknown = [name for name, _, _ in cut if name not in names]
        if unknown:
            known = ", ".join(names)
            raise typer.BadParameter(f"{unknown[0]!r} is not a class. Classes: {known}.", param_hint="--prior")
        return {names[name]: float(share) for name, _, share in cut}
    except ValueError:
        raise typer.BadParameter(
            f"expected 'uniform', shares such as 0.2,0.8, or no=0.2,yes=0.8; got {text!r}.", param_hint="--prior"
        ) from None


def label_of(text: str, classes: Sequence[object], option: str) -> Any:
    """The class that is written so."""
    names = {str(label): label for label in classes}
    if text not in names:
        raise typer.BadParameter(f"{text!r} is not a class. Classes: {', '.join(names)}.", param_hint=option)
    return names[text]


def read_loss(path: str, classes: Sequence[object]) -> dict[tuple[object, object], float]:
    """A table of costs: the first column names the answers, the others are the true classes."""
    from tallybayes.cli import start
    from tallybayes.cli.table_files import Text, open_rows

    names = {str(label): label for label in classes}
    with start.scratch() as scratch:
        rows = open_rows([path], Text(), scratch)
        first, *truths = sorted(rows.names, key=lambda name: name not in rows.index)
        unknown = [name for name in truths if name not in names]
        if unknown or not truths:
            known = ", ".join(names)
            raise OptionError(f"{path}: the columns after the first are the true classes ({known}); got {truths}.")
        table = pa.concat_tables(rows.batches(rows.names)).to_pydict()
    answers = [_as_text(v) for v in table[first]]
    twice = [answer for answer in answers if answers.count(answer) > 1]
    if twice:
        raise OptionError(f"{path}: the answer {twice[0]!r} is there twice. Each answer has one row.")
    out = {}
    for truth in truths:
        for answer, cost in zip(answers, table[truth], strict=True):
            if not isinstance(cost, int | float):
                raise OptionError(
                    f"{path}: the cost of {answer!r} when {truth!r} is true must be a number; got {cost!r}."
                )
            out[names.get(answer, answer), names[truth]] = float(cost)
    return out


def _as_text(value: object) -> str:
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
