# SPDX-License-Identifier: BSD-3-Clause
"""The files of a checkpoint: what is not ours stays, one run at a time has them, failing to write
them ends no run."""

import errno
import fcntl
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from programs import TIMEOUT, call, start

from svmcut.base.errors import OutputError
from svmcut.files import checkpoints as files
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.spec.schemas import state_classes

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and locks of POSIX")

OPTIONS = (
    *("-v", "0", "-c", "1000", "--gap", "1e-6", "--solver", "cutting-plane"),
    *("--checkpoint", "state"),
)
EVERY = ("--checkpoint-every", "0")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(80, 5)).round(3)
    y = X[:, 0] + rng.normal(size=80) > 0
    rows = (
        f"{2 * label - 1} " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(row))
        for label, row in zip(y, X)
    )
    Path("train").write_text("\n".join(rows) + "\n")
    return tmp_path


def there():
    """The files in the folder beside the examples and models."""
    return sorted(name for name in os.listdir() if name not in ("train", "m"))


def wait_for(lock, child):
    """Until a process has made its lock and written into it."""
    while not os.path.exists(lock) or not os.path.getsize(lock):
        assert child.poll() is None
        time.sleep(0.02)


KINDS = {
    "text": lambda name: Path(name).write_text("mine\n"),
    "empty": lambda name: Path(name).write_text(""),
    "folder": os.mkdir,
    "pipe": os.mkfifo,
    "link": lambda name: os.symlink("mine", name),
}
EMPTY_LOCK = ("state.lock", "empty")
"""What a run leaves that was killed before it wrote into its lock."""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in ("state", "state.1", "state.lock")
        for kind in KINDS
        if (name, kind) != EMPTY_LOCK
    ],
)
def test_what_is_no_checkpoint_is_refused_and_left_alone(name, kind, capsys):
    Path("mine").write_text("1 1:1\n")
    KINDS[kind](name)
    before = os.lstat(name), there()
    for resume in ((), ("--resume",)):
        assert call("svmcut learn", *OPTIONS, *EVERY, *resume, "train", "m") == 1
        message = capsys.readouterr().err
        assert message.partition(":")[0] == (os.path.realpath("mine") if kind == "link" else name)
        assert message.count("\n") == 1
        after = os.lstat(name), there()
        assert (before[0].st_ino, before[0].st_size, before[0].st_mtime_ns, before[1]) == (
            after[0].st_ino,
            after[0].st_size,
            after[0].st_mtime_ns,
            after[1],
        )
    assert Path("mine").read_text() == "1 1:1\n"


def test_devices_are_no_checkpoints(capsys):
    for name in ("/dev/null", "/dev/stdout", "-"):
        assert call("svmcut learn", *OPTIONS[:-1], name, "train", "m") == 1
        assert "is no regular file" in capsys.readouterr().err
    assert there() == [] and os.path.exists("/dev/null")


def test_what_another_run_wrote_is_not_removed():
    """Without --resume only the generations that this run wrote go away at its end."""
    write_checkpoint("state", {"of": "another"}, None)
    old = Path("state").read_bytes()
    assert (
        call("svmcut learn", *OPTIONS, "train", "m") == 0
    )  # it is over before a checkpoint is due
    assert there() == ["state"] and Path("state").read_bytes() == old
    assert call("svmcut learn", *OPTIONS, *EVERY, "train", "m") == 0
    assert there() == []


def test_one_write_leaves_the_generation_of_another_run(monkeypatch):
    write_checkpoint("state", {"of": "another"}, None)
    old = Path("state").read_bytes()
    assert call("svmcut learn", *OPTIONS, "--max-iterations", 2, "train", "m") == 3
    assert there() == ["state", "state.1"] and Path("state.1").read_bytes() == old
    assert call("svmcut learn", *OPTIONS, "--resume", "train", "m") == 0
    assert there() == []  # a run that goes on from a checkpoint takes over both


def test_links_are_followed_and_stay():
    os.mkdir("far")
    os.symlink("far/real", "state")
    assert call("svmcut learn", *OPTIONS, *EVERY, "--max-iterations", 4, "train", "m") == 3
    assert os.readlink("state") == "far/real"
    assert sorted(os.listdir("far")) == ["real", "real.1"]
    assert read_checkpoint("state", state_classes()) is not None
    assert call("svmcut learn", *OPTIONS, *EVERY, "--resume", "train", "m") == 0
    assert (os.readlink("state"), os.listdir("far")) == ("far/real", [])


def test_two_runs_do_not_share_a_checkpoint(capsys):
    os.symlink("state", "alias")
    with start("svmcut learn", *OPTIONS, *EVERY, "-", "m") as first:
        wait_for("state.lock", first)
        for name in ("state", "alias"):
            assert call("svmcut learn", *OPTIONS[:-1], name, "train", "other") == 2
            assert capsys.readouterr().err.startswith(
                f"svmcut learn: the checkpoint '{name}' is in use by another run"
            )
        assert there() == ["alias", "state.lock"]
        first.stdin.write(Path("train").read_bytes())
        _, errors = first.communicate(timeout=TIMEOUT)
        assert (first.returncode, errors) == (0, b"")
    assert there() == ["alias"]


def test_a_killed_run_leaves_a_lock_that_holds_nobody():
    with start("svmcut learn", *OPTIONS, "-", "m") as child:
        wait_for("state.lock", child)
        child.kill()
        child.wait(TIMEOUT)
    assert there() == ["state.lock"]
    assert call("svmcut learn", *OPTIONS, "train", "m") == 0
    assert there() == []


def test_of_many_at_once_one_holds_the_lock():
    """Children take and leave the lock as fast as they can; no two have it at a time and none stays
    behind."""
    code = """
import os, sys
from svmcut.base.errors import UsageError
from svmcut.files.checkpoints import hold_lock
held = 0
while held < 150:
    try:
        with hold_lock("state"):
            os.close(os.open("inside", os.O_CREAT | os.O_EXCL))
            os.unlink("inside")
            held += 1
    except UsageError:
        pass
"""
    crew = [
        subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE) for _ in range(3)
    ]
    assert [(child.communicate(timeout=TIMEOUT)[1], child.returncode) for child in crew] == [
        (b"", 0)
    ] * 3
    assert there() == []


def test_where_there_are_no_locks_one_warning_is_given(monkeypatch, capsys):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", refuse)
    assert call("svmcut learn", *OPTIONS, *EVERY, "--report", "report", "train", "m") == 0
    message = capsys.readouterr().err
    assert (
        message.count("\n") == 1 and "state.lock: cannot be locked: No locks available" in message
    )
    warnings = json.loads(Path("report").read_text())["warnings"]
    assert [text for text in warnings if "state.lock" in text] == warnings and len(warnings) == 1
    assert there() == ["report"]


def failing(monkeypatch, left):
    """As many writes of checkpoints fail as on a full disk."""
    write = files.write_atomically

    def write_or_fail(path):
        left[0] -= 1
        if left[0] >= 0:
            raise OutputError(path, "cannot be written: No space left on device")
        return write(path)

    monkeypatch.setattr(files, "write_atomically", write_or_fail)


def test_row20_a_disk_full_for_a_while_ends_no_run(monkeypatch, capsys):
    assert call("svmcut learn", *OPTIONS[:-2], "train", "whole") == 0
    failing(monkeypatch, [2])
    words = (*OPTIONS, *EVERY, "--report", "report", "train", "m")
    assert call("svmcut learn", "--max-iterations", 4, *words) == 3
    message, _, rest = capsys.readouterr().err.partition("\n")
    full = "state: cannot be written: No space left on device"
    assert message == f"svmcut learn: warning: {full}; training goes on and tries again"
    assert full not in rest
    warnings = json.loads(Path("report").read_text())["warnings"]
    assert sum(text.startswith(f"{full}; 2 of ") for text in warnings) == 1
    assert {"state", "state.1"} < set(there())  # it was tried again
    assert call("svmcut learn", "--resume", *words) == 0
    assert Path("m").read_bytes() == Path("whole").read_bytes()


def test_row20_a_disk_full_at_the_limit_is_said_last(monkeypatch, capsys):
    failing(monkeypatch, [10**9])
    assert call("svmcut learn", *OPTIONS, "--max-iterations", 3, "train", "m") == 3
    assert "No space left on device; there is nothing to go on from" in capsys.readouterr().err
    assert there() == [] and os.path.getsize("m")


def test_a_folder_that_goes_away_ends_no_run():
    os.mkdir("sub")
    words = (*OPTIONS[:-1], "sub/state", *EVERY, "--report", "report", "-", "m")
    with start("svmcut learn", *words) as child:
        wait_for("sub/state.lock", child)
        os.rename("sub", "gone")
        _, errors = child.communicate(Path("train").read_bytes(), timeout=TIMEOUT)
    assert child.returncode == 0
    assert errors.count(b"\n") == 1 and errors.startswith(b"svmcut learn: warning: sub/state: ")
    assert "sub/state" in json.loads(Path("report").read_text())["warnings"][0]


TERMINATED = """
import os, signal, sys
from svmcut.cli import training_report
from svmcut.cli.start import main
line, left = training_report.iteration_line, [3]
def counted(*values):
    left[0] -= 1
    if left[0] == 0:
        os.unlink("state.lock")
        os.mkdir("state.lock")
        os.kill(os.getpid(), signal.SIGTERM)
    return line(*values)
training_report.iteration_line = counted
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize(("every", "status"), [((), 143), (EVERY, 75)])
def test_terminated_where_the_last_state_cannot_be_written(every, status):
    """75 promises a state to go on from."""
    line = [sys.executable, "-c", TERMINATED, "learn", *OPTIONS, *every, "train", "m"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=TIMEOUT)
    assert (done.returncode, os.path.exists("state")) == (status, status == 75)
    assert done.stderr.count("warning: state.lock: is no regular file") == 1
