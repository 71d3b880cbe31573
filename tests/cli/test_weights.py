# SPDX-License-Identifier: BSD-3-Clause
"""Weights at the shell: cost: of lines, --weights and --class-weight; the executables know none."""

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from programs import call, run

from svmcut.spec.catalog import LOSSES, TASKS
from svmcut.training import driver

WORDS = {
    task: ("svmcut rank" if task == "rank" else f"svmcut learn --task {task}") for task in TASKS
}
ORIGINALS = {
    "svm_perf_learn": ("classification",),
    "svm_rank_learn": ("rank",),
    "svm_hmm_learn": ("sequence",),
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def seen(monkeypatch):
    """Weights of what plans are made for, in this process."""
    found, made = [], driver.make_driver

    def spy(settings, data, *others):
        found.append(None if data.weights is None else data.weights.tolist())
        return made(settings, data, *others)

    monkeypatch.setattr(driver, "make_driver", spy)
    return found


def put(task, name="train", costs=None, keep=None):
    """A file of 24 lines, three a structure, with a cost for every structure, and the rows of some
    of them."""
    rng = np.random.default_rng(8)
    labels = {
        "classification": (-1, 1),
        "rank": (0, 1, 2),
        "sequence": (1, 2),
        "multilabel": ("1", "2", "1,2"),
        "multiclass": (1, 2, 5),
        "regression": (-1.5, 0, 2),
        "one-class": (1,),
        "survival": (1.5, -2, 3, 4),
    }[task]
    lines = []
    for k in range(24):
        label, values = (
            rng.choice(labels),
            [f"{j + 1}:{x:.3f}" for j, x in enumerate(rng.normal(size=4))],
        )
        qid = f" qid:{k // 3 + 1}" if task in ("rank", "sequence") else ""
        cost = "" if costs is None else f" cost:{costs[k // 3]:g}"
        if keep is None or keep[k // 3]:
            lines.append(f"{label}{qid}{cost} {' '.join(values)} {k + 5}:1\n")
    Path(name).write_text("".join(lines))


def cost_of(task):
    return ("--nu", "0.5") if task == "one-class" else ("-c", "2")


def learn(task, *words, program=None):
    words = (*cost_of(task), "-v", "0", *words, "train", "model")
    assert call(program or WORDS[task], *words) == 0
    return Path("model").read_bytes()


def given(task, weights, name="weights"):
    """A file of weights, of structures or of three equal rows each."""
    rows = weights if task in ("rank", "sequence") else np.repeat(weights, 3)
    Path(name).write_text("".join(f"{weight:g}\n" for weight in rows))


@pytest.mark.parametrize("task", TASKS)
def test_weights_of_one_keep_every_byte(task, seen):
    put(task)
    plain = learn(task)
    given(task, np.ones(8))
    assert learn(task, "--weights", "weights") == plain
    put(task, costs=np.full(8, 2.0))
    given(task, np.full(8, 0.5))
    assert learn(task, "--weights", "weights") == plain
    assert seen == [None] * 3


@pytest.mark.parametrize("task", TASKS)
def test_weight_zero_is_a_file_without_the_lines_in_every_byte(task, capsys):
    v = np.array([1.0, 0, 0, 1, 1, 0, 1, 0])
    put(task, keep=v > 0)
    few = learn(task)
    put(task)
    given(task, v)
    assert learn(task, "--weights", "weights", "--report", "report") == few
    put(task, costs=v)
    assert learn(task) == few
    structures = {"rank": 4, "sequence": 4}.get(task, 12)
    assert json.loads(Path("report").read_text())["examples"] == (
        12 if task == "rank" else structures
    )
    capsys.readouterr()
    assert call(WORDS[task], *cost_of(task), "train", "model") == 0
    assert f"Left out: {structures} of weight 0\n" in capsys.readouterr().out


@pytest.mark.every(2)
@pytest.mark.parametrize("task", TASKS)
def test_costs_files_pipes_and_gzip_weigh_alike(task, seen):
    v = np.array([1.0, 2, 0.5, 1, 1, 3, 1, 1])
    put(task, costs=v)
    by_line = learn(task)
    put(task)
    given(task, v)
    assert learn(task, "--weights", "weights") == by_line
    Path("packed").write_bytes(gzip.compress(Path("weights").read_bytes()))
    assert learn(task, "--weights", "packed") == by_line
    assert (
        seen[0]
        == seen[1]
        == seen[2]
        == (v.tolist() if task == "sequence" else np.repeat(v, 3).tolist())
    )
    with open("weights", encoding="ascii") as file:
        done = run(WORDS[task], *cost_of(task), "--weights", "-", "train", "piped", stdin=file)
    assert (done.returncode, done.stderr) == (0, "")
    assert Path("piped").read_bytes() == by_line


def test_class_weights_multiply_with_the_others(seen):
    put("classification", costs=np.full(8, 2.0))
    y = np.array([float(line.split()[0]) for line in Path("train").read_text().splitlines()])
    given("classification", np.full(8, 3.0))
    learn("classification", "--weights", "weights", "--class-weight", "+1.0=5,-1=0.5")
    learn("classification", "--class-weight", "balanced")
    assert seen[0] == np.where(y > 0, 30.0, 3.0).tolist()
    np.testing.assert_allclose(seen[1], 2 * np.where(y > 0, 12 / (y > 0).sum(), 12 / (y < 0).sum()))


@pytest.mark.parametrize(("program", "tasks"), ORIGINALS.items())
def test_the_executables_take_cost_as_if_it_were_not_there(program, tasks, seen, capsys):
    for task in tasks:
        put(task)
        plain = learn(task, program=program)
        put(task, costs=[3, 1, 0, 2, -1, 1, 1, 0])
        lines = (
            Path("train").read_text().replace("cost:3", "cost:7", 1)
        )  # not one a structure either
        Path("train").write_text(lines)
        assert learn(task, program=program) == plain
    assert seen == [None] * 2
    assert capsys.readouterr().err == ""
    assert run(program, "--weights", "w", "-c", "1", "train", "model").returncode == 1


MULTIVARIATE = [row.name for row in LOSSES if row.task == "classification" and not row.is_sum]
#: Losses that svm_perf does not have.
OWN = {row.name for row in LOSSES if row.number is None}


@pytest.mark.parametrize(
    "words",
    [*(("-l", name) for name in MULTIVARIATE), ("-o", "slack"), ("-p", "2", "-w", "0")],
    ids=" ".join,
)
def test_losses_that_are_no_sum_refuse_weights(words, capsys):
    put("classification", costs=[1, 1, 2, 1, 1, 1, 1, 1])
    for asked in (("--weights", "nowhere"), ("--class-weight", "balanced")):
        assert call("svmcut learn", "-c", "1", *words, *asked, "train", "model") == 2
        told = capsys.readouterr().err
        assert told.startswith(f"svmcut learn: {asked[0]} weighs one example's loss, but loss ")
        assert told.endswith("with these options is no sum over examples; leave it out\n")
    assert call("svmcut learn", "-c", "1", *words, "train", "model") == 1
    told = capsys.readouterr().err
    assert told.startswith("train:7: cost:2 weighs one example's loss, but loss ")
    assert told.endswith(" is no sum over examples; leave it out or use -l error-rate\n")
    put("classification", costs=np.ones(8))
    assert call("svmcut learn", "-c", "1", *words, "train", "model") == 0
    if words[1] not in OWN:
        assert call("svm_perf_learn", "-w", "0", "-c", "1", *words, "train", "model") == 0


def test_what_is_wrong_is_told_in_one_line(capsys):
    put("classification")
    Path("few").write_text("1\n" * 23)
    Path("bad").write_text("1\n" * 5 + "-0.5\n")
    for words, status, said in (
        (
            ("--weights", "few"),
            1,
            "few: 23 weights for train; expected 24, one for every example\n",
        ),
        (
            ("--weights", "bad"),
            1,
            "bad:6: '-0.5' is no weight; expected one number of at least 0 a line\n",
        ),
        (("--weights", "nowhere"), 1, "nowhere: No such file or directory\n"),
        (
            ("--class-weight", "3=2"),
            1,
            "train: no row has the label 3 of --class-weight; expected -1, 1\n",
        ),
        (
            ("--class-weight", "3"),
            2,
            "svmcut learn: option --class-weight: '3' is not 'balanced', or weights of at "
            "least 0 by label as in 1=5,-1=0.5\n",
        ),
        (
            ("--weights", "model"),
            2,
            "svmcut learn: --weights 'model' and MODEL_FILE 'model' are the same file; give "
            "the output a name of its own\n",
        ),
    ):
        assert call("svmcut learn", "-v", "0", "-c", "1", *words, "train", "model") == status
        assert capsys.readouterr().err == said
    assert call("svmcut learn", "-c", "1", "--weights", "-", "-", "model") == 2
    assert "one standard input; name a file" in capsys.readouterr().err
    assert call("svmcut rank", "-c", "1", "--class-weight", "balanced", "train", "model") == 2
    assert "option --class-weight is unknown" in capsys.readouterr().err


def test_costs_of_validation_and_test_files_have_no_effect(capsys):
    put("classification")
    put("classification", "costly", costs=[3, 1, 0, 2, -1, 1, 1, 0])
    for name in ("train", "costly"):
        assert (
            call(
                "svmcut learn",
                *("-v", "0", "-c", "1", "-l", "f1", "--validate", name, "--report", f"{name}.json"),
                *("train", "model"),
            )
            == 0
        )
        assert call("svmcut classify", "-v", "0", name, "model", f"{name}.scores") == 0
    one, two = (
        json.loads(Path(f"{name}.json").read_text())["path"][0] for name in ("train", "costly")
    )
    assert one["validation"] == two["validation"] == one["training"]
    assert Path("train.scores").read_bytes() == Path("costly.scores").read_bytes()


def test_a_run_is_resumed_with_its_own_weights_alone(capsys):
    put("classification")
    v = np.array([1.0, 2, 0.5, 1, 1, 3, 1, 1])
    given("classification", v)
    given("classification", v, "copy")
    given("classification", v[::-1], "others")
    words = (
        "svmcut learn",
        *("-c", "100", "-v", "0", "--gap", "1e-5", "--solver", "cutting-plane"),
        *("--checkpoint", "state"),
    )
    assert call(*words, "--max-iterations", "2", "--weights", "weights", "train", "model") == 3
    capsys.readouterr()
    for asked, said in (
        (("--weights", "others"), "the examples of train differ, or their weights"),
        ((), "the examples of train differ, or their weights"),
        (("--weights", "weights", "--class-weight", "1=2"), "--class-weight was None and is 1=2"),
    ):
        assert call(*words, "--resume", *asked, "train", "model") == 1
        assert said in capsys.readouterr().err
    assert call(*words, "--resume", "--weights", "copy", "train", "model") == 0
    resumed = Path("model").read_bytes()
    assert call(*words, "--weights", "weights", "train", "model") == 0
    assert resumed == Path("model").read_bytes()
