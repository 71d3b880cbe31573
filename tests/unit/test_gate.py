# SPDX-License-Identifier: BSD-3-Clause
"""The gate of certificates: a claim is one about the model as a reader of its file gets it."""

import math

import numpy as np
import pytest

from svmcut.data import Csr
from svmcut.files.models import written_and_read
from svmcut.kernels import Kernel
from svmcut.models import KernelModel, LinearModel
from svmcut.solvers.protocol import Progress, StoppingRule, Unsaved
from svmcut.training.gate import Part, Reading, judge
from svmcut.training.outcome import Objective, Outcome

RULE = StoppingRule(0.1)


def outcome(model, primal=10.0, dual=9.95):
    progress = Progress(1, 1.0, primal, dual, primal - dual, 0.0, Unsaved())
    return Outcome(model, Objective(1.0, 1.0, 1.0, 0.1), progress, "newton")


def linear():
    return LinearModel(np.array([1 / 3, 0.0, -2.0]), 1 / 7)


def machine(**kernel):
    support = Csr.from_dense(np.array([[0.1, 1e-3], [1 / 3, 2.0]], np.float32))
    return KernelModel(Kernel(**kernel), support, np.array([0.1, -1 / 3]), 1 / 7)


@pytest.mark.parametrize("value, converged, reason", [
    (10.0, True, None), (10.06, False, "file"), (math.nan, False, "file"), (9.0, False, "mistake"),
])  # fmt: skip
def test_the_primal_of_the_file_has_to_meet_the_rule_too(value, converged, reason):
    seen = []
    found = judge(outcome(linear()), RULE, None, reading=Reading(lambda model: seen.append(model) or value))
    assert (found.converged, found.stopped_by) == (converged, reason)
    assert found.primal_of_file == value or math.isnan(value)
    assert seen[0].w.tolist() == [float(np.float32(0.33333334)), 0.0, -2.0] and seen[0].b == 0.14285714


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


def test_a_model_that_float32_cannot_hold_is_no_certified_one():
    found = judge(outcome(LinearModel(np.array([1e39]), 0.0)), RULE, None, reading=Reading(lambda model: 10.0))
    assert (found.converged, found.stopped_by, found.primal_of_file) == (False, "file", math.inf)


@pytest.mark.parametrize(
    "kernel", [{"name": "sigmoid"}, {"name": "polynomial", "offset": -1.0}, {"name": "rbf", "gamma": -1.0}]
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
