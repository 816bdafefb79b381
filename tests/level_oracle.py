"""What the codes of categories must be."""

import numpy as np

from tallybayes import _core

MISSING, UNSEEN = -1, -2


def oracle(values, known=(), grow=True):
    """Codes and new levels, the slow and obvious way."""
    code = {v: i for i, v in enumerate(known)}
    codes = []
    for v in values:
        if v is None or v != v:
            codes.append(MISSING)
        elif v in code:
            codes.append(code[v])
        elif grow:
            codes.append(code.setdefault(v, len(code)))
        else:
            codes.append(UNSEEN)
    return codes, list(code)[len(known) :]


def smallest(levels):
    return np.int8 if levels <= 127 else np.int16 if levels <= 32767 else np.int32


def coded(call, rows, known=(), grow=True, **options):
    """Codes, new levels and what else the call gives, from a function that takes and gives a LevelList."""
    before = _core.LevelList(known)
    codes, levels, *rest = call(rows, before, grow, **options)
    assert before.labels() == tuple(known)
    assert levels.labels()[: len(known)] == tuple(known)
    return codes, list(levels.labels()[len(known) :]), *rest
