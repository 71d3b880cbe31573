# SPDX-License-Identifier: BSD-3-Clause
"""Workers and schedulers that are killed, frozen, or join: the same bytes, one line for what cannot
go on."""

import json
import os
import random
import signal
import subprocess
import time
from itertools import pairwise

import numpy as np
import pytest
from parted import lines, trained, written
from programs import command

pytest.importorskip("distributed")
from clusters import cluster

import svmcut.dask
from svmcut.distributed import newton
from svmcut.distributed.engine import connect

pytestmark = pytest.mark.slow
PARAMETERS = dict(gap=1e-3)


@pytest.fixture(scope="module")
def parts(tmp_path_factory):
    """Eight files, and the outcome of training on them in one process."""
    paths = written(tmp_path_factory.mktemp("parts"), lines(), 8)
    return paths, trained(paths, **PARAMETERS)


def seconds_of(client, parts, at=0, action=None, pause=0.0):
    """The outcome, which must have the bytes, and seconds of every iteration; the action comes
    after iteration `at`."""
    paths, expected = parts
    times = [time.monotonic()]

    def observe(progress):
        times.append(time.monotonic())
        if progress.iteration == at:
            action()
        time.sleep(pause if progress.iteration >= at else 0)

    found = svmcut.dask.train(client, paths, callback=observe, **PARAMETERS)
    assert found.model.w.tobytes() == expected.model.w.tobytes() and found.converged
    return found, [after - before for before, after in pairwise(times)]


def test_one_two_and_three_workers(parts, tmp_path):
    with cluster(tmp_path, 1) as there, connect(there.address) as client:
        for count in (1, 2, 3):
            client.wait_for_workers(count)
            assert seconds_of(client, parts)[0].details["workers"] == count
            there.join()


def test_killed_and_joining_workers(parts, tmp_path):
    with cluster(tmp_path) as there, connect(None, there.file) as client:
        client.wait_for_workers(2)
        assert seconds_of(client, parts, 4, there.workers[0].kill)[0].details["workers_lost"] == 1
        held = []
        found, _ = seconds_of(client, parts, 4, there.join, pause=0.6)
        assert found.details["workers"] == 2
        svmcut.dask.train(
            client, parts[0], callback=lambda _: held.append(client.nthreads()), gap=0.5
        )
        assert len(held[0]) == 2


def test_a_worker_that_is_killed_while_rows_near_the_margin_are_asked_for(tmp_path, monkeypatch):
    monkeypatch.setattr(newton, "FULL_DIM", 0)
    monkeypatch.setattr(newton, "DENSE_DIM", 0)
    paths, steps = written(tmp_path, lines(), 8), []
    chosen = dict(gap=1e-8, example_cost=30.0)
    here = trained(paths, **chosen)
    with cluster(tmp_path) as there, connect(there.address) as client:
        client.wait_for_workers(2)

        def observe(progress):
            steps.append(progress)
            if progress.iteration == here.progress.iteration - 2:
                there.workers[0].kill()

        found = svmcut.dask.train(client, paths, callback=observe, **chosen)
    assert found.solver == here.solver == "dual-cd" and len(steps) == here.progress.iteration
    assert found.model.w.tobytes() == here.model.w.tobytes() and found.details["workers_lost"] == 1


def test_a_worker_that_joins_gets_parts(parts, tmp_path):
    with cluster(tmp_path, 1) as there, connect(there.address) as client:
        client.wait_for_workers(1)
        counts = []

        def observe(progress):
            if progress.iteration == 2:
                there.join()
            if progress.iteration >= 3 and len(counts) < 25:
                time.sleep(0.5)
                held = client.run(
                    lambda dask_worker: sum("part" in str(key) for key in dask_worker.data)
                )
                counts.append(sorted(held.values()))

        found = svmcut.dask.train(client, parts[0], callback=observe, **PARAMETERS)
        assert found.model.w.tobytes() == parts[1].model.w.tobytes()
        assert counts[-1] == [4, 4]


def test_a_frozen_worker_costs_its_time_to_live(parts, tmp_path):
    with cluster(tmp_path) as there, connect(there.address) as client:
        client.wait_for_workers(2)
        frozen = there.workers[1]
        found, seconds = seconds_of(client, parts, 4, lambda: frozen.send_signal(signal.SIGSTOP))
        assert found.details["workers_lost"] == 1 and max(seconds) < 20
        frozen.send_signal(signal.SIGCONT)
        seconds_of(client, parts)


def test_twenty_kills_at_random(parts, tmp_path):
    rng, iterations = random.Random(4), parts[1].progress.iteration
    with cluster(tmp_path) as there, connect(there.address) as client:
        for _ in range(20):
            client.wait_for_workers(2)

            def replace():
                there.workers.pop(rng.randrange(2)).kill()
                there.join()

            seconds_of(client, parts, rng.randrange(1, iterations - 1), replace)


def learn(folder, *words, at=None, action=None):
    """A run in a group of its own; the action, given the process, comes at the line of iteration
    `at`."""
    line = command("svmcut learn", "--format", "original", "--gap", str(PARAMETERS["gap"]), *words)
    pipes = dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True)
    with subprocess.Popen(list(map(str, line)), cwd=folder, **pipes) as process:
        for text in process.stdout:
            if at is not None and text.startswith(f"Iter {at}:"):
                action(process)
        return process.wait(), process.stderr.read().strip(), process.pid


def left(session):
    """Processes of a session."""
    found = subprocess.run(
        ["ps", "-s", str(session), "-o", "pid="], capture_output=True, text=True
    ).stdout
    return found.split()


def test_a_scheduler_that_dies_and_a_run_that_goes_on(parts, tmp_path):
    paths, _ = parts
    pattern = os.path.join(os.path.dirname(paths[0]), "part-*.dat")
    assert learn(tmp_path, "--scheduler", "local:2", pattern, "model")[:2] == (0, "")
    with cluster(tmp_path) as there:
        words = ["--scheduler", there.address, "--checkpoint", "state"]
        status, told, _ = learn(
            tmp_path, *words, pattern, "other", at=5, action=lambda _: there.scheduler.kill()
        )
    assert (status, told) == (
        75,
        "svmcut learn: the connection to the scheduler was lost; the state is in state, the "
        "same command with --resume goes on",
    )
    assert not (tmp_path / "other").exists()
    words = ["--scheduler", "local:1", "--checkpoint", "state", "--resume", "--report", "report"]
    assert learn(tmp_path, *words, pattern, "other")[:2] == (0, "")
    assert (tmp_path / "other").read_bytes() == (tmp_path / "model").read_bytes()
    assert json.loads((tmp_path / "report").read_text())["workers"] == 1


@pytest.mark.parametrize(
    "number, status", [(signal.SIGINT, 130), (signal.SIGTERM, 75), (signal.SIGKILL, -9)]
)
def test_nothing_is_left_running(parts, tmp_path, number, status):
    pattern = os.path.join(os.path.dirname(parts[0][0]), "part-*.dat")

    def end(process):  # Ctrl-C comes to the whole group
        (os.killpg if number == signal.SIGINT else os.kill)(process.pid, number)

    words = ["--scheduler", "local:2", "--checkpoint", "state", pattern, "model"]
    found, told, session = learn(tmp_path, *words, at=5, action=end)
    assert found == status and (number == signal.SIGKILL or len(told.splitlines()) == 1), told
    ends = time.monotonic() + 20
    while left(session) and time.monotonic() < ends:
        time.sleep(0.2)
    assert left(session) == []


def test_settings_that_matter_are_named(parts, tmp_path):
    settings = {
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5m",
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "3",
    }
    with cluster(tmp_path, 1, **settings) as there, connect(there.address) as client:
        warnings = svmcut.dask.train(client, parts[0], gap=0.5).warnings
    assert [text.split("with: ")[1] for text in warnings] == [
        "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL=60s dask scheduler",
        "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES=30 dask scheduler",
    ]


def test_blocks_of_labels_go_on_where_workers_and_runs_are_killed(tmp_path):
    """A worker dies inside a block, then the run itself; it goes on from its checkpoint with one
    worker, to the bytes of one machine."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(4000, 60)) * (rng.random((4000, 60)) < 0.5)
    Y = X @ rng.normal(size=(60, 192)) > 6
    rows = [
        ",".join(map(str, np.flatnonzero(y)))
        + "".join(f" {j + 1}:{x[j]:.5f}" for j in np.flatnonzero(x))
        for x, y in zip(X, Y, strict=True)
    ]
    (tmp_path / "train").write_text("\n".join(rows) + "\n")
    words = "learn --task multilabel --pairs none --example-cost 1 --gap 1e-3 --label-block 64"
    words = [*words.split(), "--checkpoint-every", "0.1", "--max-iterations", "100000"]
    alone = command("svmcut", *words[:-4], "train", "alone")
    subprocess.run(alone, cwd=tmp_path, check=True, timeout=300)

    def start(there, *more):
        line = [*words, "--scheduler-file", there.file, "--checkpoint", "state", *more]
        return subprocess.Popen(command("svmcut", *line, "train", "model"), cwd=tmp_path)

    with cluster(tmp_path) as there:
        process = start(there)
        while not (tmp_path / "state").exists():  # a block came back
            assert process.poll() is None
            time.sleep(0.1)
        there.workers[0].kill()
        time.sleep(1)  # others have its block by then
        assert process.poll() is None and not (tmp_path / "model").exists()
        process.kill()
        process.wait()
    with cluster(tmp_path, 1) as there:
        assert start(there, "--resume").wait(300) == 0
    assert (tmp_path / "model").read_bytes() == (tmp_path / "alone").read_bytes()
