# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut says where a file is not what the command expects."""

import re

import numpy as np
import pytest

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.cli.start import main
from svmcut.files import examples
from svmcut.files.examples import read_examples, stream_examples
from svmcut.originals.perf import svm_perf_classify, svm_perf_learn

ROWS = "1 {0}:1 {1}:2\n-1 {1}:1 {2}:1\n1 {0}:3\n-1 {2}:2\n"
ONE, ZERO = ROWS.format(1, 2, 4), ROWS.format(0, 1, 3)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").write_text(ONE)
    (tmp_path / "zero").write_text(ZERO)
    return tmp_path


def test_lists_of_labels_name_the_task(folder, capsys):
    (folder / "sets").write_text("4,24,62 1:1\n")
    main(["learn", "-v", "0", "one", "model"])
    for words in (["learn", "sets", "other"], ["classify", "sets", "model"]):
        assert main(words) == 1
        told = (
            "sets:1:1: label 4,24,62 is not a number; lists of labels are for --task multilabel\n"
        )
        assert capsys.readouterr().err == told
    for program, words in (
        (svm_perf_learn, ["-c", "1", "sets", "other"]),
        (svm_perf_classify, ["sets", "model"]),
    ):
        assert program(words) == 1
        assert capsys.readouterr().err == "sets:1:1: label 4,24,62 is not a number\n"
    assert main(["scale", "sets"]) == 1
    assert capsys.readouterr().err == "sets:1:1: label 4,24,62 is not a number\n"
    assert main(["learn", "-v", "0", "--task", "multilabel", "sets", "other"]) == 0


def test_queries_in_classification_name_rank(folder, capsys):
    (folder / "queries").write_text(re.sub("^(-?1) ", r"\1 qid:7 ", ONE, flags=re.M))
    assert main(["learn", "-v", "0", "queries", "model"]) == 0
    assert (
        "warning: qid has no effect in classification; svmcut rank learns"
        in capsys.readouterr().err
    )
    assert main(["learn", "-v", "0", "--task", "multiclass", "queries", "several"]) == 0
    assert "warning: qid has no effect in multiclass; svmcut rank learns" in capsys.readouterr().err
    assert (
        main(["learn", "-v", "0", "one", "other"])
        == main(["rank", "-v", "0", "queries", "order"])
        == 0
    )
    assert "qid" not in capsys.readouterr().err
    assert (folder / "model").read_bytes() == (folder / "other").read_bytes()
    assert svm_perf_learn(["-c", "1", "queries", "model"]) == 0
    assert capsys.readouterr().err == ""


def test_index_0_names_the_option_and_the_option_reads_it(folder, capsys):
    assert main(["learn", "zero", "model"]) == 1
    assert (
        capsys.readouterr().err
        == "zero:1:3: feature index 0; indices start at 1, or at 0 with --zero-based\n"
    )
    assert main(["learn", "-v", "0", "one", "one.model"]) == main(
        ["learn", "-v", "0", "--zero-based", "zero", "model"]
    )
    assert (folder / "model").read_bytes() == (folder / "one.model").read_bytes()
    assert (
        main(["classify", "one", "model", "p1"])
        == main(["classify", "--zero-based", "zero", "model", "p0"])
        == 0
    )
    assert (folder / "p1").read_bytes() == (folder / "p0").read_bytes()
    weights = [svmcut.train(name, zero_based=name == "zero").model.w for name in ("one", "zero")]
    np.testing.assert_array_equal(*weights)
    capsys.readouterr()
    assert svm_perf_learn(["-c", "1", "zero", "model"]) == 1
    assert capsys.readouterr().err == "zero:1:3: feature index 0; indices start at 1\n"
    with pytest.raises(DataError, match=r"indices start at 1, or at 0 with zero_based=True$"):
        svmcut.train("zero")


def test_arrays_have_no_base():
    X, y = np.eye(4), [1, -1, 1, -1]
    with pytest.raises(UsageError, match=r"parameter 'zero_based' .*; leave it out with arrays"):
        svmcut.train((X, y), zero_based=True)
    assert svmcut.train((X, y), zero_based=False).objective.C == 1


@pytest.mark.parametrize("words", [["learn"], ["learn", "--task", "multilabel"]])
@pytest.mark.parametrize("sign", ["", "+"])
def test_the_largest_index_from_0_is_one_less(folder, words, sign, capsys):
    for index, zero in (
        (2147483645, True),
        (2147483646, False),
        (2147483646, True),
        (2147483647, False),
    ):
        (folder / "far").write_text(f"1 {sign}{index}:1 {' ' * 99}\n2 1:1\n")
        status = main([*words, "-v", "0", "-c", "1", *["--zero-based"] * zero, "far", "model"])
        most = 2147483646 - zero
        told = f"far:1:3: feature index {sign}{index} is above the largest, {most}\n"
        error = capsys.readouterr().err
        assert (error == told and status == 1) if index > most else "feature index" not in error, (
            error
        )


@pytest.mark.parametrize(
    "words", [["rank"], ["learn", "--task", "sequence"], ["learn", "--task", "multilabel"]]
)
def test_every_task_reads_files_from_0(folder, words):
    for name, text in (("one", ONE), ("zero", ZERO)):
        (folder / name).write_text(text.replace("-1 ", "2 "))
        zero = ["--zero-based"] * (name == "zero")
        assert main([*words, "-v", "0", *zero, name, f"{name}.model"]) == 0
        assert main(["classify", *zero, name, f"{name}.model", f"{name}.out"]) == 0
    assert (folder / "one.model").read_bytes() == (folder / "zero.model").read_bytes()
    assert (folder / "one.out").read_bytes() == (folder / "zero.out").read_bytes()


@pytest.mark.parametrize(("threads", "crew"), [(1, False), (3, False), (3, True)])
def test_features_from_0_are_those_from_1_less_one(folder, threads, crew, monkeypatch):
    if crew:
        monkeypatch.setattr(examples, "CREW_BYTES", 1)
    lines = [[j * 37 % 900 + 1 for j in range(i, i + 9)] for i in range(3000)]
    for base, name in ((0, "zero"), (1, "one")):
        text = "".join(
            "1 " + " ".join(f"{j - 1 + base}:1.5" for j in sorted({*line})) + "\n" for line in lines
        )
        (folder / name).write_text(text)
    zero, one = (
        read_examples("zero", threads=threads, zero_based=True),
        read_examples("one", threads=threads),
    )
    np.testing.assert_array_equal(zero.X.indices, one.X.indices)
    assert zero.X.n_features == one.X.n_features
    parts = [part.X.indices for part in stream_examples("zero", block_bytes=4096, zero_based=True)]
    np.testing.assert_array_equal(np.concatenate(parts), one.X.indices)


def test_swapped_arguments_of_classify_are_recognised(folder, capsys):
    main(["learn", "-v", "0", "one", "model"])
    assert main(["classify", "model", "one", "out"]) == 1
    told = (
        "one: no model, but model is one; expected EXAMPLE_FILE MODEL_FILE PREDICTIONS_FILE, in "
        "this order\n"
    )
    assert capsys.readouterr().err == told
    assert svm_perf_classify(["model", "one", "out"]) == 1
    assert "expected example_file model_file output_file" in capsys.readouterr().err
    assert main(["classify", "one", "zero", "out"]) == 1
    assert "is an example; expected a model" in capsys.readouterr().err
    assert not (folder / "out").exists()


def test_scales_far_apart_name_scale_once(folder, capsys):
    def told(*large):
        rows = "".join(
            f"{1 - 2 * (i % 2)} 1:{0.5 + i % 3} 3:{large[i % len(large)]}\n" for i in range(20)
        )
        (folder / "far").write_text(rows + "1 9:1e-6\n")
        assert main(["learn", "-v", "0", "--example-cost", "0.01,0.02", "far", "model"]) == 0
        return capsys.readouterr().err

    says = (
        "warning: the values of feature 1 go to 2.5 and those of feature 3 to 2.6e+03; svmcut "
        "scale brings features"
    )
    assert told(2600, 1).count(says) == told(2600, 1).count("\n") == 1
    assert told(2400, 1) == ""
    told(2600)
    assert svm_perf_learn(["-c", "1", "far", "model"]) == 0
    assert capsys.readouterr().err == ""
