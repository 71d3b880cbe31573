# SPDX-License-Identifier: BSD-3-Clause
"""Cross-validation and grids from the command line: the table, the model of the best cell,
refusals, stops."""

import itertools
import json
import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest
from programs import call, forked

import svmcut
from svmcut.training.driver import Driver

DATA = Path(__file__).resolve().parents[2] / "data"

RBF = ("-t", "2", "-g", "0.02,0.5", "--example-cost", "0.3,3")
TASKS = {
    "classification": (("learn",), ("-c", "1,30"), "accuracy"),
    "f1": (("learn", "-l", "f1"), ("-c", "1,30"), "accuracy"),
    "kernel": (("learn", "-t", "2", "--example-cost", "1"), ("-g", "0.02,0.5"), "accuracy"),
    "multiclass": (("learn", "--task", "multiclass"), ("--example-cost", "0.1,1"), "accuracy"),
    "regression": (("learn", "--task", "regression"), ("-c", "0.1,1"), "mse"),
    "rank": (("rank",), ("-c", "0.1,3"), "swapped_percent"),
    "sequence": (("learn", "--task", "sequence"), ("-c", "1,30"), "token_error"),
    "multilabel": (("learn", "--task", "multilabel"), ("--example-cost", "0.1,1"), "micro_f1"),
}


@pytest.fixture(scope="module", autouse=True)
def folder(tmp_path_factory):
    folder, rng = tmp_path_factory.mktemp("choosing"), np.random.default_rng(8)
    X = rng.normal(size=(90, 4))
    y = np.where(X[:, 0] + X[:, 1] * X[:, 2] + 0.5 * rng.normal(size=90) > 0, 1, -1)
    scores = X @ rng.normal(size=(4, 3)) + rng.normal(size=(90, 3))
    heads = {
        "classification": y,
        "f1": y,
        "kernel": y,
        "multiclass": scores.argmax(axis=1) + 1,
        "regression": [f"{value:.3f}" for value in scores[:, 0]],
        "rank": [
            f"{int(value > 0) + int(value > 1)} qid:{i // 6 + 1}"
            for i, value in enumerate(scores[:, 0])
        ],
        "sequence": [f"{tag + 1} qid:{i // 5 + 1}" for i, tag in enumerate(scores.argmax(axis=1))],
        "multilabel": [",".join(map(str, np.flatnonzero(row > 0.5))) for row in scores],
    }
    for task, labels in heads.items():
        rows = (" ".join(f"{j + 1}:{value:.3f}" for j, value in enumerate(row)) for row in X)
        (folder / task).write_text(
            "".join(f"{label} {row}\n" for label, row in zip(labels, rows, strict=True))
        )
    before = os.getcwd()
    os.chdir(folder)
    yield folder
    os.chdir(before)


def content(name):
    return Path(name).read_bytes()


@pytest.mark.every(2)
@pytest.mark.parametrize("task", TASKS)
def test_the_best_cell_is_trained_on_all_examples(task, capsys):
    (command, *words), values, measure = TASKS[task]
    assert (
        call("svmcut", command, *words, *values, "--cv", "3", "--report", "report", task, "model")
        == 0
    )
    table = capsys.readouterr().out.split(" cells\n")[1].splitlines()[:3]
    rows = json.loads(content("report"))["cv"]
    assert len(rows) == 2 and [row["selected"] for row in rows] == [
        "<- selected" in line for line in table[1:]
    ]
    assert table[0].split()[-2:] == [measure.replace("_", "-"), "std"]
    for row, line in zip(rows, table[1:], strict=True):
        assert len(row["folds"]) == 3 and row["converged"]
        assert row["mean"] == pytest.approx(np.mean(row["folds"])) and row["std"] == pytest.approx(
            np.std(row["folds"])
        )
        mean, std = map(float, line.replace("<- selected", "").split()[-2:])
        assert (mean, std) == pytest.approx((row["mean"], row["std"]), abs=1e-3)
    means = [row["mean"] for row in rows]
    best = (min if measure in ("mse", "swapped_percent", "token_error") else max)(means)
    chosen = [row["selected"] for row in rows].index(True)
    assert means.index(best) == chosen
    assert (
        call("svmcut", command, *words, values[0], values[1].split(",")[chosen], task, "plain") == 0
    )
    assert content("model") == content("plain") and not list(Path().glob("model.*"))


def test_a_grid_is_the_same_for_any_threads(capsys):
    tables = []
    for threads in (1, 2, 5):
        assert (
            call("svmcut learn", *RBF, "--cv", 3, "--threads", threads, "kernel", f"model{threads}")
            == 0
        )
        tables.append(capsys.readouterr().out.split(" cells\n")[1].splitlines()[:5])
        assert content(f"model{threads}") == content("model1")
    assert tables[0] == tables[1] == tables[2]
    assert tables[0][0].split() == ["C", "gamma", "accuracy", "std"]
    cells = [["0.3", "0.02"], ["0.3", "0.5"], ["3", "0.02"], ["3", "0.5"]]
    assert [line.split()[:2] for line in tables[0][1:]] == cells


def test_a_grid_chosen_on_a_file(capsys):
    options = (*RBF, "--validate", "kernel", "--select", "f1", "--report", "report")
    assert call("svmcut learn", *options, "kernel", "model") == 0
    assert capsys.readouterr().out.count("<- selected") == 1 and not list(Path().glob("model.*"))
    report = json.loads(content("report"))
    assert "cv" not in report and [row["gamma"] for row in report["grid"]] == [0.02, 0.5, 0.02, 0.5]
    chosen = next(row for row in report["grid"] if row["selected"])
    assert report["path"][0]["validation"]["f1"] == pytest.approx(chosen["mean"], abs=1)
    assert report["options"]["gamma"] == [0.02, 0.5] and report["options"]["example_cost"] == [
        0.3,
        3,
    ]


def test_cv_chooses_and_validate_measures():
    options = (
        *("-c", "1,30", "--cv", 3, "--validate", "classification", "--report", "report"),
        *("--select", "f1"),
    )
    assert call("svmcut learn", *options, "-v", 0, "classification", "model") == 0
    report = json.loads(content("report"))
    (row,) = report["path"]
    assert row["model"] == "model" and row["validation"] == row["training"]
    assert row["C"] == next(row["C"] for row in report["cv"] if row["selected"])


def test_weights_go_with_their_rows():
    Path("weights").write_text("0\n" * 45 + "2\n" * 45)
    Path("half").write_text(
        "".join(f"{line}\n" for line in Path("classification").read_text().splitlines()[45:])
    )
    options = ("svmcut learn", "--cv", 3, "-v", 0, "--example-cost")
    assert (
        call(
            *(*options, "0.3,3", "--report", "report", "--weights", "weights", "classification"),
            "model",
        )
        == 0
    )
    assert call(*options, "0.6,6", "--report", "other", "half", "model") == 0
    values = [
        [row["folds"] for row in json.loads(content(name))["cv"]] for name in ("report", "other")
    ]
    assert values[0] == values[1]


def test_the_chosen_model_alone_is_calibrated():
    folds = []
    for words in ((), ("--probability",)):
        assert (
            call(
                "svmcut learn",
                *("-v", 0, *RBF, "--cv", 3, *words, "--report", "report", "kernel", "model"),
            )
            == 0
        )
        folds.append([row["folds"] for row in json.loads(content("report"))["cv"]])
    assert folds[0] == folds[1] and b"#@ sigmoid" in content("model")
    chosen = next(row for row in json.loads(content("report"))["cv"] if row["selected"])
    cell = ("-t", 2, "-g", chosen["gamma"], "--example-cost", chosen["C"])
    assert call("svmcut learn", "-v", 0, *cell, "--probability", "kernel", "plain") == 0
    assert content("model") == content("plain")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cv", "1", "kernel"), "option --cv: '1' is not a whole number of at least 2"),
        (
            ("--cv", "91", "kernel"),
            "kernel has 90 examples, too few for 91 folds; expected one each",
        ),
        (("--cv", "16", "--task", "sequence", "-c", "1", "sequence", "m"), None),
        (
            ("--cv", "19", "--task", "sequence", "-c", "1", "sequence", "m"),
            "sequence has 18 sequences, too few for 19",
        ),
        (
            ("-t", "2", "-g", "1,2", "kernel"),
            "several values of -g are a grid to choose from; add --cv K, or",
        ),
        (
            ("-t", "2", "-g", "1,2", "--validate", "kernel", "kernel"),
            "add --cv K, or --validate FILE and --select",
        ),
        (
            ("-g", "1,2", "--cv", "2", "kernel"),
            "-g has several values and no effect with the linear kernel",
        ),
        (
            ("-t", "2", "-d", "1,2", "--cv", "2", "kernel"),
            "-d has several values and no effect with the rbf kernel",
        ),
        (
            ("-t", "2", "-g", "1,1.0", "--cv", "2", "kernel"),
            "the same value stands twice in -g; give each once",
        ),
        (("--cv", "2", "--example-cost", "1,1", "kernel"), "the same C stands twice"),
        (
            ("--cv", "2", "-c", "1", "--example-cost", "1", "kernel"),
            "exclude each other; leave one of them out",
        ),
        (("--cv", "2", "-l", "f1", "kernel"), "C is missing"),
        (
            ("--select", "f1", "kernel"),
            "--select f1 needs --validate FILE to measure the models on, or --cv K",
        ),
        (("--cv", "2", "--select", "f1", "multiclass", "m"), None),
        (
            ("--cv", "2", "--select", "roc-area", "multiclass"),
            "--select roc-area is a measure of two",
        ),
    ],
)
def test_refusals(words, message, capsys):
    assert call("svmcut learn", "-v", 0, *words) == (0 if message is None else 2)
    errors = capsys.readouterr().err
    assert message is None or message in errors.replace("\n", " ")


def test_small_classes(capsys):
    rows = Path("classification").read_text().splitlines()
    few = [row for row in rows if row.startswith("1")][:3]
    rest = [row for row in rows if row.startswith("-1")]
    Path("three").write_text("\n".join([*few, *rest, ""]))
    Path("single").write_text("\n".join([few[0], *rest, ""]))
    assert call("svmcut learn", "-v", 0, "--cv", 4, "three", "model") == 0
    assert (
        "a class of three has 3 rows, fewer than the 4 folds: some hold none of it"
        in capsys.readouterr().err
    )
    assert call("svmcut learn", "--cv", 4, "single", "model") == 2
    assert "single has one row of one of the classes" in capsys.readouterr().err


def test_without_c_a_list_is_compared():
    report = "report.json"
    assert call("svmcut learn", "--cv", 2, "--report", report, "kernel", "model") == 0
    document = json.loads(Path(report).read_text())
    assert [row["C"] for row in document["cv"]] == [2.0**k for k in range(-7, 8, 2)]
    assert call("svmcut learn", "--cv", 2, "-c", 3, "--report", report, "kernel", "model") == 0
    assert [row["C"] for row in json.loads(Path(report).read_text())["cv"]] == [3.0]


def stopped_at(fit, number, *words):
    """A run of svmcut that gets a signal while the nth fit of any of its drivers goes on."""
    known, fits = Driver.fit, itertools.count(1)

    def counted(self, *values):
        if next(fits) == fit:
            os.kill(os.getpid(), number)
            time.sleep(0.5)  # the thread that waits hears of it first
        return known(self, *values)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Driver, "fit", counted)
        return forked("svmcut learn", *words)


@pytest.mark.every(4)
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
@pytest.mark.parametrize("fit", [6, 2, 11, 13])
@pytest.mark.parametrize(
    "options", [(*RBF, "--solver", "smo"), ("-c", "1,3,10,30", "--gap", "1e-7")]
)
def test_a_stopped_grid_goes_on_to_the_same_table_and_model(options, fit, capsys):
    words = (*options, "--cv", 3, "kernel")
    Path("model").unlink(missing_ok=True)
    assert call("svmcut learn", *words, "whole") == 0
    expected = capsys.readouterr().out.split(" cells\n")[1].splitlines()[:5]
    stopped = stopped_at(fit, signal.SIGTERM, *words, "model", "--checkpoint", "state")
    assert stopped.returncode == 75 and not Path("model").exists()
    done = forked("svmcut learn", *words, "model", "--checkpoint", "state", "--resume")
    assert done.returncode == 0 and "afresh" not in done.stderr
    assert done.stdout.split(" cells\n")[1].splitlines()[:5] == expected
    assert content("model") == content("whole") and not list(Path().glob("state*"))


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_an_interrupt_ends_the_grid_and_the_state_is_kept():
    Path("model").unlink(missing_ok=True)
    words = (*RBF, "--cv", 3, "kernel", "model")
    stopped = stopped_at(5, signal.SIGINT, *words)
    assert stopped.returncode == 130 and not Path("model").exists()
    stopped = stopped_at(5, signal.SIGINT, *words, "--checkpoint", "state")
    assert stopped.returncode == 130
    assert "the state is in state, the same command with --resume goes on" in stopped.stderr
    assert call("svmcut learn", *words, "--checkpoint", "state", "--resume") == 0
    resumed = content("model")
    assert (
        call("svmcut learn", *words) == 0
        and content("model") == resumed
        and not list(Path().glob("state*"))
    )


def test_a_time_limit_ends_the_grid_and_a_larger_one_goes_on(capsys):
    words = ("svmcut learn", *RBF, "--cv", 3, "kernel", "model", "--checkpoint", "state")
    assert call(*words, "--time-limit", 1e-9) == 3
    output = capsys.readouterr()
    assert "0 of 12 models of the grid were measured" in output.err
    assert (
        "the state is in state, the same command with --resume and larger limits goes on"
        in output.err
    )
    assert call(*words, "--time-limit", 1000, "--resume") == 0
    resumed = content("model")
    assert call(*words) == 0 and content("model") == resumed


def test_iterations_end_the_training_of_each_cell():
    options = (
        *("--example-cost", "1,10", "--cv", 3, "--solver", "cutting-plane", "--max-iterations", 2),
        "--report",
    )
    assert call("svmcut learn", "-v", 0, *options, "report", "kernel", "model") == 3
    report = json.loads(content("report"))
    assert [row["converged"] for row in report["cv"]] == [False, False] and report[
        "iterations"
    ] == 2
    assert (
        "6 of the 6 models of the grid stopped before their training was done" in report["warnings"]
    )


def test_without_c_and_gamma_the_grid_of_rbf_is_around_scale(tmp_path, capsys):
    """Eight weights of an example's loss, each with a quarter of scale, with it and four times."""
    X, _ = svmcut.load_svmlight_file(str(DATA / "wine.train"))
    scale = 1 / (X.shape[1] * X.toarray().astype(float).var())
    words = ["--cv", "2", "-t", "rbf", "--report", str(tmp_path / "report")]
    model = str(tmp_path / "model")
    assert call("svmcut", "learn", *words, str(DATA / "wine.train"), model) == 0
    printed = capsys.readouterr().out
    cells = json.loads((tmp_path / "report").read_text())["cv"]
    assert [cell["C"] for cell in cells] == [2.0**p for p in range(-7, 8, 2) for _ in range(3)]
    assert [cell["gamma"] for cell in cells[:3]] == pytest.approx([scale / 4, scale, 4 * scale])
    assert "from 24 cells" in printed and "(scale/4)" in printed and "by default" not in printed
    assert call("svmcut", "learn", *words, "-g", "1", str(DATA / "wine.train"), model) == 0
    assert "from 8 cells" in capsys.readouterr().out
