# SPDX-License-Identifier: BSD-3-Clause
"""Sequences with a kernel from file to tags: learn, classify, refusals, and a run that goes on."""

import json

import numpy as np
import pytest
from programs import call, forked, status_of

from svmcut.formats import read_model

LEARN = "svmcut learn --task sequence"
RBF = ("-t", 2, "-g", 2)


def rings(rng, lengths):
    """Two tags, one around the other: no line parts them; each follows itself more often than
    not."""
    lines = []
    for n, length in enumerate(lengths):
        tag = int(rng.integers(2))
        for _ in range(length):
            tag = tag if rng.random() < 0.7 else 1 - tag
            angle, radius = 2 * np.pi * rng.random(), 0.5 + tag + 0.15 * rng.normal()
            x = radius * np.array([np.cos(angle), np.sin(angle)])
            lines.append(f"{tag + 1} qid:{n + 1} 1:{x[0]:.4f} 2:{x[1]:.4f}\n")
    return "".join(lines)


@pytest.fixture
def files(tmp_path, rng):
    (tmp_path / "train").write_text(rings(rng, rng.integers(1, 9, 60)))
    (tmp_path / "test").write_text(rings(rng, rng.integers(1, 9, 60)))
    return tmp_path


def token_error(files, model="model"):
    assert (
        call(
            "svmcut classify",
            *("-v", 0, "--report", files / "c", files / "test", files / model, files / "tags"),
        )
        == 0
    )
    return json.loads((files / "c").read_text())["token_error"]


def drawn(solver):
    """Fewer draws for a cut, where there are draws."""
    return () if solver == "cutting-plane" else ("--sample-size", 20)


def test_sampled_cuts_are_judged_by_the_digits_of_their_file(files):
    """At a large C those of the linear kernel change the primal by far more than the gap of the
    cuts."""
    words = (
        LEARN,
        *("--example-cost", 1e5, "-t", 1, "-d", 1, "-s", 1e3, "--solver", "sampled-cuts"),
        *("--gap", 1e-4),
    )
    assert call(*words, "--epochs", 1, files / "train", files / "model") == 2
    call(*words, "--max-iterations", 30, "--report", files / "r", files / "train", files / "model")
    report = json.loads((files / "r").read_text())
    assert report["primal_of_file"] > report["dual"]


def test_a_file_that_is_worse_than_no_weights_has_none(files):
    """Of eight digits nothing is left where products are of 1e14 and C is large."""
    words = (
        LEARN,
        *("--example-cost", 1e3, "-t", 1, "-d", 3, "-s", 1e3, "-r", 1, "--gap", 1e-3),
        *("--max-iterations", 3),
    )
    assert call(*words, "--report", files / "r", files / "train", files / "model") == 3
    report = json.loads((files / "r").read_text())
    tokens = len((files / "train").read_text().splitlines())
    assert report["primal"] <= 1e3 * tokens * (1 + 1e-6)


@pytest.mark.parametrize("solver", ["auto", "cutting-plane", "sampled-cuts"])
def test_learn_and_classify(files, solver, capsys):
    learn = (LEARN, "--example-cost", 1, *RBF, "--solver", solver, "--gap", 0.05, *drawn(solver))
    assert call(*learn, "--report", files / "r", files / "train", files / "model") == 0
    report = json.loads((files / "r").read_text())
    assert report["solver"] == ("cutting-plane" if solver == "auto" else solver)
    assert report["converged"] == (solver != "sampled-cuts") == (report["stopped_by"] is None)
    assert report["support_vectors"] > 0 and report["kernel_evaluations"] > 0
    assert 0 < report["dual"] <= report["primal"]
    if solver != "sampled-cuts":
        assert report["gap"] <= 0.05 * report["primal"]
    assert (
        (files / "model").read_text().startswith("svmcut kernel chain model 1\n2 # kernel type\n")
    )
    assert token_error(files) < 8
    assert call(LEARN, "--example-cost", 1, "--gap", 0.05, files / "train", files / "linear") == 0
    assert token_error(files, "linear") > 30
    assert (
        forked("svm_hmm_classify", files / "test", files / "model", files / "more").returncode == 0
    )
    call("svmcut classify", "-v", 0, files / "test", files / "model", files / "tags")
    assert (files / "tags").read_bytes() == (files / "more").read_bytes()


def test_without_a_certificate_dual_and_gap_are_null(files):
    options = ("--solver", "sampled-cuts", "--no-certify", "--gap", 0.1, "--report", files / "r")
    assert call(LEARN, "--example-cost", 1, *RBF, *options, files / "train", files / "model") == 0
    report = json.loads((files / "r").read_text())
    assert report["primal"] > 0 and report["dual"] is None and report["gap"] is None


def test_the_original_command_line_writes_the_same_model(files):
    options = ("-c", "60", "-e", "0.05", "-t", "2", "-g", "2", "--t", "2")
    assert forked("svm_hmm_learn", *options, files / "train", files / "a").returncode == 0
    assert forked(LEARN, *options, "-w", "4", files / "train", files / "b").returncode == 0
    ours, theirs = (
        read_model(str(files / name)) for name in "ab"
    )  # the original's has eight digits
    np.testing.assert_allclose(ours.alpha, theirs.alpha, rtol=2e-7)
    np.testing.assert_allclose(ours.transitions, theirs.transitions, rtol=2e-7)


def test_a_path_is_measured_on_a_validation_file(files):
    options = (
        *("--example-cost", "0.01,1", *RBF, "--gap", 0.1, "--validate", files / "test"),
        *("--select", "token_error"),
    )
    assert call(LEARN, *options, "--report", files / "r", files / "train", files / "model") == 0
    rows = json.loads((files / "r").read_text())["path"]
    assert rows[1]["validation"]["token_error"] == token_error(files)


@pytest.mark.parametrize("solver", ["cutting-plane", "sampled-cuts"])
def test_a_run_goes_on_from_its_checkpoint_to_the_same_bytes(files, solver):
    learn = (LEARN, "--example-cost", 1, *RBF, "--solver", solver, "--gap", 0.02, *drawn(solver))
    assert call(*learn, files / "train", files / "whole") == 0
    kept = ("--checkpoint", files / "ck", "--checkpoint-every", 0)
    assert call(*learn, *kept, "--max-iterations", 5, files / "train", files / "model") == 3
    assert call(*learn, *kept, "--resume", files / "train", files / "model") == 0
    assert (files / "model").read_bytes() == (files / "whole").read_bytes()


def test_the_linear_kernel_trains_with_sampled_cuts(files):
    assert (
        call(
            LEARN, "-c", 60, "--solver", "sampled-cuts", "-e", 0.5, files / "train", files / "model"
        )
        == 0
    )
    assert (files / "model").read_text().splitlines()[1] == "0 # kernel type"
    assert token_error(files) > 30


USAGE = [
    (("-t", 2, "--e", 1), "--e 1 does not go with the rbf kernel; use --e 0"),
    (("-t", 2, "-p", 2), "-p 2 does not go with the rbf kernel"),
    (
        ("-t", 1, "--solver", "bcfw"),
        "'bcfw' trains on features and knows no kernel; with the polynomial kernel use --solver "
        "cutting-plane",
    ),
    (("-t", 2, "--solver", "gdmm"), "'gdmm' trains on features"),
    (
        ("-t", 2, "--solver", "subspace"),
        "'subspace' does not train sequences; expected one of auto, cutting-plane",
    ),
    (("--solver", "constant-cuts"), "'constant-cuts' does not train sequences"),
    (("-t", 2, "--polish"), "option --polish is unknown"),
    (("-t", 2, "--free-bias"), "option --free-bias is unknown"),
    (("--budget", 5), "--budget"),
    (("-t", 2, "--solver", "sampled-cuts", "--b", 2), "--solver cutting-plane"),
]


@pytest.mark.parametrize("options, message", USAGE)
def test_refused_options(files, capsys, options, message):
    assert call(LEARN, "-c", 1, *options, files / "train", files / "model") == status_of(LEARN, 2)
    assert message in capsys.readouterr().err
    assert not (files / "model").exists()


def test_too_little_memory_is_refused_with_the_remedy(files, capsys):
    options = ("-t", 2, "--solver", "cutting-plane", "--max-memory", 0.5)
    assert call(LEARN, "-c", 1, *options, files / "train", files / "model") == 1
    assert "use --solver sampled-cuts or fewer tokens" in capsys.readouterr().err


def test_a_model_of_tokens_is_none_of_vectors(files, capsys):
    assert call(LEARN, "-c", 60, *RBF, "-e", 0.5, files / "train", files / "model") == 0
    capsys.readouterr()
    assert call("svm_perf_classify", files / "test", files / "model", files / "tags") == 1
    assert "a model of sequences" in capsys.readouterr().err
