# SPDX-License-Identifier: BSD-3-Clause
"""The walk-through of CONTRIBUTING.md works as it is written, step for step in a copy of the tree."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TRAINING = """
import sys
import numpy as np, svmcut
from svmcut.cli.start import main
assert svmcut.__file__.startswith(sys.argv[1]), svmcut.__file__
rng = np.random.default_rng(7)
y = np.where(rng.random(60) < 0.2, 1.0, -1.0)
outcome = svmcut.train((rng.normal(size=(60, 3)) + y[:, None], y), loss="balanced-error", cost=1.0, gap=1e-6)
assert outcome.converged and outcome.gap <= 1e-6 * outcome.primal
main(["learn", "--help"])
"""


def copy(folder):
    """What the steps change and run, the compiled modules as links."""
    for path in (ROOT / "svmcut").rglob("*"):
        target = folder / path.relative_to(ROOT)
        if path.suffix == ".py":
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, target)
        elif path.suffix == ".so":
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    for name in ("pyproject.toml", "tests/conftest.py", "tests/contract/test_risk.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    shutil.copytree(ROOT / "tests" / "reference", folder / "tests" / "reference")


def test_add_a_measure_in_one_file(tmp_path):
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    steps = re.findall(r"^\d\. (.*?)```python\n(.*?)```", text, re.DOTALL | re.MULTILINE)
    (written, module), (added, row), (appended, truth) = steps
    copy(tmp_path)
    path = lambda prose: tmp_path / re.search(r"`([\w/]+\.py)`", prose)[1]  # noqa: E731
    path(written).write_text(module, encoding="utf-8")
    catalog = path(added).read_text(encoding="utf-8")
    assert catalog.count("LOSSES = (\n") == 1
    path(added).write_text(catalog.replace("LOSSES = (\n", f"LOSSES = (\n{row}"), encoding="utf-8")
    with path(appended).open("a", encoding="utf-8") as file:
        file.write(f"\n\n{truth}")

    environment = os.environ | {"PYTHONPATH": str(tmp_path)}
    runs = (
        ("-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract/test_risk.py", "-k", "balanced-error"),
        ("-c", TRAINING, str(tmp_path)),
    )
    found = [subprocess.run([sys.executable, *run], cwd=tmp_path, env=environment, capture_output=True, text=True)
             for run in runs]  # fmt: skip
    for done in found:
        assert done.returncode == 0, done.stdout + done.stderr
    contract, training = (done.stdout for done in found)
    assert int(re.search(r"(\d+) passed", contract)[1]) >= 10
    assert "balanced-error" in training
