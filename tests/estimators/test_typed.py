# SPDX-License-Identifier: BSD-3-Clause
"""Type checkers find nothing in a user's script, and every slip in another one."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT, WRONG = (ROOT / "tests" / "typed" / name for name in ("script.py", "wrong.py"))
#: Lines of WRONG.
SLIPS = {
    number: line.partition("# wrong: ")[2]
    for number, line in enumerate(WRONG.read_text().splitlines(), 1)
    if "# wrong: " in line
}


def lines_with_errors(text, path):
    return {int(n) for n in re.findall(rf"{path.name}:(\d+):(?:\d+)?[ -]*error", text)}


@pytest.mark.slow
@pytest.mark.parametrize("checker", ["mypy", "basedpyright"])
def test_type_checkers_read_a_users_script(checker, tmp_path):
    pytest.importorskip(checker)
    options = ["--ignore-missing-imports", "--follow-imports=silent"]
    if checker == "basedpyright":
        paths = {"extraPaths": [str(ROOT)], "typeCheckingMode": "standard"}
        (tmp_path / "pyrightconfig.json").write_text(json.dumps(paths))
        options = ["--project", str(tmp_path), "--pythonpath", sys.executable]
    done = subprocess.run(
        [sys.executable, "-m", checker, *options, str(SCRIPT), str(WRONG)],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert lines_with_errors(done.stdout, SCRIPT) == set(), done.stdout
    assert lines_with_errors(done.stdout, WRONG) == {*SLIPS}, done.stdout
