"""Names as they fit into a picture: cleaned, elided in the middle, wrapped, and in a font that has their letters."""

from __future__ import annotations

import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from tallybayes.errors import MissingFontWarning, warn

# Fonts with Chinese, Japanese and Korean letters, as systems ship them; the first one installed is taken.
CJK_FONTS = (
    "Noto Sans CJK SC",
    "Noto Sans CJK JP",
    "Noto Sans CJK TC",
    "Noto Sans CJK KR",
    "Noto Sans SC",
    "Source Han Sans SC",
    "Source Han Sans CN",
    "PingFang SC",
    "Hiragino Sans GB",
    "Hiragino Sans",
    "Microsoft YaHei",
    "WenQuanYi Zen Hei",
    "WenQuanYi Micro Hei",
    "SimHei",
    "Yu Gothic",
    "Malgun Gothic",
    "Apple SD Gothic Neo",
    "Droid Sans Fallback",
    "Arial Unicode MS",
)
GLYPH_MISSING = "Glyph .* missing from font"  # how matplotlib's warning of each letter begins
EAST_ASIA = re.compile("[\u1100-\u11ff\u2e80-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\ufe30-\ufe4f\uff00-\uffef]")


def clean(name: object) -> str:
    """One line of printable text; never empty."""
    line = " ".join(str(name).split())
    return "".join(c for c in line if c.isprintable()) or "(empty)"


def width(text: str) -> int:
    """In columns of a terminal: East Asian letters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def shorten(name: object, most: int = 24) -> str:
    """At most so wide; what is left out is in the middle, since long names tend to differ at their ends.

    >>> shorten("customer_lifetime_value_in_the_first_quarter", 20)
    'customer_lif…quarter'
    """
    return plain(_elide(clean(name), most))


def wrap(name: object, most: int = 24, lines: int = 2) -> str:
    """Broken into at most so many lines of at most so many columns; the rest is elided.

    >>> wrap("customer_lifetime_value in the first quarter", 20)
    'customer_lifetime_\\nvalue in the…quarter'
    """
    text = clean(name)
    out: list[str] = []
    while width(text) > most and len(out) < lines - 1:
        cut = _break_at(text, most)
        out.append(text[:cut].rstrip())
        text = text[cut:].lstrip()
    return plain("\n".join([*out, _elide(text, most)]))


def distinct(names: Sequence[object], most: int = 24, lines: int = 1) -> list[str]:
    """All of them wrapped, such that different names stay different: what they share at the start is left away first.

    >>> distinct(["income of the household in 2019 (net)", "income of the household in 2020 (net)"], 16)
    ['…in 2019 (net)', '…in 2020 (net)']
    """
    short = [wrap(name, most, lines) for name in names]
    texts = [clean(name) for name in names]
    if len(set(short)) == len(set(texts)):
        return short
    same = next((i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0)
    words = [m.end() for m in re.finditer(r"[\s_\-/.,;:|]+", texts[0][:same])]
    start = words[-2] if len(words) > 1 else same  # one word that they share stays, to say what the rest is
    return [wrap("…" + name[start:], most, lines) if start > 1 else wrap(name, most, lines) for name in texts]


def plain(text: str) -> str:
    """A dollar is a dollar, not the start of a formula."""
    return text.replace("$", r"\$")


def _elide(text: str, most: int) -> str:
    if width(text) <= most:
        return text
    tail = max((most - 1) * 2 // 5, 1)
    return _head(text, most - 1 - tail) + "…" + _head(text[::-1], tail)[::-1]


def _head(text: str, most: int) -> str:
    used, kept = 0, 0
    for c in text:
        used += width(c)
        if used > most:
            break
        kept += 1
    return text[:kept]


def _break_at(text: str, most: int) -> int:
    """After the last space or punctuation that fits, unless that leaves a line nearly empty."""
    head = _head(text, most)
    good = [m.end() for m in re.finditer(r"[\s_\-/.,;:|]+", head) if m.end() > len(head) // 3]
    return good[-1] if good else max(len(head), 1)


@contextmanager
def east_asian_font() -> Iterator[None]:
    """Texts made inside fall back on a font with Chinese, Japanese and Korean letters, where one is installed."""
    import matplotlib as mpl

    font = _installed_font()
    if font is None:
        yield
    else:
        with mpl.rc_context({"font.family": [*mpl.rcParams["font.family"], font]}):
            yield


def fit_fonts(artists: Iterable[Any]) -> None:
    """Return texts that were there before such a font; one warning in a process if none is installed."""
    from matplotlib.text import Text

    found = {id(t): t for a in artists for t in a.findobj(Text) if EAST_ASIA.search(t.get_text())}
    if not found:
        return
    font = _installed_font()
    if font is None:
        _warn_once()
        return
    for text in found.values():
        if font not in text.get_fontfamily():
            text.set_fontfamily([*text.get_fontfamily(), font])


def _installed_font() -> str | None:
    from matplotlib.font_manager import fontManager

    known = {font.name for font in fontManager.ttflist}
    return next((name for name in CJK_FONTS if name in known), None)


@cache
def _warn_once() -> None:
    warn(
        "No installed font has Chinese, Japanese or Korean letters, so they are drawn as boxes. Install one, for "
        "example Noto Sans CJK (Debian: fonts-noto-cjk), and start Python again.",
        MissingFontWarning,
    )
    warnings.filterwarnings("ignore", GLYPH_MISSING)
