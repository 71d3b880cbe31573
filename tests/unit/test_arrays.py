# SPDX-License-Identifier: BSD-3-Clause
"""A caller's arrays: sparse matrices whose index arrays lie are refused, and so are labels that
would be rounded."""

import numpy as np
import pytest
import scipy.sparse as sp

import svmcut
from svmcut.base.errors import DataError
from svmcut.data.arrays import as_rows, check_sparse, vector_examples
from svmcut.data.offset_features import find_offset_features, offset_warnings

FORMATS = {
    "csr": sp.csr_matrix,
    "csc": sp.csc_matrix,
    "coo": sp.coo_matrix,
    "bsr": lambda X: sp.bsr_matrix(X, blocksize=(2, 2)),
}
#: What SciPy's own conversions follow without a look: which array, what becomes of it, and the
#: refusal.
DAMAGES = {
    "falls": ("indptr", lambda a: a.__setitem__(1, a[2] + 1), "indptr must rise"),
    "ends outside": ("indptr", lambda a: a.__setitem__(-1, 10**9), "indptr must rise"),
    "begins late": ("indptr", lambda a: a.__setitem__(0, 1), "indptr must rise"),
    "below 0": ("indptr", lambda a: a.__setitem__(1, -(10**9)), "indptr must rise"),
    "column outside": (
        "indices",
        lambda a: a.__setitem__(3, 10**9),
        "entry 3 of indices is 1000000000; expected 0 to",
    ),
    "column below 0": (
        "indices",
        lambda a: a.__setitem__(3, -(10**9)),
        "entry 3 of indices is -1000000000",
    ),
    "row outside": (
        "row",
        lambda a: a.__setitem__(3, 10**9),
        "entry 3 of row is 1000000000; expected 0 to 5",
    ),
    "col below 0": ("col", lambda a: a.__setitem__(3, -1), "entry 3 of col is -1; expected 0 to 3"),
}
REPLACED = {
    "too short": ("indptr", lambda a: a[:-1].copy(), "indptr has .* entries; expected"),
    "lengths": (
        "data",
        lambda a: a[:2].copy(),
        "data has 2 entries, indices .*; expected one each|entries, data 2; expected",
    ),
    "not integers": (
        "indices",
        lambda a: a + 0.5,
        "indices is 1-dimensional of float64; expected a 1-dim.* of integers",
    ),
    "beyond int32": (
        "indices",
        lambda a: a.astype(np.int64) + 2**32,
        "entry 0 of indices is 429496729[6-9]; expected 0 to",
    ),
}


def damaged():
    for kind in FORMATS:
        for name, (array, change, message) in {**DAMAGES, **REPLACED}.items():
            if hasattr(FORMATS[kind](np.ones((6, 4))), array) and not (
                kind == "coo" and array in ("indices", "indptr")
            ):
                yield pytest.param(
                    kind, array, change, message, name in REPLACED, id=f"{kind} {name}"
                )


@pytest.mark.parametrize("kind, array, change, message, replaced", [*damaged()])
def test_index_arrays_that_lie_are_refused_before_anything_follows_them(
    kind, array, change, message, replaced
):
    dense = np.arange(1.0, 25.0).reshape(6, 4)
    X = FORMATS[kind](dense)
    if replaced:
        setattr(X, array, change(getattr(X, array)))
    else:
        change(getattr(X, array))
    y = np.arange(6) % 2
    for fit in (
        lambda: svmcut.LinearSVM().fit(X, y),
        lambda: svmcut.train((X, y)),
        lambda: as_rows(X),
        lambda: check_sparse(X),
    ):
        with pytest.raises(DataError, match=message):
            fit()
    machine = svmcut.LinearSVM(tol=0.1).fit(dense, y)
    with pytest.raises(ValueError, match=message):
        machine.predict(X)
    if kind == "csr":
        for fit in (
            lambda: svmcut.MultilabelSVM().fit(dense, X),
            lambda: svmcut.ChainSVM().fit([X], [list("ababab")]),
        ):
            with pytest.raises(DataError, match=message):
                fit()


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"])
def test_sparse_matrices_of_every_kind_are_the_dense_one(kind, rng):
    dense = np.round(rng.normal(size=(6, 4)), 2) * (rng.random((6, 4)) < 0.6)
    for X in (sp.csr_matrix(dense).asformat(kind), sp.csr_array(dense).asformat(kind)):
        rows = as_rows(X)
        assert rows.proven and np.array_equal(rows.to_dense(), dense.astype(np.float32))


def test_unsorted_and_repeated_entries_add_up_whatever_the_matrix_says_of_itself():
    X = sp.csr_matrix((np.ones(5), np.array([0, 1, 2, 0, 2]), np.array([0, 3, 5])), (2, 3))
    assert X.has_canonical_format  # from here on it is believed
    X.indices[:3] = [2, 0, 0]
    for index in (np.int32, np.int64):
        X.indices, X.indptr = X.indices.astype(index), X.indptr.astype(index)
        assert as_rows(X).to_dense().tolist() == [[2, 0, 1], [1, 0, 1]]
    assert X.indices.tolist() == [2, 0, 0, 0, 2]
    wide = sp.csr_matrix((np.full(2, 3e38, np.float32), np.array([1, 1]), np.array([0, 2])), (1, 2))
    with pytest.raises(DataError, match="beyond a float of 32 bits"):
        as_rows(wide)
    longer = sp.csr_matrix((2, 3))
    longer.indices, longer.data = np.array([7, 7], np.int32), np.array([np.nan, 1.0])
    with pytest.raises(DataError, match="entry 0 of indices is 7"):
        as_rows(longer)


def test_labels_and_queries_are_kept_exactly_or_refused(tmp_path):
    X, big = np.arange(12.0).reshape(6, 2), 2**53
    for labels in (
        np.array([big + 1, big] * 3),
        [big + 1, big] * 3,
        np.array([big + 1, big] * 3, object),
    ):
        with pytest.raises(
            DataError, match="entry 0 is 9007199254740993, which no float of 64 bits holds"
        ):
            svmcut.train((X, labels))
    with pytest.raises(DataError, match="y: is no column of numbers"):
        svmcut.train((X, np.arange(6) * 1j))
    queries = np.array([big, big, big + 1, big + 1, 7, 7])
    assert vector_examples(X, np.zeros(6), queries).qid.tolist() == queries.tolist()
    for bad, value in ((1.5, "1.5"), (np.nan, "nan"), (1e300, "1e\\+300")):
        with pytest.raises(DataError, match=f"qid: entry 2 is {value}; expected a whole number"):
            vector_examples(X, np.zeros(6), [1.0, 1.0, bad, 3.0, 3.0, 3.0])


@pytest.mark.parametrize(
    "names", [[2**53 - 1, 2**53], [-(2**60), 2**62, 2**62 + 2**11], [False, True], [1700000123, 5]]
)
def test_classes_that_are_saved_are_those_that_are_loaded(tmp_path, names, rng):
    X, classes = rng.normal(size=(30, 2)), np.array(names)
    y = classes[np.arange(30) % len(classes)]
    machine = svmcut.LinearSVM(tol=0.1).fit(X, y)
    machine.save(tmp_path / "model")
    loaded, own = svmcut.load(tmp_path / "model").predict(X), machine.predict(X)
    assert [int(one) if one == int(one) else one for one in loaded.tolist()] == own.tolist()


@pytest.mark.parametrize("names", [[2**53, 2**53 + 1], [1, 2**63 - 1], [1, 2, 2**53 + 1]])
def test_classes_that_no_model_file_holds_are_not_saved(tmp_path, names, rng):
    X, classes = rng.normal(size=(30, 2)), np.array(names)
    machine = svmcut.LinearSVM(tol=0.1).fit(X, classes[np.arange(30) % len(classes)])
    assert set(machine.predict(X)) <= set(classes)
    with pytest.raises(
        ValueError,
        match=f"labels are floats of 64 bits, and {max(names)} is none; .* keep .* with pickle",
    ):
        machine.save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


SECONDS = 1_700_000_000


@pytest.fixture
def hour(rng):
    """Times of one hour, the later half of the second class, and a column as it should be."""
    seconds = np.sort(rng.integers(0, 600, 400))
    return np.column_stack([SECONDS + seconds, rng.normal(size=400)]).astype(np.float64), (
        seconds > 300
    ).astype(int)


@pytest.mark.parametrize(
    "form",
    [
        np.asarray,
        sp.csr_matrix,
        lambda X: X.astype(np.int64),
        lambda X: X.astype(np.float32),
        np.ndarray.tolist,
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_columns_that_32_bits_hide_are_told(hour, form):
    X, y = hour
    with pytest.warns(
        UserWarning,
        match=r"column 0 of X: values near 1.7e\+09 are rounded .* in steps of 128, "
        r".*StandardScaler",
    ):
        svmcut.LinearSVM(tol=0.1, max_iter=9).fit(form(X), y)
    found = svmcut.train((form(X), y), gap=0.1, max_iterations=9)
    assert any("column 0 of X: values near 1.7e+09" in warning for warning in found.warnings)


@pytest.mark.filterwarnings("error")
def test_columns_as_they_should_be_are_not_told(hour):
    X, y = hour
    svmcut.LinearSVM(tol=0.1).fit(X - X.mean(axis=0), y)
    rng = np.random.default_rng(0)
    one = np.ones(400)
    plain = np.column_stack(
        [
            one,
            1990 + rng.integers(0, 30, 400),
            5e7 * (rng.random(400) < 0.3),
            0.3 + 1e-17 * X[:, 1],
            rng.integers(0, 2**40, 400),
            1e-30 * X[:, 1],
            1e30 * X[:, 1],
        ]
    )
    for form in (plain, plain.astype(np.float32), sp.csr_matrix(plain), as_rows(plain)):
        assert find_offset_features(form, bias=True) == []
    assert offset_warnings(np.zeros((0, 3))) == offset_warnings(np.zeros((3, 0))) == []


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_what_a_bias_cannot_undo_is_told_where_there_is_one(rng):
    days = SECONDS + 86400.0 * rng.normal(size=(500, 1))
    assert offset_warnings(days) == []
    (told,) = offset_warnings(days, "train.dat", bias=True)
    assert (
        "feature 1 of train.dat: the mean is 1" in told
        and "standard deviations from 0" in told
        and "svmcut scale" in told
    )
    y = (days[:, 0] > SECONDS).astype(int)
    with pytest.warns(UserWarning, match="the bias that would undo it is regularised"):
        svmcut.LinearSVM(tol=0.1, max_iter=9).fit(days, y)
    few, many = (
        find_offset_features(days[:100], True),
        find_offset_features(np.tile(days, (400, 1)), True),
    )
    assert [one.column for one in few] == [one.column for one in many] == [0]
