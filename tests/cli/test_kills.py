# SPDX-License-Identifier: BSD-3-Clause
"""SIGKILL and SIGTERM at random moments over the trainers of every family; ids are rows of the
table of faults."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from programs import TIMEOUT, call, run, start

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

KILLS = int(os.environ.get("SVMCUT_KILLS", "6"))
TERMS = int(os.environ.get("SVMCUT_TERMS", "3"))
"""How often a run is killed and terminated; `make kills` says how often for all."""

RBF = ("-t", "2", "-g", "0.05")
LEARN = {
    "cutting-plane": ("--solver", "cutting-plane", "--example-cost", "100", "--gap", "1e-7"),
    "dual-cd": ("--solver", "dual-cd", "--example-cost", "100", "--gap", "1e-9"),
    "newton": ("--solver", "newton", "--example-cost", "1", "--gap", "1e-9"),
    "f1": ("-l", "f1", "-c", "1000", "--gap", "1e-2"),
    "roc-area, path": ("-l", "roc-area", "-c", "1,100", "--gap", "1e-4"),
    "smo": (*RBF, "--solver", "smo", "--example-cost", "100"),
    "kernel cuts": (*RBF, "--solver", "cutting-plane", "--example-cost", "1", "--gap", "1e-3"),
    "subspace": (
        *(*RBF, "--solver", "subspace", "--basis", "600", "--example-cost", "1", "--gap", "1e-3"),
    ),
    "sampled-cuts": (*RBF, "--solver", "sampled-cuts", "--example-cost", "1"),
    "constant-cuts": (*RBF, "--solver", "constant-cuts", "--example-cost", "1"),
    "bsca": (*RBF, "--solver", "bsca", "--budget", "40", "--epochs", "20", "--example-cost", "1"),
    "bsgd": (*RBF, "--solver", "bsgd", "--budget", "40", "--epochs", "20", "--example-cost", "1"),
    "sbp": (*RBF, "--solver", "sbp", "--example-cost", "1"),
    "pegasos": (*RBF, "--solver", "pegasos", "--epochs", "20", "--example-cost", "1"),
    "sdca": (*RBF, "--solver", "sdca", "--epochs", "20", "--polish", "--example-cost", "1"),
    "grid": ("-t", "2", "-g", "0.05,0.3", "--cv", "3", "--example-cost", "1,100"),
    "perceptron": (*RBF, "--solver", "perceptron", "--epochs", "20", "--example-cost", "1"),
}
SEQUENCE = {
    "sequence, cutting-plane": (
        *("--solver", "cutting-plane", "--example-cost", "0.1,1", "--gap", "1e-2"),
    ),
    "sequence, bcfw": ("--solver", "bcfw", "--example-cost", "1", "--gap", "1e-4"),
    "sequence, gdmm": ("--solver", "gdmm", "--example-cost", "1", "--gap", "1e-2"),
    "sequence, ssg": ("--solver", "ssg", "--example-cost", "0.1", "--gap", "0.1"),
    "sequence, kernel cuts": (
        *(*RBF, "--solver", "cutting-plane", "--example-cost", "1", "--gap", "0.1"),
    ),
    "sequence, kernel sampled": (
        *(*RBF, "--solver", "sampled-cuts", "--example-cost", "1", "--gap", "0.1"),
    ),
}
MULTILABEL = {
    "multilabel, gdmm": ("--solver", "gdmm", "--example-cost", "1", "--gap", "1e-3"),
    "multilabel, bcfw": ("--solver", "bcfw", "--example-cost", "1", "--gap", "1e-3"),
    "multilabel, cutting-plane": (
        *("--solver", "cutting-plane", "--example-cost", "0.1,1", "--gap", "1e-2"),
    ),
}
FAMILIES = {
    **{name: ("svmcut learn", *words, "train") for name, words in LEARN.items()},
    "rank": ("svmcut rank", "-c", "100", "--gap", "1e-4", "train.rank"),
    **{
        name: ("svmcut learn", "--task", "sequence", *words, "train.sequence")
        for name, words in SEQUENCE.items()
    },
    **{
        name: ("svmcut learn", "--task", "multilabel", *words, "train.multilabel")
        for name, words in MULTILABEL.items()
    },
}
OFTEN_KILLED = ("dual-cd", "sequence, gdmm")
OFTEN_TERMINATED = ("cutting-plane",)


def families(often):
    """Every family; those that are not named are left to `make kills`."""
    return [
        pytest.param(name, marks=() if name in often else pytest.mark.slow) for name in FAMILIES
    ]


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)

    def write(name, heads, X):
        rows = (" ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) for row in X)
        Path(name).write_text(
            "".join(f"{head} {row}\n" for head, row in zip(heads, rows, strict=True))
        )

    X = rng.normal(size=(600, 20))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=600) > 0, 1, -1)
    write("train", y, X)
    grades = np.digitize(X[:, 0] + rng.normal(size=600), [-1, 0, 1])
    write("train.rank", (f"{grade} qid:{i // 20 + 1}" for i, grade in enumerate(grades)), X)
    X = X[:400, :8]
    scores = X @ rng.normal(size=(8, 5)) + rng.normal(size=(400, 5))
    write(
        "train.sequence",
        (f"{tag + 1} qid:{t // 8 + 1}" for t, tag in enumerate(scores.argmax(axis=1))),
        X,
    )
    write("train.multilabel", (",".join(map(str, np.flatnonzero(row))) for row in scores > 1), X)


def models():
    return {
        name: Path(name).read_bytes() for name in sorted(os.listdir()) if name.startswith("model")
    }


def quiet_run(name, execute):
    """Program and words of a run with checkpoints, the models of one without that nobody disturbed.

    It is executed as the others are: NumPy multiplies with more threads where a test imported it
    before svmcut.
    """
    program, *words = FAMILIES[name]
    assert execute(program, "-v", 0, *words, "model") == 0
    whole = models()
    clear()
    return (
        program,
        ["-v", 0, "--threads", 1, *words, "--checkpoint", "state", "--resume", "model"],
        whole,
    )


def clear():
    for name in models():
        os.unlink(name)


def check(whole, finished):
    """Models are whole; where the run is at its end, all are there and no state is."""
    there = models()
    assert there.items() <= whole.items()
    if finished:
        assert there == whole
        assert not [
            name for name in os.listdir() if name.startswith("state") or name.startswith(".svmcut")
        ]
        clear()


@pytest.mark.parametrize("name", families(OFTEN_KILLED))
def test_row23_killed_at_random_moments(name):
    """Each child goes on from what the last one left; models are whole, and the last are those of
    one quiet run."""
    choose = random.Random(7)
    program, words, whole = quiet_run(name, call)
    words += ["--checkpoint-every", 0]
    began = time.perf_counter()
    assert call(program, *words) == 0
    longest = time.perf_counter() - began
    check(whole, True)
    kills = 0
    for _ in range(20 * KILLS):
        child = os.fork()
        if child == 0:
            os.close(2)
            os._exit(call(program, *words))
        began, moment, ended = time.perf_counter(), choose.uniform(0, longest), 0
        while not ended and time.perf_counter() - began < moment:
            time.sleep(0.001)
            ended, status = os.waitpid(child, os.WNOHANG)
        if ended:  # the machine is faster now
            longest = time.perf_counter() - began
        else:
            os.kill(child, signal.SIGKILL)
            _, status = os.waitpid(child, 0)
        assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0
        kills += os.WIFSIGNALED(status)
        for file in os.listdir():
            if file.startswith(".svmcut"):  # what was being written when the kill came
                os.unlink(file)
        check(whole, os.WIFEXITED(status))
        if kills >= KILLS and os.WIFEXITED(status):
            break
    assert kills >= KILLS
    assert call(program, *words) == 0
    check(whole, True)


def answers_sigterm(pid):
    """Whether a process has a handler by now: before that its interpreter starts."""
    status = Path(f"/proc/{pid}/status").read_text()
    caught = next(line for line in status.splitlines() if line.startswith("SigCgt"))
    return int(caught.split()[1], 16) >> (signal.SIGTERM - 1) & 1


GOES_ON = ", the same command with --resume goes on"
NO_STATE = "no state was reached, the same command starts afresh"
EARLY = "no state was written, the same command goes on from one that was there"


@pytest.mark.skipif(
    not sys.platform.startswith("linux"), reason="as Linux tells who handles a signal"
)
@pytest.mark.parametrize("name", families(OFTEN_TERMINATED))
def test_row22_terminated_at_random_moments(name):
    """75 and one line, or 0 where the run was at its end; going on leads to the models of one quiet
    run."""
    choose = random.Random(8)
    program, words, whole = quiet_run(name, lambda *line: run(*map(str, line)).returncode)

    def launch():
        child = start(program, *map(str, words), stdin=subprocess.DEVNULL)
        while not answers_sigterm(child.pid):
            time.sleep(0.001)
        return child

    began = time.perf_counter()
    with launch() as child:
        child.communicate(timeout=TIMEOUT)
    assert child.returncode == 0
    longest = time.perf_counter() - began
    check(whole, True)
    stops = 0
    for _ in range(20 * TERMS):
        with launch() as child:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(choose.uniform(0, longest))
            child.send_signal(signal.SIGTERM)
            _, errors = child.communicate(timeout=TIMEOUT)
        lines = [line for line in errors.decode().splitlines() if ": warning: " not in line]
        assert child.returncode in (75, 0), errors
        if child.returncode == 75:
            known = f"the state is in state{GOES_ON}" if os.path.exists("state") else NO_STATE
            assert len(lines) == 1 and lines[0].endswith(
                (f": stopped by SIGTERM; {known}", f"; {EARLY}")
            )
        else:
            assert lines == []
        check(whole, child.returncode == 0)
        stops += child.returncode == 75
        if stops >= TERMS:
            break
    assert stops >= TERMS
    assert run(program, *map(str, words)).returncode == 0
    check(whole, True)
