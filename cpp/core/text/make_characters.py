"""Writes characters_table.hpp from this Python's Unicode data: python cpp/core/text/make_characters.py > FILE."""

from __future__ import annotations

import sys
import unicodedata
from collections.abc import Callable

CHARACTERS = range(sys.maxunicode + 1)
# Blocks of scripts that are written without spaces between words; Hangul has them.
UNSPACED = (
    (0x0E00, 0x0EFF),  # Thai, Lao
    (0x0F00, 0x0FFF),  # Tibetan
    (0x1000, 0x109F),  # Myanmar
    (0x1780, 0x17FF),  # Khmer
    (0x1950, 0x19DF),  # Tai Le, New Tai Lue
    (0x1A20, 0x1AAF),  # Tai Tham
    (0x3005, 0x3007),  # marks that stand for a Han character
    (0x3040, 0x30FF),  # Hiragana, Katakana
    (0x31F0, 0x31FF),  # Katakana extensions
    (0x3400, 0x4DBF),  # Han
    (0x4E00, 0x9FFF),
    (0xA9E0, 0xA9FF),  # Myanmar
    (0xAA60, 0xAADF),  # Myanmar, Tai Viet
    (0xF900, 0xFAFF),  # Han
    (0xFF66, 0xFF9F),  # Katakana of half width
    (0x1B000, 0x1B16F),  # Kana
    (0x20000, 0x323AF),  # Han
)


def is_word(c: str) -> bool:
    """What \\w matches."""
    return c.isalnum() or c == "_"


def is_cased(c: str) -> bool:
    """A sigma after it ends a word (and it is not ignored there)."""
    return (c + "Σ").lower().endswith("ς")


def is_ignored(c: str) -> bool:
    """A sigma looks past it to see whether it ends a word."""
    return not is_cased(c) and ("A" + c + "Σ").lower().endswith("ς")


def is_unspaced(c: str) -> bool:
    return any(low <= ord(c) <= high for low, high in UNSPACED) and (is_word(c) or unicodedata.category(c)[0] == "M")


def runs(of: Callable[[str], int]) -> list[tuple[int, int, int]]:
    """(first, last, value) of neighbours with one value; 0 is left out."""
    out: list[tuple[int, int, int]] = []
    for i in CHARACTERS:
        value = of(chr(i))
        if value and out and out[-1][1] == i - 1 and out[-1][2] == value:
            out[-1] = (out[-1][0], i, value)
        elif value:
            out.append((i, i, value))
    return out


def flags(c: str) -> int:
    asked = (is_word, str.isspace, is_cased, is_ignored, is_unspaced)
    return sum(1 << bit for bit, holds in enumerate(asked) if holds(c))


def shift(c: str) -> int:
    """How far away the small letter is; of İ, which becomes two characters, the first is."""
    return ord(c.lower()[0]) - ord(c)


def table(name: str, found: list[tuple[int, int, int]]) -> str:
    rows = [f"{{{a}, {b}, {v}}}" for a, b, v in found]
    lines, line = [], ""
    for row in rows:
        if len(line) + len(row) > 112:
            lines.append(line)
            line = ""
        line += row + ", "
    return (
        f"inline constexpr Run {name}[] = {{\n  " + "\n  ".join([*lines, line]).replace(" \n", "\n").rstrip() + "\n};"
    )


print("// Made by make_characters.py: do not edit.")
print("#pragma once\n#include <cstdint>\n\n// clang-format off\nnamespace tb::characters {\n")
print(f'inline constexpr const char* kUnicode = "{unicodedata.unidata_version}";\n')
print("// Characters first .. last have this value; all others have 0.")
print("struct Run {\n  std::uint32_t first, last;\n  std::int32_t value;\n};\n")
print("// 1: \\w matches it; 2: white; 4: has case, or looks so; 8: ignored where case is asked; 16: its script has no")
print("// spaces.")
print(table("kFlags", runs(flags)))
print("\n// How far away the small letter is.")
print(table("kShifts", runs(shift)))
print("\n}  // namespace tb::characters")
