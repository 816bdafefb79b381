"""Bayesian networks over discrete columns: counts, families, back-off smoothing, averaged n-dependence estimators."""
