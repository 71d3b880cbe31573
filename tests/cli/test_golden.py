# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of the originals, where the reference data stand beside the project."""

import os
import subprocess
import sys

import pytest

BIN = os.path.dirname(sys.executable)


def check(shared, pattern, *options, folder=BIN):
    command = [sys.executable, shared / "golden" / "check.py", "--bin", folder, "--only", pattern, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("family", ["perf_", "rank_", "cls_", "in_", "hmm"])
def test_the_originals_behaviour(shared, family):
    check(shared, f"^{family}")


def test_linear_predictions_to_the_last_digit(shared):
    check(shared, "^cls_(extra|part0|unl)$|^perf_l\\d_w3_c1.classify$", "--byte-exact")


@pytest.mark.slow
def test_the_same_by_osqp(shared, tmp_path):
    for name in ("svm_perf_learn", "svm_perf_classify", "svm_rank_learn", "svm_rank_classify"):
        program = tmp_path / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom svmcut import qp\nqp.DEFAULT = 'osqp'\n"
            f"from svmcut.cli.originals import {name}\nsys.exit({name}())\n"
        )
        program.chmod(0o755)
    check(shared, "^(perf|rank)_l", folder=tmp_path)
