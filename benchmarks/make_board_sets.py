# SPDX-License-Identifier: BSD-3-Clause
"""Stand-ins for public sets of two classes and of many, in their sizes and shapes, for
benchmarks/board.py.

    python benchmarks/make_board_sets.py NAME OUTPUT [--rows N] [--seed N]

    w8a             49,749 x 300        rare binary features, some twelve a row, 3 % positive
    url-day         20,000 x 100,000    a day of the url set: a hundred binary features a row,
                    nearly separable
    news20-binary   19,996 x 1,355,191  counts of words at unit length, some 450 a row
    skin            245,057 x 3         three colours from 0 to 255, a fifth positive, far from
                    linear
    news20          15,935 x 62,061     tf-idf of words at unit length, 20 classes
    counts          15,935 x 62,061     counts of words as they are, ten of the classes positive
    dense           200,000 x 28        normal features of which eight matter, a fifth mislabelled
    wide            4,000 x 8,000,000   a thousand binary features a row
    rare            100,000 x 300       w8a with one positive row in a thousand
    copies          200,000 x 300       2,000 rows of w8a, each a hundred times
    hashed          40,000 x 1,048,576  tf-idf of words and pairs of words, hashed
    thousand        20,000 x 20,000     tf-idf of words at unit length, 1,000 classes
    labels          2,000 x 5,000       tf-idf of words at unit length, 10,000 labels

Errors on them say how trainers compare with each other and nothing of the sets they are named
after.
"""

import numpy as np
from arguments import make_parser
from scipy import sparse
from sklearn.datasets import dump_svmlight_file


def zipf(d, power):
    """(d,) probabilities that fall as a power of the rank."""
    p = 1 / np.arange(1, d + 1) ** power
    return p / p.sum()


def drawn(rng, lengths, p):
    """Binary rows of so many draws with replacement, counts summed."""
    columns = np.searchsorted(np.cumsum(p), rng.random(int(lengths.sum()))).clip(0, len(p) - 1)
    X = sparse.csr_matrix(
        (np.ones(len(columns)), columns, np.r_[0, np.cumsum(lengths)]), shape=(len(lengths), len(p))
    )
    X.sum_duplicates()
    return X


def unit(X):
    """Rows divided by their length."""
    norms = np.sqrt(np.asarray(X.multiply(X).sum(1)).ravel())
    return sparse.diags(1 / np.maximum(norms, 1e-12)) @ X


def signs(score, share):
    """Labels of which this share is positive."""
    return np.where(score > np.quantile(score, 1 - share), 1, -1)


def w8a(rng, n):
    X = drawn(rng, rng.poisson(13, n) + 1, zipf(300, 0.7))
    X.data[:] = 1
    w = rng.normal(size=300) * (rng.random(300) < 0.3) + 0.3
    return X, signs(X @ w + 0.5 * rng.normal(size=n), 0.03)


def url_day(rng, n):
    d = 100_000
    X = drawn(rng, np.full(n, 100), zipf(d, 0.9))
    X.data[:] = 1
    w = rng.normal(size=d) * (rng.random(d) < 0.3)
    return X, np.where(X @ w / 10 + 0.02 * rng.normal(size=n) > 0, 1, -1)


def news20_binary(rng, n):
    d = 1_355_191
    lengths = np.exp(rng.normal(5.9, 0.8, n)).astype(int).clip(10, 6000)
    X = unit(drawn(rng, lengths, zipf(d, 1.0)))
    w = rng.normal(size=d) * (rng.random(d) < 0.2)
    w[:200] = 0
    score = X @ w
    return X, np.where(score + 0.15 * score.std() * rng.normal(size=n) > np.median(score), 1, -1)


def skin(rng, n):
    y = np.where(rng.random(n) < 0.21, 1, -1)
    tone = rng.normal(0, 25, (n, 1))
    skins = np.array([95, 130, 190]) + tone + rng.normal(0, 12, (n, 3))
    others = rng.normal(0, 60, (n, 1)) + np.array([125, 130, 120]) + rng.normal(0, 30, (n, 3))
    return sparse.csr_matrix(np.where(y[:, None] > 0, skins, others).clip(0, 255).round()), y


def topical(rng, n, d, classes):
    """Counts of words and classes from 1: common words, and those of a class."""
    base = zipf(d, 1.1)
    rare = np.arange(100, d)
    topics = [
        (rng.choice(rare, 600, replace=False), rng.dirichlet(np.full(600, 0.3)))
        for _ in range(classes)
    ]
    y, rows, columns = rng.integers(0, classes, n), [], []
    words = rng.choice(d, size=(n, 150), p=base)
    for i in range(n):
        length = min(150, max(10, int(rng.lognormal(4.2, 0.6))))
        own, topical = words[i, :length], rng.random(length) < rng.beta(1.2, 4)
        which, weight = topics[y[i] if rng.random() > 0.1 else rng.integers(classes)]
        own[topical] = rng.choice(which, size=topical.sum(), p=weight)
        rows += [i] * length
        columns += own.tolist()
    return sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, d)).tocsr(), y + 1


def tfidf(X):
    """Of counts, at unit length."""
    df = np.asarray((X > 0).sum(0)).ravel()
    X.data = 1 + np.log(X.data)
    return unit(X @ sparse.diags(np.log(X.shape[0] / np.maximum(df, 1))))


def news20(rng, n):
    X, y = topical(rng, n, 62_061, 20)
    return tfidf(X), y


def thousand(rng, n):
    X, y = topical(rng, n, 20_000, 1000)
    return tfidf(X), y


def counts(rng, n):
    X, y = topical(rng, n, 62_061, 20)
    return X, np.where(y > 10, 1, -1)


def dense(rng, n):
    X = rng.normal(size=(n, 28)).round(4)
    score = X[:, :8] @ rng.normal(size=8)
    return sparse.csr_matrix(X), np.where((score > 0) == (rng.random(n) < 0.8), 1, -1)


def wide(rng, n):
    d = 8_000_000
    X = drawn(rng, np.full(n, 1000), zipf(d, 0.8))
    X.data[:] = 1
    score = X @ (rng.normal(size=d) * (rng.random(d) < 0.3))
    return X, signs(score + 0.1 * score.std() * rng.normal(size=n), 0.5)


def rare(rng, n):
    X, y = w8a(rng, n)
    keep = np.flatnonzero(y > 0)[n // 1000 :]
    return X, np.where(np.isin(np.arange(n), keep), -1, y)


def copies(rng, n):
    X, y = w8a(rng, n // 100)
    rows = rng.permutation(np.repeat(np.arange(n // 100), 100))
    return X[rows], y[rows]


def hashed(rng, n):
    d = 1 << 20
    X, y = topical(rng, n, 62_061, 20)
    X = X.tocoo()
    order = np.lexsort((X.col, X.row))
    row, column = X.row[order], X.col[order]
    same = row[1:] == row[:-1]
    pairs = (column[1:].astype(np.int64) * 1_000_003 + column[:-1]) % d
    place = np.r_[column.astype(np.int64) * 7_919 % d, pairs[same]]
    rows = np.r_[row, row[1:][same]]
    Z = sparse.coo_matrix((np.ones(len(rows)), (rows, place)), shape=(n, d)).tocsr()
    return tfidf(Z), np.where(y > 10, 1, -1)


def labels(rng, n):
    """Rows and a matrix of labels: rows of a topic share most of theirs."""
    X, topic = topical(rng, n, 5_000, 400)
    own = rng.integers(0, 10_000, (400, 8))
    rows, columns = [], []
    for i in range(n):
        many = 1 + rng.poisson(2)
        some = rng.choice(own[topic[i] - 1], size=min(many, 8), replace=False)
        some = np.where(rng.random(len(some)) < 0.3, rng.integers(0, 10_000, len(some)), some)
        rows += [i] * len(some)
        columns += some.tolist()
    # every label has a row
    rows += rng.integers(0, n, 10_000).tolist()
    columns += range(10_000)
    Y = sparse.coo_matrix((np.ones(len(rows)), (rows, columns)), shape=(n, 10_000)).tocsr()
    Y.data[:] = 1
    return tfidf(X), Y


SETS = {
    "w8a": (w8a, 49_749),
    "url-day": (url_day, 20_000),
    "news20-binary": (news20_binary, 19_996),
    "skin": (skin, 245_057),
    "news20": (news20, 15_935),
    "counts": (counts, 15_935),
    "dense": (dense, 200_000),
    "wide": (wide, 4_000),
    "rare": (rare, 100_000),
    "copies": (copies, 200_000),
    "hashed": (hashed, 40_000),
    "thousand": (thousand, 20_000),
    "labels": (labels, 2_000),
}


def write(name, path, rows=None, seed=1):
    """Writes the set in LIBSVM format, six digits a value."""
    make, usual = SETS[name]
    X, y = make(np.random.default_rng(seed), rows or usual)
    X = sparse.csr_matrix(X)
    X.eliminate_zeros()
    X.data = np.array([float(f"{value:.6g}") for value in X.data])
    dump_svmlight_file(X, y, str(path), zero_based=False, multilabel=sparse.issparse(y))


if __name__ == "__main__":
    parser = make_parser(__doc__)
    parser.add_argument("name", choices=SETS)
    parser.add_argument("output")
    parser.add_argument("--rows", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    write(given.name, given.output, given.rows, given.seed)
