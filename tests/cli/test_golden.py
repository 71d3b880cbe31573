# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of the originals, where the reference data stand beside the project."""

import subprocess
import sys

import pytest
from programs import BIN
from recorded import each_family, module_at, pattern_of, run_forked, subprocess_by

FAMILIES = ["perf_", "rank_", "cls_", "in_", "hmm"]


def check(shared, pattern, *options, folder=BIN):
    command = [
        sys.executable,
        shared / "golden" / "check.py",
        *("--bin", folder, "--only", pattern, *options),
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


@each_family(FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, capfd):
    golden, execute = module_at(shared / "golden" / "check.py")
    execute(golden)
    monkeypatch.setattr(golden, "subprocess", subprocess_by(run_forked))
    only = pattern_of(shared / "golden" / "cases", family, every)
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
