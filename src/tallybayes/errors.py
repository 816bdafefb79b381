"""Errors and warnings. Each error is also the built-in that scikit-learn would raise in its place."""

from __future__ import annotations

import inspect
import math
import numbers
import os
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tallybayes.utils.array_types import Array


class TallybayesError(Exception):
    """Base class of the errors of this library.

    Catch it to catch every error below; the message says what to do.
    """


class TableError(TallybayesError, ValueError):
    """A table, a column or a value that the model cannot take.

    Correct the value that `column`, `row` and `value` name, or mark it as missing.

    Parameters
    ----------
    *args : object
        The message.
    column : str or None, default=None
        The column it is about, if it is about one; 'x3' where columns have no names.
    row : int or None, default=None
        The first row it is about, counted from 0.
    value : object, default=None
        The value that was found there.

    Examples
    --------
    >>> from tallybayes import GaussianNB
    >>> from tallybayes.errors import TableError
    >>> try:
    ...     GaussianNB().fit([{"age": 31.0}, {"age": float("inf")}], ["a", "b"])
    ... except TableError as e:
    ...     print(e.column, e.row, e.value)
    age 1 inf
    """

    def __init__(self, *args: object, column: str | None = None, row: int | None = None, value: object = None) -> None:
        super().__init__(*args)
        self.column, self.row, self.value = column, row, value


class NestedValueError(TableError, TypeError):
    """A cell that holds a list, a dict or another container.

    Give each element of the container a column of its own.
    """


class LabelError(TallybayesError, ValueError):
    """A target that is not a column of class labels.

    Give one label for each row: strings, integers or booleans, none of them missing.
    """


class OptionError(TallybayesError, ValueError):
    """A parameter outside what is allowed.

    Use one of the values that the message lists.
    """


class MergeError(TallybayesError, ValueError):
    """Two models whose sufficient statistics cannot be added.

    Start both models from one plan: `empty()`, `plan`, or `schema=first.schema_`.
    """


class ForgetError(TallybayesError, ValueError):
    """Rows to forget that were not learned.

    Forget the rows as they were learned: same values, labels and weights.
    """


class OutOfMemoryError(TallybayesError, MemoryError):
    """A model or table that needs more memory than there is.

    Use fewer parents, bins or rows; the message says how much was needed.
    """

    sized = False  # whether the message names the sizes of what was asked


class ModelFileError(TallybayesError, ValueError):
    """A file that is not a whole and sound model, or a model that a file cannot hold.

    Save the model again, or load the file with the version that wrote it.
    """


class ReceiptError(TallybayesError, ValueError):
    """A file that is no deletion receipt, or a receipt without the key that the call needs.

    Give the receipt as it was written, the right key, or the model it is about.
    """


class PrivacyError(TallybayesError, ValueError):
    """Statistics that would reveal too much of single rows.

    Raise the counts by coarser bins or more rows, or lower `min_count`.
    """


class ExportError(TallybayesError, ValueError):
    """This model cannot be exported to that format.

    Choose another format or a smaller model; the message names one.
    """


class AmbiguousColumnWarning(UserWarning):
    """An integer column with few values: numbers or categories? Treated as numbers.

    Say which: `schema={"column": "categorical"}` or `"real"`.
    """


class UnseenCategoryWarning(UserWarning):
    """A category that was not seen in training; its factor is left out.

    Learn rows with this category, or set `unseen="other"` or `"error"`.
    """


class IdentifierColumnWarning(UserWarning):
    """A categorical column with a distinct value in nearly every row; it is ignored.

    Drop the column, or declare it: `schema={"column": "id"}` or `"categorical"`.
    """


class TextColumnWarning(UserWarning):
    """A column that looks like text, and a model that takes each text as a category.

    Use `NaiveBayes` or `BayesClassifier`, or say `schema={"column": "categorical"}`.
    """


class SharedWordsWarning(UserWarning):
    """More words than the vocabulary holds: the rarest share hashed cells.

    Raise `max_words` of `Words`, or accept that rare words share counts.
    """


class TargetColumnWarning(UserWarning):
    """Target leakage: a column that equals y in every row.

    Drop the column, unless it is known before y is.
    """


class CancellationWarning(UserWarning):
    """Forgotten rows had nearly all of the variance of a column; what is left of it has few digits, or none.

    Call `fit(X, y)` on the rows that remain, or use `"kernel"`, bins or `memory="rows"`.
    """


class UnsavableLabelWarning(UserWarning):
    """Class labels that no model file can hold.

    Use labels that are strings, numbers or booleans.
    """


class MissingFontWarning(UserWarning):
    """A picture has Chinese, Japanese or Korean letters, and no installed font has them.

    Install a font with these letters, such as Noto Sans CJK.
    """


_PACKAGE = str(Path(__file__).parent / "_")[:-1]  # with its separator: tallybayes_of_mine is another package


_collected: ContextVar[list[str] | None] = ContextVar("collected", default=None)


@contextmanager
def listening() -> Iterator[list[str]]:
    """Collect warnings of this library as sentences, in this thread or task alone."""
    collected: list[str] = []
    token = _collected.set(collected)
    try:
        yield collected
    finally:
        _collected.reset(token)


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the first line outside this package."""
    collected = _collected.get()
    if collected is not None:
        collected.append(message)
        return
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def machine_memory() -> int:
    """Bytes of memory that this process may use: those of the machine, of its container, of `ulimit -v`."""
    found = [os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 2**62]
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with suppress(OSError, ValueError):  # 'max', or no such file: no limit
            found.append(int(Path(limit).read_text()))
    with suppress(ImportError):  # on Windows
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
        found += [soft] if soft != resource.RLIM_INFINITY else []
    return min(found)


UNASKED_BYTES = 1 << 16  # there is always room for so little: to ask takes as long as to learn a row
MOST_SCORES = 1e11  # rows × classes × settings compared: beyond it, hours


def require_memory(cells: int, what: str, instead: str = "") -> None:
    """OutOfMemoryError, with the size, if so many numbers of 8 bytes are more than this machine has memory for."""
    if 8 * cells > UNASKED_BYTES and 8 * cells > (there := machine_memory()):
        sizes = f"{8 * cells / 1e9:,.1f} GB; this machine has {there / 1e9:,.1f} GB for it"
        error = OutOfMemoryError(f"{what} needs {sizes}. {instead}".rstrip())
        error.sized = True
        raise error


def require_scores(n: int, K: int, settings: int, what: str, instead: str) -> None:
    """OptionError, with the sizes, if so many settings are compared by leave-one-out that it would not end."""
    if n * K * settings > MOST_SCORES:
        raise OptionError(
            f"{what} by the leave-one-out scores of {n:,} rows in {K:,} classes: {n * K * settings:.1e} scores; at "
            f"most {MOST_SCORES:.0e} are computed. {instead}"
        )


def is_number(value: object) -> bool:
    """A finite real number, not a bool."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    try:
        return math.isfinite(value)
    except OverflowError:  # an integer of more than a float's 308 digits
        return False


def is_label(value: object) -> bool:
    """Whether it can be looked up among labels: it has a hash, and comparing it is not ambiguous."""
    try:
        hash(value)
        return bool(value == value) or True
    except Exception:
        return False


def brief(value: object, most: int = 80) -> str:
    """repr of a value in at most one line; a NumPy scalar like a plain one."""
    if isinstance(value, list | tuple):
        few = [brief(v, most) for v in value[:most]]
        inside = ", ".join(few) + ("," if len(few) == 1 and isinstance(value, tuple) else "")
        text = f"[{inside}]" if isinstance(value, list) else f"({inside})"
    elif type(value).__module__ == "pyarrow.lib":  # whose repr follows offsets wherever they point
        text = f"pyarrow.{type(value).__name__}"
    else:
        scalar = type(value).__module__ == "numpy" and getattr(value, "ndim", None) == 0
        text = repr(value.item() if scalar else value)  # type: ignore[attr-defined]
    return text if len(text) <= most else f"{text[: most - 1]}…"


def listing(items: Sequence[object] | Array, most: int = 5) -> str:
    """'a', 'b', 'c' and 4 more"""
    shown = ", ".join(brief(i) for i in items[:most])
    return shown if len(items) <= most else f"{shown} and {len(items) - most} more"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint for a name that is close to a known one, else nothing."""
    from difflib import get_close_matches

    by_case = {option.lower(): option for option in known}
    near = get_close_matches(name.lower(), by_case, n=1, cutoff=0.6)
    return f" Did you mean {by_case[near[0]]!r}?" if near else ""
