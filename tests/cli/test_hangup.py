# SPDX-License-Identifier: BSD-3-Clause
"""SIGHUP ends a run as SIGTERM does, and not under nohup."""

import os
import random
import signal

import pytest
from programs import TIMEOUT, start

pytestmark = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals of POSIX")
ROWS = b"1 1:1.5 2:-2\n-1 1:-0.25\n1 1:2\n-1 2:1\n" * 10


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def hung_up(*words, at, **options):
    """Status and standard error of a run that gets SIGHUP when standard output says this."""
    obeying = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_DFL)} | options
    with start("svmcut learn", "--format", "original", *words, **obeying) as child:
        child.stdin.write(ROWS)
        child.stdin.flush()
        while at not in child.stdout.readline():
            pass
        child.send_signal(signal.SIGHUP)
        child.stdin.close()
        child.stdout.read()
        return child.wait(TIMEOUT), child.stderr.read().decode()


@pytest.mark.parametrize(
    "words, status, told",
    [
        ((), 143, "; a run with --checkpoint FILE can go on"),
        (
            ("--checkpoint", "state"),
            75,
            "; the state is in state, the same command with --resume goes on",
        ),
    ],
)
def test_a_run_in_training_ends_as_of_sigterm(words, status, told):
    rng = random.Random(3)
    with open("rows", "w") as file:  # of which no plane tells the signs: many seconds of cuts
        for _ in range(4000):
            values = " ".join(f"{j}:{rng.gauss(0, 1):.3f}" for j in range(1, 101))
            file.write(f"{rng.choice((-1, 1))} {values}\n")
    long = ("-w", "3", "-c", "1e4", "--gap", "1e-12", "--max-iterations", "1000000")
    long += ("--no-line-search",)
    assert hung_up(*words, *long, "rows", "out", at=b"Iter 3:") == (
        status,
        f"svmcut learn: stopped by SIGHUP{told}\n",
    )
    assert sorted(os.listdir()) == ["rows", *(["state"] if words else [])]


def test_what_ignores_it_from_the_start_goes_on():
    ignoring = {"preexec_fn": lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN)}
    with start("svmcut learn", "--format", "original", "-", "out", **ignoring) as child:
        assert child.stdout.read(27) == b"Reading training examples.."
        child.send_signal(signal.SIGHUP)
        child.stdin.write(ROWS)
        child.stdin.close()
        child.stdout.read()
        assert child.wait(TIMEOUT) == 0
    assert os.path.exists("out")
