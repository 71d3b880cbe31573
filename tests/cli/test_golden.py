# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of the originals, where the reference data stand beside the project."""

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from programs import BIN, forked
from thinned import EVERY, recorded

FAMILIES = ["perf_", "rank_", "cls_", "in_", "hmm"]


def check(shared, pattern, *options, folder=BIN):
    command = [
        sys.executable,
        shared / "golden" / "check.py",
        "--bin",
        folder,
        "--only",
        pattern,
        *options,
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the slow test starts the programs")
@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning", "ignore:unclosed file:ResourceWarning"
)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, capfd):
    """The programs are forked, which saves 188 starts of an interpreter."""
    spec = importlib.util.spec_from_file_location("golden_check", shared / "golden" / "check.py")
    golden = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(golden)

    def run(line, *, cwd, timeout, **_):
        return forked(os.path.basename(line[0]), *line[1:], cwd=cwd, timeout=timeout)

    streams = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(golden, "subprocess", SimpleNamespace(run=run, **streams))
    only = recorded(shared / "golden" / "cases", family, every)
    monkeypatch.setattr(sys, "argv", ["check.py", "--bin", BIN, "--only", only])
    status = golden.main()
    told = capfd.readouterr().out
    assert status == 0 and not told.startswith("0 passed"), told


def test_linear_predictions_to_the_last_digit(shared):
    check(shared, "^cls_(extra|part0|unl)$|^perf_l\\d_w3_c1.classify$", "--byte-exact")


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_the_originals_behaviour_of_the_installed_programs(shared, family):
    check(shared, f"^{family}")


@pytest.mark.slow
def test_the_same_by_osqp(shared, tmp_path):
    for name in ("svm_perf_learn", "svm_perf_classify", "svm_rank_learn", "svm_rank_classify"):
        program = tmp_path / name
        program.write_text(
            f"#!{sys.executable}\nimport sys\nfrom svmcut import qp\nqp.DEFAULT = 'osqp'\n"
            f"from svmcut.originals.perf import {name}\nsys.exit({name}())\n"
        )
        program.chmod(0o755)
    check(shared, "^(perf|rank)_l", folder=tmp_path)
