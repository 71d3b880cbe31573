# SPDX-License-Identifier: BSD-3-Clause
"""Sequences from file to tags: learn, classify, and the executables with svm_hmm's names."""

import gzip
import json

import numpy as np
import pytest
from programs import call, forked, run, status_of, uncertified

from svmcut.formats import read_model

LEARNERS = ("svmcut learn --task sequence", "svm_hmm_learn")


def text_of(rng, lengths, K=3, first=1, noise=0.3):
    lines = []
    for n, length in enumerate(lengths):
        tag = int(rng.integers(K))
        for _ in range(length):
            tag = tag if rng.random() < 0.6 else int(rng.integers(K))
            x = noise * rng.normal(size=K)
            x[tag] += 1
            lines.append(
                f"{tag + 1} qid:{n + first} "
                + " ".join(f"{j + 1}:{v:.3f}" for j, v in enumerate(x))
                + " # w\n"
            )
    return "".join(lines)


@pytest.fixture
def files(tmp_path, rng):
    (tmp_path / "train").write_text(text_of(rng, rng.integers(1, 9, 30)))
    (tmp_path / "test").write_text(text_of(rng, rng.integers(1, 9, 20)))
    return tmp_path


def report_of(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("solver", ["auto", "bcfw", "ssg", "cutting-plane"])
def test_learn_and_classify(files, solver, capsys):
    learn = ("svmcut learn --task sequence", "-c", 30, "--solver", solver, "--gap", 0.01)
    assert call(*learn, "--report", files / "r", files / "train", files / "model") == 0
    learned = report_of(files / "r")
    assert learned["task"] == "sequence" and learned["loss"] == "hamming" and learned["converged"]
    assert learned["examples"] == 30 and learned["tokens"] > 30 and learned["features"] == 3
    assert learned["solver"] == ("bcfw" if solver == "auto" else solver)
    assert 0 <= learned["gap"] <= 0.01 * learned["primal"]
    model = uncertified(files / "model").decode().splitlines()
    assert model[0] == "SVM-HMM Version V3.10" and len(model) == 16
    capsys.readouterr()
    assert (
        call(
            "svmcut classify",
            files / "test",
            files / "model",
            files / "tags",
            "--report",
            files / "c",
        )
        == 0
    )
    plain = capsys.readouterr().out
    words = ("--format", "svm_hmm", files / "test", files / "model", files / "tags")
    assert call("svmcut classify", *words) == 0
    out = capsys.readouterr().out
    tags = [int(line) for line in (files / "tags").read_text().splitlines()]
    right = [int(line.split()[0]) for line in (files / "test").read_text().splitlines()]
    wrong = sum(a != b for a, b in zip(tags, right, strict=True))
    measured = report_of(files / "c")
    assert (
        measured["token_error"] == pytest.approx(100 * wrong / len(right))
        and measured["token_error"] < 20
    )
    assert measured["tokens"] == len(right) and measured["examples"] == 20
    assert f"Average loss on test set: {wrong / 20:.4f}\n" in out
    assert f"Average loss per token: {wrong / len(right):.4f}\n" in out
    assert plain.startswith(f"20 sequences with {len(right):,} tokens\n\n")
    assert f"Token error       {100 * wrong / len(right):7.2f} %\nSequence error  " in plain
    assert len(plain.splitlines()) == 4


def test_executables_write_what_svmcut_writes(files):
    options = ("-c", "20", "-e", "0.01", "--t", "2", "--e", "1", "-w", "3")
    assert run("svm_hmm_learn", *options, files / "train", files / "a").returncode == 0
    assert (
        forked("svmcut learn --task sequence", *options, files / "train", files / "b").returncode
        == 0
    )
    assert uncertified(files / "a") == uncertified(files / "b")
    done = run("svm_hmm_classify", files / "test", files / "a", files / "tags")
    assert done.returncode == 0 and done.stderr == "" and "Zero/one-error" in done.stdout
    assert forked("svmcut classify", files / "test", files / "b", files / "more").returncode == 0
    assert (files / "tags").read_bytes() == (files / "more").read_bytes()


@pytest.mark.parametrize("t, e", [(0, 0), (1, 1), (2, 0), (3, 1)])
def test_orders_are_in_the_model(files, t, e):
    assert (
        call(LEARNERS[0], "-c", 10, "--t", t, "--e", e, "-e", 0.5, files / "train", files / "model")
        == 0
    )
    lines = (files / "model").read_text().splitlines()
    assert [line.split()[0] for line in lines[9:12]] == ["3", str(t), str(e)]
    assert call("svmcut classify", "-v", 0, files / "test", files / "model", files / "tags") == 0


FAULTS = [
    ("0 qid:1 1:1\n", ":1: tag 0 is refused; expected an integer from 1 to 1000000"),
    ("1 qid:1 1:1\n-2 qid:1 1:1\n", ":2: tag -2 is refused"),
    ("1.5 qid:1 1:1\n", ":1: tag 1.5 is refused"),
    ("1 qid:1 1:1\n# gap\n1e9 qid:1 1:1\n", ":3: tag 1000000000 is refused"),
    ("1 qid:2 1:1\n1 qid:1 1:1\n", ":2: qid 1 follows 2; qids must not decrease"),
    ("1 qid:1 1:1\n1 qid:2 1:1\n1 qid:1 1:1\n", ":3: qid 1 follows 2"),
    ("1 qid:-4 1:1\n", ":1: qid -4 is negative"),
    ("noun qid:1 1:1\n", ":1:1: "),
    ("", "no examples"),
]


@pytest.mark.parametrize("program", LEARNERS)
@pytest.mark.parametrize("text, message", FAULTS)
def test_refused_training_files(tmp_path, capsys, program, text, message):
    (tmp_path / "train").write_text(text)
    assert call(program, "-c", 1, tmp_path / "train", tmp_path / "model") == 1
    error = capsys.readouterr().err
    assert error.startswith(f"{tmp_path / 'train'}") and message in error
    assert not (tmp_path / "model").exists()


USAGE = [
    (("--t", "4"), "--t"),
    (("--t", "0", "--e", "1"), "--e 1 exceeds --t 0"),
    (("-t", "2", "--e", "1"), "--e 1 does not go with the rbf kernel"),
    (("-p", "2", "-w", "3"), "-p 2 (squared slack) goes with -w 0 or 1"),
    (("-w", "5"), "one of 0, 1, 2, 3, 4"),
    (("-w", "4", "-f", "0"), "-f"),
]


@pytest.mark.parametrize("program", LEARNERS)
@pytest.mark.parametrize("options, message", USAGE)
def test_refused_options(files, capsys, program, options, message):
    assert call(program, "-c", 1, *options, files / "train", files / "model") == status_of(
        program, 2
    )
    assert message in capsys.readouterr().err
    assert not (files / "model").exists()


def test_a_beam_takes_no_slack_rescaling_but_from_svm_hmm_learn(files, capsys):
    words = "-c", 1, "-o", "1", "--b", "3", files / "train", files / "model"
    assert call(LEARNERS[0], *words) == status_of(LEARNERS[0], 2)
    assert (
        "--b 3 keeps a part of the states, but -o slack needs them all" in capsys.readouterr().err
    )
    assert call("svm_hmm_learn", *words) == 0


def test_svm_hmm_learn_refuses_zero_one_loss_and_squared_slack_as_before(files, capsys):
    assert call("svm_hmm_learn", "-c", 1, "-l", 0, files / "train", files / "model") == 1
    assert "'0' is unknown; expected one of hamming (1)" in capsys.readouterr().err
    assert (
        call("svm_hmm_learn", "-c", 1, "-p", 2, files / "train", files / "model") == 1
    )  # -w 4 is its default
    assert "-p 2 (squared slack) goes with -w 0 or 1" in capsys.readouterr().err
    assert not (files / "model").exists()


SCALED = [
    (("-o", "slack"), "hamming", "1"),
    (("-l", "zero-one"), "zero-one", "0"),
    (("-p", 2), "hamming", "1"),
    (("-o", 1, "-p", 2, "--t", 2), "hamming", "1"),
]


@pytest.mark.parametrize("options, loss, number", SCALED)
def test_other_risks_from_file_to_tags(files, capsys, options, loss, number):
    learn = (
        LEARNERS[0],
        *("-c", 30, *options, "--gap", 0.01, "--report", files / "r", "-a", files / "alphas"),
    )
    assert call(*learn, files / "train", files / "model") == 0
    learned = report_of(files / "r")
    assert learned["solver"] == "cutting-plane" and learned["converged"] and learned["loss"] == loss
    assert 0 <= learned["gap"] <= 0.01 * learned["primal"]
    lines = (files / "model").read_text().splitlines()
    assert lines[12] == f"{number} # loss function "
    assert read_model(str(files / "model")).loss == int(number)
    assert (
        call(
            "svmcut classify",
            files / "test",
            files / "model",
            files / "tags",
            "--report",
            files / "c",
        )
        == 0
    )
    assert report_of(files / "c")["token_error"] < 20


@pytest.mark.parametrize(
    "options", [("-o", "1", "-w", "3"), ("-p", "2", "-w", "0"), ("-p", "2", "-w", "1", "-o", "1")]
)
def test_svm_hmm_learn_trains_what_svmcut_trains(files, options):
    assert (
        forked("svm_hmm_learn", "-c", "20", *options, files / "train", files / "a").returncode == 0
    )
    assert forked(LEARNERS[0], "-c", "20", *options, files / "train", files / "b").returncode == 0
    assert uncertified(files / "a") == uncertified(files / "b")


@pytest.mark.parametrize(
    "options, name",
    [(("-o", "1"), "-o slack"), (("-l", "0"), "-l zero-one"), (("-p", "2"), "-p 2")],
)
@pytest.mark.parametrize("solver", ["bcfw", "ssg", "gdmm", "soft-bcfw"])
def test_trainers_of_the_plain_hinge_alone_say_the_remedy(files, capsys, options, name, solver):
    assert (
        call(LEARNERS[0], "-c", 1, "--solver", solver, *options, files / "train", files / "model")
        == 2
    )
    error = capsys.readouterr().err
    assert (
        f"solver '{solver}' does not train with {name}; leave out --solver or give --solver "
        "cutting-plane" in error
    )
    assert not (files / "model").exists()


def test_counting_that_does_not_fit_is_refused(files, capsys, rng):
    (files / "long").write_text(text_of(rng, [3000]))
    learn = (LEARNERS[0], "-c", 1, "-o", "slack", "--max-memory", 100)
    assert call(*learn, files / "long", files / "model") == 1
    assert (
        "-o slack counts the wrong tags of sequences of up to 3000 tokens"
        in capsys.readouterr().err
    )
    assert not (files / "model").exists()


def test_options_of_the_other_task_are_unknown(files, capsys):
    assert call(LEARNERS[0], "-c", 1, "--k", 5, files / "train", files / "model") == 2
    assert call("svmcut learn", "-c", 1, "--transitions", 1, files / "train", files / "model") == 2
    assert call("svmcut learn --task parsing", "-c", 1, files / "train", files / "model") == 2
    assert "classification, sequence" in capsys.readouterr().err


def test_a_path_with_validation_selects_by_token_error(files, capsys):
    path = ("-c", "0.1,30", "--validate", files / "test", "--select", "token_error")
    assert call(LEARNERS[0], *path, "--report", files / "r", files / "train", files / "model") == 0
    rows = report_of(files / "r")["path"]
    assert [row["C"] for row in rows] == [0.1, 30.0]
    best = min(rows, key=lambda row: row["validation"]["token_error"])
    assert (files / "model").read_bytes() == (files / f"model.{best['C']:g}").read_bytes()
    assert "<- selected" in capsys.readouterr().out
    assert (
        call(
            "svmcut classify",
            files / "test",
            best["model"],
            files / "tags",
            "--report",
            files / "c",
        )
        == 0
    )
    assert report_of(files / "c")["token_error"] == best["validation"]["token_error"]


def test_a_limit_writes_the_best_model_so_far(files):
    limited = (LEARNERS[0], "-c", 300, "--gap", 1e-6, "--max-iterations", 2)
    assert call(*limited, "--report", files / "r", files / "train", files / "model") == 3
    assert report_of(files / "r")["stopped_by"] == "limit"
    assert call("svmcut classify", "-v", 0, files / "test", files / "model", files / "tags") == 0


def test_alphas_need_cuts(files, capsys):
    assert call(LEARNERS[0], "-c", 1, "-a", files / "alphas", files / "train", files / "model") == 2
    assert "--solver cutting-plane" in capsys.readouterr().err
    assert (
        call(
            LEARNERS[0], "-c", 1, "-w", 4, "-a", files / "alphas", files / "train", files / "model"
        )
        == 0
    )
    assert sum(map(float, (files / "alphas").read_text().split())) <= 1 + 1e-9


def test_unseen_tags_and_features_dummies_and_single_tokens(files, capsys):
    assert call(LEARNERS[0], "-c", 10, files / "train", files / "model") == 0
    (files / "odd").write_text("7 qid:1 1:1 900:1\n0 qid:2\n1 qid:9 1:1\n")
    assert (
        call(
            "svmcut classify",
            files / "odd",
            files / "model",
            files / "tags",
            "--report",
            files / "c",
        )
        == 0
    )
    assert len((files / "tags").read_text().splitlines()) == 3
    assert report_of(files / "c")["examples"] == 3
    assert "tags above 3" in capsys.readouterr().err
    (files / "bad").write_text("-1 qid:1 1:1\n")
    assert call("svmcut classify", files / "bad", files / "model", files / "tags2") == 1
    assert not (files / "tags2").exists()


def test_a_sequence_of_100_000_tokens_and_blocks_that_cut_sequences(files, rng):
    assert call(LEARNERS[0], "-c", 30, files / "train", files / "model") == 0
    text = text_of(rng, [3, 100_000, 5, 40])
    (files / "long").write_text(text)
    assert call("svmcut classify", "-v", 0, files / "long", files / "model", files / "tags") == 0
    tags = (files / "tags").read_text().split()
    assert len(tags) == 100_048
    alone = text[: text.index("\n", len(text) // 500) + 1]
    (files / "head.gz").write_bytes(gzip.compress(alone.encode()))
    assert call("svmcut classify", "-v", 0, files / "head.gz", files / "model", files / "some") == 0
    some = (files / "some").read_text().split()
    assert (
        len(some) > 100 and np.mean(np.array(some[:-3]) == np.array(tags[: len(some) - 3])) > 0.999
    )


def test_many_distant_features_cost_little(tmp_path):
    (tmp_path / "train").write_text("1 qid:1 1:1 500000000:1\n2 qid:1 2:1\n1 qid:2 1:1 7:1\n")
    assert call(LEARNERS[0], "-c", 10, tmp_path / "train", tmp_path / "model") == 0
    assert (tmp_path / "model").stat().st_size < 2000
    assert (
        call("svmcut classify", "-v", 0, tmp_path / "train", tmp_path / "model", tmp_path / "tags")
        == 0
    )
    assert (tmp_path / "tags").read_text().split() == ["1", "2", "1"]
    (tmp_path / "train").write_text("1 qid:1 1:1 2000000000:1\n2 qid:1 2:1\n")
    assert call(LEARNERS[0], "-c", 10, tmp_path / "train", tmp_path / "model2") == 2


def test_a_model_of_another_kind_is_refused(files, capsys):
    assert call(LEARNERS[0], "-c", 10, files / "train", files / "chain") == 0
    assert call("svm_perf_classify", files / "test", files / "chain", files / "tags") == 1
    (files / "plain").write_text("1 1:1\n-1 2:1\n")
    assert call("svmcut learn", "-c", 1, files / "plain", files / "linear") == 0
    assert call("svm_hmm_classify", files / "test", files / "linear", files / "tags") == 1
    assert "SVM-HMM" in capsys.readouterr().err
    assert not (files / "tags").exists()


@pytest.mark.parametrize(
    "line, text, message",
    [
        (1, "SVM-HMM Version V2.13", ":1:1: version"),
        (2, "2 # kernel type", ":2:1: chains with the rbf kernel"),
        (10, "0 # number of classes", ":10:1: "),
        (11, "4 # HMM order of transitions", ":11:1: "),
        (12, "2 # HMM order of emissions", ":12:1: "),
        (16, "1 4:0.5 99:1 #", ":16:"),
        (16, "1 1:0.5 #", "index 1 is no weight"),
        (16, "1 4:nan #", ":16:"),
    ],
)
def test_refused_models(files, capsys, line, text, message):
    assert call(LEARNERS[0], "-c", 10, files / "train", files / "model") == 0
    lines = (files / "model").read_text().splitlines()
    lines[line - 1] = text
    (files / "model").write_text("\n".join(lines) + "\n")
    assert call("svmcut classify", files / "test", files / "model", files / "tags") == 1
    assert message in capsys.readouterr().err
    assert not (files / "tags").exists()
