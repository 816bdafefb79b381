"""Kernel density: the data themselves are the tally."""

from __future__ import annotations
