# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn where the data or the options leave little: no labels, no rows, one of a class, kernels
not definite."""

import re

import numpy as np
import pytest
from light_files import scores, vectors, write_examples
from programs import call


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    return write_examples(tmp_path, rng)


def test_labels_of_transduction_have_a_file_of_their_own(folder, capsys):
    lines = (folder / "train").read_text().splitlines()
    (folder / "part").write_text(
        "\n".join([re.sub(r"^\S+", "0", line) for line in lines[10:]] + lines[:10]) + "\n"
    )
    assert call("svm_learn", "-c", "1", "part", "model") == 0
    told = capsys.readouterr().out
    assert "Writing prediction file...done\n" in told
    assert len((folder / "trans_predictions").read_text().splitlines()) == 50
    positive = sum(line[0] == "+" for line in lines[:10])
    assert (
        f"default={10 * positive:.5f}\n" in told
        and f"as {5 * positive} POS / {50 - 5 * positive} NEG." in told
    )
    assert call("svm_learn", "-c", "1", "part", "trans_predictions") == 1
    assert "trans_predictions' are the same file" in capsys.readouterr().err


def test_labels_of_none(folder, capsys):
    (folder / "none").write_text("".join(f"0 1:{i / 7 - 1:.3f} 2:{i * i % 5}\n" for i in range(16)))
    assert call("svm_learn", "-c", "1", "none", "model") == 1
    assert capsys.readouterr().err == (
        "svm_learn: none: every label is 0, so no example has a class; label some of them, or "
        "give -p\n"
    )
    assert not (folder / "model").exists()
    assert call("svm_learn", "-c", "1", "-p", "0.5", "none", "model") == 0
    told = capsys.readouterr().out
    assert (
        "as 8 POS / 8 NEG." in told
        and "xacrit>=1: labeledpos=nan labeledneg=nan default=nan\n" in told
    )
    assert len(vectors(folder / "model")[1]) > 1


@pytest.mark.parametrize(
    "options", [["-b", "0", "-t", "2"], ["-b", "0"], [], ["-t", "1"]], ids=" ".join
)
def test_where_every_example_is_inconsistent_none_is_left(folder, capsys, options):
    (folder / "two").write_text("1 1:1 2:.5\n-1 1:-.3 2:1\n")
    assert call("svm_learn", "-i", "1", "-c", "0.01", *options, "two", "model") == 0
    told = capsys.readouterr().out
    assert "Number of SV: 0 (plus 2 inconsistent examples)\nL1 loss: loss=2.00000\n" in told
    head, lines = vectors(folder / "model")
    assert not lines and float(head[10].split()[0]) == 0
    assert call("svm_classify", "-v", "0", "two", "model") == 0 and not scores().any()


@pytest.mark.every(3)
@pytest.mark.parametrize(
    "mode, kernel",
    [
        (mode, kernel)
        for mode in "cpr"
        for kernel in (
            ["-t", "3"],
            ["-t", "3", "-b", "0"],
            ["-t", "1", "-r", "-1"],
            ["-t", "2", "-g", "-0.1"],
        )
    ],
    ids=lambda value: value if isinstance(value, str) else " ".join(value),
)
def test_kernels_that_are_not_definite_train(folder, capsys, mode, kernel):
    """|w|^2 may be negative then, and |w| is no number."""
    for C in ("1", "100"):
        assert call("svm_learn", "-z", mode, "-c", C, *kernel, "train", "model") == 0
        told = capsys.readouterr()
        assert re.search(r"\|w\|=(\d+\.\d+|nan)$", told.out, re.M) and not told.err
        assert call("svm_classify", "-v", "0", "test", "model") == 0 and np.isfinite(scores()).all()


def test_pairs_that_weigh_little_are_support_vectors(folder, capsys):
    """Separable pairs: alpha is far below C, and counts all the same."""
    (folder / "ranks").write_text("".join(f"{i} qid:1 1:{i} 2:{i % 2}\n" for i in range(1, 6)))
    assert call("svm_learn", "-z", "p", "-c", "1000", "-a", "alphas", "ranks", "model") == 0
    told, alpha = capsys.readouterr().out, np.abs(scores("alphas"))
    assert (
        0 < alpha.max() < 2
        and f"Number of SV: {(alpha > 0).sum()} (including 0 at upper bound)" in told
    )
    assert float(re.search(r"VCdim<=([\d.]+)", told).group(1)) > 1 and len(alpha) == 10


@pytest.mark.parametrize(
    "options, line",
    [
        (
            ["-f", "0"],
            "It does not make sense to skip the final optimality check for linear kernels.",
        ),
        (
            ["-x", "1", "-t", "2"],
            "Cannot compute leave-one-out with only one example in one class.",
        ),
    ],
)
@pytest.mark.parametrize("silent", [[], ["-v", "0"]], ids=" ".join)
def test_lines_of_options_that_do_nothing(folder, capsys, options, line, silent):
    (folder / "one").write_text("1 1:1\n-1 1:2\n-1 1:3\n-1 1:2.5\n")
    assert call("svm_learn", "-c", "1", *silent, *options, "one", "model") == 0
    told = capsys.readouterr().out
    assert (
        f"\n{line}\n\n" in told
        and "eave-one-out estimate" not in told
        and (len(told) < 90) == bool(silent)
    )
    assert (
        call("svm_learn", "-c", "1", *silent, "-f", "0", "-t", "2", "-x", "1", "train", "model")
        == 0
    )
    assert line not in capsys.readouterr().out


def test_0_of_0_is_no_number(folder, capsys):
    (folder / "negative").write_text("-1 1:1\n-1 1:2\n-1 1:3\n")
    assert call("svm_learn", "-c", "1", "negative", "model") == 0
    told = capsys.readouterr().out
    assert (
        "recall=>nan% (rho" in told
        and "precision=>nan% (rho" in told
        and "error<=0.00% (rho" in told
    )
    (folder / "even").write_text("1 qid:1 1:1\n1 qid:1 1:2\n")
    assert call("svm_learn", "-z", "p", "-c", "1", "even", "model") == 0
    told = capsys.readouterr().out
    assert "Constructing 0 rank constraints" in told and "error<=nan% (rho=1.00,depth=0)\n" in told


def test_the_search_sharpens_the_estimates(capsys):
    found = {}
    for depth in ("0", "1", "10", "100"):
        assert call("svm_learn", "-c", "1", "-k", depth, "train", "model") == 0
        told = re.search(r"error<=([\d.]+)% \(rho=1\.00,depth=(\d+)\)", capsys.readouterr().out)
        found[told.group(2)] = float(told.group(1))
    assert (
        list(found) == ["0", "1", "10", "100"]
        and found["0"] >= found["1"] >= found["10"] >= found["100"]
    )
    assert found["0"] > found["100"]


@pytest.mark.parametrize(
    "options",
    [
        [],
        ["-b", "0", "-t", "2"],
        ["-i", "1"],
        ["-z", "r"],
        ["-z", "p"],
        ["-z", "p", "-t", "2"],
    ],
    ids=" ".join,
)
def test_what_part_of_the_time_each_part_took(options, capsys, monkeypatch):
    """Of the clock since training began, so that no sum is above 100 %."""
    if options[1:2] == ["p"]:
        monkeypatch.setattr(
            "svmcut.originals.svm_light.rankings.MOST", 2000 if "-t" in options else 0
        )
    for verbosity in ("1", "2", "3"):
        assert call("svm_learn", "-v", verbosity, "-c", "1", *options, "train", "model") == 0
        line = re.search(r"^Runtime in cpu-seconds: (.*)$", capsys.readouterr().out, re.M).group(1)
        assert re.fullmatch(r"\d+\.\d\d", line.split(" ", 1)[0]) and ("(" in line) == (
            verbosity != "1"
        )
    names = "kernel", "optimizer", "final", "update", "model", "check", "select"
    shares = re.fullmatch(r"\((.*)\)", line.split(" ", 1)[1]).group(1).split("/")
    assert [share.partition("% for ")[2] for share in shares] == list(names)
    found = {
        name: float(share.partition("%")[0]) for name, share in zip(names, shares, strict=True)
    }
    assert min(found.values()) >= 0 and 0 < sum(found.values()) <= 100.05
    assert all(found[name] > 0 for name in ("optimizer", "model"))
    assert options == ["-z", "p"] or found["kernel"] > 0
