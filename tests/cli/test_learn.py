# SPDX-License-Identifier: BSD-3-Clause
"""svmcut learn and rank, and the executables in front of the same training."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from programs import uncertified
from reference import hinge

from svmcut import train
from svmcut.cli import start
from svmcut.cli.main import svmcut
from svmcut.formats import read_model
from svmcut.originals.perf import svm_perf_learn, svm_rank_learn

DATA = Path(__file__).parents[2] / "data"


def dense_rows(rng, n=120, d=6):
    X = rng.normal(size=(n, d)).astype(np.float32)
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0, 1.0, -1.0)
    return X, y


def write_rows(path, X, y, qid=None):
    lines = []
    for i, row in enumerate(X):
        query = "" if qid is None else f" qid:{qid[i]}"
        lines.append(
            f"{y[i]:g}{query} " + " ".join(f"{j + 1}:{value:.9g}" for j, value in enumerate(row))
        )
    path.write_text("\n".join(lines) + "\n")
    return str(path)


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "train", *dense_rows(rng))
    X, y = dense_rows(rng, 60)
    write_rows(tmp_path / "rank", X, np.round(X[:, 0] + y), np.repeat(np.arange(6), 10))
    return tmp_path


def call(*words):
    result = CliRunner().invoke(
        svmcut, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )
    return result.return_value or 0, result.output


def report(folder):
    return json.loads((folder / "report").read_text())


def test_the_objective_of_the_written_model_is_the_certified_one(folder, rng):
    status, _ = call(
        "learn", "--example-cost", 2, "--gap", 1e-6, "--report", "report", "train", "model"
    )
    document = report(folder)
    X, y = dense_rows(np.random.default_rng(20060820))
    _, minimum = hinge.optimum(X, y, 2.0, 1.0)
    model = read_model("model")
    at_model = hinge.primal(X, y, np.append(model.w, -model.b), 2.0, 1.0)
    assert status == 0
    assert document["converged"]
    assert document["dual"] <= minimum * (1 + 1e-9) <= document["primal"] * (1 + 2e-9)
    assert at_model == pytest.approx(document["primal"], rel=1e-6)
    assert document["relative_gap"] <= 1e-6


def test_both_units_of_c_are_one_objective(folder):
    call("learn", "-c", 1.2, "train", "a")
    call("learn", "--example-cost", 1.0, "train", "b")  # 1.2 * 100 / 120 rows
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_the_executable_writes_the_bytes_of_the_command(folder, capsys):
    call("learn", "-c", 3, "-v", 0, "train", "a")
    assert svm_perf_learn(["-c", "3", "-v", "0", "train", "b"]) == 0
    assert svm_perf_learn(["-c", "3", "-v", "0", "-w", "3", "train", "c"]) == 0
    assert uncertified(folder / "a") == (folder / "b").read_bytes()
    call("rank", "-c", 3, "-v", 0, "rank", "d")
    captured = capsys.readouterr()
    assert captured.out == captured.err == ""
    assert svm_rank_learn(["-c", "3", "-v", "0", "rank", "e"]) == 0
    assert uncertified(folder / "d") == (folder / "e").read_bytes()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("words", [("learn", "train"), ("rank", "rank")], ids=["learn", "rank"])
def test_a_path_trains_every_c_as_a_run_of_its_own_would(folder, words):
    command, examples = words
    status, output = call(
        command, "-c", "0.1,1,10", "--gap", 1e-5, "--report", "report", examples, "model"
    )
    assert status == 0
    path = report(folder)["path"]
    assert [row["C"] for row in path] == [0.1, 1, 10]
    assert not (folder / "model").exists()
    for row in path:
        call(command, "-c", f"{row['C']:g}", "--gap", 1e-5, "--report", "report", examples, "alone")
        alone = report(folder)
        assert row["primal"] == pytest.approx(alone["primal"], rel=2e-5)
        assert row["dual"] <= alone["primal"] * (1 + 1e-12)
        assert read_model(row["model"]).w == pytest.approx(
            read_model("alone").w, abs=0.05 * np.abs(row["C"] ** 0.5)
        )
    assert len([line for line in output.splitlines() if line.startswith("C = ")]) == 3


def test_a_path_keeps_the_best_model_by_a_measure(folder, rng):
    write_rows(folder / "validation", *dense_rows(rng, 80))
    status, output = call(
        "learn",
        *("--example-cost", "0.0001,0.1,1", "--validate", "validation", "--select", "error_rate"),
        *("--report", "report", "train", "model"),
    )
    path = report(folder)["path"]
    errors = [row["validation"]["error_rate"] for row in path]
    best = path[int(np.argmin(errors))]["model"]
    assert status == 0
    assert (folder / "model").read_bytes() == Path(best).read_bytes()
    assert sum("<- selected" in line for line in output.splitlines()) == 1
    for row in path:
        call("classify", "validation", row["model"], "--report", "report")
        assert report(folder)["error_rate"] == pytest.approx(row["validation"]["error_rate"])


def test_rank_measures_may_select(folder):
    status, output = call(
        "rank", "-c", "0.01,1", "--validate", "rank", "--select", "ndcg@10", "rank", "model"
    )
    assert status == 0
    assert "NDCG@10" in output
    assert (folder / "model").exists()


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("-c", "1,1"), "the same C stands twice"),
        (("-c", "1,0"), "'0' is not a number above 0"),
        (("-c", "1", "--select", "f1"), "--select f1 needs --validate"),
        (("-c", "1", "--example-cost", "1"), "exclude each other"),
        (("-l", "f1"), "C is missing, and -l f1 has none by default"),
        (("-p", "2"), "; give several values, -c 1,10,100,1000, and compare"),
        (("-c", "1e13"), "at most 1e+12"),
        (("-c", "nan"), "is not a number"),
        (("-c", "1", "-e", "0"), "above 0"),
        (("-c", "1", "-p", "3"), "from 1 to 2"),
        (("-c", "1", "-l", "f2"), "expected one of zero-one (0), f1 (1)"),
        (("-c", "1", "-l", "prec-at-k", "--p", "1.5"), "--p"),
        (("-c", "1", "-l", "rec-at-k", "--p", "0.5"), "--p"),
        (("-c", "1", "--p", "-1"), "at least 0"),
        (("--example-cost", "1", "-l", "f1"), "give C with -c"),
        (("-c", "1", "-w", "9", "-l", "f1"), "-w 9 trains for error-rate only"),
        (("-c", "1", "-t", "7"), "expected one of linear (0)"),
    ],
)
def test_usage_is_refused_with_a_remedy(folder, words, says, capsys):
    assert start.main(["learn", *words, "train", "model"]) == 2
    assert says in capsys.readouterr().err
    assert not (folder / "model").exists()


@pytest.mark.parametrize(
    "words", [("learn", "train"), ("rank", "rank"), ("learn", "--task", "sequence", "tags")]
)
def test_without_a_C_it_is_the_default_per_example_and_told_in_both_units(folder, words):
    default = 0.1 if words[-1] == "tags" else 1
    (folder / "tags").write_text(
        "".join(f"{1 + i % 2} qid:{1 + i // 4} {1 + i % 3}:1\n" for i in range(24))
    )
    status, output = call(*words, "model", "--format", "original", "--report", "report")
    assert status == 0
    options = report(folder)["options"]
    assert options["example_cost"] == default and options["cost"] is None
    told = next(line for line in output.splitlines() if line.startswith("C: "))
    rows = len((folder / "train").read_text().splitlines())
    units = {"train": (rows / 100, "example"), "rank": (6, "query"), "tags": (0.6, "sequence")}
    value, one = units[words[-1]]
    c = told.split()[1]
    assert float(c) == value and told.endswith(f", {default} per {one} (--example-cost)")
    call(*words, "other", "--example-cost", default)
    assert (folder / "model").read_bytes() == (folder / "other").read_bytes()
    _, output = call(*words, "other", "--format", "original", "-c", c)
    assert told in output


@pytest.mark.parametrize("more", [(), ("-p", "2"), ("-t", "2", "-g", "0.01")])
def test_a_slack_near_that_of_no_weights_is_warned_of(folder, more, capfd):
    given = ("learn", "-l", "f1", *more, "--report", "report", "train", "model", "-c")
    _, output = call(*given, "1e-6")
    assert "for all examples together" in output
    assert ["compare larger values of -c" in text for text in report(folder)["warnings"]] == [True]
    call(*given, 1000)
    assert report(folder)["warnings"] == []


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("-l f1 -c 10", True),  # w stays 0
        ("-l f1 -c 1,10", True),
        ("-l f1 -c 10 -p 2", False),
        ("-l f1 -c 100", False),  # 99.9 % of the slack, and the best F1 of all C
        ("-l f1 -c 10,1000", False),  # with the larger one it was compared
        ("-l f1 -c 1000 --gap 1e-4", False),
        ("-l prec-at-k -c 100", False),
        ("-l roc-area -c 0.01", False),
        ("-c 1e-6", False),  # a sum
        ("-l f1 -c 100 --max-iterations 1", False),
    ],
)
def test_only_a_C_that_holds_training_near_no_weights_is_warned_of(folder, words, told):
    call("learn", "-v", 0, *words.split(), "--report", "report", DATA / "unbalanced.train", "model")
    warned = [text for text in report(folder)["warnings"] if "underfitted" in text]
    says = (
        "C = 10 leaves 100 % of the slack of w = 0: the model may be underfitted; compare larger "
        "values of -c"
    )
    assert warned == [says] * told


def test_python_is_warned_of_a_small_C_too(folder):
    told = [train("train", loss="f1", cost=cost).warnings for cost in (1e-6, 1000)]
    assert ["compare larger values of parameter 'cost'" in text for text in told[0]] == [
        True
    ] and told[1] == []


def test_limits_write_the_best_model_and_exit_with_3(folder):
    words = ("--solver", "cutting-plane", "--max-iterations", 3)
    assert call("learn", "-c", 100, "-e", 1e-9, *words, "train", "m")[0] == 3
    assert np.all(np.isfinite(read_model("m").w))
    status, output = call(
        "learn", "-c", 1000, "-e", 1e-12, "--time-limit", 1e-6, "--report", "report", "train", "m"
    )
    assert status == 3
    assert "stopped by a limit, gap" in output
    assert report(folder)["stopped_by"] == "limit"


def test_the_end_of_an_allotment_is_a_time_limit(folder, monkeypatch):
    monkeypatch.setenv("SVMCUT_DEADLINE", str(time.time() - 1))
    assert call("learn", "-c", 1000, "-e", 1e-12, "train", "m")[0] == 3
    monkeypatch.setenv("SVMCUT_DEADLINE", str(time.time() + 600))
    assert call("learn", "-c", 1, "train", "m")[0] == 0
    monkeypatch.setenv("SVMCUT_DEADLINE", "soon")
    run = subprocess.run(
        [sys.executable, "-m", "svmcut.cli.start", "learn", "-c", "1", "train", "m"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 2
    assert "SVMCUT_DEADLINE" in run.stderr


def test_the_trace_has_a_line_an_iteration_and_its_gap_closes(folder):
    call("learn", "-c", 1, "--trace", "trace", "--report", "report", "train", "model")
    lines = [json.loads(line) for line in (folder / "trace").read_text().splitlines()]
    assert len(lines) == report(folder)["iterations"]
    assert lines[-1]["gap"] == pytest.approx(report(folder)["gap"])
    assert lines[-1]["gap"] <= 0.1 < lines[0]["gap"]


def test_multipliers_are_written_one_a_cut_and_sum_to_at_most_c(folder):
    call(
        "learn",
        *("-c", 2, "-a", "alphas", "--solver", "cutting-plane", "--report", "report", "train"),
        "model",
    )
    values = np.loadtxt(folder / "alphas")
    assert len(values) == report(folder)["cuts"]
    assert values.min() >= 0
    assert 0 < values.sum() <= 2 * (1 + 1e-12)


@pytest.mark.parametrize(
    "loss", ["zero-one", "f1", "prbep", "prec-at-k", "rec-at-k", "roc-area", "average-precision"]
)
def test_every_loss_ends_certified_and_c_prints_the_originals_lines(folder, loss):
    words = ("--format", "original", "--report", "report", "train", "model")
    status, output = call("learn", "-c", 0.5, "-l", loss, *words)
    document = report(folder)
    assert status == 0
    assert document["loss"] == loss
    assert 0 <= document["gap"] <= 0.5 * 0.1
    for line in (
        "Training set properties: 7 features, 120 examples",
        "Dual objective value: dval=",
        "Primal objective value: pval=",
        "Norm of weight vector: |w|=",
        "Writing learned model...done",
    ):
        assert line in output


def test_squared_slack_is_the_square_of_the_slack(folder):
    status, output = call(
        *("learn", "--format", "original", "-c", 0.5, "-p", 2, "-w", 0),
        *("--report", "report", "train", "model"),
    )
    document = report(folder)
    assert status == 0
    xi = float(output.split("sum(xi_i)/n=")[1].split()[0])
    norm = float(output.split("|w|=")[1].split()[0])
    assert 0 < document["dual"] <= document["primal"]
    assert 0.5 * norm**2 == pytest.approx(document["primal"], rel=0.05)
    assert xi > 0


def test_quiet_training_says_nothing(folder):
    assert call("learn", "-c", 1, "-v", 0, "train", "model") == (0, "")


def test_progress_goes_to_stderr_on_request_only(folder):
    words = [
        sys.executable,
        *("-m", "svmcut.cli.start", "learn", "-c", "1", "-v", "0", "train", "model"),
    ]
    quiet = subprocess.run(words, capture_output=True, text=True)
    loud = subprocess.run([*words, "--progress"], capture_output=True, text=True)
    assert quiet.stderr == ""
    assert "training" in loud.stderr
    assert loud.stdout == ""


def test_a_query_out_of_order_is_named_with_its_line(folder):
    (folder / "bad").write_text("# head\n1 qid:2 1:1\n2 qid:2 1:2\n1 qid:1 1:3\n")
    run = subprocess.run(
        [sys.executable, "-m", "svmcut.cli.start", "rank", "-c", "1", "bad", "m"],
        capture_output=True,
        text=True,
    )
    assert run.returncode == 1
    assert run.stderr.startswith("bad:4: qid 1 follows 2")
    assert not os.path.exists("m")
