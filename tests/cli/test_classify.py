# SPDX-License-Identifier: BSD-3-Clause
import gzip
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from click.testing import CliRunner
from programs import entry, forked

from svmcut.cli.main import svmcut
from svmcut.cli.start import main
from svmcut.formats import write_model
from svmcut.models import ChainModel, ChainShape, LinearModel, MultilabelModel

ROWS = "1 1:1 2:2\n-1 1:-1\n1 3:-0.25\n# comment\n\n-1 2:0.5 9:7 # text\n"
SCORES = "4.50000000\n-1.50000000\n0.00000000\n0.50000000\n"
RANKED = "2 qid:1 1:3\n1 qid:1 1:2\n0 qid:1 1:2\n1 qid:4 1:1\n0 qid:4 1:5\n"
NOTE = """\
NOTE: The loss reported above is the percentage of errors. The zero/one-error
      is the multivariate zero/one-error regarding the whole prediction vector!
"""
MEASURES = """\
Accuracy : 50.00
Precision: 50.00
Recall   : 50.00
F1       : 50.00
PRBEP    : 50.00
ROCArea  : 75.00
AvgPrec  : 83.33
"""
PLAIN = """\
Positive class: 1 (labels above 0)

Accuracy            50.00 %
Precision           50.00 %
Recall              50.00 %
F1                  50.00 %
ROC area            75.00 %
Average precision   83.33 %

true \\ predicted  -1  1
-1                 1  1
1                  1  1
"""
SVM_PERF = ("--format", "svm_perf")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5, n_documents=1))
    (tmp_path / "test.dat").write_text(ROWS)
    (tmp_path / "rank.dat").write_text(RANKED)
    return tmp_path


def invoke(*args):
    return CliRunner().invoke(svmcut, ["classify", *args], catch_exceptions=False)


@pytest.mark.parametrize(("words", "losses"), [((), False), (SVM_PERF, True)])
def test_scores_and_report(folder, words, losses):
    result = invoke(*words, "test.dat", "model", "scores")
    assert result.exit_code == 0 and result.stderr == ""
    assert losses or result.stdout == PLAIN
    stepwise = invoke(*words, *([] if losses else ["-v", "2"]), "test.dat", "model", "scores")
    lines = stepwise.stdout.splitlines()
    assert lines[:3] == [
        "Reading model...done.",
        "Reading test examples...done.",
        "Classifying test examples...done",
    ]
    assert lines[3].startswith("Runtime (without IO) in cpu-seconds: ")
    if losses:
        assert lines[4] == "Average loss on test set: 50.0000"
        assert lines[5] == "Zero/one-error on test set: 100.00% (0 correct, 1 incorrect, 1 total)"
    assert "\n".join([*lines[6 if losses else 4 :], ""]) == (NOTE + MEASURES if losses else PLAIN)
    assert (folder / "scores").read_text() == SCORES


def test_quiet_prints_the_measures_alone():
    assert invoke("-v", "0", "test.dat", "model").stdout == PLAIN
    assert invoke("-v", "0", *SVM_PERF, "test.dat", "model").stdout == NOTE + MEASURES


def test_default_name_labels_and_options_without_effect(folder):
    assert invoke("--labels", "-y", "1", "--d", "0", "test.dat", "model").exit_code == 0
    assert (folder / "svm_predictions").read_text() == "1\n-1\n-1\n1\n"


def test_json_report(folder):
    invoke("test.dat", "model", "--report", "report.json")
    report = json.loads((folder / "report.json").read_text())
    assert report["command"] == "classify" and report["examples"] == 4 and report["warnings"] == []
    assert report["average_precision"] == pytest.approx(250 / 3)
    assert [report[name] for name in ("tp", "fp", "tn", "fn")] == [1, 1, 1, 1]
    assert report["labels"] == [-1, 1] and report["class_counts"] == [2, 2]
    assert report["error_rate"] == report["accuracy"] == report["prbep"] == 50
    assert report["seconds"]["total"] > 0


def test_queries_bring_the_ranking_report(folder):
    told = invoke("-v", "0", "rank.dat", "model").stdout.splitlines()
    assert told[0] == "2 queries with 5 examples, 0 in the right order throughout"
    assert told[2] == "Swapped pairs       66.67 %" and told[-1].startswith("MAP                0.")
    result = invoke("rank.dat", "model", "--report", "report.json", "--format", "original")
    assert result.stdout.endswith(
        "Total Num Swappedpairs  :      2\nAvg Swappedpairs Percent:  66.67\n"
    )
    assert "Average loss on test set: 0.6667\n" in result.stdout
    assert "Zero/one-error on test set: 100.00% (0 correct, 2 incorrect, 2 total)" in result.stdout
    report = json.loads((folder / "report.json").read_text())
    assert report["swapped_pairs"] == 2 and report["swapped_percent"] == pytest.approx(200 / 3)
    assert report.keys() >= {"ndcg@1", "ndcg@5", "ndcg@10", "map", "seconds", "warnings"}


def test_one_class_is_a_warning_and_null(folder):
    (folder / "one.dat").write_text("1 1:1\n2 1:1\n")
    result = forked("svmcut", "classify", "one.dat", "model", "--report", "report.json")
    assert result.returncode == 0
    assert result.stderr == (
        "svmcut classify: warning: all 2 examples are positive: a label is positive where it is "
        "above 0\n"
    )
    report = json.loads((folder / "report.json").read_text())
    assert report["roc_area"] is None and len(report["warnings"]) == 1
    assert forked("svm_perf_classify", "one.dat", "model").stderr == ""


def test_the_originals_executable_writes_the_same(folder):
    invoke("test.dat", "model", "a")
    result = forked("svm_perf_classify", "-v", "0", "test.dat", "model", "b")
    assert (result.returncode, result.stderr, result.stdout) == (0, "", NOTE + MEASURES)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_the_originals_executable_ignores_queries(folder):
    (folder / "rank.dat").write_text("1 qid:2 1:1\n-1 qid:1 1:1\n")
    assert "Accuracy" in forked("svm_perf_classify", "rank.dat", "model").stdout


@pytest.mark.parametrize("first", ["?", "doc1", "1", "nan", "a:b", "-", "+"])
@pytest.mark.parametrize("rows", [ROWS, RANKED], ids=["rows", "ranked"])
def test_unlabelled_rows_are_scored_and_not_measured(folder, capsys, first, rows):
    (folder / "test.dat").write_text(rows)
    invoke("test.dat", "model", "scores")
    lines = [
        line if line[:1] in ("#", "") else f"{first} {line.partition(' ')[2]}"
        for line in rows.splitlines()
    ]
    (folder / "free.dat").write_text("\n".join(lines))
    skipped = sum(line[:1] in ("#", "") for line in lines)
    for threads in ("1", "2"):
        result = invoke(
            *("--unlabelled", "--threads", threads, "free.dat", "model", "free"),
            *("--report", "report.json"),
        )
        assert (
            result.stderr == "" and result.stdout == f"{len(lines) - skipped} predictions written\n"
        )
        assert (folder / "free").read_bytes() == (folder / "scores").read_bytes()
    report = json.loads((folder / "report.json").read_text())
    assert (
        report.keys() == {"command", "version", "examples", "seconds", "warnings"}
        and report["warnings"] == []
    )
    if first != "1":
        assert main(["classify", "free.dat", "model", "none"]) == 1


def test_unlabelled_rows_are_of_no_unknown_class(folder):
    """Labels that are no class of a model are told where they are measured alone."""
    rng = np.random.default_rng(0)
    lines = [f"{k % 3 + 4} {k % 3 + 1}:{rng.normal(2, 0.1):.3f}\n" for k in range(12)]
    (folder / "three.dat").write_text("".join(lines))
    assert main(["learn", "-v", "0", "--task", "multiclass", "three.dat", "three"]) == 0
    (folder / "bare").write_text("1:0.2 2:0.3\n")
    (folder / "other").write_text("9 1:0.2 2:0.3\n")
    assert invoke("--unlabelled", "bare", "three", "out").stderr == ""
    assert invoke("--unlabelled", "other", "three", "out").stderr == ""
    assert "1 labels of other are of no class" in invoke("other", "three", "out").stderr


@pytest.mark.parametrize("rows", [ROWS, RANKED], ids=["rows", "ranked"])
def test_unlabelled_rows_may_lack_the_label(folder, rows):
    (folder / "test.dat").write_text(rows)
    invoke("--unlabelled", "test.dat", "model", "scores")
    lines = [
        line if line[:1] in ("#", "") else line.partition(" ")[2] for line in rows.splitlines()
    ]
    (folder / "bare.dat").write_text("\n".join(lines))
    assert invoke("--unlabelled", "bare.dat", "model", "bare").stderr == ""
    assert (folder / "bare").read_bytes() == (folder / "scores").read_bytes()


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("x 1:1\nx 1:x\n", "bad.dat:2:5: feature value x is not a number"),
        ("3:1 1:1\n", "bad.dat:1:5: feature index 1 follows 3"),
        ("x\0y 1:1\n", "bad.dat:1:2: NUL byte"),
    ],
)
def test_unlabelled_rows_are_checked(folder, capsys, rows, message):
    (folder / "bad.dat").write_text(rows)
    assert main(["classify", "--unlabelled", "bad.dat", "model", "none"]) == 1
    assert capsys.readouterr().err.startswith(message) and not os.path.exists("none")


def test_unlabelled_tokens_are_tagged(folder):
    shape = ChainShape(2, 3)
    write_model("chain", ChainModel(1.0 * (np.arange(shape.dim) == 2), shape))
    (folder / "tags").write_text("1 qid:1 1:1\n2 qid:1 2:1\n1 qid:2 1:1\n")
    (folder / "none").write_text("? qid:1 1:1\nx qid:1 2:1\n-1 qid:2 1:1\n")
    invoke("tags", "chain", "a")
    assert invoke("--unlabelled", "none", "chain", "b").stderr == ""
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes() != b""


def test_the_original_of_rows_with_queries_is_svm_rank():
    result = invoke(*SVM_PERF, "rank.dat", "model")
    assert result.stderr == "" and "Total Num Swappedpairs  :      2\n" in result.stdout


@pytest.mark.parametrize("loss", ["roc-area", "average-precision", "f1"])
def test_a_model_that_orders_says_that_zero_is_no_threshold(folder, loss):
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5, n_documents=1, loss=loss))
    said = (
        f"the model was trained for {loss}, which orders the examples: 0 is no threshold of its "
        "scores"
    )
    result = invoke("-v", "0", "test.dat", "model")
    assert (
        result.stdout == (PLAIN if loss == "f1" else f"{PLAIN}\n{said}\n") and result.stderr == ""
    )
    result = invoke("-v", "0", "--labels", "test.dat", "model")
    assert result.stderr == ("" if loss == "f1" else f"svmcut classify: warning: {said}\n")
    assert (
        invoke("-v", "0", "--labels", "--unlabelled", "test.dat", "model").stderr == result.stderr
    )
    assert forked("svm_perf_classify", "-v", "0", "test.dat", "model").stdout == NOTE + MEASURES


def test_the_table_names_the_classes_of_the_model(folder):
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5, labels=(7.5, 1.0)))
    (folder / "test.dat").write_text("1 1:1\n7.5 1:-1\n7.5 1:1\n3 1:1\n")
    told = invoke("-v", "0", "test.dat", "model").stdout
    assert told.startswith("Positive class: 1\n\nAccuracy            50.00 %\n")
    rows = [line.split() for line in told.splitlines()[-4:]]
    assert rows == [
        ["true", "\\", "predicted", "7.5", "1"],
        ["7.5", "1", "1"],
        ["1", "0", "1"],
        ["other", "0", "1"],
    ]
    (folder / "test.dat").write_text("1 1:1\n")
    assert "\nROC area           undefined\n" in invoke("-v", "0", "test.dat", "model").stdout


@pytest.mark.parametrize(
    "data", [ROWS.encode(), gzip.compress(ROWS.encode(), mtime=0)], ids=["plain", "gzip"]
)
def test_standard_input(data):
    command = [
        sys.executable,
        *("-m", "svmcut.cli.start", "classify", "-v", "0", "-", "model", "/dev/stdout"),
    ]
    done = subprocess.run(command, input=data, capture_output=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.decode() == SCORES + PLAIN


def test_threads_and_blocks_leave_the_bytes(folder, rng):
    rows = [
        " ".join(f"{j + 1}:{v:.6g}" for j, v in enumerate(row))
        for row in rng.normal(size=(60_000, 3))
    ]
    (folder / "big.dat").write_text(
        "".join(f"{1 - 2 * (i % 2)} {row}\n" for i, row in enumerate(rows))
    )
    for threads in (1, 3):
        invoke("big.dat", "model", f"scores{threads}", "--threads", str(threads))
    assert (folder / "scores1").read_bytes() == (folder / "scores3").read_bytes()
    assert (folder / "scores1").read_bytes().count(b"\n") == 60_000


@pytest.mark.parametrize(
    "text, place",
    [
        ("", ": no examples"),
        ("# only\n\n", ": no examples"),
        ("1 1:1\n1 1:x\n", ":2:"),
        ("1 1:1\n1 0:1\n", ":2:"),
        ("x 1:1\n", ":1:1: "),
        ("1 1:nan\n", ":1:"),
        ("1 qid:2 1:1\n# text\n1 qid:1 1:1\n", ":3: qid 1 follows 2"),
    ],
)
def test_bad_examples_are_refused_and_nothing_is_written(folder, text, place, capsys):
    (folder / "bad.dat").write_text(text)
    before = sorted(os.listdir())
    assert main(["classify", "bad.dat", "model", "scores", "--report", "report.json"]) == 1
    captured = capsys.readouterr()
    assert captured.err.startswith(f"bad.dat{place}") and captured.err.count("\n") == 1
    assert captured.out == ""
    assert sorted(os.listdir()) == before


@pytest.mark.parametrize(
    "args, status, message",
    [
        (["none.dat", "model"], 1, "none.dat: No such file or directory"),
        (["test.dat", "none"], 1, "none: No such file or directory"),
        (["test.dat", "."], 1, ".: Is a directory"),
        ([".", "model"], 1, ".: Is a directory"),
        (
            ["test.dat", "test.dat"],
            1,
            "test.dat:1:1: '1 1:1 2:2' is an example; expected a model",
        ),
        (
            ["test.dat", "model", "none/scores"],
            1,
            "none/scores: cannot be written: No such file or directory",
        ),
        (
            ["test.dat", "model", "scores", "--report", "none/report"],
            1,
            "none/report: cannot be written",
        ),
        (
            ["test.dat", "model", "/dev/full"],
            1,
            "/dev/full: cannot be written: No space left on device",
        ),
        (["test.dat"], 2, "svmcut classify: MODEL_FILE is missing; svmcut classify --help"),
        (
            ["test.dat", "model", "--threads", "0"],
            2,
            "svmcut classify: option --threads: '0' is not a whole number",
        ),
        (
            ["test.dat", "model", "--beam", "2"],
            2,
            "svmcut classify: --b is for models of sequences and trees of labels; leave it out",
        ),
        (["test.dat", "model", "--bogus"], 2, "svmcut classify: option --bogus is unknown; "),
    ],
)
def test_messages_and_statuses(args, status, message, capsys):
    assert main(["classify", *args]) == status
    captured = capsys.readouterr()
    assert captured.err.startswith(message)
    assert "Traceback" not in captured.err
    assert not os.path.exists("svm_predictions") and not os.path.exists("scores")


def test_traceback_on_request(monkeypatch):
    monkeypatch.setenv("SVMCUT_DEBUG", "1")
    result = forked("svmcut", "classify", "none.dat", "model")
    assert "Traceback" in result.stderr and "DataError" in result.stderr


@pytest.mark.parametrize("program", [["svmcut", "classify"], ["svm_perf_classify"]])
def test_closed_pipe_is_quiet(folder, program):
    (folder / "big.dat").write_text(ROWS.replace("\n\n", "\n") * 50_000)
    command = [os.path.join(os.path.dirname(sys.executable), program[0]), *program[1:]]
    child = subprocess.Popen([*command, "big.dat", "model", "/dev/stdout"], stdout=-1, stderr=-1)
    child.stdout.readline()
    child.stdout.close()
    assert child.stderr.read() == b""
    child.stderr.close()
    assert child.wait(60) == 1


def test_full_stdout_is_a_message():
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "svmcut.cli.start", "classify", "test.dat", "model"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 1
    assert done.stderr == "svmcut classify: No space left on device\n"


def test_closed_stdout_still_writes(folder):
    result = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m svmcut.cli.start classify test.dat model >&-"]
    )
    assert result.returncode == 0
    assert (folder / "svm_predictions").read_text() == SCORES


@pytest.mark.parametrize(
    "program, number, status, line",
    [
        (["svmcut", "classify"], signal.SIGINT, 130, b"svmcut classify: interrupted"),
        (["svmcut", "classify"], signal.SIGTERM, 143, b"svmcut classify: stopped by SIGTERM"),
        (["svm_perf_classify"], signal.SIGTERM, 1, b"svm_perf_classify: stopped by SIGTERM"),
    ],
)
def test_signals_leave_nothing_behind(folder, program, number, status, line):
    command = [os.path.join(os.path.dirname(sys.executable), program[0]), *program[1:]]
    before = sorted(os.listdir())
    child = subprocess.Popen(
        [*command, "-v", "0", "-", "model", "scores"], stdin=-1, stdout=-1, stderr=-1
    )
    child.stdin.write(ROWS.encode() * 30_000)
    child.stdin.flush()
    deadline = time.monotonic() + 30
    while sorted(os.listdir()) == before and time.monotonic() < deadline:
        time.sleep(0.01)
    time.sleep(0.3)
    child.send_signal(number)
    assert child.wait(30) == status
    assert child.stderr.read().strip() == line
    for stream in (child.stdin, child.stdout, child.stderr):
        stream.close()
    assert sorted(os.listdir()) == before


def test_names_with_blanks_newlines_and_dashes(folder):
    for name in ("a b", "a\nb", "-v", "x" * 255):
        os.replace("test.dat", name)
        result = forked("svmcut", "classify", "--", name, "model", f"{name[:250]}.out")
        assert (result.returncode, result.stderr) == (0, "")
        assert (folder / f"{name[:250]}.out").read_text() == SCORES
        os.replace(name, "test.dat")


CHAIN = "a model of sequences; score with svm_hmm_classify or svmcut classify"
FOREIGN = [
    ("svm_perf_classify", "chain", [], 1, f"chain:1:1: {CHAIN}"),
    ("svm_rank_classify", "chain", [], 1, f"chain:1:1: {CHAIN}"),
    (
        "svm_perf_classify",
        "sets",
        [],
        1,
        "sets:1:1: a model of label sets; score with svmcut classify",
    ),
    (
        "svm_hmm_classify",
        "sets",
        [],
        1,
        "sets:1:1: a model of label sets; score with svmcut classify",
    ),
    (
        "svm_hmm_classify",
        "model",
        [],
        1,
        "model:1:1: no model of sequences; expected one that starts",
    ),
    (
        "svmcut",
        "chain",
        ["--labels"],
        2,
        "--labels has no meaning for sequences; their predictions are tags already",
    ),
    (
        "svmcut",
        "sets",
        ["--unlabelled"],
        2,
        "--unlabelled has no meaning for label sets; a line that starts with",
    ),
    (
        "svmcut",
        "sets",
        ["--format", "plain"],
        2,
        "--format is for measures of classes, rankings and tags; leave it out",
    ),
    (
        "svmcut",
        "model",
        ["--format", "plain", "--unlabelled"],
        2,
        "--format is for measures of classes, rankings and tags",
    ),
    (
        "svmcut",
        "sets",
        ["--labels"],
        2,
        "--labels has no meaning for label sets; their predictions are labels already",
    ),
]


@pytest.mark.parametrize(("program", "model", "options", "status", "message"), FOREIGN)
def test_models_of_other_tasks(folder, capsys, program, model, options, status, message):
    shape = ChainShape(2, 3)
    write_model("chain", ChainModel(1.0 * (np.arange(shape.dim) == 0), shape))
    none = np.zeros(0, np.int32)
    write_model(
        "sets",
        MultilabelModel(np.ones((3, 2)), np.zeros(2), none, none, np.zeros(0), np.array([1, 4])),
    )
    before = sorted(os.listdir())
    start = main if program == "svmcut" else entry(program)
    words = ["classify", *options] if program == "svmcut" else options
    assert start([*words, "test.dat", model, "scores"]) == status
    captured = capsys.readouterr()
    assert message in captured.err and captured.err.count("\n") == 1
    steps = "Reading model...done.\nReading test examples...\n"
    assert captured.out == ("" if program == "svmcut" else steps)
    assert sorted(os.listdir()) == before
