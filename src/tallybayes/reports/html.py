"""HTML that is written safely: a text is escaped unless it is markup that was made here."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files

VOID = frozenset(("br", "hr", "input", "meta"))  # shapes of SVG are closed like all else


class Markup(str):
    """Text that is HTML already. Only `tag`, `join` and what is written in this package make it."""

    __slots__ = ()


BREAKS = re.compile(r"(?<=[_/-])(?![_/-])|(?<=\.)(?=[^\W\d_])")  # where a long name may be cut
WRAPPED = 24  # characters from which a cell keeps a width that its words fit in
MAX_CELL_LENGTH = 300  # characters of a cell: a value may be a whole letter
Child = object  # Markup stays as it is, None is nothing, a list is its members, all else is text


def tag(name: str, /, *children: Child, **attributes: object) -> Markup:
    """An element. class_ is written class, data_x is data-x; an attribute that is None or False is not written."""
    written = []
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        word = key.rstrip("_").replace("_", "-")
        word = "viewBox" if word == "viewbox" else word
        written.append(f" {word}" if value is True else f' {word}="{escape(_number(value), quote=True)}"')
    head = f"<{name}{''.join(written)}>"
    return Markup(head if name in VOID else f"{head}{join(children)}</{name}>")


def join(children: Iterable[Child]) -> Markup:
    """Children one after the other."""
    return Markup("".join(map(_inner, children)))


def _inner(child: Child) -> str:
    if child is None:
        return ""
    if isinstance(child, Markup):
        return str(child)
    if isinstance(child, list | tuple):
        return join(child)
    return escape(_number(child), quote=True)


def _number(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def apart(text: object) -> str:
    """A text of the data inside a sentence: what it says of its direction ends with it (Unicode's isolates)."""
    found = str(text)
    return found if found.isascii() else f"\u2068{found}\u2069"


def breakable(name: str) -> Markup:
    """A name in a narrow place: a line may end after an underscore, a slash, a hyphen, or a dot before a letter."""
    return Markup("<wbr>".join(escape(part, quote=True) for part in re.split(BREAKS, name)))


def shorten(text: str, most: int) -> str:
    """A text of at most so many characters."""
    return text if len(text) <= most else f"{text[: most - 1]}…"


def share(value: float) -> str:
    """A share in whole per cent; only all is 100%, and only none is 0%."""
    return "<1%" if 0 < value < 0.005 else ">99%" if 0.995 <= value < 1 else f"{value:.0%}"


def percent(value: float) -> str:
    """A share in tenths of a per cent, as `percent` of wording.js writes it."""
    return "<0.1%" if 0 < value < 0.0005 else ">99.9%" if 0.9995 < value < 1 else f"{value:.1%}"


def number(value: float, digits: int = 5) -> str:
    """A number in so many digits, whole numbers in all of theirs; a comma from 10,000 on, so that years have none."""
    if abs(value) < 1e12 and (value == round(value) or abs(value) >= 10 ** (digits - 1)):
        text = f"{value + 0.0:{',' if abs(value) >= 1e4 else ''}.0f}"
    else:
        text = f"{value:.{digits}g}"
    return text.replace("-", "\u2212")


def level(value: object) -> str:
    """A value of a category; one that would not be seen is named."""
    return str(value) if str(value).strip() else "(empty)"


def table(head: Sequence[Child], rows: Iterable[Sequence[Child]], caption: str, numeric: Sequence[int] = ()) -> Markup:
    """A table whose first column names its rows; numeric: columns that are aligned right."""

    def cell(i: int, value: Child) -> Markup:
        value = shorten(value, MAX_CELL_LENGTH) if type(value) is str else value
        if i == 0 and type(value) is str:
            value = breakable(value)
        return tag("th", value, scope="row") if i == 0 else tag("td", value, class_=kind(i, value))

    def kind(i: int, value: Child) -> str | None:
        found = ["number"] if i in numeric else []
        found += ["long"] if type(value) is str and len(value) > WRAPPED else []
        return " ".join(found) or None

    shown = [breakable(h) if type(h) is str else h for h in head]
    heads = [tag("th", h, scope="col", class_=kind(i, h)) for i, h in enumerate(shown)]
    body = [tag("tr", [cell(i, v) for i, v in enumerate(row)]) for row in rows]
    whole = tag("table", tag("caption", caption), tag("thead", tag("tr", heads)), tag("tbody", body))
    return tag("div", whole, class_="wide", tabindex=0, role="region", aria_label=caption)


def source(name: str) -> str:
    """A file of this package: style sheets and scripts."""
    return files("tallybayes.reports").joinpath(name).read_text(encoding="utf-8")


def document(title: str, body: Child, data: str, scripts: Sequence[str], style: str, connect: bool = False) -> str:
    """A whole page. data: JSON that the scripts read; connect: they may ask the server that the page came from.

    The policy lets nothing in from outside, and runs no script but these: it names them by their hashes.
    """
    code = "\n".join(scripts)
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src '{_hash(code)}'",
            f"style-src '{_hash(style)}'",
            "img-src data:",
            "connect-src 'self'" if connect else "connect-src 'none'",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    head = join(
        [
            Markup('<meta charset="utf-8">'),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            Markup(f"<style>{style}</style>"),
        ]
    )
    facts = Markup(f'<script type="application/json" id="data">{data}</script>')
    script = Markup(f'<script type="module">{code}</script>')
    return f'<!DOCTYPE html>\n<html lang="en">{tag("head", head)}{tag("body", body, facts, script)}</html>\n'


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"
