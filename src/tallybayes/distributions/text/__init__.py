"""Distributions of text columns."""
