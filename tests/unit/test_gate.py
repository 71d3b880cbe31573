# SPDX-License-Identifier: BSD-3-Clause
"""The gate of certificates: a claim is one about the model as a reader of its file gets it."""

import importlib
import math

import numpy as np
import pytest

import svmcut
import svmcut.training.linear as linear_plan
from svmcut.base.errors import ModelError
from svmcut.base.records import replace
from svmcut.data.examples import Csr, Examples, Source
from svmcut.formats import written_and_read
from svmcut.models import KernelModel, LinearModel, MulticlassModel
from svmcut.models.kernels import Kernel
from svmcut.solvers.protocol import Progress, StoppingRule, Unsaved
from svmcut.spec.parameters import Settings
from svmcut.training.certificate import in_columns, read_back_features, stack_constant
from svmcut.training.driver import make_driver
from svmcut.training.gate import Part, Reading, in_memory, judge, judge_composite, primal_of_file
from svmcut.training.kernel_plan import KernelRoom
from svmcut.training.outcome import Objective, Outcome
from svmcut.training.settings import resolve_settings
from svmcut.training.vectors import Vectors

RULE = StoppingRule(0.1)


def outcome(model, primal=10.0, dual=9.95):
    progress = Progress(1, 1.0, primal, dual, primal - dual, 0.0, Unsaved())
    return Outcome(model, Objective(1.0, 1.0, 1.0, 0.1), progress, "newton")


def linear():
    return LinearModel(np.array([1 / 3, 0.0, -2.0]), 1 / 7)


def machine(**kernel):
    support = Csr.from_dense(np.array([[0.1, 1e-3], [1 / 3, 2.0]], np.float32))
    return KernelModel(Kernel(**kernel), support, np.array([0.1, -1 / 3]), 1 / 7)


@pytest.mark.parametrize(
    "value, converged, reason",
    [
        (10.0, True, None),
        (10.06, False, "file"),
        (math.nan, False, "file"),
        (9.0, False, "mistake"),
    ],
)
def test_the_primal_of_the_file_has_to_meet_the_rule_too(value, converged, reason):
    seen = []
    found = judge(
        outcome(linear()), RULE, None, reading=Reading(lambda model: seen.append(model) or value)
    )
    assert (found.converged, found.stopped_by) == (converged, reason)
    assert found.primal_of_file == value or math.isnan(value)
    assert (
        seen[0].w.tolist() == [float(np.float32(0.33333334)), 0.0, -2.0] and seen[0].b == 0.14285714
    )


@pytest.mark.parametrize("primal", [1e-12, 2e-12])
def test_a_file_below_the_dual_value_by_rounding_of_a_larger_sum_lowers_it(primal):
    rule, file = StoppingRule(math.inf, 1e-3), 0.9999e-12
    for size, reason in ((1e4, None), (1e-3, "mistake")):
        reading = Reading(lambda model: file, size=lambda size=size: size)
        found = judge(outcome(linear(), primal, 1.0001e-12), rule, None, reading=reading)
        if reason is None:
            assert found.certificate == (primal, file)
            assert found.converged == (primal == 1e-12)
        else:
            assert found.stopped_by == reason


@pytest.mark.parametrize("file, reason", [(9.94, None), (9.0, "file")])
def test_a_coarse_reader_below_the_dual_value_is_no_mistake(file, reason):
    reading = Reading(lambda model: file, coarse=True)
    found = judge(outcome(linear()), RULE, None, reading=reading)
    assert (found.stopped_by, found.primal_of_file) == (reason, file)


def test_one_row_with_a_free_bias_has_a_certificate():
    options = {"loss": "logistic", "free_bias": True, "solver": "cutting-plane"}
    row = np.array([[0.0, -0.727318943]], np.float32)
    found = svmcut.train((row, [1]), example_cost=7830.0, gap=1e-6, **options)
    assert found.stopped_by != "mistake" and found.dual <= found.primal < 1e-10


@pytest.mark.parametrize("holds", [True, False])
def test_digits_that_cannot_matter_are_looked_at_in_a_part(holds):
    looked = []

    def value(model):
        looked.append("whole")
        return 10.06

    def part():
        looked.append("part")
        return Part(linear(), lambda kept: holds)

    found = judge(outcome(linear()), RULE, None, reading=Reading(value, 1e-3, part))
    assert looked == ["part"] + ["whole"] * (not holds)
    assert (found.converged, found.stopped_by) == ((True, None) if holds else (False, "file"))


def test_a_gap_that_was_not_reached_has_more_room_for_digits():
    """A model that a limit ended is not read back whole, which may take as long as the limit."""
    reading = Reading(lambda model: 1 / 0, change=0.04, part=None)
    found = judge(outcome(linear(), dual=5.0), RULE, "limit", reading=reading)
    assert (found.converged, found.stopped_by) == (False, "limit")
    assert found.primal_of_file is None and found.rounding == pytest.approx(0.05)
    with pytest.raises(ZeroDivisionError):
        judge(outcome(linear(), dual=7.0), RULE, "limit", reading=reading)


@pytest.mark.parametrize("loss", ["error-rate", "squared-hinge", "logistic"])
def test_many_weights_are_bounded_by_rows_and_are_not_read_back(rng, monkeypatch, loss):
    X = np.where(rng.random((60, 400)) < 0.1, rng.normal(size=(60, 400)), 0).astype(np.float32)
    y = np.where(X @ rng.normal(size=400) > 0, 1, -1)
    examples = Examples(Csr.from_dense(X), y.astype(float), None, None, Source("rows"))
    given = Settings(loss=loss, example_cost=1.0, gap=3e-4, bias=1.0, threads=1)
    monkeypatch.setattr(linear_plan, "MANY_WEIGHTS", 100_000)
    whole = make_driver(given, examples).fit(None, 1.0)
    assert whole.primal_of_file is not None
    monkeypatch.setattr(linear_plan, "MANY_WEIGHTS", 100)
    rise = Vectors.row_sensitivity
    bounds = []
    monkeypatch.setattr(
        Vectors, "row_sensitivity", lambda *given: bounds.append(rise(*given)) or bounds[-1]
    )
    close = make_driver(given, examples).fit(None, 1.0)
    assert close.primal_of_file is None and close.converged
    assert abs(whole.primal_of_file - whole.primal) <= bounds[0] * 1.01 < 1e-2


def test_a_model_that_float32_cannot_hold_is_no_certified_one():
    found = judge(
        outcome(LinearModel(np.array([1e39]), 0.0)), RULE, None, reading=Reading(lambda model: 10.0)
    )
    assert (found.converged, found.stopped_by, found.primal_of_file) == (False, "file", math.inf)


@pytest.mark.parametrize(
    "kernel",
    [{"name": "sigmoid"}, {"name": "polynomial", "offset": -1.0}, {"name": "rbf", "gamma": -1.0}],
)
def test_of_a_kernel_that_need_not_be_definite_nothing_is_claimed(kernel):
    found = judge(outcome(machine(**kernel)), RULE, None)
    assert (found.converged, found.stopped_by) == (False, "stationary") and math.isnan(found.dual)
    assert judge(outcome(machine(**kernel)), RULE, "limit").stopped_by == "limit"
    assert judge(outcome(machine(**kernel), dual=5.0), RULE, None).stopped_by == "rounding"


@pytest.mark.parametrize("name", ["rbf", "polynomial", "sigmoid"])
def test_kernel_models_are_read_back_as_they_are_but_for_the_threshold(name):
    model = machine(name=name, gamma=1 / 3, scale=0.1, offset=2 / 3)
    kept = written_and_read(model)
    assert kept.kernel == model.kernel and kept.alpha.tolist() == model.alpha.tolist()
    assert kept.support.data.tobytes() == model.support.data.tobytes() and kept.b == 0.14285714
    of_original = written_and_read(model, original=True)
    assert of_original.kernel.gamma == 0.33333333 and of_original.kernel.scale == 0.1


def test_a_target_above_the_primal_is_told_where_the_bound_tells_little():
    loose = StoppingRule(12.0)
    found = judge(outcome(linear(), dual=0.5), loose, None)
    assert found.converged and "is above the primal 10" in found.warnings[0]
    for dual, rule in ((9.0, loose), (5.0, StoppingRule(9.0)), (0.5, StoppingRule(0.0, 1.0))):
        assert judge(outcome(linear(), dual=dual), rule, None).warnings == []


def test_machines_converge_together_and_are_read_back_as_one():
    def machines(*ends):
        parts = [outcome(machine(), dual=9.95 if end is None else 1.0) for end in ends]
        return [judge(part, RULE, end) for part, end in zip(parts, ends)]

    def joined(*ends, missing=None, holds=True):
        found = judge_composite(
            outcome(machine()), machines(*ends), missing, Part(machine(), lambda read: holds)
        )
        return found.converged, found.stopped_by

    assert joined(None, None) == (True, None) and joined(None, holds=False) == (False, "file")
    assert joined(None, "epochs", "rounding") == (False, "rounding") and joined("epochs", None) == (
        False,
        "epochs",
    )
    assert joined(None, missing="limit") == (False, "limit")


@pytest.mark.parametrize("C", [1e7, 1e-3])
def test_digits_of_a_threshold_alone_can_matter_in_a_kernel_model(rng, C):
    """The features, the kernel and the coefficients are kept whole."""
    X, b = rng.normal(size=(40, 2)).astype(np.float32), 1.5
    examples = Examples(
        Csr.from_dense(X), np.where(X[:, 0] > 0, 1.0, -1.0), None, None, Source("rows")
    )
    settings = resolve_settings(
        Settings(kernel="rbf", gamma=1 / 3, solver="smo", example_cost=C, threads=1), 40
    )
    room = KernelRoom(Vectors(examples, settings), settings, 1e9)
    found = outcome(room.machine(rng.normal(size=40), b + 1e-10))
    found.objective = Objective(C, C, 1.0, 0.1)
    reading = room.reading(found, RULE)
    kept = written_and_read(found.model)
    assert reading.change == pytest.approx(40 * C * 1e-10, rel=1e-3) and reading.part().holds(kept)
    assert reading.value(kept) == pytest.approx(
        room.primal(replace(found.model, b=-b), C), rel=1e-13
    )
    assert (primal_of_file(found.model, reading, 1e-3) is None) == (C < 1)


@pytest.mark.parametrize("task, module", [("multiclass", "multiclass_cd"), ("sequence", "relay")])
def test_a_cap_of_passes_is_no_rounding(rng, monkeypatch, task, module):
    where = importlib.import_module(f"svmcut.solvers.{module}")
    monkeypatch.setattr(where, "MAX_EPOCHS" if task == "multiclass" else "MAX_PASSES", 1)
    monkeypatch.setattr(where, "LARGEST_DIM", 0)
    X, y = rng.normal(size=(60, 3)), rng.integers(1, 4, 60)
    data = (X, y, np.arange(60) // 6) if task == "sequence" else (X, y)
    capped = svmcut.train(data, task=task, example_cost=100.0, gap=1e-6)
    assert (capped.converged, capped.stopped_by, capped.done) == (False, "cap", False)
    monkeypatch.setattr(where, "LARGEST_DIM", 250_000)
    assert svmcut.train(data, task=task, example_cost=1.0, gap=1e-2).converged


@pytest.mark.parametrize("original", [False, True])
@pytest.mark.parametrize("solver", ["cutting-plane", "smo", "subspace"])
def test_the_digits_of_a_kernel_are_those_of_its_file(rng, solver, original):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    y, C = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0), 1e7
    given = {"kernel": "rbf", "gamma": 1 / 3, "solver": solver, "example_cost": C, "gap": 1e-5}
    examples = Examples(Csr.from_dense(X), y, None, None, Source("rows"))
    found = make_driver(Settings(**given, threads=1, original=original), examples).fit(None, C)
    read = written_and_read(found.model, original)
    assert (read.kernel.gamma == 1 / 3) is not original

    def values(A, Z):
        return np.exp(-read.kernel.gamma * ((A[:, None] - Z[None]) ** 2).sum(-1))

    Z, A = read.support.to_dense().astype(float), X.astype(float)
    s = values(A, Z) @ read.alpha - read.b
    primal = 0.5 * read.alpha @ values(Z, Z) @ read.alpha + C * np.maximum(0, 1 - y * s).sum()
    told = found.primal if found.primal_of_file is None else found.primal_of_file
    assert primal == pytest.approx(told, rel=1e-5 if found.primal_of_file is None else 1e-7)
    assert not found.converged or primal - found.dual <= 1.01e-5 * primal
    assert found.converged or found.stopped_by in ("file", "float32", "basis", "rounding")


def test_a_model_that_stays_in_memory_is_not_read_back():
    """An estimator's model has all its digits; of this thread alone."""
    found = {}

    def read(name):
        reading = Reading(lambda model: math.inf)
        found[name] = judge(outcome(linear()), RULE, None, reading=reading)

    read("file")
    with in_memory():
        read("memory")
    assert (found["file"].stopped_by, found["file"].converged) == ("file", False)
    assert (found["memory"].stopped_by, found["memory"].converged) == (None, True)
    assert found["memory"].primal_of_file is None


@pytest.mark.parametrize("bias", [0.0, 1.0])
def test_weights_of_classes_are_read_back_without_the_text_of_all(bias):
    rng = np.random.default_rng(4)
    W = rng.normal(size=(40, 3)) * 10.0 ** rng.integers(-6, 6, (40, 3))
    W[rng.random(W.shape) < 0.3] = 0.0
    constant = bias * rng.normal(size=3)
    names = np.array([1.0, 2.0, 3.0])
    model = MulticlassModel(W, constant, bias, names, None, 40, 100)
    found, wanted = read_back_features(model), written_and_read(model)
    np.testing.assert_array_equal(found.W, in_columns(wanted.W, wanted.columns, None, 40))
    np.testing.assert_array_equal(found.constant, wanted.constant)
    with pytest.raises(ModelError, match="not finite in float32"):
        read_back_features(replace(model, W=1e39 * W))


@pytest.mark.parametrize("holds", [True, False])
def test_the_text_of_all_is_read_only_where_that_of_a_part_is_another(holds, monkeypatch):
    read = []

    def watched(model, original):
        read.append(model)
        return model

    monkeypatch.setattr("svmcut.training.gate.written_and_read", watched)
    model, part = linear(), linear()
    found = Part(part, lambda kept: holds)
    reading = Reading(lambda kept: kept.b, part=lambda: found, whole=lambda: replace(model, b=2.0))
    assert primal_of_file(model, reading) == (2.0 if holds else model.b)
    assert read == ([part] if holds else [part, model])


def test_constants_below_weights_are_copied_only_where_they_lie_elsewhere(rng):
    both = rng.normal(size=(5, 3))
    assert stack_constant(both[:4], both[4]) is both
    for W, constant in (
        (both[:4].copy(), both[4]),
        (both[:4], both[0]),
        (both[1:], both[0]),
        (both[:4].copy(order="F"), both[4]),
        (both[:3], both[4]),
    ):
        assert np.array_equal(stack_constant(W, constant), np.vstack([W, constant]))
        assert stack_constant(W, constant) is not both


def test_weights_are_read_back_as_one(rng):
    model = MulticlassModel(rng.normal(size=(4, 3)), rng.normal(size=3), 1.0, np.arange(1.0, 4))
    read = read_back_features(model)
    assert stack_constant(read.W, read.constant) is read.W.base
    assert np.array_equal(read.W, np.float32(model.W)) and len(read.constant) == 3
