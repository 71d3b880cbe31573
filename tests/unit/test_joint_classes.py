# SPDX-License-Identifier: BSD-3-Clause
"""Classes by functions of a kernel, all at once: the optimum, units, model files, refusals."""

import itertools

import numpy as np
import pytest
from drivers import driver, kernel_parameters
from programs import call
from reference.kernel_rows import gram
from refusals import check_beginnings, refused
from scipy.optimize import minimize

from svmcut.base import records
from svmcut.base.errors import MemoryLimitError, UsageError
from svmcut.data.arrays import vector_examples
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models.kernels import Kernel

RBF = Kernel("rbf", gamma=0.5)
WAY = {"task": "multiclass", "multiclass": "crammer-singer"}


def examples(rng, n=30, K=3):
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, 2.0 + np.digitize(
        X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=n), np.linspace(-0.4, 0.4, K - 1)
    )


def trained(X, y, kernel=RBF, weights=None, **parameters):
    rows = records.replace(vector_examples(X, y), weights=weights)
    costs = {name: parameters.pop(name, None) for name in ("cost", "example_cost")}
    return driver(rows, **WAY, **kernel_parameters(kernel), **costs, **parameters).fit(
        *costs.values()
    )


def primal(f, squared, y, C, v):
    """1/2 |f|^2 + C sum_i v_i max_k ([k != y_i] + f_k - f_y), y from 0."""
    rows = np.arange(len(y))
    slack = (f + (np.arange(f.shape[1]) != y[:, None])).max(axis=1) - f[rows, y]
    return 0.5 * squared + C * (v @ slack)


def brute(G, y, K, C, v):
    """The maximum of the dual, a_ik >= 0 of wrong classes k with sum_k a_ik <= C v_i."""
    n = len(y)
    wrong = np.array([k for i, k in itertools.product(range(n), range(K)) if k != y[i]]).reshape(
        n, K - 1
    )

    def coefficients(a):
        c = np.zeros((n, K))
        np.put_along_axis(c, wrong, -a, axis=1)
        c[np.arange(n), y] = a.sum(axis=1)
        return c

    def value(flat):
        a = flat.reshape(n, K - 1)
        c = coefficients(a)
        s = G @ c
        slope = np.take_along_axis(s, wrong, axis=1) - s[np.arange(n), y][:, None]
        return 0.5 * (c * s).sum() - a.sum(), -(slope + 1).ravel()

    room = {
        "type": "ineq",
        "fun": lambda flat: C * v - flat.reshape(n, -1).sum(axis=1),
        "jac": lambda flat: -np.kron(np.eye(n), np.ones(K - 1)),
    }
    found = minimize(
        value,
        np.zeros(n * (K - 1)),
        jac=True,
        method="SLSQP",
        bounds=[(0, None)] * (n * (K - 1)),
        constraints=[room],
        options={"maxiter": 500, "ftol": 1e-12},
    )
    return -found.fun


@pytest.mark.every(2)
@pytest.mark.parametrize("solver", ["dual-cd", "cutting-plane"])
@pytest.mark.parametrize(
    "kernel", [RBF, Kernel("polynomial", 2, scale=0.5)], ids=lambda kernel: kernel.name
)
@pytest.mark.parametrize("weighed", [False, True])
def test_the_optimum_is_that_of_the_quadratic_program(rng, kernel, weighed, solver):
    X, y = examples(rng)
    v = rng.uniform(0.5, 2, len(y)) if weighed else np.ones(len(y))
    outcome = trained(
        X, y, kernel, v if weighed else None, example_cost=0.8, gap=1e-4, solver=solver
    )
    G, places = gram(kernel, X, X), (y - 2).astype(int)
    best = brute(G, places, 3, 0.8, v)
    assert outcome.converged and outcome.dual <= best * (1 + 1e-5)
    assert outcome.primal == pytest.approx(best, rel=2e-4) and outcome.primal >= best * (1 - 1e-5)
    f = outcome.model.decisions(Csr.from_dense(X))
    assert primal(f, outcome.norm**2, places, 0.8, v) == pytest.approx(outcome.primal, rel=1e-5)
    assert outcome.model.names.tolist() == [2, 3, 4] and (outcome.model.b == 0).all()


def test_the_unit_of_c_is_svm_multiclass_s(rng):
    X, y = examples(rng)
    one = trained(X, y, example_cost=0.8, gap=1e-5)
    same = trained(X, y, cost=0.8 * 100 * len(y), gap=1e-5)
    assert same.primal == pytest.approx(one.primal, rel=1e-9)
    rows = Csr.from_dense(X)
    np.testing.assert_allclose(
        same.model.decisions(rows), 100 * one.model.decisions(rows), rtol=1e-6, atol=1e-6
    )


def test_sampled_cuts_of_all_draws_come_near_the_optimum(rng):
    X, y = examples(rng, 60)
    exact = trained(X, y, example_cost=0.8, gap=1e-4)
    drawn = trained(X, y, example_cost=0.8, gap=1e-2, solver="sampled-cuts", sample_size=100)
    assert drawn.done
    assert exact.dual * (1 - 1e-5) <= drawn.primal <= 1.02 * exact.primal
    assert 0.95 * exact.dual <= drawn.dual <= exact.primal * (1 + 1e-5)


def test_products_as_a_kernel_are_training_on_features(rng):
    X, y = examples(rng)
    kernel = trained(
        X, y, Kernel("polynomial", 1, scale=1.0, offset=0.0), example_cost=0.5, gap=1e-5
    )
    linear = driver(vector_examples(X, y), **WAY, bias=0.0, gap=1e-6).fit(None, 0.5)
    assert kernel.primal == pytest.approx(linear.primal, rel=2e-5)


@pytest.mark.parametrize("columns", [False, True])
def test_models_go_round(rng, tmp_path, columns):
    X, y = examples(rng)
    X = np.vstack([X, X[:5]])
    rows = Csr.from_dense(X)
    if columns:
        rows = Csr(
            rows.data,
            np.array([0, 3, 9, 40_000_000], np.int32)[rows.indices],
            rows.indptr,
            40_000_001,
        )
    y, path = np.append(y, y[:5]), str(tmp_path / "model")
    data = records.replace(vector_examples(X, y), X=rows.validate())
    model = driver(data, **WAY, **kernel_parameters(RBF)).fit(None, 0.8).model
    write_model(path, model)
    again, text = read_model(path), (tmp_path / "model").read_text()
    assert again.support.n_rows <= 30  # equal rows are one
    np.testing.assert_allclose(again.decisions(rows), model.decisions(rows), rtol=1e-5, atol=1e-6)
    assert np.array_equal(again.names, model.names) and again.n_documents == 35
    write_model(path, again)
    once = (tmp_path / "model").read_text()
    write_model(path, read_model(path))
    assert (tmp_path / "model").read_text() == once and once.splitlines()[:12] == text.splitlines()[
        :12
    ]


HAND = """\
SVM-multiclass Version V2.20
2 # number of classes
3 # number of base features
0 # loss function
1 # kernel type
2 # kernel parameter -d 
1 # kernel parameter -g 
1 # kernel parameter -s 
0 # kernel parameter -r 
empty# kernel parameter -u 
7 # highest feature index 
2 # number of training documents 
4 # number of support vectors plus 1 
0 # threshold b, each following line is a SV (starting with alpha*y)
-0.5 qid:2 4:1 6:2 #
0.5 qid:1 1:1 3:2 #
2 qid:1 2:3 # name
"""  # noqa: W291


def test_a_model_is_read_as_written_by_hand(tmp_path):
    (tmp_path / "model").write_text(HAND)
    model = read_model(str(tmp_path / "model"))
    assert model.support.to_dense().tolist() == [[1, 0, 2], [0, 3, 0]]
    f = model.decisions(Csr.from_dense([[1, 1, 1], [0, 0, 0]]))
    assert f.tolist() == [[0.5 * 9 + 2 * 9, -0.5 * 9], [0, 0]]
    assert model.predict(Csr.from_dense([[1, 1, 1], [0, 0, 0]])).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("1 # kernel type", "9 # kernel type", ':5:1: kernel type "9" is unknown'),
        ("0.5 qid:1 1:1", "0.5 1:1", ":16:1: no class; expected 'qid:' and a number from 1 to 2"),
        ("0.5 qid:1 1:1", "0.5 qid:3 1:1", ":16:1: no class"),
        ("0.5 qid:1 1:1", "0.5 qid:0 1:1", ":16:1: no class"),
        ("0.5 qid:1 1:1", "0.5 qid:2 1:1", ":16:1: feature index 1 is none of class 2"),
        ("1 # kernel parameter -s", "x # kernel parameter -s", ':8:1: "x" is refused'),
        ("4 # number of support", "5 # number of support", "cut short"),
        ("4 # number of support", "3 # number of support", "more lines"),
        ("2:3 # name", "2:x # name", ":17:11: no finite number"),
        ("2:3 # name\n", "2:3 # name\n#@ bias 1\n", ":18:1: line '#@ bias 1' is refused"),
        ("2:3 # name\n", "2:3 # name\n#@ labels 1 2 3\n", "names 3 classes; expected 2"),
        ("3 # number of base", "2147483647 # number of base", ":3:1: 2 classes of"),
    ],
)
def test_faults_are_named_with_their_place(tmp_path, old, new, told):
    assert told in refused(tmp_path / "model", HAND, old, new)


def test_a_model_cut_short_anywhere_is_refused(tmp_path):
    check_beginnings(tmp_path / "model", HAND, len(HAND))


def test_the_executables_train_and_score(rng, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    X, y = examples(rng)
    y -= 1
    lines = (
        " ".join([f"{label:g}", *(f"{j}:{x:.6g}" for j, x in enumerate(row, 1))])
        for row, label in zip(X, y, strict=True)
    )
    (tmp_path / "train").write_text("\n".join(lines) + "\n")
    assert (
        call(
            "svm_multiclass_learn",
            *("-c", "2400", "-t", "2", "-g", "0.5", "-e", "0.01", "train", "model"),
        )
        == 0
    )
    said = capsys.readouterr().out
    pval = float(said.partition("pval=")[2].split()[0])
    best = brute(gram(RBF, X, X), (y - 1).astype(int), 3, 0.8, np.ones(len(y)))
    assert pval == pytest.approx(1e4 * best, abs=2400 * 0.01 + 1e-3 * pval)
    assert call("svm_multiclass_classify", "train", "model", "predictions") == 0
    found = np.loadtxt(tmp_path / "predictions")
    assert np.array_equal(found[:, 0], 1 + np.argmax(found[:, 1:], axis=1))
    assert f"({int((found[:, 0] == y).sum())} correct" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"solver": "smo"},
            "solver 'smo' does not go with the rbf kernel and multiclass='crammer-singer'",
        ),
        ({"slack_norm": 2, "solver": "sampled-cuts"}, "slack_norm=2"),
        ({"rescaling": "slack", "solver": "sampled-cuts"}, "rescaling='slack'"),
        ({"loss": "logistic"}, "loss"),
        ({"free_bias": True}, "an unregularised bias does not go with"),
        ({"polish": True}, "parameter 'polish'"),
    ],
)
def test_what_does_not_go_with_it_is_refused(rng, options, told):
    X, y = examples(rng)
    with pytest.raises(UsageError) as caught:
        trained(X, y, example_cost=1.0, **options)
    assert told in str(caught.value)


def test_one_class_alone_is_predicted(rng):
    X, _ = examples(rng)
    outcome = trained(X, np.full(len(X), 3.0), example_cost=1.0)
    assert outcome.converged and outcome.model.predict(Csr.from_dense(X)).tolist() == [3.0] * len(X)


def test_what_does_not_fit_is_refused_in_words_of_classes(rng):
    X, y = examples(rng, 1500)
    with pytest.raises(
        MemoryLimitError, match=r"on 1500 examples of 3 classes .* use fewer examples"
    ):
        trained(X, y, example_cost=1.0, solver="cutting-plane", max_memory=5)


@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts", "dual-cd"])
def test_the_same_bytes_for_any_number_of_threads(rng, solver):
    X, y = examples(rng, 60)
    models = [
        trained(X, y, example_cost=0.8, gap=0.01, solver=solver, threads=t).model for t in (1, 3)
    ]
    assert models[0].alpha.tobytes() == models[1].alpha.tobytes()
    assert models[0].places.tobytes() == models[1].places.tobytes()


def exact_values(kernel, A, B):
    """Kernel values in extended precision."""
    A, B = A.astype(np.longdouble), B.astype(np.longdouble)
    if kernel.name == "rbf":
        return np.exp(-np.longdouble(kernel.gamma) * ((A[:, None] - B[None]) ** 2).sum(2))
    return (
        np.longdouble(kernel.scale) * (A[:, None] * B[None]).sum(2) + np.longdouble(kernel.offset)
    ) ** kernel.degree


def check_truth(X, y, kernel, C, folder, **parameters):
    """No multiple of the model of the file has a primal value below the dual one, in extended
    precision, and that of the model is the one reported."""
    outcome = trained(X, y, kernel, example_cost=C, **parameters)
    write_model(str(folder / "model"), outcome.model)
    model = read_model(str(folder / "model"))
    names, places = np.unique(y, return_inverse=True)
    Z, n = model.support.to_dense(), len(y)
    alpha = np.zeros((len(Z), len(names)), np.longdouble)
    alpha[model.places, np.repeat(np.arange(len(names)), np.diff(model.starts))] = model.alpha
    K, H = exact_values(model.kernel, X, Z), exact_values(model.kernel, Z, Z)
    f, squared = K @ alpha, float((alpha * (H @ alpha)).sum())
    size = C * float((np.abs(K) @ np.abs(alpha)).sum()) + float(
        (np.abs(alpha) * (np.abs(H) @ np.abs(alpha))).sum()
    )
    found = [
        primal(t * f, t * t * squared, places, C, np.ones(n))
        for t in np.append(np.linspace(0, 2, 81), 1.0)
    ]
    assert outcome.dual <= min(found) * (1 + 1e-9) + 1e-13 * size
    if outcome.converged:
        assert abs(found[-1] - outcome.primal) <= 1e-9 * outcome.primal + 1e-13 * size
        assert found[-1] - outcome.dual <= 0.01 * found[-1] * (1 + 1e-6) + 1e-13 * size
    return outcome


def drawn_problems(count, seed):
    """Small problems of all kernels, from far off the origin and near it."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        X = rng.normal(size=(int(rng.integers(8, 40)), int(rng.integers(1, 8))))
        y = np.digitize(
            X[:, 0] + 0.5 * rng.normal(size=len(X)), np.linspace(-0.7, 0.7, int(rng.integers(1, 4)))
        )
        scale = 10.0 ** rng.integers(-3, 4)
        shift = 10.0 ** rng.integers(0, 7) if rng.random() < 0.5 else 0.0
        degree = int(rng.integers(1, 4))
        kernel = (
            RBF
            if rng.random() < 0.5
            else Kernel("polynomial", degree, scale=1.0, offset=float(rng.integers(2)))
        )
        kernel = records.replace(kernel, gamma=float(10.0 ** rng.integers(-3, 3)) / scale**2)
        yield (
            (scale * X + shift).astype(np.float32),
            1.0 + y,
            kernel,
            float(10.0 ** rng.integers(-4, 7)),
        )


@pytest.mark.parametrize(
    "seed", [1, pytest.param(2, marks=pytest.mark.slow), pytest.param(3, marks=pytest.mark.slow)]
)
def test_certificates_are_true_of_the_file_in_extended_precision(seed, tmp_path):
    ends = [
        check_truth(*problem, tmp_path, gap=0.01, max_iterations=300).converged
        for problem in drawn_problems(8 if seed == 1 else 30, seed)
    ]
    assert sum(ends) >= len(ends) // 2


def test_ill_conditioned_values_are_handed_to_cutting_planes_in_double_precision(rng, tmp_path):
    X = (100 * rng.normal(size=(60, 3))).astype(np.float32)
    y = 1.0 + rng.integers(0, 4, 60)
    outcome = check_truth(X, y, Kernel("polynomial", 2), 0.01, tmp_path, gap=0.01)
    assert outcome.converged and outcome.solver == "dual-cd"


def test_features_far_from_0_are_told_apart(rng, tmp_path):
    y = 1.0 + np.arange(90) % 3
    X = (1e4 + 1.5 * (y[:, None] == [1, 2, 3]) + 0.2 * rng.normal(size=(90, 3))).astype(np.float32)
    outcome = check_truth(X, y, Kernel("rbf", gamma=0.5), 100.0, tmp_path, gap=0.01)
    assert outcome.converged
    assert np.mean(read_model(str(tmp_path / "model")).predict(Csr.from_dense(X)) == y) == 1.0


def test_the_losses_of_pairs_of_classes_count(rng):
    """Dual ascent with losses other than 1: the optimum of the quadratic program."""
    from svmcut._native.kernels import KernelRows

    from svmcut.risks.multiclass import CrammerSingerRisk
    from svmcut.solvers.class_blocks import ClassBlocks
    from svmcut.solvers.protocol import Problem, StoppingRule
    from svmcut.spaces.kernel import ClassFunctions
    from svmcut.spaces.kernel_chain import CachedRows

    class Squared(CrammerSingerRisk):
        losses = np.square(np.subtract.outer(np.arange(3.0), np.arange(3.0)))

        def linearize(self, s):
            moved = np.reshape(s, (-1, 3)) + self.losses[self.y] - (np.arange(3) != self.y[:, None])
            return super().linearize(moved.ravel())

        def line_minimum(self, s, e, wd, dd, C):
            return 0.0

    X, y = examples(rng)
    places = (y - 2).astype(np.int32)
    space = ClassFunctions(CachedRows(KernelRows(Csr.from_dense(X), RBF), 1.0, True), 3)
    problem = Problem(Squared(places, 3), space, 0.8, StoppingRule(0.0, 1e-6))
    *_, last = ClassBlocks(block=8).start(problem)
    f = last.solution().scores.reshape(-1, 3)
    slack = (f + Squared.losses[places]).max(axis=1) - f[np.arange(30), places]
    value = 0.5 * space.dot(last.solution(), last.solution()) + 0.8 * slack.sum()
    assert last.primal == pytest.approx(value, rel=1e-12) and 0 <= last.gap <= 1e-6 * value
    assert value > trained(X, y, example_cost=0.8, gap=1e-6).primal * 1.01
