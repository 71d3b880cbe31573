# SPDX-License-Identifier: BSD-3-Clause
"""Paths of many C: the same chains, and so the same bytes, whatever the threads."""

import json
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from programs import call

from svmcut.base.errors import TrainingError
from svmcut.cli.files import chains_of
from svmcut.training.driver import Driver

COSTS = "0.01,0.1,1,10,100,1000"


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("train", "test"):
        X = rng.normal(size=(80, 4))
        y = np.where(X[:, 0] + 0.5 * rng.normal(size=80) > 0, 1, -1)
        rows = (" ".join(f"{j + 1}:{x:.3f}" for j, x in enumerate(row)) for row in X)
        (tmp_path / name).write_text(
            "".join(f"{label:+d} {row}\n" for label, row in zip(y, rows, strict=True))
        )
    return tmp_path


def learn(threads, *words, costs=COSTS, model="model"):
    known = ("--validate", "test", "--threads", threads, "--report", "report", "--trace", "trace")
    return call("svmcut learn", "-c", costs, *known, *words, "train", model)


def found(folder, capsys):
    """Models, what is told, and the report, the clock aside."""
    report = json.loads((folder / "report").read_text())
    rows = [
        {name: value for name, value in row.items() if name != "seconds"} for row in report["path"]
    ]
    trace = [line.split(",") for line in (folder / "trace").read_text().splitlines()]
    clock = {k for k, name in enumerate(trace[0]) if "seconds" in name}
    trace = [[word for k, word in enumerate(line) if k not in clock] for line in trace]
    told = [line for line in capsys.readouterr().out.splitlines() if "econds" not in line]
    return [path.read_bytes() for path in sorted(folder.glob("model*"))], rows, trace, told


@pytest.mark.parametrize("words", [(), ("-l", "f1"), ("-t", "2", "-g", "0.5", "--gap", "1e-3")])
def test_threads_change_neither_models_nor_what_is_told(folder, capsys, words):
    each = []
    for threads in (1, 2, 5):
        assert learn(threads, *words) == 0
        each.append(found(folder, capsys))
    assert each[0] == each[1] == each[2]
    assert len(each[0][0]) == 6


@pytest.mark.parametrize(
    ("values", "sizes"),
    [
        ([0.01, 0.1, 1, 10], [4]),
        ([1] * 8, [4, 4]),
        ([0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30], [7, 1]),
        ([30, 10, 3, 1, 0.3, 0.1, 0.03, 0.01], [1, 7]),
        ([3.0**k for k in range(12)], [10, 1, 1]),
        ([1.2**k for k in range(12)], [6, 3, 3]),
        ([1e-300, 1, 1e3, 1e6, 1e300], [4, 1]),
    ],
)
def test_chains_are_of_about_equal_work_by_the_root_of_C(values, sizes):
    chains = chains_of(np.sqrt(values))
    assert [len(chain) for chain in chains] == sizes
    assert [place for chain in chains for place in chain] == list(range(len(values)))


def test_the_second_chain_starts_from_nothing(folder, capsys):
    assert learn(1) == 0
    whole = found(folder, capsys)[0]
    assert learn(1, costs="1000", model="later") == 0
    assert (folder / "later").read_bytes() == whole[5]


def test_the_longest_chains_are_first_and_a_thread_that_waits_helps(folder, capsys, monkeypatch):
    # chains of seven, one and one: the last waits for the one before, which a second thread must
    # train beside it
    values, fit, beside = [0.01 * 3**k for k in range(9)], Driver.fit, threading.Barrier(2)
    costs = ",".join(map(str, values))
    assert learn(1, costs=costs) == 0
    alone, order = found(folder, capsys), []

    def meeting(self, cost, *given):
        order.append(cost)
        if cost >= values[7]:
            beside.wait(20)
        return fit(self, cost, *given)

    monkeypatch.setattr(Driver, "fit", meeting)
    assert learn(2, costs=costs) == 0
    assert found(folder, capsys) == alone
    assert sorted(order[:2]) == [values[0], values[8]] and order[-1] == values[7]


def test_what_fails_ahead_is_told_in_its_turn(folder, capsys, monkeypatch):
    fit, before = Driver.fit, threading.active_count()

    def failing(self, cost, *given):
        if cost == 1000:
            raise TrainingError("train: no more")
        return fit(self, cost, *given)

    monkeypatch.setattr(Driver, "fit", failing)
    assert learn(2) == 1
    assert "no more" in capsys.readouterr().err
    assert len(list(folder.glob("model*"))) == 5
    assert threading.active_count() == before


def test_an_interrupt_while_another_thread_trains_keeps_the_model_of_the_first_step(
    folder, capsys, monkeypatch
):
    from svmcut.cli import training

    fit, main = Driver.fit, threading.main_thread()

    def slow(self, *given):
        until = time.monotonic() + 20
        while threading.current_thread() is not main and not stopped and time.monotonic() < until:
            time.sleep(0.01)
        return fit(self, *given)

    stopped: list[int] = []

    def look():
        if Path("model.100").exists() and not stopped:
            stopped.append(1)
            raise KeyboardInterrupt

    monkeypatch.setattr(Driver, "fit", slow)
    monkeypatch.setattr(training, "check_signals", look)
    assert learn(2) == 130
    assert len(json.loads((folder / "report").read_text())["path"]) == 6
