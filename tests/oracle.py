"""Slow, obvious truths to test the kernels against: NumPy on one class and one column at a time."""

import math

import numpy as np


def counted(y, w):
    """Rows that count, and the weight of every row."""
    y = np.asarray(y)
    w = np.ones(len(y)) if w is None else np.asarray(w, dtype=float)
    return (y >= 0) & (w != 0), w


def columns(table):
    """The columns of a matrix or a list, as float64."""
    if isinstance(table, list):
        return [np.asarray(c).astype(float) for c in table]
    return [np.asarray(table)[:, j].astype(float) for j in range(np.asarray(table).shape[1])]


def each_cell(table, y, w, K):
    """(class, column, values that are not missing, their weights)."""
    keep, w = counted(y, w)
    for j, x in enumerate(columns(table)):
        for c in range(K):
            rows = keep & (np.asarray(y) == c) & ~np.isnan(x)
            yield c, j, x[rows], w[rows]


def moments(table, y, w, K):
    """n, mean, m2: two passes, with exactly rounded sums."""
    shape = (K, len(columns(table)))
    n, mean, m2 = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    for c, j, x, v in each_cell(table, y, w, K):
        n[c, j] = math.fsum(v)
        if len(x):
            mean[c, j] = x[0] + math.fsum(v * (x - x[0])) / n[c, j]
            m2[c, j] = math.fsum(v * (x - mean[c, j]) ** 2)
    return n, mean, m2


def sums(table, y, w, K):
    shape = (K, len(columns(table)))
    n, s = np.zeros(shape), np.zeros(shape)
    for c, j, x, v in each_cell(table, y, w, K):
        n[c, j], s[c, j] = math.fsum(v), math.fsum(v * x)
    return n, s


def binary_counts(table, threshold, y, w, K):
    shape = (K, len(columns(table)))
    n, ones = np.zeros(shape), np.zeros(shape)
    for c, j, x, v in each_cell(table, y, w, K):
        n[c, j], ones[c, j] = math.fsum(v), math.fsum(v[x > threshold])
    return n, ones


def counts(table, y, w, K, sizes):
    """Flat (K, L), and the sizes of the columns, grown where a code needs it."""
    keep, w = counted(y, w)
    raw = list(table) if isinstance(table, list) else list(np.asarray(table).T)
    cells, grown = [], []
    for x, size in zip(raw, sizes, strict=True):
        codes = np.asarray(x).astype(np.int64)
        rows = keep & (codes >= 0)
        size = max(int(size), int(codes[rows].max(initial=-1)) + 1)
        t = np.zeros((K, size))
        np.add.at(t, (np.asarray(y)[rows], codes[rows]), w[rows])
        cells.append(t)
        grown.append(size)
    return np.concatenate([np.zeros((K, 0)), *cells], axis=1), np.array(grown, dtype=np.int64)


def csr_sums(matrix, y, w, K, threshold):
    dense = matrix.toarray().astype(float)
    keep, w = counted(y, w)
    x = dense if threshold is None else dense > threshold
    return np.array([(w[:, None] * x)[keep & (np.asarray(y) == c)].sum(axis=0) for c in range(K)])


def class_weights(y, w, K):
    keep, w = counted(y, w)
    return np.array([math.fsum(w[keep & (np.asarray(y) == c)]) for c in range(K)])
