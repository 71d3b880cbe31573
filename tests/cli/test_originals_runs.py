# SPDX-License-Identifier: BSD-3-Clause
"""What scripts of the originals rely on beside the objective: lines, verbosity, help."""

import numpy as np
import pytest
from drivers import risk_of
from programs import call
from reference import risks as truth

from svmcut._version import __version__
from svmcut.formats import read_model, write_model
from svmcut.models import LinearModel

PROGRAMS = [
    f"svm_{name}_{verb}"
    for name in ("perf", "rank", "hmm", "multiclass")
    for verb in ("learn", "classify")
]
RANKED = "2 qid:1 1:3\n1 qid:1 1:2\n0 qid:1 1:2\n1 qid:4 1:1\n0 qid:4 1:5\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "ranked").write_text(RANKED)
    (tmp_path / "train").write_text("1 1:1 2:2\n-1 1:-1\n1 3:-0.25\n-1 2:0.5 4:7\n1 1:3\n")
    (tmp_path / "classes").write_text("1 1:1\n3.9 qid:3 2:1 cost:2\n1 1:2\n+4 1:1 2:-1\n")
    (tmp_path / "tagged").write_text("1 qid:1 1:1\n2 qid:1 2:1\n2 qid:2 2:1\n")
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5, n_documents=1))
    return tmp_path


@pytest.mark.parametrize("program", PROGRAMS)
@pytest.mark.parametrize("before", [(), ("-v", "0")])
def test_help_and_version_are_printed(program, before, capsys):
    assert call(program, *before, "--help") == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: {program} [options] ")
    assert call(program, "-?") == 0
    assert capsys.readouterr().out == text
    assert call(program, *before, "--version", "train") == 0
    assert capsys.readouterr().out == f"{program} of svmcut {__version__}\n"


@pytest.mark.parametrize(
    "program, words",
    [
        ("svm_perf_learn", ("train",)),
        ("svm_rank_learn", ("ranked",)),
        ("svm_hmm_learn", ("tagged",)),
        ("svm_multiclass_learn", ("classes",)),
    ],
)
def test_verbosity_below_0_is_0(program, words, folder, capsys):
    models, texts = [], []
    for verbosity in ("0", "-1", "-7.5"):
        assert call(program, "-c", "1", "-v", verbosity, "-y", verbosity, *words, "new") == 0
        models.append((folder / "new").read_bytes())
        texts.append(capsys.readouterr().out.partition("Viterbi")[0])
    assert len(set(models)) == len(set(texts)) == 1
    assert "Iter" not in texts[0]


NOTE = "NOTE: Adjusted stopping criterion relative to maximum loss: eps=0.002000\n"


@pytest.mark.parametrize("loss, note", [("1", NOTE), ("2", "")])
def test_the_ranker_says_what_it_read_even_in_quiet(loss, note, capsys):
    assert call("svm_rank_learn", "-c", "1", "-v", "0", "-l", loss, "ranked", "new") == 0
    assert (
        capsys.readouterr().out
        == "Training set properties: 1 features, 2 rankings, 5 examples\n" + note
    )
    assert call("svmcut rank", "-c", "1", "-v", "0", "-l", loss, "ranked", "new") == 0
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize(
    "rows, roc, average",
    [
        ("1 1:1\n1 1:-1\n", " -nan", "100.00"),
        ("-1 1:1\n-1 1:-1\n", " -nan", " -nan"),
        ("1 1:1\n-1 1:-1\n", "100.00", "100.00"),
    ],
)
def test_undefined_measures_print_as_scripts_know_them(rows, roc, average, folder, capsys):
    (folder / "test").write_text(rows)
    assert call("svm_perf_classify", "-v", "0", "test", "model") == 0
    assert capsys.readouterr().out.endswith(f"ROCArea  : {roc}\nAvgPrec  : {average}\n")


@pytest.mark.parametrize("verbosity", ["2", "3"])
def test_contingency_tables_are_told_from_verbosity_2_on(verbosity, capsys):
    # scores 4.5, -1.5, 0, 0.5, 2.5: two hits, one false alarm, one miss, one right refusal
    assert call("svm_perf_classify", "-v", verbosity, "train", "model") == 0
    text = capsys.readouterr().out
    losses = [40.0, 40.0, 100 / 3, 100 / 3, 100 / 3]
    lines = [f"    loss={loss:f}; contingency_table=(2, 1, 1, 1)\n" for loss in losses]
    assert "Classifying test examples..." + "".join(lines) + "done\nRuntime" in text
    assert call("svm_perf_classify", "train", "model") == 0
    quiet = capsys.readouterr().out
    assert "loss=" not in quiet and "Classifying test examples...done\nRuntime" in quiet
    assert text.partition("Average loss")[2] == quiet.partition("Average loss")[2]


ONE_CLASS = [
    ("1", "f1"),
    ("3", "prbep"),
    ("4", "prec-at-k"),
    ("5", "rec-at-k"),
    ("10", None),
    ("11", None),
]


@pytest.mark.every(3)
@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("number, loss", ONE_CLASS)
def test_one_class_trains_to_its_optimum(number, loss, sign, folder, rng, capsys):
    X = np.round(rng.normal(0.3, 1.0, (24, 3)), 2).astype(np.float32)
    rows = [f"{sign} " + " ".join(f"{j}:{v:.9g}" for j, v in enumerate(row, 1)) for row in X]
    (folder / "one").write_text("\n".join(rows) + "\n")
    words = ("-c", "0.02", "-e", "0.001", "-l", number)
    assert call("svm_perf_learn", *words, "-w", "3", "one", "new") == 0
    printed = capsys.readouterr()
    primal, dual = (float(printed.out.partition(f"{name}val=")[2].split()[0]) for name in "pd")
    model = read_model("new")
    w = np.zeros(3)
    w[: len(model.w)] = model.w
    s, positive = X @ w - model.b, np.full(24, sign > 0)
    k = 2 * 24 if number == "5" and sign > 0 else 12 if sign > 0 else 1
    risk = 0.0
    if loss is not None:
        tables = truth.table_labellings(s, positive)
        risk = truth.contingency(s, positive, loss, k, "margin", 1, tables)
    assert primal == pytest.approx(0.5 * (w @ w + model.b**2) + 0.02 * risk, abs=2e-5)
    assert 0 <= primal - dual <= 0.02 * 0.001 + 2e-5
    assert printed.err == ""
    assert call("svm_perf_learn", *words, "-w", "0", "-v", "0", "one", "again") == 0
    assert (
        call("svm_perf_learn", *words, "-w", "3", "-t", "2", "--b", "0", "-v", "0", "one", "kernel")
        == 0
    )
    if loss is not None:
        assert (
            call(
                "svm_perf_learn",
                *(*words, "-w", "1", "-p", "2", "-o", "1", "-v", "0", "one", "squared"),
            )
            == 0
        )
    assert call("svmcut learn", *words, "one", "no") == 1
    assert f"needs two classes, but all 24 labels are {sign}" in capsys.readouterr().err
    assert not (folder / "no").exists()


@pytest.mark.parametrize(
    "program, words", [("rank", ()), ("multiclass", ()), ("perf", ("-w", 3, "--b", 0))]
)
def test_features_beyond_those_of_a_kernel_model(program, words, folder, capsys):
    rows = ["2 qid:1 1:1", "1 qid:1 2:1", "1 qid:2 1:2 2:1"]
    (folder / "rows").write_text("\n".join(rows) + "\n")
    (folder / "more").write_text("\n".join(f"{row} 4:2 5:1" for row in rows) + "\n")
    name = f"svm_{program}"
    assert call(f"{name}_learn", "-c", 1, *words, "-t", 2, "-g", 0.3, "-v", 0, "rows", "new") == 0
    for data in ("rows", "more"):
        assert call(f"{name}_classify", "-v", 0, data, "new", f"{data}.program") == 0
        assert call("svmcut classify", "-v", 0, data, "new", f"{data}.svmcut") == 0
    found = {path.name: path.read_text() for path in folder.glob("*.*")}
    assert (found["more.program"] == found["rows.program"]) == (program != "perf")
    assert found["more.svmcut"] != found["rows.svmcut"]  # the kernel is of whole rows there
    if program == "rank":  # of which the header states one more
        (folder / "next").write_text("\n".join(f"{row} 3:2" for row in rows) + "\n")
        assert call(f"{name}_classify", "-v", 0, "next", "new", "next.program") == 0
        assert (folder / "next.program").read_text() != found["rows.program"]


def test_slacks_behind_the_weights_of_classes_are_dropped(folder):
    assert call("svm_multiclass_learn", "-c", 1, "-p", 2, "-w", 0, "-v", 0, "classes", "new") == 0
    lines = (folder / "new").read_text().splitlines()
    assert lines[10].split()[0] == "9" and lines[14].endswith(" #")
    lines[10], lines[14] = "13 # highest feature index ", lines[14][:-1] + "9:0.5 10:1 12:7 #"
    (folder / "theirs").write_text("\n".join(lines) + "\n")
    for model in ("new", "theirs"):
        assert call("svm_multiclass_classify", "-v", 0, "classes", model, f"{model}.out") == 0
    assert (folder / "new.out").read_text() == (folder / "theirs.out").read_text()
    lines[14] = lines[14].replace("12:7", "14:7")
    (folder / "theirs").write_text("\n".join(lines) + "\n")
    assert call("svm_multiclass_classify", "-v", 0, "classes", "theirs", "out") == 1


@pytest.mark.parametrize(
    "data, model, lines", [("train", "model", 1), ("ranked", "ranker", 1), ("ranked", "rbf", 5)]
)
def test_the_readers_of_svm_light_tell_what_they_read(data, model, lines, folder, capsys):
    program = "svm_perf" if data == "train" else "svm_rank"
    if model != "model":
        kernel = ("-t", 2) if model == "rbf" else ()
        assert call(f"{program}_learn", "-c", 1, *kernel, "-v", 0, data, model) == 0
        capsys.readouterr()
    assert call(f"{program}_classify", "-y", 1, data, model, "out") == 0
    told = capsys.readouterr().out
    assert told.startswith(
        f"Reading model...Reading model...OK. ({lines} support vectors read)\ndone.\nReading test "
        "examples...Scanning "
        "examples...done\nReading examples into memory...OK. (5 examples read)\ndone.\nClassifying"
    )


@pytest.mark.parametrize(
    "idle, words",
    [
        ("--f none", "-t 2 --b 0 -w 3 --i 1"),
        ("--t 2 --i 0", "-w 3"),
        ("--t 1 --i 0 --f none --k 2", "-w 4 -t linear"),
    ],
)
def test_a_basis_that_is_none_has_no_effect(idle, words, folder):
    for model, more in (("plain", ""), ("idle", idle)):
        assert (
            call("svm_perf_learn", "-c", 1, *words.split(), *more.split(), "-v", 0, "train", model)
            == 0
        )
    assert (folder / "plain").read_bytes() == (folder / "idle").read_bytes()


@pytest.mark.parametrize("number, loss", [("10", "roc-area"), ("11", "average-precision")])
def test_squared_slack_of_losses_of_rankings(number, loss, folder, capsys):
    from svmcut.files.examples import read_examples

    words = ("-c", 0.01, "-e", 1e-6, "-p", 2, "-w", 1, "-l", number)
    assert call("svm_perf_learn", *words, "train", "new") == 0
    dual = float(capsys.readouterr().out.partition("dval=")[2].split()[0])
    model, data = read_model("new"), read_examples("train")
    w = np.zeros(4)
    w[: len(model.w)] = model.w
    scores = data.X.to_dense() @ w - model.b
    slack = risk_of(loss).bind(data.y).linearize(scores).value
    primal = 0.5 * (w @ w + model.b**2) + 0.01 * slack**2
    assert slack > 1 and dual == pytest.approx(primal, abs=3e-5)


@pytest.mark.parametrize(
    "words", [(), ("-p", 2, "-w", 0), ("-p", 2, "-w", 1), ("-o", 1), ("--t", 2)]
)
def test_a_beam_of_the_tagger_leaves_training_exact(words, folder):
    for model, beam in (("all", ()), ("few", ("--b", 1))):
        assert call("svm_hmm_learn", "-c", 5, *words, *beam, "-v", 0, "tagged", model) == 0
    assert (folder / "all").read_bytes() == (folder / "few").read_bytes()
    assert call("svm_hmm_learn", "-c", 5, "--b", -1, "tagged", "no") == 1


def test_classes_of_a_kernel_train_by_the_name_of_the_original(tmp_path):
    (tmp_path / "rows").write_text("1 1:1\n2 1:2\n3 1:3\n1 1:1.5\n")
    words = "-c", 10, "-t", 2, "-g", 1, tmp_path / "rows", tmp_path / "model"
    assert call("svm_multiclass_learn", *map(str, words)) == 0
    assert (tmp_path / "model").read_text().startswith("SVM-multiclass")
