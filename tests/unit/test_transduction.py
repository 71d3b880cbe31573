# SPDX-License-Identifier: BSD-3-Clause
"""The local search of transduction: its steps, its end, and the recorded runs."""

from itertools import pairwise

import numpy as np
import pytest

from svmcut.data.examples import Csr
from svmcut.files.examples import read_examples
from svmcut.models.kernels import Kernel
from svmcut.originals.svm_light import machines
from svmcut.originals.svm_light.machines import MachineProblem
from svmcut.originals.svm_light.unlabelled import certainties, positives, search, share


def levels_of(X, y, C, fraction, kernel=None, **others):
    known = y != 0
    usual = {"tolerance": 1e-5, "free_bias": True}
    problem = MachineProblem(
        X=X, y=np.where(y > 0, 1.0, -1.0), kernel=kernel or Kernel(), C=C, **usual | others
    )
    return known, list(search(problem, known, problem.without(~known).scores, fraction))


def objective(problem, machine):
    return problem.squared_norm(machine) / 2 + float(problem.boxes @ machine.losses(problem.y))


@pytest.fixture
def part(rng):
    X = rng.normal(size=(60, 4))
    y = np.where(X[:, 0] + 0.9 * rng.normal(size=60) > 0.3, 1.0, -1.0)
    y[15:] = 0
    return Csr.from_dense(X), y


@pytest.mark.parametrize(
    "kernel", [Kernel(), Kernel("rbf", gamma=0.3)], ids=lambda kernel: kernel.name
)
def test_switches_lower_the_objective_and_none_is_left_at_the_end(part, kernel):
    X, y = part
    fraction = share(int((y > 0).sum()), int((y < 0).sum()))
    count = positives(45, fraction)
    known, levels = levels_of(X, y, 1.0, fraction, kernel)
    assert any(level.switched for level in levels)
    for before, after in pairwise(levels):
        assert (after.problem.y[known] == y[known]).all() and (
            after.problem.y[~known] > 0
        ).sum() == count
        same = (before.problem.y == after.problem.y).sum()
        assert same == (58 if before.switched else 60)
        if before.switched:
            assert objective(after.problem, after.machine) < objective(
                before.problem, before.machine
            )
        else:
            ratio = after.problem.weights[~known].min() / before.problem.weights[~known].min()
            assert 1 < ratio <= 1.5 + 1e-9
    last = levels[-1]
    assert not last.switched and last.following is None and last.machine.violation <= 1e-5
    weights = last.problem.weights[~known]
    signs = last.problem.y[~known]
    assert np.allclose(weights[signs < 0], 1) and np.allclose(
        weights[signs > 0], (1 - fraction) / fraction
    )
    losses = last.machine.losses(last.problem.y)[~known]
    assert losses[signs > 0].max() + losses[signs < 0].max() <= 2 + 1e-6 or 0 in (
        losses[signs > 0].max(),
        losses[signs < 0].max(),
    )


@pytest.mark.parametrize("fraction", [0.0, 1.0, 1e-9, 1 - 1e-9])
def test_one_class_of_all_unlabelled_rows(part, fraction):
    known, levels = levels_of(*part, 1.0, fraction)
    count = round(45 * fraction)
    assert (levels[-1].problem.y[~known] > 0).sum() == count and not any(
        level.switched for level in levels
    )
    weights = levels[-1].problem.weights[~known]
    np.testing.assert_allclose(weights, 1.0 if count == 0 else (1 - fraction) / fraction)


def test_where_all_become_positive_they_weigh_nothing(part):
    """(1 - p) / p is 0 for p = 1: the machine is that of the labelled rows."""
    X, y = part
    known, levels = levels_of(X, y, 1.0, 1.0)
    machine, alone = (
        levels[-1].machine,
        MachineProblem(X, y, Kernel(), 1.0, True, tolerance=1e-5).without(~known),
    )
    assert not machine.beta[~known].any()
    np.testing.assert_allclose(machine.scores, alone.scores, atol=1e-4)
    np.testing.assert_array_equal(certainties(levels[-1], ~known), machine.scores[~known])


def test_what_is_written_of_the_unlabelled_rows(part):
    """A row with weight stands below 1 by half its part of the largest, on the side it was taken
    for."""
    known, levels = levels_of(*part, 1.0, 0.5)
    last, told = levels[-1], certainties(levels[-1], ~known)
    alpha, taken = np.abs(last.machine.beta[~known]), last.problem.y[~known]
    held = alpha > 0
    assert held.any() and not held.all()
    np.testing.assert_allclose((told * taken)[held], 0.999 - alpha[held] / (2 * alpha.max()))
    assert (told * taken)[alpha == alpha.max()].max() == pytest.approx(0.499)
    np.testing.assert_array_equal(told[~held], last.machine.scores[~known][~held])


def test_without_a_label_the_rows_become_positive_in_their_order(part):
    X, _ = part
    known, levels = levels_of(X, np.zeros(60), 1.0, 0.5)
    assert not known.any() and (levels[0].problem.y > 0).tolist() == [True] * 30 + [False] * 30
    assert (levels[-1].problem.y > 0).sum() == 30 and levels[-1].machine.beta.any()


def test_the_search_ends_where_a_switch_lowers_nothing(part, monkeypatch):
    """As with kernels that are not definite: whatever the labels, two rows are far on the wrong
    side."""
    wrong = lambda problem, *_: machines.Machine(0 * problem.y, 0.0, -3 * problem.y, 0.0, 1, 0)  # noqa: E731
    monkeypatch.setattr(MachineProblem, "train", wrong)
    _, levels = levels_of(*part, 1.0, 0.5)
    assert (
        sum(level.switched for level in levels) == len(levels) / 2
        and levels[-1].problem.weights.max() == 1
    )


def test_on_features_the_same_labels(part, monkeypatch):
    X, y = part
    slow = levels_of(X, y, 1.0, 1 / 3)[1][-1]
    monkeypatch.setattr(machines, "FEATURE_ROWS", 10)
    fast = levels_of(X, y, 1.0, 1 / 3)[1][-1]
    assert (
        fast.machine.evaluations == 0 < slow.machine.evaluations
        and (fast.problem.y == slow.problem.y).all()
    )


@pytest.mark.parametrize(
    "unlabelled, fraction, count",
    [
        (16, 14 / 32, 7),
        (16, 0.25, 4),
        (5, 0.1, 1),
        (5, 0.3, 2),
        (8, 0.0625, 1),
        (9, 6 / 11, 5),
        (10, 0.3, 3),
        (7, 0.0, 0),
        (7, 1.0, 7),
        (3, 0.16, 0),
    ],
)
def test_how_many_become_positive(unlabelled, fraction, count):
    assert positives(unlabelled, fraction) == count


def test_the_share_of_no_labels_is_none():
    assert share(14, 18) == 14 / 32 and share(0, 3) == 0 and np.isnan(share(0, 0))


@pytest.mark.parametrize("name, fraction", [("light_trans", None), ("light_trans_p", 0.25)])
def test_the_recorded_runs_end_no_lower(shared, name, fraction):
    """Against the objective of the recorded weights at the recorded labels."""
    folder = shared / "golden" / "light" / "cases"
    examples = read_examples(str(folder / "inputs" / "lt_trans.dat"))
    X, y = examples.X.to_dense().astype(np.float64), examples.y
    known, u = y != 0, int((y == 0).sum())
    p = share(int((y > 0).sum()), int((y < 0).sum())) if fraction is None else fraction
    count = positives(u, p)
    labels = y.copy()
    labels[~known] = [
        1.0 if ":+1 -" in line else -1.0
        for line in (folder / name / "labels").read_text().splitlines()
    ]
    assert (labels[~known] > 0).sum() == count
    w, lines = np.zeros(X.shape[1]), (folder / name / "model").read_text().splitlines()
    for line in lines[11:]:
        alpha, *pairs = line.split("#")[0].split()
        for index, value in (pair.split(":") for pair in pairs):
            w[int(index) - 1] += float(alpha) * float(value)
    b = float(lines[10].split()[0])
    weights = np.where(known | (labels < 0), 1.0, (u - count) / count)
    recorded = w @ w / 2 + weights @ np.maximum(0, 1 - labels * (X @ w - b))
    last = levels_of(examples.X, y, 1.0, p)[1][-1]
    assert objective(last.problem, last.machine) <= recorded * (1 + 1e-6)
