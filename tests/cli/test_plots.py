# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/plots.py draws its figures."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("what, rows", [("growth", 4), ("gap", 6)])
def test_a_figure_and_its_table(tmp_path, what, rows):
    pytest.importorskip("matplotlib")
    target = tmp_path / "figure.svg"
    program = [sys.executable, str(ROOT / "benchmarks" / "plots.py"), what, str(target)]
    line = [*program, str(ROOT / "data" / "unbalanced.train")]
    done = subprocess.run(line, capture_output=True, text=True, cwd=tmp_path, timeout=300)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2 + rows
    assert target.read_text().startswith("<?xml")
