"""Distributions of one column given the class: one file per distribution."""
