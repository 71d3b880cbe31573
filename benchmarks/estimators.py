# SPDX-License-Identifier: BSD-3-Clause
"""svmcut's estimators beside scikit-learn's and sklearn-crfsuite on the same arrays: CPU seconds to
the same objective.

    python benchmarks/estimators.py --data FOLDER --rcv1 FILE --repeats 3     every set that is
    there python benchmarks/estimators.py --only a9a --only digits

Sets are found in FOLDER by name, plain or packed: a9a, covtype.class1.scale.20k.train,
r90.multilabel.train, and OCR letters as train_large.hmm with test_large.hmm; --rcv1 names a file of
many documents, digits are scikit-learn's. Each peer is trained at its own tolerance, svmcut at the
loosest tol whose objective is not above that of the peer. That is 1/2 w'w + C sum of losses on the
same rows, bias included, summed over machines, computed here for both. Taggers have objectives of
their own, so they are compared by wrong tags; SGDClassifier stands where its epochs leave it. Ours
gets float32, scikit-learn the type that it trains on. At the end files are read by both loaders.
"""

import itertools
import time
import warnings
from pathlib import Path

import numpy as np
from arguments import make_parser
from sklearn.base import clone
from sklearn.datasets import load_digits, make_regression
from sklearn.datasets import load_svmlight_file as reference
from sklearn.linear_model import SGDClassifier
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC, SVR, LinearSVC, LinearSVR

import svmcut

TOLS = (0.1, 0.03, 0.01, 3e-3, 1e-3, 3e-4, 1e-4, 1e-5, 1e-6)


def cpu(work, repeats):
    """Median CPU seconds, and the last result."""
    seconds = []
    for _ in range(repeats):
        began = time.process_time()
        found = work()
        seconds.append(time.process_time() - began)
    return float(np.median(seconds)), found


def weights(machine):
    """(K, d) and (K,), of one machine a class too."""
    if hasattr(machine, "estimators_"):
        parts = [weights(part) for part in machine.estimators_]
        return np.vstack([W for W, _ in parts]), np.concatenate([b for _, b in parts])
    return np.atleast_2d(machine.coef_), np.atleast_1d(machine.intercept_)


def against_the_rest(machine, X, y, C, power=1):
    """Of (squared) hinge losses; y one class a row, or an indicator of labels."""
    W, b = weights(machine)
    right = (
        y.toarray() == 1
        if hasattr(y, "toarray")
        else y[:, None] == (np.unique(y)[-len(W) :] if len(W) > 1 else 1)
    )
    losses = np.maximum(0, 1 - np.where(right, 1, -1) * (X @ W.T + b)) ** power
    return float(0.5 * (np.square(W).sum() + np.square(b).sum()) + C * losses.sum())


def at_once(machine, X, y, C):
    """Of Crammer and Singer's losses."""
    W, b = weights(machine)
    right, scores = np.searchsorted(np.unique(y), y), X @ W.T + b
    above = (scores + 1 - np.eye(len(W))[right]).max(axis=1) - scores[np.arange(len(y)), right]
    return float(0.5 * (np.square(W).sum() + np.square(b).sum()) + C * above.sum())


def in_a_tube(machine, X, y, C):
    """Of errors above 0.1, by features with a bias in the norm, or by a kernel without."""
    losses = np.maximum(0, np.abs(y - machine.predict(X)) - 0.1)
    squared = (
        sum(np.square(part).sum() for part in weights(machine))
        if linear(machine)
        else norm(machine)
    )
    return float(0.5 * squared + C * losses.sum())


def with_a_kernel(machine, X, y, C):
    """Of hinge losses of two classes, the bias free."""
    losses = np.maximum(0, 1 - np.where(y == np.unique(y)[1], 1, -1) * machine.decision_function(X))
    return float(0.5 * norm(machine) + C * losses.sum())


def linear(machine):
    """Whether it has weights of features."""
    return "Linear" in type(machine).__name__


def norm(machine):
    """|f|^2 of a sum over support vectors."""
    score = getattr(machine, "decision_function", machine.predict)
    alpha = (
        machine.dual_coef_.toarray()
        if hasattr(machine.dual_coef_, "toarray")
        else machine.dual_coef_
    )
    return float(alpha[0] @ (score(machine.support_vectors_) - machine.intercept_[0]))


def contests(options):
    """Set, rows, targets, C, objective, ours, and the peers."""
    S, many = svmcut, {"max_iter": 100_000, "random_state": 0}

    def svc(**more):
        return LinearSVC(C=1.0, loss="hinge", **many, **more)

    def found(name):
        return next(iter(sorted(options.data.rglob(f"{name}*"))), None) if options.data else None

    for name, path in (("a9a", found("a9a.gz") or found("a9a")), ("RCV1-like", options.rcv1)):
        if path is not None:
            X, y = S.load_svmlight_file(path)
            sgd = SGDClassifier(alpha=1 / len(y), random_state=0)
            yield (
                name,
                X,
                y,
                1.0,
                against_the_rest,
                S.LinearSVM(),
                [svc(tol=0.1), svc(tol=0.01), sgd],
            )
    X, y = load_digits(return_X_y=True)
    X = (X / 16).astype(np.float32)
    yield (
        "digits",
        X,
        y,
        1.0,
        against_the_rest,
        S.LinearSVM(),
        [svc(tol=0.01), OneVsRestClassifier(svc(tol=0.01))],
    )
    yield (
        "digits",
        X,
        y,
        1.0,
        at_once,
        S.LinearSVM(multi_class="crammer_singer"),
        [LinearSVC(C=1.0, multi_class="crammer_singer", tol=0.01, **many)],
    )
    yield "digits, odd", X, np.where(y % 2, 1.0, -1.0), 1.0, with_a_kernel, S.KernelSVM(), [SVC()]
    if (path := found("covtype.class1.scale.20k.train")) is not None:
        X, y = S.load_svmlight_file(path)
        peers = [svc(tol=0.01), SGDClassifier(alpha=1 / len(y), random_state=0)]
        yield "covtype 20k", X, y, 1.0, against_the_rest, S.LinearSVM(), peers
        if options.kernels:
            yield "covtype 20k", X, y, 1.0, with_a_kernel, S.KernelSVM(), [SVC()]
    if (path := found("r90.multilabel.train")) is not None:
        X, Y = S.load_svmlight_file(path, multilabel=True)
        yield (
            "r90",
            X,
            Y,
            1.0,
            against_the_rest,
            S.MultilabelSVM(pairs="none"),
            [OneVsRestClassifier(svc(tol=0.01))],
        )
    X, y = make_regression(5000, 50, noise=10, random_state=0)
    X, y = X.astype(np.float32), y / y.std()
    yield (
        "numbers",
        X,
        y,
        1.0,
        in_a_tube,
        S.LinearSVMRegressor(),
        [LinearSVR(epsilon=0.1, tol=0.01, **many)],
    )
    yield "numbers", X[:2000], y[:2000], 1.0, in_a_tube, S.KernelSVMRegressor(), [SVR()]


def race(name, X, y, C, objective, ours, peers, repeats):
    """Rows of the table."""
    wide = X.astype(np.float64)
    clone(ours).set_params(tol=TOLS[0]).fit(X, y)  # what is imported once
    for peer in peers:
        theirs, machine = cpu(lambda: clone(peer).fit(wide, y), repeats)  # noqa: B023
        aim = objective(machine, wide, y, C)
        for tol in TOLS:
            seconds, machine = cpu(lambda: clone(ours).set_params(tol=tol).fit(X, y), repeats)  # noqa: B023
            reached = objective(machine, wide, y, C)
            if reached <= aim * (1 + 1e-9):
                break
        peer_tol = f", {peer.tol:g}" if hasattr(peer, "tol") else ""
        who = f"{type(ours).__name__}, {tol:g}; {type(peer).__name__}{peer_tol}"
        what = (
            f"{seconds:.3f} | {theirs:.3f} | {seconds / max(theirs, 1e-4):.2f} | {reached:.6g} | "
            f"{aim:.6g}"
        )
        print(f"| {name} | {who} | {what} |", flush=True)


def tag(options):
    """OCR letters: CPU seconds and wrong letters of taggers."""
    train, test = (
        next(iter(sorted(options.data.rglob(f"{part}_large.hmm*"))), None)
        for part in ("train", "test")
    )
    if train is None:
        return
    sets = []
    for path in (test, train):  # the smaller part is what crfsuite's users would wait for
        X, y, qid = svmcut.load_svmlight_file(path, query_id=True)
        bounds = [*itertools.pairwise(np.flatnonzero(np.diff(qid, prepend=-1, append=-1)).tolist())]
        tokens = [dict.fromkeys((f"p{j}" for j in row.indices), 1.0) for row in X]
        sets.append(
            ([tokens[a:b] for a, b in bounds], [[f"{tag:g}" for tag in y[a:b]] for a, b in bounds])
        )
    (X, y), (held, right) = sets
    machines = [
        svmcut.ChainSVM(C=0.3, tol=0.03, random_state=0),
        svmcut.ChainSVM(C=0.3, random_state=0),
    ]
    try:
        from sklearn_crfsuite import CRF
    except ImportError:
        print("\nsklearn-crfsuite is not installed; its rows are left out")
    else:
        machines += [
            CRF(algorithm="lbfgs", c2=1.0, max_iterations=100),
            CRF(algorithm="ap", max_iterations=50),
        ]
    print("\n| OCR letters | CPU s | wrong letters of the test part |\n|---|---|---|")
    for machine in machines:
        seconds, fitted = cpu(lambda: machine.fit(X, y), 1)  # noqa: B023
        pairs = zip(itertools.chain(*fitted.predict(held)), itertools.chain(*right), strict=True)
        wrong = 100 * np.mean([a != b for a, b in pairs])
        print(f"| {machine} | {seconds:.2f} | {wrong:.1f} % |", flush=True)


def main():
    """Prints the tables."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--rcv1", type=Path)
    parser.add_argument("--only", action="append", help="the sets whose name begins so")
    parser.add_argument("--kernels", action="store_true", help="SVC on covtype too, a minute")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| set | svmcut, tol; peer | svmcut CPU s | peer CPU s | ratio | svmcut objective | peer "
        "objective |"
    )
    print("|---|---|---|---|---|---|---|")
    for contest in contests(options):
        if not options.only or any(contest[0].startswith(name) for name in options.only):
            race(*contest, options.repeats)
    if options.data and not options.only:
        tag(options)
    print("\n| file read | svmcut CPU s | scikit-learn CPU s | ratio |\n|---|---|---|---|")
    for path in filter(None, (options.rcv1, *sorted(Path("data").glob("*.train")))):
        if path.stem in ("chunks", "labels", "ranking", "tags"):
            continue
        ours = cpu(lambda: svmcut.load_svmlight_file(path, threads=1), options.repeats)[0]  # noqa: B023
        theirs = cpu(lambda: reference(str(path), dtype=np.float32, zero_based=False), 1)[0]  # noqa: B023
        print(
            f"| {path.name} | {ours:.4f} | {theirs:.3f} | {theirs / max(ours, 1e-6):.0f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
