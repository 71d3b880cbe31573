# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints under signals, kills, damage and wrong use; ids are rows of the table of faults."""

import itertools
import json
import os
import signal
import subprocess
from pathlib import Path

import numpy as np
import pytest
from programs import TIMEOUT, command, forked

from svmcut.cli import training_report

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")

STOPPED = (
    "svmcut learn: stopped by SIGTERM; the state is in state, the same command with --resume goes "
    "on\n"
)
SOLVERS = {
    "cutting-plane": ("--solver", "cutting-plane", "--example-cost", "100", "--gap", "1e-7"),
    "dual-cd": ("--solver", "dual-cd", "--example-cost", "100", "--gap", "1e-9"),
    "newton": ("--solver", "newton", "--example-cost", "1", "--gap", "1e-9"),
    "smo": ("-t", "2", "-g", "0.05", "--solver", "smo", "--example-cost", "100"),
    "sampled-cuts": (
        *("-t", "2", "-g", "0.05", "--solver", "sampled-cuts", "--example-cost", "1"),
        *("--basis", "600"),
    ),
    "path": ("--solver", "cutting-plane", "--example-cost", "1,10,100", "--gap", "1e-5"),
}

STRUCTURED = {
    "sequence, bcfw": ("sequence", "--solver", "bcfw", "--example-cost", "1", "--gap", "1e-4"),
    "sequence, path": (
        "sequence",
        *("--solver", "cutting-plane", "--example-cost", "0.1,1", "--gap", "1e-2"),
    ),
    "sequence, ssg": ("sequence", "--solver", "ssg", "--example-cost", "0.1", "--gap", "0.1"),
    "sequence, gdmm": ("sequence", "--solver", "gdmm", "--example-cost", "1", "--gap", "1e-2"),
    "multilabel, auto": ("multilabel", "--example-cost", "1", "--gap", "1e-3"),
    "multilabel, bcfw": ("multilabel", "--solver", "bcfw", "--example-cost", "1", "--gap", "1e-3"),
    "multilabel, path": (
        "multilabel",
        *("--solver", "cutting-plane", "--example-cost", "0.1,1", "--gap", "1e-2"),
    ),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(600, 20))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=600) > 0, 1, -1)
    with open("train", "w", encoding="ascii") as file:
        for label, row in zip(y, X, strict=True):
            file.write(
                f"{label} " + " ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) + "\n"
            )
    return tmp_path


def signalled(number, at, *words):
    """A run of svmcut learn that gets a signal while it prints its nth iteration."""
    line, printed = training_report.iteration_line, itertools.count(1)

    def counted(*values):
        if next(printed) == at:
            os.kill(os.getpid(), number)
        return line(*values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training_report, "iteration_line", counted)
        return forked("svmcut", *words)


def learn(*words):
    return forked("svmcut learn", "-v", "0", *words)


def content(name):
    return Path(name).read_bytes()


def contents(target="model"):
    return {name: content(name) for name in sorted(os.listdir()) if name.startswith(target)}


@pytest.mark.every(3)
@pytest.mark.parametrize("solver", SOLVERS)
def test_row22_terminated_with_a_checkpoint_and_resumed(solver):
    options = SOLVERS[solver]
    assert learn(*options, "train", "model").returncode == 0
    whole = contents()
    for name in whole:
        os.unlink(name)
    at = 1 if solver == "smo" else 4
    done = signalled(
        signal.SIGTERM, at, "learn", *options, "--checkpoint", "state", "train", "model"
    )
    assert (done.returncode, done.stderr) == (75, STOPPED)
    assert os.path.exists("state")
    assert solver == "path" or not contents()
    resumed = learn(
        *options, "--checkpoint", "state", "--resume", "--report", "report", "train", "model"
    )
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert contents() == whole
    assert sorted(name for name in os.listdir() if "state" in name) == []
    assert json.loads(content("report"))["converged"]


def structured(rng):
    """Files of sequences and of label sets."""
    X = rng.normal(size=(400, 8))
    scores = X @ rng.normal(size=(8, 5)) + rng.normal(size=(400, 5))
    texts = [" ".join(f"{j + 1}:{value:.4f}" for j, value in enumerate(row)) for row in X]
    with open("train.sequence", "w", encoding="ascii") as file:
        for t, (tag, text) in enumerate(zip(scores.argmax(axis=1) + 1, texts, strict=True)):
            file.write(f"{tag} qid:{t // 8 + 1} {text}\n")
    with open("train.multilabel", "w", encoding="ascii") as file:
        for row, text in zip(scores > 1, texts, strict=True):
            file.write(",".join(map(str, np.flatnonzero(row))) + f" {text}\n")


@pytest.mark.every(4)
@pytest.mark.parametrize("name", STRUCTURED)
def test_row22_structured_runs_terminated_and_resumed(rng, name):
    task, *options = STRUCTURED[name]
    structured(rng)
    words = ("--task", task, *options, "--checkpoint", "state")
    assert learn("--task", task, *options, f"train.{task}", "model").returncode == 0
    whole = contents()
    for model in whole:
        os.unlink(model)
    done = signalled(signal.SIGTERM, 4, "learn", *words, f"train.{task}", "model")
    assert (done.returncode, done.stderr) == (75, STOPPED)
    assert os.path.exists("state")
    other = learn(*words, "--resume", "--seed", "3", f"train.{task}", "model")
    assert (other.returncode, "--seed was 0 and is 3" in other.stderr) == (1, True)
    resumed = learn(*words, "--resume", "--report", "report", f"train.{task}", "model")
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert contents() == whole
    assert not os.path.exists("state")
    assert json.loads(content("report"))["converged"]


@pytest.mark.parametrize("task", ["sequence", "multilabel"])
def test_row25_other_structured_examples_are_named(rng, task):
    """What is learnt counts too: the features are those of before."""
    structured(rng)
    words = (
        *("--task", task, "--example-cost", "1", "--solver", "cutting-plane"),
        *("--max-iterations", "3", "--gap", "1e-3", "--checkpoint", "state", f"train.{task}"),
        "model",
    )
    assert learn(*words).returncode == 3
    text = content(f"train.{task}").decode()
    first, _, rest = text.partition(" ")
    with open(f"train.{task}", "w", encoding="ascii") as file:
        file.write(f"{'2' if first != '2' else '3'} {rest}")
    refused = learn("--resume", *words)
    assert (refused.returncode, refused.stderr.count(f"the examples of train.{task} differ")) == (
        1,
        1,
    )


def test_row22_terminated_in_the_second_fit_of_a_path():
    """The finished models of a path stay, and the table of the path is whole in the end."""
    options = (*SOLVERS["path"], "--validate", "train", "--select", "f1")
    assert learn(*options, "--report", "before", "train", "model").returncode == 0
    whole = contents()
    first = json.loads(content("before"))["path"][0]["iterations"]
    for name in whole:
        os.unlink(name)
    done = signalled(
        signal.SIGTERM, first + 3, "learn", *options, "--checkpoint", "state", "train", "model"
    )
    assert done.returncode == 75
    assert list(contents()) == ["model.1"]
    assert (
        learn(
            *options, "--checkpoint", "state", "--resume", "--report", "after", "train", "model"
        ).returncode
        == 0
    )
    assert contents() == whole
    before, after = (json.loads(content(name))["path"] for name in ("before", "after"))
    assert [row["primal"] for row in before] == [row["primal"] for row in after]
    assert [row["validation"] for row in before] == [row["validation"] for row in after]


def test_row22_terminated_while_reading_leaves_the_start_to_resume():
    child = subprocess.Popen(
        command(
            "svmcut learn", "--format", "original", "-c", "1", "--checkpoint", "state", "-", "model"
        ),
        stdin=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    child.stdin.write(b"1 1:1\n")
    child.stdin.flush()
    child.stdout.read(7)  # it says that it reads
    child.send_signal(signal.SIGTERM)
    _, errors = child.communicate(timeout=TIMEOUT)
    said = (
        b"svmcut learn: stopped by SIGTERM; no state was reached, the same command starts afresh\n"
    )
    assert (child.returncode, errors) == (75, said)
    assert sorted(os.listdir()) == ["train"]
    afresh = learn("-c", "1", "--checkpoint", "state", "--resume", "train", "model")
    assert afresh.returncode == 0
    assert "no checkpoint at state; training starts afresh" in afresh.stderr


def test_row22_usr1_writes_a_checkpoint_and_training_goes_on():
    options = SOLVERS["cutting-plane"]
    done = signalled(
        signal.SIGUSR1,
        3,
        "learn",
        *(*options, "--checkpoint", "state", "--max-iterations", "9", "train", "m"),
    )
    assert done.returncode == 3
    assert os.path.exists("state.1")  # that of the signal; the newest is that of the limit
    assert learn(*options, "train", "whole").returncode == 0
    os.unlink("state")  # the generation before is as good
    assert learn(*options, "--checkpoint", "state", "--resume", "train", "m").returncode == 0
    assert content("m") == content("whole")


def test_row22_a_run_ended_by_a_limit_goes_on_with_a_larger_one():
    options = ("-c", "1000", "--gap", "1e-4", "--solver", "cutting-plane")
    assert (
        learn(*options, "--max-iterations", "5", "--checkpoint", "state", "train", "m").returncode
        == 3
    )
    assert learn(*options, "--checkpoint", "state", "--resume", "train", "m").returncode == 0
    assert learn(*options, "train", "whole").returncode == 0
    assert content("m") == content("whole")


def paused(*words):
    """Leaves a checkpoint of a run that is not at its end."""
    assert (
        learn(
            *("-c", "1000", "--gap", "1e-6", "--solver", "cutting-plane", "--max-iterations", "5"),
            *("--checkpoint", "state", *words, "train", "m"),
        ).returncode
        == 3
    )


RESUME = (
    *("-c", "1000", "--gap", "1e-6", "--solver", "cutting-plane", "--checkpoint", "state"),
    "--resume",
)


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-c", "999"), "--cost was 1000.0 and is 999.0"),
        (("-l", "f1"), "--loss was error-rate and is f1"),
        (("--seed", "3"), "--seed was 0 and is 3"),
        (("--gap", "1e-5"), "--gap was 1e-06 and is 1e-05"),
    ],
)
def test_row25_other_options_are_named(words, says):
    paused()
    refused = learn(*RESUME, *words, "train", "m")
    assert refused.returncode == 1
    assert refused.stderr == f"state: is of another run: {says}; remove it or leave out --resume\n"


def test_row25_other_examples_are_named():
    paused()
    text = content("train").decode()
    with open("train", "a", encoding="ascii") as file:
        file.write("1 1:1\n")
    refused = learn(*RESUME, "train", "m")
    assert (refused.returncode, refused.stderr.count("the examples of train differ")) == (1, 1)
    with open("moved", "w", encoding="ascii") as file:
        file.write("# another name and a comment\n" + text)
    assert learn(*RESUME, "moved", "m").returncode == 0


def test_row25_another_version_is_named(monkeypatch):
    paused()
    data = content("state")
    from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
    from svmcut.spec.schemas import state_classes

    identity, state = read_checkpoint("state", state_classes())
    write_checkpoint("state", {**identity, "version": "0.0.1"}, state, state_classes())
    assert content("state") != data
    refused = learn(*RESUME, "train", "m")
    assert refused.returncode == 1
    assert "it is of svmcut 0.0.1" in refused.stderr


def test_row25_resume_without_a_file_is_a_usage_error():
    done = learn("-c", "1", "--resume", "train", "m")
    assert (done.returncode, "--checkpoint FILE" in done.stderr) == (2, True)


@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_row23_a_damaged_checkpoint_gives_way_to_the_one_before(damage):
    paused("--checkpoint-every", "0")
    data = bytearray(content("state"))
    if damage == "flipped":
        data[len(data) // 2] ^= 1
    with open("state", "wb") as file:
        file.write(data[:-40] if damage == "cut" else data)
    assert (
        learn(
            "-c", "1000", "--gap", "1e-6", "--solver", "cutting-plane", "train", "whole"
        ).returncode
        == 0
    )
    assert learn(*RESUME, "train", "m").returncode == 0
    assert content("m") == content("whole")


def test_row23_nothing_but_damage_is_refused():
    for name in ("state", "state.1"):
        with open(name, "wb") as file:
            file.write(b"svmcut checkpoint 1\nshort")
    refused = learn(*RESUME, "train", "m")
    assert refused.returncode == 1
    assert refused.stderr == "state: is damaged or cut short; remove it to start afresh\n"
    assert not os.path.exists("m")


def test_row20_a_checkpoint_that_cannot_be_written_is_found_first():
    done = learn("-c", "1", "--checkpoint", "missing/state", "train", "m")
    assert (done.returncode, "missing" in done.stderr) == (1, True)
    assert not os.path.exists("m")
