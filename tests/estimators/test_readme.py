# SPDX-License-Identifier: BSD-3-Clause
"""The script of README.md, and the shell after it."""

import os
import re
from pathlib import Path

import numpy as np

from svmcut.cli.start import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_script_trains_and_the_shell_classifies_with_its_model(tmp_path, monkeypatch, capsys):
    section = (ROOT / "README.md").read_text(encoding="utf-8").split("## From Python\n")[1]
    script = re.search(r"```python\n(.*?)```", section, re.DOTALL)[1]
    os.symlink(ROOT / "data", tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(script, "README.md", "exec"), names)
    assert re.search(
        r"primal [\d.]+, at most [\d.]+ above the optimum\naccuracy 0\.[89]",
        capsys.readouterr().out,
    )
    assert main(["classify", "data/text.test", "model", "out"]) == 0
    scores = names["machine"].decision_function(names["test"])
    np.testing.assert_allclose(scores, np.loadtxt("out"), rtol=1e-6, atol=1e-6)
