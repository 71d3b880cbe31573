# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of the originals, where the reference data stand beside the project."""

import os
import subprocess
import sys

import pytest

BIN = os.path.dirname(sys.executable)


def check(shared, pattern, *options):
    command = [sys.executable, shared / "golden" / "check.py", "--bin", BIN, "--only", pattern, *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_classify(shared):
    check(shared, "^cls_|^perf.*classify$|^perf_cls_")


def test_linear_predictions_to_the_last_digit(shared):
    check(shared, "^cls_(extra|part0|unl)$|^perf_l\\d_w3_c1.classify$", "--byte-exact")


def test_rank_classify(shared):
    if not os.path.exists(os.path.join(BIN, "svm_rank_classify")):
        pytest.skip("svm_rank_classify is not installed")
    check(shared, "^rank.*classify$")
