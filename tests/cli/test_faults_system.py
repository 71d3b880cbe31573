# SPDX-License-Identifier: BSD-3-Clause
"""Files, pipes, signals and limits of the system, for every command and executable; ids are rows of
the table of faults."""

import errno
import os
import re
import resource
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from programs import CLASSIFIERS, LEARNERS, TIMEOUT, call, command, run, start

from svmcut.files.text import open_text
from svmcut.formats import write_model
from svmcut.models import LinearModel

ROWS = "1 qid:1 1:1.5 2:-2\n-1 qid:1 1:-0.25\n1 qid:2 3:1e-3\n-1 qid:2 2:0.125 7:3\n"
PROGRAMS = LEARNERS + CLASSIFIERS

pytestmark = pytest.mark.skipif(
    os.name != "posix", reason="descriptors, signals and limits of POSIX"
)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="as Linux has it")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5))
    (tmp_path / "train").write_text(ROWS)
    return tmp_path


def words(program, examples="train", target="out", model="model"):
    """Arguments that make a program read examples and write target."""
    return ("-c", "1", examples, target) if program in LEARNERS else (examples, model, target)


def no_override():
    """Makes permissions count for root too, in a process about to be executed."""
    if os.geteuid() == 0:
        import ctypes

        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH
            if libc.prctl(24, capability, 0, 0, 0):  # PR_CAPBSET_DROP
                os._exit(77)


@pytest.fixture(scope="session")
def permissions(tmp_path_factory):
    """Arguments under which a process has no more rights than files give it."""
    secret = tmp_path_factory.mktemp("secret") / "secret"
    secret.write_text("x")
    secret.chmod(0)
    done = subprocess.run(["cat", secret], preexec_fn=no_override, capture_output=True)
    if done.returncode in (0, 77):
        pytest.skip("this user may read everything")
    return {"preexec_fn": no_override}


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("kind", ["missing", "folder"], ids=lambda kind: f"row15-{kind}")
def test_examples_that_are_no_file(program, kind, folder, capsys):
    (folder / "folder").mkdir()
    before = sorted(os.listdir())
    assert call(program, *words(program, kind)) == 1
    reason = {"missing": "No such file or directory", "folder": "Is a directory"}[kind]
    assert capsys.readouterr().err == f"{kind}: {reason}\n"
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize("program", ["svmcut rank", "svm_perf_learn", "svmcut classify"])
def test_row15_no_permission_to_read(program, folder, permissions):
    (folder / "train").chmod(0)
    done = run(program, *words(program), **permissions)
    assert (done.returncode, done.stderr) == (1, "train: Permission denied\n")
    assert not (folder / "out").exists()


def unwritable(program, option, target):
    """A command line with one target that cannot be written, and examples that are missing
    besides."""
    if option is None:
        return words(program, "missing", target)
    return (option, target, *words(program, "missing"))


TARGETS = [(program, None) for program in PROGRAMS]
TARGETS += [
    (program, option) for program in LEARNERS[::2] for option in ("--report", "--trace", "-a")
]
TARGETS += [("svmcut classify", "--report"), ("svm_perf_learn", "-a")]


@pytest.mark.parametrize("program, option", TARGETS)
@pytest.mark.parametrize(
    "target", ["none/x", "train/x", "folder", "/dev/fd/77"], ids=lambda name: f"row19-{name}"
)
def test_unwritable_targets_are_found_before_anything_is_read(
    program, option, target, folder, capsys
):
    (folder / "folder").mkdir()
    before = sorted(os.listdir())
    assert call(program, *unwritable(program, option, target)) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"{target}: ") and captured.err.count("\n") == 1
    assert captured.out == "" and sorted(os.listdir()) == before


@pytest.mark.every(2)
@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn", "svm_perf_classify"])
@pytest.mark.parametrize("mode", [0o500, 0o600])
def test_row19_read_only_folder(program, mode, folder, permissions):
    (folder / "closed").mkdir(mode)
    done = run(program, *words(program, "missing", "closed/x"), **permissions)
    assert done.returncode == 1 and done.stdout == ""
    assert "ermission" in done.stderr and done.stderr.startswith("closed/x: ")


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("step", ["fsync", "replace"], ids=lambda step: f"row20-{step}")
def test_a_full_disk_leaves_the_old_file(program, step, folder, monkeypatch, capsys):
    (folder / "out").write_text("old")
    before = sorted(os.listdir())

    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, step, full)
    assert call(program, *words(program)) == 1
    assert capsys.readouterr().err == "out: cannot be written: No space left on device\n"
    assert (folder / "out").read_text() == "old" and sorted(os.listdir()) == before


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Two examples whose model takes more than one buffer to write."""
    path = tmp_path_factory.mktemp("wide") / "train"
    rows = (
        " ".join(f"{j}:0.{j * 7919 % 999983 + 1:06d}" for j in range(first, 200_000, 2))
        for first in (1, 2)
    )
    path.write_text(
        "".join(f"{label} qid:1 {row}\n" for label, row in zip((1, -1), rows, strict=True))
    )
    return str(path)


@pytest.mark.every(2)
@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn"])
@pytest.mark.parametrize("size", [0, 2_000_000], ids=["row20-first-write", "row20-third-write"])
def test_a_limit_of_file_size_leaves_the_old_model(program, size, wide, folder):
    (folder / "out").write_text("old")
    before = sorted(os.listdir())
    limit = lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))  # noqa: E731
    whole = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # a byte code cut short would stay
    done = run(program, *words(program, wide), preexec_fn=limit, env=whole)
    assert (done.returncode, done.stderr) == (1, "out: cannot be written: File too large\n")
    assert (folder / "out").read_text() == "old" and sorted(os.listdir()) == before


@linux
@pytest.mark.parametrize("program", ["svmcut learn", "svm_perf_classify"])
def test_row20_a_disk_that_is_full(program, wide, folder):
    disk = folder / "disk"
    disk.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=128k", "none", disk], capture_output=True
    ).returncode:
        pytest.skip("only root may mount")
    try:
        (disk / "out").write_text("old")
        (folder / "many").write_text(ROWS * 10_000)
        examples = wide if program in LEARNERS else "many"
        done = run(program, *words(program, examples, "disk/out"))
        assert (done.returncode, done.stderr) == (
            1,
            "disk/out: cannot be written: No space left on device\n",
        )
        assert os.listdir(disk) == ["out"] and (disk / "out").read_text() == "old"
    finally:
        subprocess.run(["umount", disk], check=True)


@linux
@pytest.mark.parametrize("program", PROGRAMS)
def test_row20_full_device(program, capsys):
    assert call(program, *words(program, target="/dev/full")) == 1
    assert capsys.readouterr().err == "/dev/full: cannot be written: No space left on device\n"


@pytest.fixture
def unread():
    """A pipe that nobody reads."""
    reader, writer = os.pipe()
    os.close(reader)
    yield writer
    os.close(writer)


@pytest.mark.every(2)
@pytest.mark.parametrize("program", ["svmcut classify", "svm_rank_classify"])
@pytest.mark.parametrize("target", ["out", "/dev/stdout"], ids=["row21-report", "row21-result"])
def test_a_pipe_nobody_reads_is_quiet(program, target, unread):
    """Predictions that are whole when the measures meet the pipe stay."""
    before = os.listdir()
    whole = ["out"] if (program, target) == ("svmcut classify", "out") else []
    done = run(
        program,
        *words(program, target=target),
        capture_output=False,
        stdout=unread,
        stderr=subprocess.PIPE,
    )
    assert (done.returncode, done.stderr) == (1, "")
    assert sorted(os.listdir()) == sorted([*before, *whole])


@pytest.mark.parametrize("program", ["svmcut rank", "svm_perf_learn"])
def test_row21_a_log_nobody_reads_decides_nothing(program, unread):
    assert call(program, *words(program, target="expected")) == 0
    streams = {"capture_output": False, "stdout": unread, "stderr": subprocess.PIPE}
    done = run(program, *words(program), **streams)
    assert (done.returncode, done.stderr) == (0, "")
    with open("out", "rb") as out, open("expected", "rb") as expected:
        assert out.read() == expected.read()
    done = run(
        program, *words(program, target="/dev/stdout"), **streams
    )  # the model itself is lost
    assert (done.returncode, done.stderr) == (1, "")


@linux
@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn"])
def test_row21_a_log_on_a_full_disk_decides_nothing(program, folder):
    with open("/dev/full", "wb") as full:
        done = run(
            program, *words(program), capture_output=False, stdout=full, stderr=subprocess.PIPE
        )
    assert done.returncode == 0 and (folder / "out").exists()
    lost = (
        f"{program}: warning: the log is cut short: standard output cannot be written: No space "
        "left on device\n"
    )
    assert done.stderr.endswith(lost if program.startswith("svmcut") else "")
    assert (done.stderr == "") == (not program.startswith("svmcut"))


def test_row22_standard_input_is_read_as_it_comes(monkeypatch):
    """A reader that waits until its buffer is full serves no signal meanwhile."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "r") as stream:
        monkeypatch.setattr(sys, "stdin", stream)
        os.write(writer, b"1 1:1\n-1 ")
        waited = threading.Event()
        rescue = threading.Timer(30, lambda: (waited.set(), os.close(writer)))
        rescue.start()
        with open_text("-") as text:
            view = memoryview(bytearray(100))
            assert text.readinto(view) + text.readinto(view) == 9
        rescue.cancel()
        assert not waited.is_set()
    os.close(writer)


@pytest.mark.every(2)
@linux
@pytest.mark.parametrize(
    "sizes", [(40, 100, 4000), pytest.param((40, 96, 100, 120, 140, 4000), marks=pytest.mark.slow)]
)
@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_learn", "svmcut classify"])
def test_row26_too_little_memory_is_a_message(program, sizes, folder):
    with open("many", "w", encoding="ascii") as file:
        file.write("1 1:1 2:0.5 3:1 4:1 5:1 6:1\n-1 1:1 2:0.7 3:1 4:1 5:1 6:1\n" * 250_000)
    statuses = []
    for megabytes in sizes:
        limit = lambda size=megabytes << 20: resource.setrlimit(resource.RLIMIT_AS, (size, size))  # noqa: E731
        done = run(program, *words(program, "many", f"out{megabytes}"), preexec_fn=limit)
        statuses.append(done.returncode)
        result = folder / f"out{megabytes}"
        # the C library itself ends a program whose new thread has no room for variables of NumPy's
        # libraries
        ended = "cannot allocate memory for thread-local data" in done.stderr and megabytes < 4000
        assert (done.returncode in (0, 1) or ended) and "Traceback" not in done.stderr
        assert done.returncode == 0 or done.stderr.count("\n") == 1
        if program in LEARNERS or ended:
            assert result.exists() == (done.returncode == 0)
        elif result.exists():  # whole, though there may be too little for the measures
            assert result.read_bytes().count(b"\n") == 500_000
        else:
            assert done.returncode == 1
    assert statuses[0] == 1 and statuses[-1] == 0


def test_row31_two_runs_that_write_one_model(folder):
    models = []
    for cost in ("1", "5"):
        assert call("svmcut learn", "-v", "0", "-c", cost, "train", f"model{cost}") == 0
        models.append((folder / f"model{cost}").read_bytes())
    assert models[0] != models[1]
    before = sorted(os.listdir())
    for _ in range(3):
        crew = [
            start("svmcut learn", "-v", "0", "-c", cost, "train", "out", stderr=None)
            for cost in ("1", "5")
        ]
        while any(child.poll() is None for child in crew):
            if (folder / "out").exists():
                assert (folder / "out").read_bytes() in models
            time.sleep(0.001)
        for child in crew:
            child.communicate()
            assert child.returncode == 0
        assert (folder / "out").read_bytes() in models
        os.unlink("out")
        assert sorted(os.listdir()) == before


ODD_NAMES = [
    "a b",
    "a\nb",
    "./-x",
    "x" * 255,
    "é",
    b"\xff\xfe".decode("utf-8", "surrogateescape"),
    "%s{}*",
]


@pytest.mark.parametrize("program", PROGRAMS)
def test_row32_odd_names(program, folder):
    for name in ODD_NAMES:
        os.makedirs("models", exist_ok=True)
        os.makedirs("results", exist_ok=True)
        os.replace("train", name)
        os.replace("model", f"models/{name}")
        assert call(program, *words(program, name, f"results/{name}", f"models/{name}")) == 0
        assert os.path.getsize(f"results/{name}")
        os.replace(f"models/{name}", "model")
        os.replace(name, "train")


@pytest.mark.parametrize("program", ["svmcut learn", "svmcut rank", "svmcut classify"])
def test_row32_names_behind_two_dashes(program, folder):
    os.replace("train", "-x")
    options = ("-c", "1") if program in LEARNERS else ()
    rest = ("-x", "-y") if program in LEARNERS else ("-x", "model", "-y")
    assert call(program, *options, "--", *rest) == 0
    assert (folder / "-y").stat().st_size > 0


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize(
    "length", [256, 3000, 5000], ids=lambda length: f"row32-{length}-characters"
)
def test_names_too_long(program, length, folder, capsys):
    before, name = sorted(os.listdir()), "x" * length
    lines = [words(program, examples=name), words(program, target=name)]
    lines += [] if program in LEARNERS else [words(program, model=name)]
    for line in lines:
        assert call(program, *line) == 1
        message = capsys.readouterr().err
        assert message.startswith(f"{name}: ") and message.endswith("File name too long\n")
        assert sorted(os.listdir()) == before


@pytest.mark.every(2)
@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("closed", [">&-", "<&- >&- 2>&-"], ids=lambda closed: f"row32-{closed}")
def test_closed_streams(program, closed, folder):
    if program == "svmcut learn":  # which says that qid: has no effect
        (folder / "train").write_text(re.sub("qid:. ", "", ROWS))
    line = command(program, *words(program))
    done = subprocess.run(
        ["sh", "-c", f'exec "$@" {closed}', "sh", *line], stderr=subprocess.PIPE, timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert call(program, *words(program, target="expected")) == 0
    assert (folder / "out").read_bytes() == (folder / "expected").read_bytes()


@pytest.mark.parametrize("program", ["svmcut learn", "svm_perf_classify"])
def test_row32_a_closed_stream_is_no_target(program, folder):
    line = command(program, *words(program, target="/dev/stdout"))
    done = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *line], stderr=subprocess.PIPE, timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (1, b"/dev/stdout: is not open for writing\n")
