# SPDX-License-Identifier: BSD-3-Clause
"""bsca and bsgd from the command line: models, reports, progress, limits, refusals, adult."""

import gzip
import itertools
import json

import numpy as np
import pytest
from cli.test_learn import write_rows
from click.testing import CliRunner

from svmcut.cli.main import svmcut
from svmcut.cli.start import main
from svmcut.files.examples import read_examples
from svmcut.formats import read_model
from svmcut.originals.perf import svm_perf_classify


@pytest.fixture
def folder(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X = rng.normal(size=(700, 3)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.normal(size=700) > 0, 1.0, -1.0)
    write_rows(tmp_path / "train", X, y)
    return tmp_path


def call(*words):
    result = CliRunner().invoke(
        svmcut, [str(word) for word in words], standalone_mode=False, catch_exceptions=False
    )
    return result.return_value or 0, result.output


def learn(folder, *words, status=0):
    given = ("-t", 2, "-g", 0.5, "--report", "report", "--example-cost", 2)
    given += ("--format", "original")
    found, output = call("learn", *given, *words, "train", "model")
    assert found == status, output
    return json.loads((folder / "report").read_text()), output


@pytest.mark.parametrize(
    "solver, polish, maintenance, sampling",
    [
        ("bsca", "--polish", "merge", "shuffled"),
        ("bsgd", "--polish", "merge", "shuffled"),
        ("bsca", "--no-polish", "project", "adaptive"),
        ("bsgd", "--no-polish", "remove", "independent"),
        ("bsca", "--no-polish", "merge", "independent"),
    ],
)
def test_a_model_is_written_scored_and_reported(folder, solver, polish, maintenance, sampling):
    words = (
        *("--solver", solver, polish, "--budget", 40, "--epochs", 6, "--maintenance", maintenance),
    )
    document, output = learn(folder, *words, "--sampling", sampling, "--trace", "trace")
    model = read_model("model")
    assert document["solver"] == solver
    assert 0 < len(model.alpha) == document["support_vectors"] <= 40
    assert document["budget"]["epochs"] == 6 and document["budget"]["steps"] == 4200
    assert document["budget"]["maintained"] > 0 and document["kernel_evaluations"] > 4200 * 30
    if solver == "bsca" or polish == "--polish":
        assert 0 <= document["dual"] <= document["primal"]
    else:
        assert document["dual"] is None
    epochs = [line for line in output.splitlines() if line.startswith("Epoch")]
    assert len(epochs) == 6 and all("sampled primal" in line and "SV 40" in line for line in epochs)
    trace = [json.loads(line) for line in (folder / "trace").read_text().splitlines()]
    assert trace[0]["sampled_primal"] > 0 and trace[0]["dropped"] >= 0
    # the numbers are those of the model file, as the originals' executable scores it
    examples = read_examples("train")
    scores = model.scores(examples.X)
    squared = float(model.alpha @ model.scores(model.support))
    losses = np.maximum(0.0, 1.0 - np.sign(examples.y) * scores)
    assert document["primal"] == pytest.approx(0.5 * squared + 2 * losses.sum(), rel=1e-4)
    assert svm_perf_classify(["train", "model", "scores"]) == 0
    np.testing.assert_allclose(np.loadtxt("scores"), scores, atol=1e-6)
    assert np.mean(np.sign(scores) == np.sign(examples.y)) > (
        0.8 if maintenance == "merge" else 0.7
    )


def test_the_polish_is_certified_in_the_span_and_never_worse(folder):
    words = ("--solver", "bsca", "--budget", 30, "--epochs", 5, "-e", 0.01)
    polished, bare = learn(folder, *words)[0], learn(folder, *words, "--no-polish")[0]
    assert polished["basis"]["gap"] <= 0.01 * 2 * 700 / 100 * (1 + 1e-9)
    assert polished["dual"] <= polished["basis"]["dual"] <= polished["primal"] <= bare["primal"]


def test_a_sample_stands_for_rows_that_are_too_many(folder, monkeypatch):
    monkeypatch.setattr("svmcut.training.steps.POLISH_MB", 0.03)
    document, _ = learn(folder, "--solver", "bsca", "--budget", 20, "--epochs", 5)
    assert document["basis"]["rows"] < 700 and document["dual"] is None
    bare, _ = learn(folder, "--solver", "bsca", "--budget", 20, "--epochs", 5, "--no-polish")
    assert document["primal"] <= bare["primal"]


def test_held_out_rows_choose_and_are_reported(folder):
    document, output = learn(
        folder, "--solver", "bsgd", "--budget", 30, "--hold-out", 0.2, "--epochs", 4
    )
    assert "held out error" in output
    assert 0 <= document["budget"]["held_out_error"] < 50


def test_same_bytes_for_any_number_of_threads(folder):
    models = set()
    for solver, threads in itertools.product(("bsca", "bsgd"), (1, 2)):
        learn(folder, "--solver", solver, "--budget", 30, "--epochs", 3, "--threads", threads)
        models.add((folder / "model").read_bytes())
    assert len(models) == 2


def test_limits_write_the_best_so_far_and_exit_with_3(folder):
    document, _ = learn(folder, "--solver", "bsca", "--max-iterations", 900, status=3)
    assert (
        document["stopped_by"] == "limit"
        and document["budget"]["steps"] == 900
        and "basis" not in document
    )
    document, _ = learn(
        folder, "--solver", "bsca", "--epochs", 1e6, "--budget", 50, "--time-limit", 0.5, status=3
    )
    assert document["stopped_by"] == "limit" and 0 < document["support_vectors"] <= 50


def test_a_path_trains_a_model_for_every_c(folder):
    assert (
        call("learn", "-t", 2, "--solver", "bsca", "--epochs", 2, "-c", "0.1,1", "train", "model")[
            0
        ]
        == 0
    )
    assert (folder / "model.0.1").exists() and (folder / "model.1").exists()


@pytest.mark.parametrize(
    "words, text",
    [
        (("-t", 1, "--solver", "bsca", "--maintenance", "merge"), "for the rbf kernel"),
        (("-t", 3, "--solver", "bsca", "--maintenance", "project"), "positive definite"),
        (("-t", 2, "--solver", "bsgd", "--sampling", "adaptive"), "use --solver bsca"),
        (("-t", 2, "--solver", "bsca", "-l", "f1"), "trains for error-rate only"),
        (("-t", 2, "--solver", "bsca", "--free-bias"), "use --solver smo"),
        (("-t", 2, "--solver", "bsca", "--budget", 0), "at least 1"),
        (("-t", 2, "--solver", "bsca", "--epochs", 0), "above 0"),
        (("-t", 2, "--solver", "bsca", "--hold-out", 1), "0.9"),
        (("-t", 2, "--solver", "bsca", "--maintenance", "drop"), "merge, project, remove"),
    ],
)
def test_what_cannot_be_is_refused(folder, capsys, words, text):
    assert main(["learn", "-c", "1", *map(str, words), "train", "model"]) == 2
    assert text in capsys.readouterr().err
    assert not (folder / "model").exists()


def test_centres_that_do_not_fit_are_refused(folder, capsys):
    every = " ".join(f"{j}:1" for j in range(1, 400_001))
    (folder / "wide").write_text(f"1 {every}\n" + "1 1:1 400000:1\n-1 2:1\n" * 300)
    words = [
        "learn",
        *("-c", "1", "-t", "2", "--solver", "bsca", "--max-memory", "200", "wide", "model"),
    ]
    assert main(words) == 1
    assert "lower --budget" in capsys.readouterr().err


@pytest.mark.parametrize("kernel", [("-t", 0), ("-t", 1, "-d", 2), ("-t", 3, "-s", 0.1)], ids=str)
def test_other_kernels_are_projected_or_removed(folder, kernel):
    X = read_examples("train").X.to_dense()
    write_rows(folder / "train", X, np.where(X[:, 0] > 0, 1.0, -1.0))
    words = (
        *("--solver", "bsca", "--budget", 20, "--epochs", 5, "--no-polish", "--example-cost", 0.1),
    )
    assert call("learn", *kernel, *words, "train", "model")[0] == 0
    scores = read_model("model").scores(read_examples("train").X)
    assert np.all(np.isfinite(scores)) and np.ptp(scores) > 0


@pytest.mark.slow
@pytest.mark.shared
def test_adult_in_two_epochs(tmp_path, shared, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a9a", "a9a.t"):
        (tmp_path / name).write_bytes(
            gzip.decompress((shared / "data" / "adult" / f"{name}.gz").read_bytes())
        )
    words = (
        "-t",
        2,
        "-g",
        2**-7,
        *("--example-cost", 32, "--solver", "bsca", "--epochs", 2, "--no-certify"),
    )
    assert call("learn", *words, "a9a", "model")[0] == 0
    assert call("classify", "-v", 0, "a9a.t", "model", "scores", "--report", "scored")[0] == 0
    assert json.loads((tmp_path / "scored").read_text())["accuracy"] > 84.7
