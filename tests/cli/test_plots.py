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
    done = subprocess.run(
        [*program, str(ROOT / "data" / "wine.train")], capture_output=True, text=True, cwd=tmp_path, timeout=300
    )
    if what == "growth":  # too few rows for a curve over n
        assert done.returncode == 1
        assert "fewer than 1,000 rows" in done.stderr
        done = subprocess.run(
            [*program, str(ROOT / "data" / "unbalanced.train")], capture_output=True, text=True, cwd=tmp_path,
            timeout=300,
        )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) >= 2 + rows
    assert target.read_text().startswith("<?xml")
