# SPDX-License-Identifier: BSD-3-Clause
"""Rows in parts: sums in a fixed tree, a line in one round, and the optimum of the rows in one
place."""

import pickle
import re
from itertools import product

import numpy as np
import pytest
from drivers import risk_of
from parted import lines, settings, trained, written
from programs import call
from reference import hinge, losses

import svmcut
from svmcut._native import sparse
from svmcut.base.errors import DataError, TrainingError, UsageError
from svmcut.distributed import histograms
from svmcut.distributed.parts import EVEN, STEPS, Part, Reading
from svmcut.distributed.plan import Files, make_driver
from svmcut.distributed.rows import SerialRows, fold_nodes, node_of, tree_sum
from svmcut.files.names import list_files
from svmcut.risks.losses import BoundEpsilonInsensitive


@pytest.mark.parametrize("weighed", [False, True])
def test_a_line_of_hinge_losses_is_known_at_all_steps(rng, weighed):
    n = 300
    y, s, w = (
        np.where(rng.random(n) < 0.4, 1.0, -1.0),
        rng.normal(size=n).round(1),
        rng.normal(size=n).round(1),
    )
    s[:40], w[:40] = y[:40], y[:40]  # on the margin at both ends
    v = rng.random(n) if weighed else None
    values, slopes = sparse.hinge_grid(y, s, w, STEPS, EVEN, 2, v)
    assert len(STEPS) == 1280 and STEPS[0] == 0 and STEPS[EVEN] == 2 and (np.diff(STEPS) > 0).all()
    v = np.ones(n) if v is None else v
    for k in [0, 1, 2, 255, 512, EVEN, EVEN + 1, 1100, 1279]:
        slack = 1 - y * (s + STEPS[k] * (w - s))
        assert values[k] == pytest.approx(v @ np.maximum(0, slack), rel=1e-12, abs=1e-9)
        rates, at = (
            -v * y * (w - s),
            np.abs(slack) < 1e-11,
        )  # rounding may put a corner on either side
        inside = rates[(slack > 0) & ~at].sum()
        assert inside + np.minimum(0, rates[at]).sum() <= slopes[k] + 1e-9
        assert slopes[k] <= inside + np.maximum(0, rates[at]).sum() + 1e-9


@pytest.mark.parametrize("weighed", [False, True])
def test_a_line_of_errors_beyond_a_tube_is_known_at_all_steps(rng, weighed):
    """Of targets in a unit that a margin of 1 would swallow, too."""
    n, unit = 300, 1e-14
    y, s, w = (unit * rng.normal(size=n) for _ in range(3))
    v, tube = rng.random(n) if weighed else None, 0.3 * unit
    values, slopes = BoundEpsilonInsensitive(y, 2, v, tube).on_grid(s, w, STEPS, EVEN)
    v = np.ones(n) if v is None else v
    for k in [0, 1, 255, 512, EVEN, 1100, 1279]:
        rest = y - (s + STEPS[k] * (w - s))
        beyond = np.maximum(0, np.abs(rest) - tube)
        assert values[k] == pytest.approx(v @ beyond, rel=1e-9)
        slope = -(v * (w - s) * np.sign(rest))[beyond > 0].sum()
        assert slopes[k] == pytest.approx(slope, rel=1e-9)


def test_a_tree_does_not_depend_on_how_its_leaves_are_grouped(rng):
    for n in (1, 2, 3, 7, 8, 13):
        leaves = [np.array([x]) for x in rng.normal(size=n) * 10.0 ** rng.integers(-8, 8, n)]
        whole = tree_sum(leaves)
        for size in (1, 2, 4, 8):
            bounds = [(start, min(n, start + size)) for start in range(0, n, size)]
            nodes = {
                node_of(start, stop, n): tree_sum(leaves[start:stop]) for start, stop in bounds
            }
            assert fold_nodes(nodes, n).tobytes() == whole.tobytes()


CASES = {
    "hinge": dict(gap=1e-4),
    "weights": dict(gap=1e-4, class_weight={1: 3.0}),
    "costs": dict(gap=1e-4),
    "balanced": dict(gap=1e-4, class_weight="balanced"),
    "squared": dict(gap=1e-4, loss="squared-hinge"),
    "logistic": dict(gap=1e-4, loss="logistic"),
    "no bias": dict(gap=1e-3, bias=0.0),
    "f1": dict(cost=3.0, gap=1e-3, loss="f1"),
    "roc": dict(cost=3.0, gap=1e-3, loss="roc-area"),
    "squared slack": dict(cost=0.1, gap=1e-3, loss="f1", slack_norm=2),
    "targets": dict(task="regression", gap=1e-4),
    "rank": dict(task="rank", cost=2.0, gap=1e-3),
    "rank weighed": dict(task="rank", cost=2.0, gap=1e-3),
    "fraction": dict(task="rank", cost=2.0, gap=1e-3, loss="swapped-fraction"),
    "pairs": dict(task="rank", cost=2.0, gap=1e-3, loss="pairs"),
    "clicks": dict(task="rank", cost=2.0, gap=1e-3, loss="propensities"),
    "ndcg": dict(task="rank", cost=2.0, gap=1e-3, loss="ndcg"),
    "classes": dict(task="multiclass", gap=1e-2),
    "classes -c": dict(task="multiclass", gap=1e-2, cost=1000.0),
    "classes balanced": dict(task="multiclass", gap=1e-2, class_weight="balanced"),
    "classes squared slack": dict(task="multiclass", gap=1e-2, slack_norm=2),
    "rest": dict(task="multiclass", gap=1e-2, multiclass="one-vs-rest"),
    "rest logistic": dict(task="multiclass", gap=1e-2, multiclass="one-vs-rest", loss="logistic"),
}


@pytest.mark.every(3)
@pytest.mark.parametrize("name", CASES)
def test_parts_have_the_optimum_of_one_file(tmp_path, name):
    case = CASES[name]
    text = lines(task=case.get("task", "classification"), cost=name == "costs")
    if name == "rank weighed":
        text = [
            re.sub(r"qid:(\d+)", lambda qid: f"{qid[0]} cost:{1 + int(qid[1]) % 2}", line)
            for line in text
        ]
    if name == "clicks":
        text = [
            re.sub(r"(qid:\d+)", r"\1 cost:2.5", line) if float(line.split()[0]) > 0 else line
            for line in text
        ]
    (whole,) = written(tmp_path, text, 0)
    local = svmcut.train(
        whole, **{"task": "classification", **case}, solver="cutting-plane", threads=1
    )
    for parts in (1, 3, 8):
        found = trained(written(tmp_path, text, parts, f"p{parts}"), **case)
        assert (
            found.converged
            and found.dual <= local.primal * (1 + 1e-9)
            and local.dual <= found.primal * (1 + 1e-9)
        )
        assert (
            pytest.approx(local.objective.C) == found.objective.C
            and found.details["partitions"] == parts
        )
        if case.get("task") == "multiclass":
            assert (
                found.model.W.shape == local.model.W.shape
                and (found.model.names == local.model.names).all()
            )
            assert np.abs(found.model.W - local.model.W).max() < 0.2 * np.abs(local.model.W).max()
        else:
            assert found.model.w.shape == local.model.w.shape


def test_a_certificate_of_parts_is_that_of_the_rows(tmp_path):
    text = lines()
    (whole,) = written(tmp_path, text, 0)
    X, y = svmcut.load_svmlight_file(whole)
    _, best = hinge.optimum(X.toarray(), y, 0.5, 1.0)
    found = trained(written(tmp_path, text, 3), example_cost=0.5, gap=1e-5)
    assert found.dual <= best * (1 + 1e-9) and best * (1 - 1e-9) <= found.primal <= best * (
        1 + 1e-5
    )


def test_two_rounds_an_iteration(tmp_path):
    rows = SerialRows()
    found = trained(written(tmp_path, lines(), 3), rows=rows, gap=1e-3)
    assert found.progress.iteration > 8 and rows.rounds <= 2 * found.progress.iteration + 3


def test_scores_that_were_lost_come_back_to_the_last_bit(tmp_path):
    class Forgetful(SerialRows):
        """Drops a part at every round and reads it again, from its pickle."""

        def _ask(self, *given):
            k = self.rounds % len(self._parts)
            self._parts[k] = pickle.loads(pickle.dumps(self._parts[k]))
            assert len(pickle.dumps(self._parts[k])) < 2000
            return super()._ask(*given)

    paths = written(tmp_path, lines(), 3)
    for case in (dict(gap=1e-3), dict(gap=1e-3, loss="logistic")):
        kept, lost = trained(paths, **case), trained(paths, rows=Forgetful(), **case)
        assert (
            kept.model.w.tobytes() == lost.model.w.tobytes()
            and kept.progress.iteration == lost.progress.iteration
        )


def test_a_file_that_changed_is_refused(tmp_path):
    paths = written(tmp_path, lines(), 2)
    rows, chosen = SerialRows(), settings(gap=1e-3)
    make_driver(rows, Files(paths, Reading(False)), chosen)
    with open(paths[1], "a") as file:
        file.write("1 1:2\n")
    with pytest.raises(
        DataError, match=r"part-1.dat: the file changed since training began; start again"
    ):
        pickle.loads(pickle.dumps(rows._parts[1]))


@pytest.mark.parametrize(
    "first, second, message",
    [
        (
            "1 qid:1 1:1\n",
            "2 qid:1 1:1\n",
            "part-1.dat: begins with qid 1, and .*part-0.dat ends with 1; a query",
        ),
        ("1 qid:1 1:1\n", "2 1:1\n", "part-1.dat: no qid; files of rankings need one"),
    ],
)
def test_files_of_rankings_hold_whole_queries(tmp_path, first, second, message):
    paths = written(tmp_path, [], 2)
    for path, text in zip(paths, (first, second), strict=True):
        with open(path, "w") as file:
            file.write(text)
    with pytest.raises(DataError, match=message):
        trained(paths, task="rank", cost=1.0)


@pytest.mark.parametrize(
    "parameters, message",
    [
        (
            dict(task="sequence", cost=1.0),
            "sequences does not spread over parts in this version; leave out parameter 'sch",
        ),
        (
            dict(kernel="rbf"),
            "kernels do not spread over parts in this version; use kernel='linear'",
        ),
        (
            dict(solver="dual-cd"),
            "solver 'dual-cd' needs all rows in one place; use solver='cutting-plane'",
        ),
    ],
)
def test_what_does_not_spread_is_refused(tmp_path, parameters, message):
    with pytest.raises(UsageError, match=message):
        trained([tmp_path / "none"], **parameters)


BINNED = {
    "f1": dict(cost=3.0),
    "f1 squared": dict(loss="f1", cost=0.1, slack_norm=2),
    "prbep": dict(cost=3.0),
    "prec-at-k slack": dict(loss="prec-at-k", cost=0.1, rescaling="slack"),
    "roc-area": dict(cost=3.0),
    "kld": dict(cost=300.0),
    "mrae": dict(cost=3.0),
    "qf1": dict(cost=3.0),
    "gmean": dict(cost=3.0),
    "fbeta": dict(cost=3.0, beta=2.0),
    "balanced-error": dict(cost=3.0),
    "recall-at-precision": dict(cost=3.0, at=0.8),
    "precision-at-recall": dict(cost=3.0, at=0.8),
}
ALL_BINS = (1000, histograms.BINS)


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "name, bins",
    [
        ("f1", 1000),
        ("roc-area", 1000),
        ("fbeta", 1000),
        *(pytest.param(*of, marks=pytest.mark.slow) for of in product(BINNED, ALL_BINS)),
    ],
)
def test_bins_of_scores_certify_the_rows(tmp_path, monkeypatch, name, bins):
    monkeypatch.setattr(histograms.BinnedOracle.__init__, "__defaults__", (bins,))
    text, case = lines(), {"loss": name, "gap": 0.02 if bins == 1000 else 0.002, **BINNED[name]}
    (whole,) = written(tmp_path, text, 0)
    paths = written(tmp_path, text, 3)
    local = svmcut.train(whole, task="classification", solver="cutting-plane", threads=1, **case)
    found = trained(paths, how={"most_gathered": 399}, **case)
    X, y = svmcut.load_svmlight_file(whole)
    norm = case.get("slack_norm", 1)
    own = {key: of for key, of in case.items() if key not in ("loss", "gap", "cost")}
    risk = risk_of(case["loss"], **own).bind(y)
    w = found.model.w.astype(np.float64)
    value = risk.linearize(X @ w - found.model.b).value ** norm
    primal = 0.5 * (w @ w + found.model.b**2) + found.objective.C * value
    assert (
        primal <= found.primal * (1 + 1e-9)
        and found.converged
        and found.primal_of_file >= primal * (1 - 1e-6)
    )
    assert found.dual <= local.primal * (1 + 1e-9) and local.dual <= primal * (1 + 1e-9)
    assert found.dual >= local.dual * (1 - 2 * case["gap"])
    assert found.details["rounds"] <= 8 * found.progress.iteration + 12
    if bins == histograms.BINS:
        assert found.primal <= primal * (1 + 1e-8)  # so many bins hide next to nothing


def test_what_needs_all_scores_is_refused_where_they_are_too_many(tmp_path):
    with pytest.raises(
        TrainingError, match=r"all 400 .* at most 399 are gathered; use fewer .* roc-area"
    ):
        trained(
            written(tmp_path, lines(), 2),
            cost=1.0,
            loss="average-precision",
            how={"most_gathered": 399},
        )


@pytest.mark.parametrize("most", [10**6, 0])
def test_a_file_of_one_class_is_a_part(tmp_path, monkeypatch, most):
    monkeypatch.setattr(histograms.BinnedOracle.__init__, "__defaults__", (500,))
    text = sorted(lines(200))
    found = trained(
        written(tmp_path, text, 4), cost=1.0, loss="f1", gap=0.05, how={"most_gathered": most}
    )
    assert found.converged and found.primal < 100


def test_parts_start_from_an_old_model(tmp_path):
    text = lines()
    (whole,) = written(tmp_path, text, 0)
    paths, model = written(tmp_path, text, 3), tmp_path / "model"
    assert call("svmcut learn", "-v", 0, "--gap", 1e-5, whole, model) == 0
    cold, warm = trained(paths, gap=1e-3), trained(paths, gap=1e-3, initial=str(model))
    assert warm.progress.iteration < cold.progress.iteration / 2
    assert warm.dual <= cold.primal and cold.dual <= warm.primal
    with pytest.raises(
        UsageError, match=r"names .*, which is no linear model of targets; leave it out or name one"
    ):
        trained(paths, task="regression", initial=str(model))


def test_a_part_without_a_row_that_counts(tmp_path):
    paths = written(tmp_path, lines(), 3)
    with open(paths[1], "w") as file:
        file.write("1 cost:0 40:1\n")
    found, others = trained(paths, gap=1e-3), trained([paths[0], paths[2]], gap=1e-3)
    assert found.converged and found.model.w.tobytes() == others.model.w.tobytes()


def test_files_by_pattern_and_by_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("b-1", "b-0", "c"):
        (tmp_path / name).write_text("1 1:1\n")
    assert list_files("b-*") == ("b-*", [str(tmp_path / "b-0"), str(tmp_path / "b-1")])
    assert list_files(["c", "b-1"])[1] == [str(tmp_path / "c"), str(tmp_path / "b-1")]
    with pytest.raises(DataError, match=r"d-\*: no file fits this pattern"):
        list_files("d-*")
    with pytest.raises(UsageError, match="is named twice"):
        list_files(["c", "./c"])
    with pytest.raises(
        UsageError, match="standard input is read once and by one process; name files"
    ):
        list_files("-")


def test_a_part_asks_its_risk_for_what_it_is(tmp_path):
    """The hinge and the tube have a grid; a loss that gets one is to be asked for it."""
    bound = {name: risk_of(name).bind(np.ones(2)) for name in ("error-rate", *losses.LOSSES)}
    gridded = [name for name, risk in bound.items() if hasattr(risk, "on_grid")]
    assert gridded == ["error-rate", "epsilon-insensitive"]
    part = Part(written(tmp_path, lines(), 0)[0], Reading(False))
    assert part.facts().rows == 400 and part.__sizeof__() > 10_000


@pytest.mark.parametrize(
    "task, parameters",
    [
        ("classification", {}),
        ("classification", {"loss": "f1", "cost": 3.0}),
        ("multiclass", {}),
        ("rank", {}),
    ],
)
def test_a_file_without_rows_is_left_out_with_a_warning(tmp_path, task, parameters):
    paths = written(tmp_path, lines(task=task), 3)
    empty = [tmp_path / name for name in ("a.dat", "b.dat")]
    for path in empty:
        path.write_text("# nothing yet\n")
    given = settings(task, gap=0.1, **parameters)
    whole = trained(paths, task, gap=0.1, **parameters)
    names = [str(empty[0]), paths[0], str(empty[1]), *paths[1:]]
    _, driver = make_driver(SerialRows(), Files(names, Reading(False)), given)
    found = driver.fit(given.cost, given.example_cost)
    assert driver.warnings == [
        f"no examples in 2 of 5 files, which are left out: {empty[0]}, {empty[1]}"
    ]
    assert found.details["partitions"] == 3 and found.primal == whole.primal
    with pytest.raises(DataError, match="2 files: no examples"):
        make_driver(SerialRows(), Files([*map(str, empty)], Reading(False)), given)
