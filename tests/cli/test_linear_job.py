# SPDX-License-Identifier: BSD-3-Clause
"""A linear run of two classes without NumPy: the model, the lines and the status are those of
training with it."""

import random
import re
import sys
from pathlib import Path

import pytest
from programs import call, run

from svmcut.cli import linear_job

DATA = "data/"
#: Seconds, and what is counted in their tenths.
CLOCK = re.compile(r"in [\d.]+ s\b|cpu-seconds: [\d.]+")


def rows(seed, n, d, fill, labels=("1", "-1"), noise=1.0, scale=1.0):
    """Lines of n rows of d features of which a share is there, on both sides of a plane."""
    rng = random.Random(seed)
    plane = [rng.gauss(0, 1) for _ in range(d)]
    lines = []
    for _ in range(n):
        x = {j: rng.gauss(0, 1) for j in range(d) if rng.random() < fill} or {0: 1.0}
        score = sum(plane[j] * value for j, value in x.items()) + noise * rng.gauss(0, 1)
        pairs = " ".join(f"{j + 1}:{scale * value:.5g}" for j, value in x.items())
        lines.append(f"{labels[score < 0]} {pairs}\n")
    return "".join(lines)


MADE = {
    "sparse": lambda: rows(1, 300, 90, 0.1, noise=0.2),
    "wide": lambda: rows(2, 40, 1500, 0.02),
    "named": lambda: rows(3, 90, 5, 0.8, ("7", "2.5")),
    "one and zero": lambda: rows(4, 130, 4, 1.0, ("1", "0")),
    "separable": lambda: rows(5, 60, 8, 1.0, noise=0.0),
    "noise": lambda: rows(6, 150, 3, 1.0, noise=30.0),
    "rare": lambda: "".join(f"{1 if k == 7 else -1} 1:{k % 5} 2:1\n" for k in range(40)),
    "of two scales": lambda: re.sub(r" 3:(-?\d)", r" 3:\g<1>999", rows(7, 50, 3, 1.0)),
    "fractions": lambda: rows(8, 200, 12, 0.5, scale=1e-3),
    "same rows": lambda: rows(9, 20, 3, 1.0) * 12,
    "empty rows": lambda: rows(10, 30, 3, 1.0) + "1\n-1\n# no row\n\n" * 3,
}
LEARN, PERF = "svmcut learn", "svm_perf_learn"
#: The programs and options, and the sets that they train on.
RUNS = {
    **{
        (LEARN, "-v 2"): ("text", "breast_cancer", "wine", *sorted(MADE.keys() - {"of two scales"}))
    },
    (LEARN, "-v 0"): ("wine", "rare"),
    (LEARN, "--bias 0 -v 2"): ("text", "named", "wide"),
    (LEARN, "--bias 3.5 --seed 11"): ("wide", "named"),
    (LEARN, "--example-cost 1e-7 -v 2"): ("wine", "sparse", "noise", "empty rows", "of two scales"),
    (LEARN, "--example-cost 0.003 -v 2"): ("wine", "breast_cancer", "wide"),
    (LEARN, "--example-cost 40 -v 2"): ("text", "separable", "fractions"),
    (LEARN, "--gap 1e-6 -v 2"): ("text", "sparse", "wide"),
    (LEARN, "--gap 0.9 -v 2"): ("wine", "sparse", "rare"),
    (LEARN, "-c 5 -v 2"): ("wide", "named"),
    (LEARN, "-c 5 -e 0.01 -v 2"): ("sparse", "separable"),
    (LEARN, "-c 0.001 -e 50"): ("wine", "sparse"),
    (LEARN, "--solver dual-cd --threads 2"): ("text", "sparse"),
    (LEARN, "-l error-rate --task classification"): ("wine", "named"),
    (LEARN, "--format original"): ("wine", "sparse"),
    (LEARN, "-l squared-hinge -v 2"): ("text", "wide", "separable", "fractions", "empty rows"),
    (LEARN, "-l squared-hinge --bias 2.7 --gap 1e-5"): ("text", "wide"),
    (LEARN, "-l squared-hinge --bias 0 --example-cost 1e-4"): ("wide", "wine", "rare"),
    (LEARN, "-l logistic -v 2"): ("text", "wide", "separable", "fractions", "empty rows"),
    (LEARN, "-l logistic --bias 2.7 --gap 1e-5"): ("text", "wide", "named"),
    (LEARN, "-l logistic --bias 0 --example-cost 1e-4"): ("wide", "wine", "rare"),
    (LEARN, "-l logistic --solver dual-cd -c 0.01"): ("wide", "one and zero"),
    (PERF, "-c 20"): ("text", "wine", "separable"),
    (PERF, "-c 3 -v 0"): ("breast_cancer",),
    (PERF, "-c 1 -e 0.01 --b 0"): ("sparse", "wide"),
}


def is_left(options, original):
    return None


@pytest.fixture
def tried(monkeypatch):
    """How the job ended."""
    ends, done = [], linear_job.train_linear

    def watched(options, original=""):
        ends.append(done(options, original))
        return ends[-1]

    monkeypatch.setattr(linear_job, "is_numpy_loaded", lambda: False)
    monkeypatch.setattr(linear_job, "train_linear", watched)
    return ends


def file_of(stem, folder):
    if stem not in MADE:
        return f"{DATA}{stem}.train"
    (folder / "examples").write_text(MADE[stem]())
    return folder / "examples"


def told(capsys):
    out, err = capsys.readouterr()
    return CLOCK.sub("", out), err


@pytest.mark.parametrize(
    "program, words, stem", [(*line, stem) for line, stems in RUNS.items() for stem in stems]
)
def test_model_and_lines_are_the_same(program, words, stem, tmp_path, capsys, tried, monkeypatch):
    model, file = tmp_path / "model", file_of(stem, tmp_path)
    status = call(f"{program} {words}", file, model)
    found = status, model.read_bytes(), told(capsys)
    assert tried == [status] == [0]
    monkeypatch.setattr(linear_job, "train_linear", is_left)
    assert call(f"{program} {words}", file, model) == status
    assert (status, model.read_bytes(), told(capsys)) == found


#: Runs that another path ends.
OTHERS = {
    "three classes": ("", lambda: "".join(f"{k % 3} 1:{k}\n" for k in range(30))),
    "one class": ("", lambda: "1 1:1\n1 2:1\n"),
    "queries": ("", lambda: "1 qid:1 1:1\n-1 qid:1 2:1\n"),
    "weights": ("", lambda: "1 cost:2 1:1\n-1 2:1\n"),
    "words": ("", lambda: "yes 1:1\nno 2:1\n"),
    "large values": ("", lambda: "".join(f"{k % 2} 1:{70000 + k} 2:1\n" for k in range(40))),
    "no entries": ("", lambda: "1\n-1\n"),
    "a fault": ("", lambda: "1 1:1\n-1 2:x\n"),
    "nothing": ("", lambda: ""),
    "another loss": ("-l f1 -c 1", MADE["sparse"]),
    "a kernel": ("-t rbf", MADE["named"]),
    "a limit": ("--max-iterations 2", MADE["sparse"]),
    "a report": ("--report report", MADE["sparse"]),
    "Newton's method goes on": ("-c 5", Path(f"{DATA}wine.train").absolute().read_text),
    "cutting planes": ("--solver cutting-plane", MADE["named"]),
    "a wrong option": ("-c 1 --example-cost 1", MADE["named"]),
    "no effect": ("-e 0.1 --gap 0.1", MADE["named"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_others_begin_plainly(name, tmp_path, capsys, tried, monkeypatch):
    words, made = OTHERS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text(made())
    status, found = call(f"svmcut learn {words}", "file", "model"), told(capsys)
    assert tried == [None]
    monkeypatch.setattr(linear_job, "train_linear", is_left)
    assert (call(f"svmcut learn {words}", "file", "model"), told(capsys)) == (status, found)


def test_work_that_lasts_is_left(tmp_path, tried, monkeypatch):
    monkeypatch.setattr(linear_job, "MAX_WORK", 1000)
    assert call("svmcut learn -v 0", file_of("sparse", tmp_path), tmp_path / "model") == 0
    assert tried == [None]


@pytest.mark.parametrize("stem", ["text", "wine", "sparse"])
def test_modules_are_few_and_numpy_is_none_of_them(stem, tmp_path):
    words = ["learn", str(file_of(stem, tmp_path)), f"{tmp_path}/m"]
    code = (
        f"import sys; from svmcut.cli.start import main; status = main({words!r}); "
        "own = [name for name in sys.modules if name.partition('.')[0] == 'svmcut']; "
        "sys.exit(status or 'numpy' in sys.modules or len(own) > 76 and f'{len(own)}: {own}')"
    )
    done = run(f"{sys.executable} -c", code)
    assert done.returncode == 0, done.stderr
