# SPDX-License-Identifier: BSD-3-Clause
"""The fuzz targets of csrc/fuzz under sanitizers, and of tests/fuzz.py, for a minute each."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
SECONDS = os.environ.get("SVMCUT_FUZZ_SECONDS", "60")
TARGETS = sorted(
    path.name.removesuffix("_fuzzer.cc") for path in ROOT.glob("csrc/fuzz/*_fuzzer.cc")
)


def test_every_target_has_a_corpus_and_is_run_by_make(tmp_path):
    subprocess.run([sys.executable, ROOT / "csrc/fuzz/make_corpus.py", tmp_path], check=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == TARGETS
    assert all(path.stat().st_size > 3 for path in tmp_path.glob("*/*"))
    listed = re.search(r"^FUZZERS = (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert sorted(listed[1].split()) == TARGETS


@pytest.mark.slow
@pytest.mark.parametrize("target", TARGETS)
def test_random_bytes_for_the_parsers(target):
    if shutil.which("make") is None:
        pytest.skip("no make")
    words = ["make", "-s", f"fuzz-{target}", f"FUZZ_SECONDS={SECONDS}", f"VENV={sys.prefix}"]
    done = subprocess.run(words, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    print(done.stdout)
    assert int(re.search(r"(\d+) executions, no finding", done.stdout)[1]) > 1000


@pytest.mark.slow
def test_random_bytes_for_the_readers():
    words = [sys.executable, ROOT / "tests/fuzz.py", SECONDS]
    done = subprocess.run(words, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    print(done.stdout)
