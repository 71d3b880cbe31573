# SPDX-License-Identifier: BSD-3-Clause
"""Ctrl-C within an iteration; ids are rows of the table of faults."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
from programs import TIMEOUT, run

from svmcut.files.examples import read_examples
from svmcut.formats import read_model

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

# A Ctrl-C in the middle of the epochs before the first look at the objective.
FIRST_LOOK = """
import os, signal, sys
from programs import call
from svmcut.solvers import dual_cd
class Descent(dual_cd.dual_cd.Descent):
    def run(self, C, epochs, enough):
        super().run(C, 2, 0.0)
        os.kill(os.getpid(), signal.SIGINT)
        return super().run(C, epochs, enough)
class Natives:
    Descent = Descent
dual_cd.dual_cd = Natives
sys.exit(call(*sys.argv[1:]))
"""


@pytest.mark.every(2)
@pytest.mark.parametrize("checkpoint", [(), ("--checkpoint", "state", "--checkpoint-every", "0")])
def test_row24_before_the_first_look_the_point_reached_is_written(
    tmp_path, monkeypatch, rng, checkpoint
):
    """Its gap is true, and a checkpoint leads to the bytes of a run that was never interrupted."""
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(400, 40))
    y = np.where(X[:, 0] + 2 * rng.normal(size=400) > 0, 1, -1)
    np.savetxt(
        "noisy", np.column_stack([y, X]), " ".join(["%d", *(f"{j + 1}:%.4f" for j in range(40))])
    )
    environment = os.environ | {"PYTHONPATH": os.path.dirname(os.path.dirname(__file__))}
    options = ("--solver", "dual-cd", "--example-cost", "1", "--gap", "1e-6")
    done = subprocess.run(
        [
            sys.executable,
            *("-c", FIRST_LOOK, "svmcut learn", *options, *checkpoint, "noisy", "out"),
            *("--report", "report"),
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
    )
    assert done.returncode == 130
    with open("report", encoding="utf-8") as file:
        report = json.load(file)
    model, examples = read_model("out"), read_examples("noisy")
    hinges = np.maximum(0, 1 - examples.y * model.scores(examples.X)).sum()
    assert report["primal"] == pytest.approx(
        0.5 * (model.w @ model.w + model.b**2) + hinges, rel=1e-5
    )
    assert 0 < report["dual"] < report["primal"] < 0.9 * len(examples)
    assert run("svmcut learn", *options, "noisy", "whole").returncode == 0
    assert read_model("whole").w @ read_model("whole").w > 0
    if checkpoint:
        assert (
            run("svmcut learn", *options, *checkpoint, "--resume", "noisy", "out").returncode == 0
        )
        with open("out", "rb") as resumed, open("whole", "rb") as whole:
            assert resumed.read() == whole.read()
