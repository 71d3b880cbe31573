# SPDX-License-Identifier: BSD-3-Clause
"""Training without NumPy: the model, the lines and the status are those of training with it."""

import io
import json
import os
import random
import re
import sys

import pytest
from programs import call, run

from svmcut.cli import sooner, training

DATA = "data/"
LINES = {
    "text": ("svmcut learn", "text"),
    "no bias": ("svmcut learn --bias 0 -v 2", "text"),
    "dense": ("svmcut learn", "breast_cancer"),
    "Newton's method": ("svmcut learn --solver newton --gap 1e-6", "wine"),
    "cutting planes": ("svmcut learn --solver cutting-plane", "wine"),
    "squared hinge": ("svmcut learn -l squared-hinge", "wine"),
    "logistic": ("svmcut learn -l logistic -v 2", "wine"),
    "a limit": ("svmcut learn --max-iterations 2", "wine"),
    "svm_perf": ("svm_perf_learn -c 20", "text"),
    "its cutting planes": ("svm_perf_learn -c 5 -w 3 --b 0", "wine"),
    "classes": ("svmcut learn", "classes"),
    "classes without bias": ("svmcut learn --bias 0 --example-cost 1 -v 2", "classes"),
    "one against the rest": ("svmcut learn --multiclass one-vs-rest", "classes"),
    "each after the other": ("svmcut learn --multiclass one-vs-rest --gap 1e-9", "classes"),
    "logistic of each": ("svmcut learn --multiclass one-vs-rest -l logistic", "classes"),
    "squared of each": ("svmcut learn --multiclass one-vs-rest -l squared-hinge", "classes"),
    "planes of classes": ("svmcut learn --solver cutting-plane", "classes"),
    "planes of each": ("svmcut learn --multiclass one-vs-rest --solver cutting-plane", "classes"),
    "one class": ("svmcut learn --task multiclass", "same"),
    "svm_multiclass": ("svm_multiclass_learn -c 5000", "classes"),
}
#: Seconds, and what is counted in their tenths.
CLOCK = re.compile(r"in [\d.]+ s\b|cpu-seconds: [\d.]+|time [\d.]+")


@pytest.fixture
def tried(monkeypatch):
    """How runs that might end without NumPy ended."""
    ends = []
    begun = sooner._run

    def watched(options, original):
        try:
            status = begun(options, original)
        except BaseException as error:
            ends.append(type(error).__name__)
            raise
        ends.append(status)
        return status

    monkeypatch.setattr(sooner, "is_numpy_loaded", lambda: False)
    monkeypatch.setattr(sooner, "_run", watched)
    return ends


def classes_file(folder):
    """Rows about four points, of one of them only behind the others."""
    rng = random.Random(3)
    places = {"1": (0, 0), "2": (2, 0), "5": (0, 2), "9": (2, 2)}
    lines = []
    for k in range(400):
        label = rng.choice("125" if k < 200 else "1259")
        x, y = places[label]
        lines.append(f"{label} 1:{x + rng.gauss(0, 1):.4f} 3:{y + rng.gauss(0, 1):.4f}\n")
    path = folder / "classes"
    path.write_text("".join(lines))
    return path


def file_of(stem, folder):
    if stem == "same":
        (folder / stem).write_text("3 1:1\n3 2:1\n")
        return folder / stem
    made = {"classes": classes_file, "sampled": sampled_file}
    return made[stem](folder) if stem in made else f"{DATA}{stem}.train"


def told(capsys):
    out, err = capsys.readouterr()
    return CLOCK.sub("", out), err


@pytest.mark.parametrize("name", LINES)
def test_model_and_lines_are_the_same(name, tmp_path, capsys, tried, monkeypatch):
    program, stem = LINES[name]
    model, file = tmp_path / "model", file_of(stem, tmp_path)
    status = call(program, file, model)
    found = status, model.read_bytes(), told(capsys)
    assert tried == [status]
    monkeypatch.setattr(sooner, "may_begin", lambda options: False)
    assert call(program, file, model) == status
    assert (status, model.read_bytes(), told(capsys)) == found


@pytest.mark.parametrize("stem", ["wine", "classes"])
@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "logistic"])
def test_reports_are_the_same(loss, stem, tmp_path, tried, monkeypatch):
    def told():
        path = tmp_path / "report"
        words = ["-v", "0", "-l", loss, "--report", path, file_of(stem, tmp_path)]
        words += ["--multiclass", "one-vs-rest"] * (stem == "classes")
        assert call("svmcut learn", *words, tmp_path / "model") == 0
        report = json.loads(path.read_text())
        assert report.pop("seconds") and report.pop("peak_memory_mb")
        return report

    found = told()
    assert tried == [0]
    monkeypatch.setattr(sooner, "may_begin", lambda options: False)
    assert told() == found


def test_a_report_that_cannot_be_written_again_waits_for_numpy(tmp_path, tried, monkeypatch):
    begun = []
    monkeypatch.setattr(sooner, "without_numpy", begun.append)
    os.mkfifo(tmp_path / "report")
    reader = os.open(tmp_path / "report", os.O_RDONLY | os.O_NONBLOCK)
    try:
        words = [
            "-v",
            "0",
            "--report",
            tmp_path / "report",
            f"{DATA}wine.train",
            tmp_path / "model",
        ]
        assert call("svmcut learn", *words) == 0
        assert tried == [0] and begun == []
        assert json.loads(os.read(reader, 1 << 16))["converged"]
    finally:
        os.close(reader)


REFUSED = {
    "a line that is none": "1 1:1\n-1 2:x\n",
    "a class that is no whole number": "1 1:1\n2.5 2:1\n3 3:1\n" * 10,
    "many classes": "".join(f"{k} {k}:1\n{k} {k}:2\n" for k in range(1, 40)),
    "no file": None,
}
AT_ONCE = {"many classes", "no file"}


@pytest.mark.parametrize("name", REFUSED)
def test_others_begin_again(name, tmp_path, capsys, tried, monkeypatch):
    file, model = tmp_path / "file", tmp_path / "model"
    if REFUSED[name] is not None:
        file.write_text(REFUSED[name])
    status, found = call("svmcut learn", file, model), told(capsys)
    assert len(tried) == (1 if name in AT_ONCE else 2)
    monkeypatch.setattr(sooner, "may_begin", lambda options: False)
    assert (call("svmcut learn", file, model), told(capsys)) == (status, found)


def sampled_file(folder):
    """Of so many rows that Newton's method begins with an eighth of them."""
    rng = random.Random(3)
    lines = []
    for _ in range(9000):
        x, y = rng.gauss(0, 1), rng.gauss(0, 1)
        lines.append(f"{1 if x + rng.gauss(0, 1) > 0 else -1} 1:{x:.4f} 2:{y:.4f}\n")
    path = folder / "sampled"
    path.write_text("".join(lines))
    return path


@pytest.mark.parametrize(
    "head",
    [b"# 1 2 3\n+1 1:1\n1 2:1\n-1 1:1\n", b"+1 1:1\n1 2:1\n-1 1:1\n", b"1 \xff\n2 1\n3 1\n"],
    ids=["comment", "signs", "packed"],
)
def test_few_labels_are_two_classes(head, tmp_path):
    (tmp_path / "file").write_bytes(head)
    assert sooner._labels_of(tmp_path / "file") <= 2


@pytest.mark.parametrize("labels, begins", [(2, True), (3, False)])
def test_of_large_files_two_classes_alone_begin_without_numpy(
    labels, begins, tmp_path, tried, monkeypatch
):
    monkeypatch.setattr(sooner, "SMALL_OF_CLASSES", 100)
    (tmp_path / "file").write_text("".join(f"{k % labels} 1:{k}\n" for k in range(30)))
    begun, may_begin = [], sooner.may_begin
    monkeypatch.setattr(
        sooner, "may_begin", lambda options: begun.append(may_begin(options)) or begun[-1]
    )
    assert call("svmcut learn", tmp_path / "file", tmp_path / "model") == 0
    assert begun == [begins] and tried == [0]


@pytest.mark.parametrize("loss", ["hinge", "squared-hinge", "logistic"])
@pytest.mark.parametrize("stem", ["text", "wine", "sampled", "classes"])
def test_numpy_is_not_imported(loss, stem, tmp_path):
    file = file_of(stem, tmp_path)
    words = ["learn", "-v", "0", "-l", loss, "--example-cost", "0.5", str(file), f"{tmp_path}/m"]
    if stem == "classes" and loss != "hinge":
        words += ["--multiclass", "one-vs-rest"]
    code = (
        f"import sys; from svmcut.cli.start import main; status = main({words!r}); "
        "sys.exit(status or 'numpy' in sys.modules)"
    )
    assert run(f"{sys.executable} -c", code).returncode == 0


class Late(training.Training):
    """Needs NumPy once, when all but the last lines are printed."""

    due = True

    def fit(self, cost, target):
        super().fit(cost, target)
        if Late.due:
            Late.due = False
            raise sooner.NumpyNeeded


def test_what_was_printed_is_not_printed_again(tmp_path, capsys, tried, monkeypatch):
    monkeypatch.setattr(sooner, "PATIENCE", -1.0)
    monkeypatch.setattr(training, "Training", Late)
    monkeypatch.setattr(Late, "due", True)
    call("svmcut learn -v 2", f"{DATA}wine.train", tmp_path / "model")
    found = told(capsys)
    assert tried == ["NumpyNeeded", 0]
    monkeypatch.setattr(sooner, "may_begin", lambda options: False)
    call("svmcut learn -v 2", f"{DATA}wine.train", tmp_path / "model")
    assert told(capsys) == found


def test_lines_wait_until_the_run_lasts(monkeypatch):
    stream = io.StringIO()
    held = sooner._Held(stream)
    held.write("first ")
    assert stream.getvalue() == ""
    monkeypatch.setattr(sooner, "PATIENCE", -1.0)
    held.write("second ")
    held.write("third")
    assert stream.getvalue() == "first second third" and held.passed == 18
