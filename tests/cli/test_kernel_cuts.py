# SPDX-License-Identifier: BSD-3-Clause
"""Cutting planes with kernels from the command line: every loss, every solver, refusals, golden
cases."""

import json

import numpy as np
import pytest
from cli.test_learn import write_rows
from click.testing import CliRunner

from svmcut.cli.main import svmcut
from svmcut.formats import read_model
from svmcut.originals.perf import svm_perf_learn, svm_rank_learn
from svmcut.training.settings import choose_kernel_solver


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(90, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=90) > 0, 1.0, -1.0)
    write_rows(tmp_path / "train", X, y)
    write_rows(
        tmp_path / "rank",
        X,
        np.digitize(X[:, 0] * X[:, 1], [-0.5, 0.5]),
        np.repeat(np.arange(6), 15),
    )
    return tmp_path


def call(*words):
    result = CliRunner().invoke(
        svmcut, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )
    return result.return_value or 0, result.output


def learn(folder, *words, command="learn"):
    examples = "rank" if command == "rank" else "train"
    status, _ = call(command, "-t", 2, "-g", 0.5, "--report", "report", *words, examples, "model")
    assert status == 0
    return json.loads((folder / "report").read_text())


@pytest.mark.parametrize(
    "words",
    [
        ("-c", 1, "-w", 3),
        ("-c", 1, "-l", "f1"),
        ("-c", 1, "-l", "roc-area"),
        ("-c", 1, "-l", "average-precision"),
        ("-c", 1, "-l", "prec-at-k"),
        ("--example-cost", 1, "--solver", "subspace"),
        ("-c", 1, "-w", 9, "--k", 20),
        ("-c", 1, "--t", 1, "--i", 0, "--k", 20),
        ("-c", 1, "--t", 2, "--i", 0, "--k", 20, "-l", "f1"),
        ("-c", 1, "--solver", "sampled-cuts", "--sample-size", 30),
        ("-c", 1, "--solver", "constant-cuts", "--no-polish"),
        ("-c", 1, "--solver", "sampled-cuts", "-l", "roc-area", "--sample-size", 30, "--no-polish"),
    ],
    ids=str,
)
def test_a_model_is_written_scored_and_reported(folder, words):
    document = learn(folder, *words)
    model = read_model("model")
    assert document["support_vectors"] == len(model.alpha) > 0
    assert document["kernel_evaluations"] > 0
    assert document["gap"] == pytest.approx(document["primal"] - document["dual"])
    assert document["gap"] >= -1e-9
    assert "--k" not in words or len(model.alpha) <= 20
    assert call("classify", "-v", 0, "train", "model", "scores", "--report", "scored")[0] == 0
    assert json.loads((folder / "scored").read_text())["error_rate"] < 35


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--solver", "subspace"),
        ("--solver", "sampled-cuts", "--sample-size", 50),
        ("-l", "swapped-fraction"),
    ],
    ids=str,
)
def test_ranking(folder, words):
    document = learn(folder, "-c", 1, *words, command="rank")
    assert document["dual"] <= document["primal"]
    assert call("classify", "-v", 0, "rank", "model", "scores", "--report", "scored")[0] == 0
    assert json.loads((folder / "scored").read_text())["swapped_percent"] < 25


def test_no_certificate_means_no_dual(folder):
    for solver in ("subspace", "sampled-cuts", "constant-cuts"):
        bare = () if solver == "subspace" else ("--no-polish",)
        document = learn(folder, "-c", 1, "--solver", solver, "--no-certify", *bare)
        assert document["dual"] is None
        assert document["gap"] is None
        assert document["primal"] > 0
    assert learn(folder, "-c", 1, "-w", 3, "--no-certify")["dual"] > 0


def test_the_report_keeps_the_primal_of_the_sampled_cuts_beside_the_polish(folder):
    polished = learn(folder, "-c", 5, "--solver", "sampled-cuts", "--sample-size", 20)
    bare = learn(folder, "-c", 5, "--solver", "sampled-cuts", "--sample-size", 20, "--no-polish")
    assert polished["sampled"] == bare["sampled"]
    assert polished["primal"] < bare["primal"] == pytest.approx(bare["sampled"]["primal"], rel=1e-5)
    assert bare["relative_gap"] > polished["relative_gap"]


def test_executables_run_kernels(folder):
    common = ["-c", "1", "-t", "2", "-g", "0.5", "-v", "0"]
    assert svm_perf_learn([*common, "--b", "0", "--k", "15", "train", "a"]) == 0
    assert len(read_model("a").alpha) == 15
    assert svm_perf_learn([*common, "--b", "0", "-w", "3", "-l", "10", "train", "b"]) == 0
    assert svm_rank_learn([*common, "rank", "c"]) == 0
    assert read_model("c").kernel.gamma == 0.5


@pytest.mark.parametrize(
    "words, message",
    [
        (("--b", "1"), "--b 0"),
        (("--b", "0", "--t", "1", "--i", "0"), "-w 9"),
        (("--b", "0", "--i", "0"), "--i 1"),
        (("--b", "0", "-w", "3", "--t", "2"), "--i 0"),
        (("--b", "0", "-t", "1"), "--i 1"),
        (("--b", "0", "-l", "10"), "-w 9"),
        ((), "--b 0"),
        (("--b", "0", "--i", "7"), "--i 7"),
    ],
    ids=str,
)
def test_refusals_of_svm_perf(folder, capsys, words, message):
    assert svm_perf_learn(["-c", "1", "-t", "2", *words, "train", "model"]) == 1
    assert message in capsys.readouterr().err
    assert not (folder / "model").exists()


@pytest.mark.parametrize(
    "words",
    [
        ("--solver", "sampled-cuts", "-l", "f1"),
        ("--solver", "constant-cuts", "-l", "roc-area"),
        ("--b", "1"),
        ("--solver", "subspace", "--free-bias"),
        ("--solver", "cutting-plane", "--t", "1", "--i", "0"),
    ],
    ids=str,
)
def test_refusals_of_svmcut(folder, words):
    result = CliRunner().invoke(svmcut, ["learn", "-c", "1", "-t", "2", *words, "train", "model"])
    assert result.exit_code != 0
    assert not (folder / "model").exists()


def test_a_file_may_give_the_basis(folder):
    learn(folder, "-c", 1, "--t", 1, "--i", 0, "--f", "rank")
    assert len(read_model("model").alpha) == 90


def test_what_auto_stands_for():
    assert choose_kernel_solver("auto", 50_000, exact=True) == "smo"
    assert choose_kernel_solver("auto", 50_001, exact=True) == "subspace"
    assert choose_kernel_solver("auto", 50_001, exact=True, free_bias=True) == "smo"
    assert choose_kernel_solver("auto", 5_000, exact=False) == "cutting-plane"
    assert choose_kernel_solver("auto", 50_000, exact=False) == "subspace"
    assert choose_kernel_solver("sampled-cuts", 10, exact=True) == "sampled-cuts"
