# SPDX-License-Identifier: BSD-3-Clause
"""svm_learn and svm_classify: files, reports, refusals."""

import gzip
import re

import numpy as np
import pytest
from light_files import scores, vectors, write_examples
from programs import call

from svmcut.files.examples import Comments, read_examples
from svmcut.formats import read_model


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch, rng):
    monkeypatch.chdir(tmp_path)
    return write_examples(tmp_path, rng)


@pytest.mark.parametrize(
    "kernel",
    [
        ["-t", "0"],
        ["-t", "1", "-d", "2"],
        ["-t", "2", "-g", "0.2"],
        ["-t", "3", "-s", "0.1", "-r", "0"],
    ],
    ids=" ".join,
)
def test_models_are_support_vectors_with_their_comments_whatever_the_kernel(folder, kernel, capsys):
    assert call("svm_learn", "-c", "1", *kernel, "train", "model") == 0
    told = capsys.readouterr().out
    head, lines = vectors(folder / "model")
    assert head[0] == "SVM-light Version V6.02" and head[8] == "60 # number of training documents "
    assert head[9] == f"{len(lines) + 1} # number of support vectors plus 1 "
    assert f"Number of SV: {len(lines)} (including" in told
    texts = {
        line.split(" ", 1)[1].split(" #")[0].strip(): line
        for line in (folder / "train").read_text().splitlines()
    }
    examples = read_examples("train")
    rows = {
        " ".join(f"{j + 1}:{examples.X.to_dense()[i, j]:.8g}" for j in range(5)): i
        for i in range(60)
    }
    assert len(texts) == 60 and {comment for *_, comment in lines} > {""}
    for alpha, pairs, comment in lines:
        row = rows[pairs.strip()]
        assert comment == (f" row {row}" if row % 3 == 0 else "") and alpha * examples.y[row] > 0
    assert sum(alpha for alpha, *_ in lines) == pytest.approx(0, abs=1e-9)
    assert call("svm_classify", "-v", "0", "test", "model") == 0
    assert call("svmcut classify", "-v", "0", "test", "model", "others") == 0
    np.testing.assert_allclose(scores(), scores("others"), rtol=1e-7, atol=1e-7)
    assert (
        call("svm_perf_classify", "-v", "0", "test", "model", "others") == 1
    )  # V6.20 alone, as its original


def test_the_report_line_by_line(capsys):
    assert call("svm_learn", "train") == 0
    lines = capsys.readouterr().out.splitlines()
    expected = """\
Scanning examples...done
Reading examples into memory...OK. (60 examples read)
Setting default regularization parameter C=#
Optimizing.+done. (# iterations)
Optimization finished (# misclassified, maxdiff=#).
Runtime in cpu-seconds: #
Number of SV: # (including # at upper bound)
L1 loss: loss=#
Norm of weight vector: |w|=#
Norm of longest example vector: |x|=#
Estimated VCdim of classifier: VCdim<=#
Computing XiAlpha-estimates...done
Runtime for XiAlpha-estimates in cpu-seconds: #
XiAlpha-estimate of the error: error<=#% (rho=1.00,depth=0)
XiAlpha-estimate of the recall: recall=>#% (rho=1.00,depth=0)
XiAlpha-estimate of the precision: precision=>#% (rho=1.00,depth=0)
Number of kernel evaluations: #
Writing model file...done""".splitlines()
    assert len(lines) == len(expected)
    for line, pattern in zip(lines, expected, strict=True):
        pattern = (
            re.escape(pattern).replace(r"\#", r"\d+(?:\.\d+)?").replace(r"\.\+done", r"\.+done")
        )
        assert re.fullmatch(pattern, line), line
    assert read_model("svm_model").n_documents == 60


def test_silence_and_more(capsys):
    assert call("svm_learn", "-v", "0", "-c", "1", "train", "quiet") == 0
    assert capsys.readouterr() == ("", "")
    assert call("svm_learn", "-v", "2", "-c", "1", "train", "loud") == 0
    told = capsys.readouterr().out
    assert re.search(r"^\d+ positive, \d+ negative, and 0 unlabeled examples\.$", told, re.M)
    assert "Iteration 1: " in told and "Optimizing" not in told


def test_alphas_and_a_start_from_them(folder, capsys):
    options = "-c", "0.5", "-e", "1e-5"
    assert call("svm_learn", *options, "-a", "alphas", "train", "model") == 0
    cold = int(re.search(r"\((\d+) iterations\)", capsys.readouterr().out).group(1))
    lines, y = (folder / "alphas").read_text().splitlines(), read_examples("train").y
    assert len(lines) == 60 and all(
        (line[0] == "-") == (label < 0) for line, label in zip(lines, y, strict=True)
    )
    alpha = np.array(list(map(float, lines)))
    assert np.abs(alpha).max() == 0.5 and alpha.sum() == pytest.approx(0, abs=1e-12)
    model = sorted(alpha for alpha, *_ in vectors(folder / "model")[1])
    np.testing.assert_allclose(model, np.sort(alpha[alpha != 0]))
    assert call("svm_learn", *options, "-y", "alphas", "train", "again") == 0
    told = capsys.readouterr().out
    assert "Reading alphas...done\nComputing starting state...done.\n" in told and cold > 20
    assert int(re.search(r"\((\d+) iterations\)", told).group(1)) <= cold / 4
    (folder / "far").write_text(
        "".join(f"{7 * value}\n" for value in y)
    )  # outside the boxes, and not balanced
    assert call("svm_learn", *options, "-y", "far", "train", "other") == 0
    for name in ("again", "other"):
        assert call("svm_classify", "-v", "0", "test", "model", "a") == 0
        assert call("svm_classify", "-v", "0", "test", name, "b") == 0
        np.testing.assert_allclose(scores("a"), scores("b"), atol=5e-4)


@pytest.mark.parametrize(
    "text, message",
    [
        ("1\n", "far: 1 finite numbers; expected 60, one a line, as -a wrote them"),
        ("one\n" * 60, "far: a line is no number"),
        ("nan\n" * 60, "far: 60 finite numbers; expected 60"),
        (None, "far: No such file or directory"),
    ],
)
def test_alphas_that_are_none(folder, capsys, text, message):
    if text is not None:
        (folder / "far").write_text(text)
    assert call("svm_learn", "-y", "far", "train", "model") == 1
    assert capsys.readouterr().err.startswith(message) and not (folder / "model").exists()


def test_c_of_an_example_is_c_times_its_cost_and_the_factor(folder):
    costs, y = np.resize([0.5, 1.0, 4.0], 60), read_examples("train").y
    lines = zip((folder / "train").read_text().splitlines(), costs, strict=True)
    text = "".join(re.sub(" ", f" cost:{cost:g} ", line, count=1) + "\n" for line, cost in lines)
    (folder / "costs").write_text(text)
    assert (
        call("svm_learn", "-v", "0", "-c", "0.1", "-j", "3", "-a", "alphas", "costs", "model") == 0
    )
    alpha = np.abs(scores("alphas"))
    boxes = 0.1 * costs * np.where(y > 0, 3, 1)
    assert (alpha <= boxes * (1 + 1e-12)).all()
    assert all((alpha[boxes == box] == box).any() for box in np.unique(boxes))


def test_examples_at_the_bound_are_taken_out_until_there_are_none(folder, capsys):
    assert call("svm_learn", "-c", "1", "-i", "1", "-a", "alphas", "train", "model") == 0
    told = capsys.readouterr().out
    counts = [int(text) for text in re.findall(r"Now (\d+) inconsistent examples\.", told)]
    alpha = np.abs(scores("alphas"))
    assert counts and counts == sorted(counts) and alpha.max() < 1
    assert f"Number of SV: {(alpha > 0).sum()} (plus {counts[-1]} inconsistent examples)" in told
    assert "XiAlpha" not in told


@pytest.mark.parametrize("kernel", [[], ["-t", "2", "-g", "0.2"]], ids=" ".join)
def test_leaving_one_out_by_bounds_and_by_training_every_row_in_doubt(capsys, kernel):
    counts, errors = [], []
    for options in ([], ["-o", "2"], ["--exact", "1"]):
        assert call("svm_learn", "-c", "1", *kernel, "-x", "1", *options, "train", "model") == 0
        told = capsys.readouterr().out
        signs = re.search(r"^Computing leave-one-out(.*)$", told, re.M).group(1)
        trained = re.findall(r"\(\?\[(\d+)\]\.+[+-]\)", signs)
        places = re.sub(r"\(\?\[\d+\]\.+([+-])\)", r"\1", signs)
        assert len(places) == 60 and set(places) == {"+", "-"}
        error = f"error={places.count('-') / 0.6:.2f}%"
        assert (
            f"Retrain on full problem...done.\nLeave-one-out estimate of the error: {error}\n"
            in told
        )
        assert (
            f"Actual leave-one-outs computed:  {len(trained)} "
            f"(rho={2 if '-o' in options else 1:.2f})\n" in told
        )
        counts.append(len(trained))
        errors.append(places)
    assert 0 < counts[0] <= counts[1] <= counts[2] and errors[1] == errors[2]


@pytest.mark.parametrize(
    "options",
    [
        *("-x 1 -i 1", "-z x", "-c -1", "-j -1", "-e 0", "-e -1", "-q 1", "-n 20", "-p 1.5"),
        *("-k 101", "-k -1", "-Z 1", "-t 5", "-t -1", "-c one", "-d -1", "--what 1", "-c"),
    ],
)
def test_options_that_are_refused(folder, capsys, options):
    assert (
        call("svm_learn", *options.split(), *([] if options == "-c" else ["train", "model"])) == 1
    )
    told = capsys.readouterr()
    assert "option" in told.err and not told.out and not (folder / "model").exists()


def test_options_that_are_not(folder):
    for options in (
        *("-o 0", "-o 3", "-b 2", "-m 1", "-h 4", "-f 3", "-# 0", "-q 2", "-n 0", "-d 0 -t 1"),
    ):
        assert call("svm_learn", "-v", "0", "-c", "1", *options.split(), "train", "model") == 0, (
            options
        )


@pytest.mark.parametrize("program", ["svm_learn", "svm_classify"])
def test_help_and_version(program, capsys):
    for word in ("--help", "-?", "--version"):
        assert call(program, word) == 0
        told = capsys.readouterr()
        assert (
            told.out.startswith("usage: " + program if word != "--version" else program)
            and not told.err
        )


def test_measures_come_with_labels_of_one_alone(folder, capsys):
    assert call("svm_learn", "-v", "0", "-c", "1", "train", "model") == 0
    assert call("svm_classify", "test", "model") == 0
    told = capsys.readouterr().out.splitlines()
    y, found = read_examples("test").y, scores()
    right, both = int(((found > 0) == (y > 0)).sum()), int(((found > 0) & (y > 0)).sum())
    assert re.fullmatch(r"Reading model\.\.\.OK\. \(\d+ support vectors read\)", told[0])
    assert told[1] == "Classifying test examples..done" and told[2].startswith(
        "Runtime (without IO) in cpu-seconds: "
    )
    assert (
        told[3]
        == f"Accuracy on test set: {5 * right:.2f}% ({right} correct, {20 - right} incorrect, 20 "
        "total)"
    )
    rates = f"{100 * both / (found > 0).sum():.2f}%/{100 * both / (y > 0).sum():.2f}%"
    assert told[4:] == [f"Precision/recall on test set: {rates}"]
    assert call("svm_classify", "-v", "1", "test", "model") == 0
    assert capsys.readouterr().out.splitlines() == [told[0], *told[3:]]
    (folder / "counts").write_text((folder / "test").read_text().replace("-1 ", "0 "))
    assert call("svm_classify", "counts", "model", "again") == 0
    assert len(capsys.readouterr().out.splitlines()) == 3 and (scores("again") == found).all()
    assert call("svm_classify", "-v", "0", "-f", "0", "test", "model") == 0
    lines = (folder / "svm_predictions").read_text().splitlines()
    assert lines == [
        f"{abs(s):.8g}:{'+' if s > 0 else '-'}1 {-abs(s):.8g}:{'-' if s > 0 else '+'}1"
        for s in found
    ]


def test_models_that_svm_classify_reads_and_those_it_does_not(folder, capsys):
    for kernel in ("0", "2"):
        assert (
            call(
                "svmcut learn",
                *("-v", "0", "-t", kernel, "--solver"),
                "auto" if kernel == "0" else "smo",
                "--example-cost",
                "1",
                "train",
                "perf",
            )
            == 0
        )
        assert call("svm_classify", "-v", "0", "test", "perf") == 0
        assert call("svmcut classify", "-v", "0", "test", "perf", "others") == 0
        np.testing.assert_allclose(scores(), scores("others"), atol=2e-7)
    (folder / "empty").write_text("# nothing\n")
    assert (
        call("svm_classify", "empty", "perf") == 0
        and (folder / "svm_predictions").read_text() == ""
    )
    (folder / "other").write_text("svm_type c_svc\n")
    capsys.readouterr()
    for name, message in (
        ("other", "other:1:1: version 'svm_type c_svc' is not supported"),
        ("train", "train:1:1: '+1 1:2.1454 2:-1.2314"),
        ("none", "none: No such file or directory"),
    ):
        assert call("svm_classify", "test", name) == 1
        assert capsys.readouterr().err.startswith(message)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_comments_whatever_the_blocks(size):
    text = b"# head\n1 1:1 # one\n\n2 1:1\n3 1:1 #three # more\r\n# 4\n4 1:1 #\n5 1:2 # no end"
    comments = Comments()
    for start in range(0, len(text), size):
        comments.add(text[start : start + size])
    source = read_examples_of(text)
    assert comments.of(source, np.arange(5)) == [b" one", b"", b"three # more", b"", b" no end"]
    assert Comments().of(source, np.arange(2)) == [b"", b""]


def read_examples_of(text):
    with open("commented", "wb") as file:
        file.write(text)
    return read_examples("commented").source


def test_comments_of_packed_files(folder):
    (folder / "packed").write_bytes(gzip.compress((folder / "train").read_bytes()))
    for name in ("train", "packed"):
        assert call("svm_learn", "-v", "0", "-c", "1", name, f"{name}.model") == 0
    assert (folder / "packed.model").read_bytes() == (folder / "train.model").read_bytes()


def test_one_class_and_no_examples(folder, capsys):
    (folder / "one").write_text("+1 1:1\n+1 2:1\n")
    assert call("svm_learn", "-c", "1", "one", "model") == 0
    assert call("svm_classify", "-v", "0", "test", "model") == 0 and (scores() == 1).all()
    (folder / "none").write_text("# nothing\n")
    assert call("svm_learn", "-c", "1", "none", "other") == 1
    assert (
        capsys.readouterr().err.startswith("none: no examples") and not (folder / "other").exists()
    )


def test_rows_without_labels_get_some(folder, capsys):
    lines = (folder / "train").read_text().splitlines()
    truth = read_examples("train").y[20:]
    (folder / "part").write_text(
        "".join(
            (line if i < 20 else re.sub(r"^\S+", "0", line)) + "\n" for i, line in enumerate(lines)
        )
    )
    for options, count in ((["-p", "0.25"], 10), (["-p", "0"], 0), (["-p", "1"], 40)):
        assert (
            call("svm_learn", "-c", "1", *options, "-l", "labels", "-a", "alphas", "part", "model")
            == 0
        )
        told = capsys.readouterr().out
        assert f"\nClassifying unlabeled data as {count} POS / {40 - count} NEG.\n" in told
        assert told.count("Switching labels") == int(
            re.search(r"Number of switches: (\d+)\n", told).group(1)
        )
        found = [
            re.fullmatch(r"([\d.e-]+):([+-])1 -([\d.e-]+):([+-])1", line).groups()
            for line in (folder / "labels").read_text().splitlines()
        ]
        assert len(found) == 40 and all(a == c and b != d for a, b, c, d in found)
        signs = np.array([1 if sign == "+" else -1 for _, sign, *_ in found])
        alpha = scores("alphas")
        if count < 40:  # else these rows weigh nothing, and have the side of their score
            assert (signs > 0).sum() == count and (alpha[20:] * signs >= 0).all()
        assert (count == 40) == (not alpha[20:].any()) and alpha.sum() == pytest.approx(0, abs=1e-9)
        assert "xacrit>=1: labeledpos=" in told and "XiAlpha" not in told
    assert call("svm_learn", "-v", "0", "-c", "1", "-l", "labels", "part", "model") == 0
    signs = np.array(
        [1 if ":+1 -" in line else -1 for line in (folder / "labels").read_text().splitlines()]
    )
    assert (signs == truth).mean() > 0.75


@pytest.mark.parametrize("kernel", [[], ["-t", "2", "-g", "0.3"]], ids=" ".join)
def test_regression(folder, rng, capsys, kernel):
    X = rng.normal(size=(50, 2))
    y = X[:, 0] - 0.5 * X[:, 1] + 3 + 0.3 * rng.normal(size=50)
    (folder / "numbers").write_text(
        "".join(f"{t:.6f} 1:{a:.4f} 2:{b:.4f}\n" for t, (a, b) in zip(y, X, strict=True))
    )
    options = "-z", "r", "-c", "0.5", "-w", "0.2", *kernel, "-e", "1e-5"
    assert call("svm_learn", *options, "-a", "alphas", "numbers", "model") == 0
    told = capsys.readouterr().out
    assert re.search(r"^Optimization finished \(maxdiff=[\d.]+\)\.$", told, re.M)
    assert not re.search("VCdim|XiAlpha|misclassified", told)
    head, lines = vectors(folder / "model")
    assert (
        head[8] == "100 # number of training documents "
        and f"Number of SV: {len(lines)} (including" in told
    )
    both = (folder / "alphas").read_text().splitlines()
    assert all(line[0] != "-" for line in both[::2]) and all(line[0] == "-" for line in both[1::2])
    pairs = np.array(list(map(float, both))).reshape(50, 2)
    beta = pairs.sum(axis=1)
    assert (
        not (pairs[:, 0] * pairs[:, 1]).any()
        and np.abs(beta).max() == 0.5
        and abs(beta.sum()) < 1e-9
    )
    assert call("svm_classify", "numbers", "model") == 0
    rest = read_examples("numbers").y - scores()
    loss = np.maximum(0, np.abs(rest) - 0.2)
    assert float(re.search(r"loss=([\d.]+)", told).group(1)) == pytest.approx(loss.sum(), abs=1e-3)
    assert (np.abs(beta[np.abs(rest) < 0.199]) == 0).all() and (
        np.abs(beta[np.abs(rest) > 0.201]) == 0.5
    ).all()
    assert (np.sign(beta) * rest >= 0).all()
    assert call("svm_learn", *options, "-y", "alphas", "numbers", "again") == 0
    told = capsys.readouterr().out
    assert int(re.search(r"\((\d+) iterations\)", told).group(1)) <= 3
    assert call("svm_learn", *options, "-b", "0", "-v", "0", "numbers", "zero") == 0
    assert vectors(folder / "zero")[0][10].startswith("0 #")
    for option in ("-x", "-i"):
        assert call("svm_learn", "-z", "r", option, "1", "numbers", "other") == 1
        assert f"option {option} is for -z c" in capsys.readouterr().err


def test_pairs_of_rankings(folder, rng, capsys):
    X = rng.normal(size=(40, 3))
    grades = np.round(X[:, 0] + 0.5 * rng.normal(size=40)).astype(int)
    lines = [
        f"{grades[i]} qid:{i // 10} 1:{X[i, 0]:.4f} 2:{X[i, 1]:.4f} 3:{X[i, 2]:.4f} # {i}"
        for i in range(40)
    ]
    (folder / "ranked").write_text("".join(f"{line}\n" for line in lines))
    pairs = [
        (i, j)
        for i in range(40)
        for j in range(i + 1, 40)
        if i // 10 == j // 10 and grades[i] != grades[j]
    ]
    assert call("svm_learn", "-z", "p", "-c", "0.1", "-a", "alphas", "ranked", "model") == 0
    told = capsys.readouterr().out
    assert (
        f"\nConstructing {len(pairs)} rank constraints...done.\n" in told
        and "XiAlpha-estimate of the error" in told
    )
    head, found = vectors(folder / "model")
    assert head[8] == "40 # number of training documents " and head[10].startswith("0 #")
    assert len({comment for *_, comment in found}) == len(found)
    alpha = scores("alphas")
    assert len(alpha) == len(pairs) and np.abs(alpha).max() <= 0.1 * (1 + 1e-9)
    signs = np.sign([grades[i] - grades[j] for i, j in pairs])
    assert (alpha * signs >= 0).all()
    net = np.zeros(40)
    for (i, j), value in zip(pairs, alpha, strict=True):
        net[[i, j]] += [value, -value]
    for value, _, comment in found:
        assert value == pytest.approx(net[int(comment)], abs=1e-9)
    backwards = [lines[i] for i in (*range(20, 40), *range(20))]  # queries that fall
    (folder / "moved").write_text("".join(f"{line}\n" for line in backwards))
    assert call("svm_learn", "-v", "0", "-z", "p", "-c", "0.1", "moved", "other") == 0
    assert capsys.readouterr().out == f"Constructing {len(pairs)} rank constraints...done.\n"
    for name in ("model", "other"):
        assert call("svm_classify", "-v", "0", "ranked", name, name + ".scores") == 0
    np.testing.assert_allclose(scores("model.scores"), scores("other.scores"), atol=1e-6)
    assert call("svm_learn", "-z", "p", "-y", "alphas", "ranked", "none") == 1
    (folder / "costs").write_text("1 qid:1 cost:2 1:1\n2 qid:1 1:2\n")
    assert call("svm_learn", "-z", "p", "costs", "none") == 1 and not (folder / "none").exists()


def test_figures_of_too_many_pairs_are_of_some_and_say_so(folder, rng, capsys, monkeypatch):
    from svmcut.originals.svm_light import rankings

    monkeypatch.setattr(rankings, "MOST_PAIRS", 100)
    X = rng.normal(size=(40, 1))
    (folder / "many").write_text("".join(f"{i % 7} 1:{X[i, 0] + i % 7:.4f}\n" for i in range(40)))
    assert call("svm_learn", "-z", "p", "many", "model") == 1
    assert "option -c is missing" in capsys.readouterr().err
    assert call("svm_learn", "-z", "p", "-c", "0.01", "many", "model") == 0
    told = capsys.readouterr().out
    drawn = {int(text) for text in re.findall(r"\(of (\d+) pairs drawn\)", told)}
    assert len(drawn) == 1 and 0 < min(drawn) < 250 and told.count("pairs drawn") == 6
