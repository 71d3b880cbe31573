# SPDX-License-Identifier: BSD-3-Clause
"""Temporary files of killed runs go at the next run, and no others."""

import os
import subprocess
import sys
import time

import pytest

from svmcut.files import output
from svmcut.files.output import write_atomically

pytestmark = pytest.mark.skipif(os.name != "posix", reason="process ids of POSIX")
RANDOM = "0123456789ab"


@pytest.fixture
def gone():
    """The id of a process that has ended."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    return child


def left(folder, name, age=0.0):
    path = folder / name
    path.write_bytes(b"half")
    os.utime(path, (time.time() - age,) * 2)
    return path


def test_only_what_a_dead_process_left_is_removed(tmp_path, gone):
    home, week = output.host_mark(), 8 * 86400
    goes = [
        left(tmp_path, f".svmcut-{gone:x}-{home}-{RANDOM}"),
        left(tmp_path, f".svmcut-{gone:x}-00000000-{RANDOM}", week),
        left(tmp_path, f".svmcut-{gone:x}-{RANDOM}", week),  # of a version before marks
    ]
    stays = [
        left(tmp_path, f".svmcut-{os.getpid():x}-{home}-{RANDOM}"),
        left(tmp_path, f".svmcut-1-{home}-{RANDOM}", week),
        left(tmp_path, f".svmcut-0-{home}-{RANDOM}", week),
        left(tmp_path, f".svmcut-{gone:x}-00000000-{RANDOM}0"[:-1].replace("ab", "aa")),
        left(tmp_path, f".svmcut-{gone:x}-ffffffff-{RANDOM}"),
        left(tmp_path, f".svmcut-{gone:x}-{home}-{RANDOM}.bak", week),
        left(tmp_path, f"svmcut-{gone:x}-{home}-{RANDOM}", week),
        left(tmp_path, f".svmcut-{gone:x}-{home}", week),
    ]
    folder = tmp_path / f".svmcut-{gone:x}-{home}-{RANDOM[:-1]}c"
    folder.mkdir()
    with write_atomically(str(tmp_path / "model")) as file:
        file.write(b"whole")
    assert not any(path.exists() for path in goes)
    assert (
        all(path.exists() for path in (*stays, folder))
        and (tmp_path / "model").read_bytes() == b"whole"
    )


def test_a_killed_run_leaves_nothing_for_long(tmp_path):
    code = """
import os, sys
from svmcut.files.output import write_atomically
with write_atomically(sys.argv[1]) as file:
    file.write(b"x")
    os.kill(os.getpid(), 9)
"""
    target = tmp_path / "model"
    subprocess.run([sys.executable, "-c", code, target], timeout=60)
    assert [path.name[:8] for path in tmp_path.iterdir()] == [".svmcut-"]
    with write_atomically(str(target)) as file:
        file.write(b"y")
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_a_folder_is_looked_through_once(tmp_path, monkeypatch):
    looked = []
    monkeypatch.setattr(output, "remove_leftovers", looked.append)
    for _ in range(3):
        with write_atomically(str(tmp_path / "model")) as file:
            file.write(b"x")
    assert looked == [str(tmp_path.resolve())]
