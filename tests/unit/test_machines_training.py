# SPDX-License-Identifier: BSD-3-Clause
"""Classes on kernel values: optima of all machines, their sums, weights, votes and files."""

import numpy as np
import pytest
from programs import uncertified
from reference import kernel as two
from reference import machines as truth
from refusals import check_beginnings, refused

import svmcut
from svmcut.base.errors import DataError, ModelError, UsageError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import KernelMulticlassModel
from svmcut.models.kernels import KERNELS, Kernel
from svmcut.spec.catalog import MULTICLASS
from svmcut.training import kernel_classes

N, K = 48, 4
KERNEL = Kernel("rbf", gamma=0.7)
WAYS = MULTICLASS[1:]


def examples(rng, n=N):
    X = (rng.normal(size=(n, 5)) * (rng.random((n, 5)) < 0.8)).astype(np.float32)
    return X, np.argmax(X[:, :K] + 0.6 * rng.normal(size=(n, K)), axis=1)


def trained(X, y, **parameters):
    known = {"task": "multiclass", "kernel": "rbf", "gamma": 0.7, "threads": 1, **parameters}
    return svmcut.train((X, y), **known)


def risks(model, X, y, C, v=None):
    """The primal value of every machine of a model."""
    f, paired = truth.decisions(model, X), model.paired
    v = np.ones(len(y)) if v is None else v
    G = two.matrix(model.kernel, *[model.support.to_dense()] * 2)
    found = []
    for j, (rows, signs) in enumerate(truth.sides(y, len(model.names), paired)):
        own = slice(model.starts[j], model.starts[j + 1])
        places, alpha = model.places[own], model.alpha[own]
        squared = alpha @ G[np.ix_(places, places)] @ alpha
        found.append(0.5 * squared + C * float(v[rows] @ np.maximum(0, 1 - signs * f[rows, j])))
    return found


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("weighed", [False, True])
def test_every_machine_reaches_the_reference_optimum(rng, way, free_bias, weighed):
    X, y = examples(rng)
    v, paired = rng.uniform(0.2, 3.0, N) if weighed else None, way == MULTICLASS[2]
    outcome = trained(
        X,
        y,
        example_cost=2.0,
        solver="smo",
        free_bias=free_bias,
        multiclass=way,
        gap=1e-5,
        weights=v,
    )
    best = truth.optima(KERNEL, X, y, K, 2.0, paired, free_bias, v)
    model, told = outcome.model, outcome.details["machines"]
    assert outcome.converged and outcome.stopped_by is None and model.paired == paired
    assert len(told) == len(model.b) == len(best) == (K * (K - 1) // 2 if paired else K)
    found = risks(model, X, y, 2.0, v)
    for machine, value, least in zip(told, found, best, strict=True):
        assert machine["converged"] and machine["primal"] == pytest.approx(value, rel=1e-6)
        assert machine["dual"] <= least * (1 + 1e-9) and value <= least * (1 + 1.1e-5)
    assert outcome.primal == pytest.approx(sum(found), rel=1e-6) and outcome.dual <= sum(best) * (
        1 + 1e-9
    )
    assert outcome.gap == pytest.approx(sum(machine["gap"] for machine in told), abs=1e-9)
    if not free_bias:
        assert (model.b == 0).all()


@pytest.mark.parametrize("name", KERNELS)
def test_a_pair_is_the_machine_of_its_rows_and_the_first_maximum_of_votes_wins(rng, name):
    X, y = examples(rng)
    known = {"kernel": name, "gamma": 0.7, "degree": 2, "scale_kernel": 0.1, "coef0": 0.3}
    outcome = trained(X, y, example_cost=2.0, solver="smo", **known)
    model, others = outcome.model, (0.3 * rng.normal(size=(500, 5))).astype(np.float32)
    rows = Csr.from_dense(others)
    f = model.decisions(rows)
    np.testing.assert_array_equal(f, model.decisions(rows, 3))
    np.testing.assert_allclose(f, truth.decisions(model, others), atol=1e-9)
    for j, (part, signs) in enumerate(truth.sides(y, K, True)):
        alone = svmcut.train((X[part], signs), example_cost=2.0, solver="smo", threads=1, **known)
        np.testing.assert_allclose(alone.model.scores(rows), f[:, j], atol=1e-12)
    expected = truth.votes(f, K)
    np.testing.assert_array_equal(model.scores(rows), expected)
    np.testing.assert_array_equal(model.predict(rows), model.names[np.argmax(expected, axis=1)])
    assert (np.sort(expected)[:, -1] == np.sort(expected)[:, -2]).any()


@pytest.mark.every(2)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("free_bias", [False, True])
@pytest.mark.parametrize("exact", [True, False])
def test_machines_share_kernel_values_where_the_cache_has_room_for_all(
    rng, monkeypatch, way, free_bias, exact
):
    """Float64 for small machines, float32 for large ones; shrinking, threads and resumed runs
    included."""
    n = 300 if exact else 2100
    X, y = examples(rng, n)
    y = np.minimum(y, 1) if not exact else y
    y[:9] = 2
    monkeypatch.setattr("svmcut.training.kernel_classes.WIDE", 0)
    known = {
        "solver": "smo",
        "multiclass": way,
        "free_bias": free_bias,
        "example_cost": 3.0,
        "gap": 1e-6,
    }
    alone = trained(X, y, cache_size=0.1, **known)
    shared, threads = (
        trained(X, y, cache_size=60.0, **known),
        trained(X, y, cache_size=60.0, **known | {"threads": 3}),
    )
    np.testing.assert_array_equal(shared.model.alpha, threads.model.alpha)
    assert shared.converged and alone.converged
    for ours, theirs in zip(shared.details["machines"], alone.details["machines"], strict=True):
        assert ours["dual"] <= theirs["primal"] * (1 + 1e-9) and theirs["dual"] <= ours[
            "primal"
        ] * (1 + 1e-9)
    assert shared.primal == pytest.approx(sum(risks(shared.model, X, y, 3.0)), rel=1e-6)
    assert shared.kernel_evaluations < alone.kernel_evaluations


@pytest.mark.parametrize("way", WAYS)
def test_machines_of_a_subspace_share_one_basis_and_certify_the_full_problem(rng, way):
    X, y = examples(rng, 120)
    outcome = trained(X, y, example_cost=2.0, solver="subspace", multiclass=way, basis=30, gap=1e-3)
    best = truth.optima(KERNEL, X, y, K, 2.0, way == MULTICLASS[2], False)
    assert outcome.model.support.n_rows <= 30 and len(outcome.model.alpha) > 90
    for machine, value, least in zip(
        outcome.details["machines"], risks(outcome.model, X, y, 2.0), best, strict=True
    ):
        assert machine["primal"] == pytest.approx(value, rel=1e-6)
        assert machine["dual"] <= least * (1 + 1e-9) and least <= value * (1 + 1e-9)
        assert machine["basis"]["vectors"] == 30
    whole = trained(X, y, example_cost=2.0, solver="subspace", multiclass=way, basis=120, gap=1e-3)
    assert whole.converged and whole.primal <= sum(best) * (1 + 1e-3)


def test_a_kernel_names_one_against_one_and_three_labels_the_task(rng):
    X, y = examples(rng)
    outcome = svmcut.train((X, y), kernel="rbf", gamma=0.7, threads=1)
    named = trained(X, y, multiclass=MULTICLASS[2], solver="smo", free_bias=False)
    np.testing.assert_array_equal(outcome.model.alpha, named.model.alpha)
    assert outcome.solver == "smo" and outcome.model.paired and (outcome.model.b == 0).all()
    for given, says in (
        (
            {"multiclass": MULTICLASS[0], "solver": "smo"},
            "does not go with the rbf kernel and multiclass='crammer-singer'; use "
            "solver='dual-cd', 'cutting-plane' or ",
        ),
        (
            {"multiclass": MULTICLASS[2], "kernel": "linear"},
            "trains on kernel values; give parameter 'kernel' or use",
        ),
        ({"bias": 1.0}, "takes no constant feature, but bias=1 asks for one; give bias=0"),
        (
            {"solver": "newton"},
            "trains on features and knows no kernel; with the rbf kernel use solver=",
        ),
        (
            {"solver": "subspace", "free_bias": True},
            "has no unregularised bias; use solver='smo' or 'sbp'",
        ),
        ({"kernel": "linear", "free_bias": True}, "is for classes against the rest"),
        (
            {"kernel": "sigmoid", "solver": "bsca", "maintenance": "merge"},
            "use maintenance='remove'",
        ),
    ):
        with pytest.raises(UsageError, match=says):
            trained(X, y, **given)
    assert trained(X, y, kernel="linear", solver="smo").model.paired
    with pytest.raises(DataError, match="is not whole"):
        trained(X, y + 0.5)


def test_the_primal_of_the_file_is_that_of_all_machines_where_digits_of_one_matter(tmp_path):
    rng = np.random.default_rng(5)
    rng.normal(size=90)
    y = np.repeat([0, 1, 2], [8, 12, 20])
    X = (rng.normal(size=(40, 3)) * [4, 8, 6] + [-90, 20, 5]).astype(np.float32)
    X[y == 2, 1] += 60
    rows = (" ".join(f"{j + 1}:{x:.9g}" for j, x in enumerate(row)) for row in X)
    (tmp_path / "train").write_text("".join(f"{k} {row}\n" for k, row in zip(y + 1, rows)))
    outcome = svmcut.train(
        tmp_path / "train",
        task="multiclass",
        multiclass="one-vs-one",
        solver="smo",
        kernel="rbf",
        gamma=1e-3,
        example_cost=3e5,
        gap=0.1,
        threads=1,
    )
    outcome.save(tmp_path / "model")
    file = sum(risks(read_model(str(tmp_path / "model")), X.astype(float), y, 3e5))
    assert abs(outcome.primal - file) > 1e-7 * file
    assert outcome.primal_of_file == pytest.approx(file, rel=1e-9)


def test_the_unit_of_c_is_svm_multiclass_s_and_epsilon_counts_on_the_sums(rng):
    X, y = examples(rng)
    ours, plain = trained(X, y, cost=400.0 * N), trained(X, y, example_cost=4.0)
    assert ours.primal == pytest.approx(plain.primal, rel=1e-12)
    np.testing.assert_allclose(ours.model.alpha, plain.model.alpha, atol=1e-12)
    for way in WAYS:
        loose = trained(X, y, example_cost=1.0, multiclass=way, solver="cutting-plane", epsilon=0.5)
        assert loose.converged and loose.gap <= N * 0.5 / 100


@pytest.mark.parametrize("way", WAYS)
def test_a_run_that_is_stopped_leaves_the_machines_to_come_at_zero(rng, way):
    X, y = examples(rng)
    whole = trained(X, y, example_cost=2.0, solver="smo", multiclass=way)
    steps = [machine["iterations"] for machine in whole.details["machines"]]
    most = steps[0] + steps[1] + 2
    outcome = trained(X, y, example_cost=2.0, solver="smo", multiclass=way, max_iterations=most)
    told, found = outcome.details["machines"], risks(outcome.model, X, y, 2.0)
    assert (
        not outcome.converged
        and outcome.stopped_by == "limit"
        and outcome.progress.iteration == most
    )
    # sums of the compiled loop, which a limit of steps does not use, round in their own way
    assert len(told) == 3
    for machine, other in zip(told[:2], whole.details["machines"], strict=False):
        for key in ("labels", "stopped_by"):
            assert machine.pop(key) == other[key]
        assert machine == pytest.approx({key: other[key] for key in machine}, rel=1e-12, abs=1e-9)
    assert (np.diff(outcome.model.starts)[3:] == 0).all() and (outcome.model.b[3:] == 0).all()
    assert outcome.primal == pytest.approx(sum(found), rel=1e-6)
    sizes = [len(rows) for rows, _ in truth.sides(y, K, outcome.model.paired)]
    assert found[3:] == pytest.approx([2.0 * size for size in sizes[3:]])
    assert outcome.dual == pytest.approx(sum(machine["dual"] for machine in told))


def test_one_class_alone_is_predicted(rng):
    X, _ = examples(rng)
    outcome = trained(X, np.full(N, 7), example_cost=1.0)
    assert "no other class to learn" in outcome.warnings[0] or outcome.converged
    assert (
        outcome.model.predict(Csr.from_dense(X)) == 7
    ).all() and outcome.model.names.tolist() == [7]


def test_two_classes_are_one_pair(rng):
    X, y = examples(rng)
    outcome, alone = (
        trained(X, y > 1, example_cost=1.0),
        svmcut.train(
            (X, np.where(y > 1, -1, 1)), example_cost=1.0, kernel="rbf", gamma=0.7, threads=1
        ),
    )
    assert outcome.primal == alone.primal and len(outcome.model.b) == 1
    rows = Csr.from_dense(X)
    np.testing.assert_array_equal(outcome.model.decisions(rows)[:, 0], alone.model.scores(rows))


def test_each_machine_that_is_done_is_summed_once(rng, monkeypatch):
    summed = []
    sums = kernel_classes.Others
    monkeypatch.setattr(kernel_classes, "is_compiled", lambda *known: False)
    monkeypatch.setattr(
        kernel_classes, "Others", lambda *known: summed.append(known) or sums(*known)
    )
    y = np.repeat(np.arange(9), 2)
    trained(rng.normal(size=(len(y), 3)), y, multiclass="one-vs-one")
    assert len([known for known in summed if known]) == 9 * 8 // 2


def test_equal_rows_are_one_support_vector(rng):
    X, y = examples(rng)
    outcome = trained(np.vstack([X, X]), np.tile(y, 2), example_cost=1.0)
    model = outcome.model
    assert model.support.n_rows == len(np.unique(model.support.to_dense(), axis=0)) <= N
    assert all(
        (np.diff(model.places[a:b]) > 0).all()
        for a, b in zip(model.starts[:-1], model.starts[1:], strict=True)
    )
    assert sum(risks(model, np.vstack([X, X]), np.tile(y, 2), 1.0)) == pytest.approx(
        outcome.primal, rel=1e-6
    )


def test_decisions_that_are_no_numbers_are_no_votes():
    support, starts = Csr.from_dense(np.eye(1, dtype=np.float32)), np.array([0, 1, 2, 3])
    alpha = np.array([1.0, np.inf, 1.0])
    model = KernelMulticlassModel(
        Kernel("linear"),
        support,
        starts,
        np.zeros(3, np.int32),
        alpha,
        np.zeros(3),
        np.arange(3.0),
        True,
    )
    found = model.scores(Csr.from_dense(np.ones((1, 1), np.float32)))
    assert np.isnan(found[0, [0, 2]]).all() and found[0, 1] == 1


TEXT = (
    "svmcut multiclass 1\n"
    "2 # kernel type\n"
    "3 # kernel parameter -d \n"
    "0.25 # kernel parameter -g \n"
    "1 # kernel parameter -s \n"
    "1 # kernel parameter -r \n"
    "empty# kernel parameter -u \n"
    "5 # highest feature index\n"
    "20 # number of training documents\n"
    "3 # number of support vectors plus 1\n"
    "3 # number of classes\n"
    "one-vs-one # machines\n"
    "0.5 -1 0 # thresholds of the machines; support vectors follow\n"
    "1:0.5 3:-0.25 | 1:0.5 4:2 #\n"
    "2:1e-300 | 5:-1 #\n"
    "#@ labels -1 4 7\n"
)


def test_a_model_is_read_as_written_by_hand(tmp_path):
    (tmp_path / "m").write_text(TEXT)
    model = read_model(str(tmp_path / "m"))
    assert (
        model.kernel == Kernel("rbf", gamma=0.25)
        and model.paired
        and model.names.tolist() == [-1, 4, 7]
    )
    assert (model.starts.tolist(), model.places.tolist(), model.alpha.tolist()) == (
        [0, 1, 2, 3],
        [0, 1, 0],
        [0.5, 1e-300, -0.25],
    )
    assert model.b.tolist() == [0.5, -1, 0] and model.support.to_dense().tolist() == [
        [0.5, 0, 0, 2, 0],
        [0, 0, 0, 0, -1],
    ]
    write_model(str(tmp_path / "again"), model)
    assert uncertified(tmp_path / "again").decode() == TEXT


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("columns", [False, True])
def test_models_go_round_with_all_digits_of_their_coefficients(tmp_path, rng, way, columns):
    X, y = examples(rng)
    if columns:
        X = Csr(
            *(
                part
                for part in (
                    Csr.from_dense(X).data,
                    Csr.from_dense(X).indices * 400_000_000,
                    Csr.from_dense(X).indptr,
                )
            ),
            1_600_000_001,
        ).to_scipy()
    outcome = trained(X, y + 1, example_cost=1.0, multiclass=way, solver="smo")
    write_model(str(tmp_path / "a"), outcome.model)
    again = read_model(str(tmp_path / "a"))
    np.testing.assert_array_equal(again.alpha, outcome.model.alpha)
    np.testing.assert_array_equal(again.b, [float(f"{b:.8g}") for b in outcome.model.b])
    np.testing.assert_array_equal(again.support.data, outcome.model.support.data)
    assert b"#@ labels" not in (tmp_path / "a").read_bytes() and again.names.tolist() == [
        1,
        2,
        3,
        4,
    ]
    write_model(str(tmp_path / "b"), again)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


FAULTS = [
    ("2 # kernel type", "9 # kernel type", ':2:1: kernel type "9" is unknown'),
    ("5 # highest", "x # highest", ':8:1: "x" is refused; expected the highest feature index'),
    (
        "3 # number of s",
        "0 # number of s",
        ':10:1: "0" is refused; expected the number of support vectors plus 1',
    ),
    ("3 # number of c", "0 # number of c", ':11:1: "0" is refused; expected the number of classes'),
    (
        "3 # number of c",
        "99999 # number of c",
        ":13:1: the thresholds are refused; expected 4999850001 finite numbers",
    ),
    (
        "one-vs-one",
        "one-vs-two",
        ":12:1: machines 'one-vs-two' are refused; expected one-vs-one or one-vs-rest",
    ),
    ("0.5 -1 0 #", "0.5 -1 #", ":13:1: the thresholds are refused; expected 3 finite numbers"),
    ("0.5 -1 0 #", "0.5 -1 nan #", ":13:1: the thresholds are refused"),
    ("0.5 -1 0 #", "0.5 -1 1e999 #", ":13:1: the thresholds are refused"),
    ("1:0.5 3:-0.25 |", "1:0.5 3:-0.25", ":14:1: no coefficients"),
    ("1:0.5 3:-0.25 |", "1:0.5 3:inf |", ":14:1: no coefficients"),
    (
        "1:0.5 3:-0.25 |",
        "1:0.5 3:1e999 |",
        ":14:1: a coefficient is refused; expected finite ones of machines 1 to 3",
    ),
    ("1:0.5 3:-0.25 |", "3:0.5 1:-0.25 |", ":14:1: a coefficient is refused"),
    ("2:1e-300 |", "4:1 |", ":15:1: a coefficient is refused"),
    ("2:1e-300 |", "0:1 |", ":15:1: a coefficient is refused"),
    ("4:2 #", "6:2 #", ":14:23: feature index outside 1 to the highest index"),
    ("5:-1 #", "5:x #", ":15:14: no finite number"),
    ("2:1e-300 | 5:-1 #\n", "", ": the file ends before its last support vector"),
    ("5:-1 #\n", "5:-1 #\n| 1:1 #\n", ":16:1: more lines than line 10 announces"),
    (
        "#@ labels -1 4 7",
        "#@ labels -1 4",
        "'#@ labels' names 2 classes; expected 3, as in line 11",
    ),
    ("#@ labels -1 4 7", "#@ bias 1", "is refused; expected '#@ labels"),
]


@pytest.mark.parametrize("old, new, message", FAULTS)
def test_faults_are_named_with_their_place(tmp_path, old, new, message):
    said = refused(tmp_path / "m", TEXT, old, new)
    assert message in said and said.startswith(str(tmp_path / "m"))


def test_a_model_cut_short_anywhere_is_refused(tmp_path):
    check_beginnings(tmp_path / "m", TEXT, TEXT.index("#@") - 1)


def test_numbers_that_are_not_finite_are_not_written(tmp_path, rng):
    (tmp_path / "m").write_text(TEXT)
    for name, value in (("alpha", np.inf), ("b", np.nan)):
        model = read_model(str(tmp_path / "m"))
        getattr(model, name)[0] = value
        with pytest.raises(ModelError, match="is not finite"):
            write_model(str(tmp_path / "n"), model)
    assert not (tmp_path / "n").exists()
