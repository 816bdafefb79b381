"""Joint tables against NumPy: packing, counting, moving, information."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_limits

from tallybayes import _core
from tests.distributions.test_statistics_core import INTEGERS, LAYOUTS, available, laid_out

equal = np.testing.assert_array_equal
close = np.testing.assert_allclose


@pytest.fixture(params=available())
def every_isa(request):
    _core.limit_isa(request.param)
    yield
    _core.limit_isa(2)


def flat(tables):
    """Tables named by their columns, as the kernels take them."""
    starts = np.cumsum([0, *map(len, tables)], dtype=np.int64)
    return np.array([j for t in tables for j in t], np.int32), starts


def all_of(d, order):
    return list(itertools.combinations(range(d), order))


def cells_of(sizes, tables):
    return sum(int(np.prod([sizes[j] for j in t], dtype=np.int64)) for t in tables)


def counted(codes, y, w, sizes, tables, K, dtype=np.uint32):
    out = np.zeros((K, cells_of(sizes, tables)), dtype)
    _core.count_tables(codes, y, w, np.asarray(sizes, np.int64), *flat(tables), out)
    return out


def expected(codes, y, w, sizes, tables, K):
    """Rows one by one into cells, in the order of the rows; codes beyond the sizes are missing."""
    found = []
    for table in tables:
        shape = [sizes[j] for j in table]
        counts = np.zeros((K, int(np.prod(shape, dtype=np.int64))))
        x = codes[list(table)].astype(np.int64)
        keep = (y >= 0) & (x < np.reshape(shape, (-1, 1))).all(axis=0)
        cell = np.zeros(int(keep.sum()), np.int64)
        for size, column in zip(shape, x[:, keep], strict=True):
            cell = cell * size + column
        np.add.at(counts, (y[keep], cell), 1.0 if w is None else w[keep])
        found.append(counts)
    return np.hstack(found) if found else np.zeros((K, 0))


def random_rows(rng, n, sizes, K, missing=0.1, dtype=np.uint8):
    codes = np.array([rng.integers(0, max(s, 1), n) for s in sizes]).reshape(len(sizes), n).astype(dtype)
    codes[rng.random(codes.shape) < missing] = np.iinfo(dtype).max
    codes[np.asarray(sizes) == 0] = np.iinfo(dtype).max
    return codes, rng.integers(-1 if missing else 0, K, n, dtype=np.int32)


def check(codes, y, sizes, tables, K, rng):
    want = expected(codes, y, None, sizes, tables, K)
    equal(counted(codes, y, None, sizes, tables, K), want)
    equal(counted(codes, y, None, sizes, tables, K, np.float64), want)
    w = rng.integers(0, 3, len(y)) * rng.random(len(y))
    equal(counted(codes, y, w, sizes, tables, K, np.float64), expected(codes, y, w, sizes, tables, K))


class TestPackCodes:
    @staticmethod
    def expected(X, sizes, raw, bits):
        v = X.astype(object)
        inside = (v >= 0) & (v < np.asarray(sizes, object))
        none = np.iinfo(bits).max
        unseen = ~inside & (True if raw else v != -1)
        return np.where(inside, v, none).astype(bits).T, unseen.any(axis=0)

    @pytest.mark.usefixtures("every_isa")
    @pytest.mark.parametrize("layout", LAYOUTS)
    @pytest.mark.parametrize("dtype", INTEGERS)
    @pytest.mark.parametrize(("most", "bits"), [(5, np.uint8), (255, np.uint8), (256, np.uint16), (65_536, np.uint32)])
    def test_every_type_and_layout(self, dtype, layout, most, bits):
        rng = np.random.default_rng(1)
        d = 37
        sizes = np.where(np.arange(d) % 3 == 0, most, rng.integers(0, 6, d))
        info = np.iinfo(np.int8 if dtype == "?" else dtype)
        X = rng.integers(-1 if info.min < 0 else 0, 6, (150, d))
        X[rng.random(X.shape) < 0.02] = 2 if dtype == "?" else min(most, info.max)
        X[3, 4] = info.min
        X = X.astype(dtype) if dtype != "u8" else X.astype(np.uint64)
        if dtype == "u8":
            X[5, 6] = info.max
        for raw, first, rows in [(False, 0, 150), (True, 7, 101), (False, 150, 0)]:
            codes, unseen = _core.pack_codes(_core.Columns(laid_out(X, layout)), sizes, raw, first, rows)
            want, outside = self.expected(X[first : first + rows], sizes, raw, bits)
            assert codes.dtype == bits
            equal(codes, want)
            equal(unseen, outside)

    @given(st.data())
    def test_few_cells(self, data):
        n, d = data.draw(st.integers(0, 40)), data.draw(st.integers(1, 40))
        rng = np.random.default_rng(data.draw(st.integers(0, 99)))
        sizes = rng.integers(0, data.draw(st.sampled_from([3, 300, 70_000])), d)
        X = rng.integers(-2, sizes + 1, (n, d))
        raw = data.draw(st.booleans())
        bits = np.uint8 if sizes.max() <= 255 else np.uint16 if sizes.max() <= 65_535 else np.uint32
        for x in (X, np.asfortranarray(X)):
            codes, unseen = _core.pack_codes(_core.Columns(x), sizes, raw, 0, n)
            want, outside = self.expected(X, sizes, raw, bits)
            equal(codes, want)
            equal(unseen, outside)

    @pytest.mark.parametrize("threads", [1, 3])
    def test_several_blocks(self, threads):
        rng = np.random.default_rng(2)
        X = rng.integers(-1, 5, (20_011, 30))
        X[20_000, 7] = 5
        sizes = np.full(30, 5)
        with threadpool_limits(threads):
            codes, unseen = _core.pack_codes(_core.Columns(X), sizes, False, 0, len(X))
        equal(codes, np.where((X >= 0) & (X < 5), X, 255).T)
        equal(unseen, np.arange(30) == 7)

    def test_refusals(self):
        cols = _core.Columns(np.zeros((4, 2), np.int64))
        two = np.array([2, 2])
        for sizes, first, rows in [(two[:1], 0, 4), (-two, 0, 4), (two << 40, 0, 4), (two, 2, 3), (two, 5, 0)]:
            with pytest.raises(ValueError):
                _core.pack_codes(cols, sizes, False, first, rows)
        with pytest.raises(TypeError):
            _core.pack_codes(_core.Columns(np.zeros((4, 2))), two, False, 0, 4)


class TestCountTables:
    @pytest.mark.usefixtures("every_isa")
    @pytest.mark.parametrize("missing", [0.0, 0.03])
    @pytest.mark.parametrize("order", [0, 1, 2, 3, 4])
    def test_few_levels(self, order, missing):
        rng = np.random.default_rng(order)
        sizes = [3, 5, 1, 2, 4, 2]
        codes, y = random_rows(rng, 9_001, sizes, 3, missing)
        codes[1] = 1  # a column of one level
        check(codes, y, sizes, all_of(6, order), 3, rng)

    @pytest.mark.usefixtures("every_isa")
    @pytest.mark.parametrize("K", [1, 2, 40, 3_000])
    @pytest.mark.parametrize("missing", [0.0, 0.1])
    def test_classes(self, K, missing):
        rng = np.random.default_rng(K)
        sizes = [2, 3, 4, 9]
        codes, y = random_rows(rng, 5_000, sizes, K, missing)
        check(codes, y, sizes, all_of(4, 2) + all_of(4, 3), K, rng)

    @pytest.mark.usefixtures("every_isa")
    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.uint32])
    def test_many_levels_beside_few(self, dtype):
        rng = np.random.default_rng(7)
        wide = {1: 255, 2: 700, 4: 70_000}[np.dtype(dtype).itemsize]
        sizes = [wide, 3, 40, 2, 0, 6]
        codes, y = random_rows(rng, 4_000, sizes, 3, 0.1, dtype)
        check(codes, y, sizes, all_of(6, 2), 3, rng)

    @pytest.mark.usefixtures("every_isa")
    @pytest.mark.parametrize("n", [0, 1, 2, 255, 256, 257, 2_047, 2_049, 70_001, 140_000])
    def test_numbers_of_rows(self, n):
        rng = np.random.default_rng(n)
        sizes = [3, 2, 4, 20, 11]
        codes, y = random_rows(rng, n, sizes, 2, 0.01)
        codes[:, : n // 2][codes[:, : n // 2] == 255] = 0  # nothing is missing in the first half
        check(codes, y, sizes, [*all_of(5, 2), (0, 1, 2), (0, 1, 4)], 2, rng)

    @given(st.data())
    def test_any(self, data):
        rng = np.random.default_rng(data.draw(st.integers(0, 999)))
        d, K, n = data.draw(st.integers(1, 7)), data.draw(st.integers(1, 5)), data.draw(st.integers(0, 900))
        sizes = [int(s) for s in rng.integers(0, data.draw(st.sampled_from([3, 6, 30])), d)]
        tables = data.draw(
            st.lists(st.sets(st.integers(0, d - 1), max_size=4).map(lambda t: tuple(sorted(t))), max_size=9)
        )
        codes, y = random_rows(rng, n, sizes, K, data.draw(st.sampled_from([0.0, 0.2])))
        stray = rng.random(codes.shape) < 0.01
        codes[stray] = rng.integers(0, 256, int(stray.sum()))  # beyond the sizes: missing
        check(codes, y, sizes, tables, K, rng)

    def test_adds_to_what_is_there_in_the_order_of_rows(self):
        rng = np.random.default_rng(3)
        sizes, K, tables = [4, 3, 5], 2, all_of(3, 2)
        codes, y = random_rows(rng, 3_000, sizes, K)
        w = rng.random(3_000)
        whole = counted(codes, y, w, sizes, tables, K, np.float64)
        parts = np.zeros_like(whole)
        for a, b in [(0, 10), (10, 1_700), (1_700, 3_000)]:
            part = np.ascontiguousarray(codes[:, a:b])
            _core.count_tables(part, y[a:b], w[a:b], np.array(sizes), *flat(tables), parts)
        equal(parts, whole)

    def test_threads_do_not_matter(self):
        rng = np.random.default_rng(4)
        sizes, K = [4] * 12 + [50, 90], 3
        codes, y = random_rows(rng, 30_000, sizes, K)
        w = rng.random(30_000)
        answers = []
        for threads in (1, 2, 5):
            with threadpool_limits(threads):
                tables = all_of(14, 2) + all_of(6, 3)
                answers.append(
                    (counted(codes, y, None, sizes, tables, K), counted(codes, y, w, sizes, tables, K, float))
                )
        for plain, weighted in answers[1:]:
            equal(plain, answers[0][0])
            equal(weighted, answers[0][1])

    def test_refusals_leave_the_counts_alone(self):
        sizes = np.array([2, 3])
        columns, starts = flat([(0, 1)])
        y = np.array([0, 1, 1, 0], np.int32)
        codes = np.zeros((2, 4), np.uint8)
        good = {"codes": codes, "y": y, "w": None, "sizes": sizes, "columns": columns, "starts": starts}
        bad = [
            {"codes": codes[:1]},
            {"sizes": np.array([2, 300])},
            {"sizes": -sizes},
            {"y": y[:3]},
            {"y": y + 1},
            {"columns": columns[::-1].copy()},
            {"columns": columns + 1},
            {"columns": columns - 1},
            {"starts": starts[:1]},
            {"starts": starts[:0]},
            {"starts": starts + 1},
            {"starts": np.array([0, 3, 2])},
            {"starts": np.array([0, -1, 2])},
            {"w": np.ones(3)},
        ]
        for change in bad:
            out = np.zeros((2, 6))
            with pytest.raises(ValueError):
                _core.count_tables(**{**good, **change}, out=out)
            equal(out, 0)
        for w in ([1, 1, 1, -1.0], [1, 1, 1, np.nan], [1, 1, 1, np.inf]):
            out = np.zeros((2, 6))
            with pytest.raises(ValueError):
                _core.count_tables(**{**good, "w": np.array(w)}, out=out)
            equal(out, 0)
        with pytest.raises(ValueError):
            _core.count_tables(**{**good, "w": np.ones(4)}, out=np.zeros((2, 6), np.uint32))
        with pytest.raises(ValueError):
            _core.count_tables(**good, out=np.zeros((2, 7)))
        for out in (np.zeros((2, 6), np.float32), np.zeros((2, 6), np.int32)):
            with pytest.raises(TypeError):
                _core.count_tables(**good, out=out)
        frozen = np.zeros((2, 6))
        frozen.flags.writeable = False
        with pytest.raises(TypeError):
            _core.count_tables(**good, out=frozen)
        with pytest.raises(TypeError):
            _core.count_tables(**{**good, "codes": codes.astype(np.int8)}, out=np.zeros((2, 6)))

    def test_too_many_cells(self):
        sizes = np.full(8, 2**32 - 1)
        with pytest.raises(ValueError, match="too many cells"):
            _core.count_tables(
                np.zeros((8, 1), np.uint32), np.zeros(1, np.int32), None, sizes, *flat(all_of(8, 8)), np.zeros((1, 1))
            )


class TestMoveTables:
    @given(st.data())
    @pytest.mark.parametrize("dtype", [np.uint32, np.float64])
    def test_like_counting_renamed_codes(self, dtype, data):
        rng = np.random.default_rng(data.draw(st.integers(0, 999)))
        d, K = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 3))
        old = rng.integers(1, 5, d)
        new = old + rng.integers(0, 3, d)
        tables = [t for order in range(4) for t in all_of(d, order)]
        codes, y = random_rows(rng, 60, old, K)
        maps = [None if rng.random() < 0.3 else rng.integers(0, new[j], old[j]) for j in range(d)]
        renamed = codes.copy()
        for j, names in enumerate(maps):
            if names is not None:
                renamed[j] = np.append(names, np.full(256 - len(names), 255)).astype(np.uint8)[codes[j]]
        got = _core.move_tables(counted(codes, y, None, old, tables, K, dtype), old, new, *flat(tables), maps)
        assert got.dtype == dtype
        equal(got, counted(renamed, y, None, new, tables, K, dtype))

    def test_many_cells_and_none(self):
        rng = np.random.default_rng(0)
        old, new = np.array([60, 0, 70, 9]), np.array([61, 2, 70, 12])
        tables = all_of(4, 2)
        counts = rng.integers(0, 9, (3, cells_of(old, tables)), dtype=np.uint32)
        got = _core.move_tables(counts, old, new, *flat(tables), [None] * 4)
        want, at = [], 0
        for i, j in tables:
            part = counts[:, at : at + old[i] * old[j]].reshape(3, old[i], old[j])
            at += old[i] * old[j]
            want.append(np.pad(part, [(0, 0), (0, new[i] - old[i]), (0, new[j] - old[j])]).reshape(3, -1))
        equal(got, np.hstack(want))

    def test_refusals(self):
        old, new = np.array([2, 3]), np.array([2, 4])
        columns, starts = flat([(0, 1)])
        counts = np.zeros((2, 6))
        for a, b, maps in [
            (old, new[:1], [None, None]),
            (old, new, [None]),
            (old, old - 1, [None, None]),
            (old, new, [np.array([0, 2]), None]),
            (old, new, [np.array([0, -1]), None]),
            (old, new, [np.array([0]), None]),
            (new, new, [None, None]),
        ]:
            with pytest.raises(ValueError):
                _core.move_tables(counts, a, b, columns, starts, maps)
        with pytest.raises(TypeError):
            _core.move_tables(counts.astype(int), old, new, columns, starts, [None, None])


def information(p):
    """I(a; b | c) of probabilities p[c, a, b], term by term."""
    total = 0.0
    for c, a, b in np.ndindex(p.shape):
        if p[c, a, b] > 0:
            total += p[c, a, b] * np.log(p[c, a, b] * p[c].sum() / (p[c, a].sum() * p[c, :, b].sum()))
    return total


class TestPairInformation:
    @given(st.data())
    @pytest.mark.parametrize("dtype", [np.uint32, np.float64])
    def test_formula(self, dtype, data):
        rng = np.random.default_rng(data.draw(st.integers(0, 999)))
        d, K = data.draw(st.integers(2, 5)), data.draw(st.integers(1, 4))
        sizes = rng.integers(1, 5, d)
        tables = [(0,), *all_of(d, 2), tuple(range(d))] if d > 2 else [(0,), (0, 1)]
        codes, y = random_rows(rng, data.draw(st.sampled_from([0, 3, 200])), sizes, K)
        joint = counted(codes, y, None, sizes, tables, K, dtype)
        single = counted(codes, y, None, sizes, all_of(d, 1), K, np.float64)
        pairs, alone = _core.pair_information(single, joint, sizes, *flat(tables))
        at = 0
        for t, table in enumerate(tables):
            shape = sizes[list(table)]
            cells = joint[:, at : at + shape.prod()].astype(float)
            at += shape.prod()
            if len(table) != 2:
                assert np.isnan(pairs[t])
                continue
            close(pairs[t], information(cells.reshape(K, *shape) / max(cells.sum(), 1)), atol=1e-13)
            assert pairs[t] >= 0
        for j, part in enumerate(np.split(single, np.cumsum(sizes)[:-1], axis=1)):
            close(alone[j], information(part[None] / max(part.sum(), 1)), atol=1e-13)
            assert alone[j] >= 0

    def test_known_answers(self):
        a, b, y = (np.arange(8) >> k & 1 for k in range(3))
        codes = np.array([a, b, a ^ y]).astype(np.uint8)
        joint = counted(codes, y.astype(np.int32), None, [2] * 3, all_of(3, 2), 2)
        single = counted(codes, y.astype(np.int32), None, [2] * 3, all_of(3, 1), 2, np.float64)
        pairs, alone = _core.pair_information(single, joint, np.full(3, 2), *flat(all_of(3, 2)))
        close(pairs, [0, np.log(2), 0], atol=1e-15)
        equal(alone, 0)

    def test_refusals(self):
        sizes = np.array([2, 3])
        for single, joint in [((2, 4), (2, 6)), ((1, 5), (2, 6)), ((2, 5), (2, 5))]:
            with pytest.raises(ValueError):
                _core.pair_information(np.zeros(single), np.zeros(joint), sizes, *flat([(0, 1)]))


@pytest.mark.parametrize("raw", [True, False])
@pytest.mark.parametrize("isa", [0, 1, 2])
@pytest.mark.parametrize("dtype", [np.int64, np.uint64, np.int32, np.int8])
def test_codes_of_any_size_are_packed(dtype, isa, raw):
    """Rows of a table stored by rows are packed in tiles: codes that fit a byte only by their low bits are outside."""
    rng = np.random.default_rng(0)
    info = np.iinfo(dtype)
    odd = [
        v for v in (-1, -2, 5, 255, 256, 2**32, 2**32 + 1, 2**63 - 1, 2**64 - 1, -(2**32)) if info.min <= v <= info.max
    ]
    x = rng.integers(0, 5, (300, 30)).astype(dtype)
    for row, v in enumerate(odd):
        x[20 * row, 3 * row] = np.array(v, dtype=object).astype(dtype)
    size = np.full(30, 5, np.int64)
    inside = np.array([[0 <= int(v) < 5 for v in row] for row in x])
    missing = np.array([[int(v) == -1 for v in row] for row in x]) & (not raw)
    _core.limit_isa(isa)
    try:
        codes, unseen = _core.pack_codes(_core.Columns(x), size, raw, 0, len(x))
    finally:
        _core.limit_isa(2)
    np.testing.assert_array_equal(codes, np.where(inside, x, 255).astype(np.uint8).T)
    np.testing.assert_array_equal(unseen, (~inside & ~missing).any(axis=0))
