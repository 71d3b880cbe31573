# SPDX-License-Identifier: BSD-3-Clause
"""The C++ test of decimal text, where there is a compiler to build it."""

import shutil
import subprocess
from pathlib import Path

import pytest

CSRC = Path(__file__).resolve().parents[2] / "csrc"


@pytest.mark.every(2)
@pytest.mark.parametrize("define", [["-DSVMCUT_NO_FROM_CHARS"], []], ids=["own", "from_chars"])
def test_every_road_from_text_to_numbers(tmp_path, define):
    compiler = shutil.which("c++")
    if not compiler:
        pytest.skip("no compiler")
    program = str(tmp_path / "decimal_test")
    source = str(CSRC / "test" / "decimal_test.cc")
    subprocess.run(
        [compiler, "-std=c++17", "-O1", *define, f"-I{CSRC}", source, "-o", program], check=True
    )
    run = subprocess.run([program], capture_output=True, text=True, env={"LC_ALL": "C"})
    assert run.stdout == "ok\n"
