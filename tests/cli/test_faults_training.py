# SPDX-License-Identifier: BSD-3-Clause
"""Options out of range, data at the limits of arithmetic, the QP's failures, threads; ids are rows
of the table of faults."""

import json
import os

import numpy as np
import pytest
from programs import CLASSIFICATION_LEARNERS, LEARNERS, RANK_LEARNERS, call, run, status_of

from svmcut import qp
from svmcut.formats import read_model
from svmcut.qp.simplex import ExactSimplexQp
from svmcut.spec.catalog import losses


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "fsync", lambda descriptor: None)
    return tmp_path


def put(name, y, X, queries=None):
    with open(name, "w", encoding="ascii") as file:
        for i, row in enumerate(X):
            query = "" if queries is None else f" qid:{queries[i]}"
            features = (f" {j + 1}:{value:.7g}" for j, value in enumerate(row) if value)
            file.write(f"{y[i]:g}{query}{''.join(features)}\n")
    return name


def noisy(rng, n=300, d=12):
    X = rng.normal(size=(n, d))
    return np.where(X[:, 0] + rng.normal(size=n) > 0, 1, -1), X


def document():
    with open("report", encoding="ascii") as file:
        return json.load(file)


OUT_OF_RANGE = {
    "row27-C-0": ("-c 0", "above 0 and at most 1e+12"),
    "row27-C-negative": ("-c -1", "above 0 and at most 1e+12"),
    "row27-C-nan": ("-c nan", "above 0 and at most 1e+12"),
    "row27-C-inf": ("-c inf", "above 0 and at most 1e+12"),
    "row27-C-above-1e12": ("-c 1.1e12", "above 0 and at most 1e+12"),
    "row27-C-text": ("-c much", "above 0 and at most 1e+12"),
    "row27-eps-0": ("-c 1 -e 0", "above 0"),
    "row27-eps-nan": ("-c 1 -e nan", "above 0"),
    "row27-k-0": ("-c 1 -k 0", "of at least 1"),
    "row27-slack-norm-3": ("-c 1 -p 3", "from 1 to 2"),
    "row27-verbosity-text": ("-c 1 -v loud", "is not a whole number"),
    "row27-algorithm-5": ("-c 1 -w 5", "-w 5 is no algorithm"),
    "row27-loss-unknown": ("-c 1 -l 77", "'77' is unknown; expected one of "),
}
OUT_OF_RANGE_OF_LOSS = {
    "row27-prec-at-k": ("-c 1 -w 3 -l 4 --p 1.5", "expected at most 1"),
    "row27-rec-at-k": ("-c 1 -w 3 -l 5 --p 0.5", "expected at least 1"),
    "row27-fraction-negative": ("-c 1 --p -0.1", "of at least 0"),
    "row27-fraction-nan": ("-c 1 --p nan", "of at least 0"),
    "row27-bias-nan": ("-c 1 --b nan", "from -1e+300 to 1e+300"),
}


def refuse(program, options, says, capsys):
    put("train", [1, -1], [[1.0], [2.0]])
    assert call(program, *options.split(), "train", "model") == status_of(program, 2)
    captured = capsys.readouterr()
    assert says in captured.err and captured.out == ""
    assert not os.path.exists("model")


@pytest.mark.parametrize("program", LEARNERS)
@pytest.mark.parametrize("options, says", OUT_OF_RANGE.values(), ids=OUT_OF_RANGE)
def test_out_of_range_is_refused_with_the_range(program, options, says, capsys):
    refuse(program, options, says, capsys)


@pytest.mark.parametrize("program", CLASSIFICATION_LEARNERS)
@pytest.mark.parametrize("options, says", OUT_OF_RANGE_OF_LOSS.values(), ids=OUT_OF_RANGE_OF_LOSS)
def test_out_of_range_of_the_loss_is_refused_with_the_range(program, options, says, capsys):
    refuse(program, options, says, capsys)


@pytest.mark.parametrize("program", sorted({*LEARNERS} - {"svmcut learn", "svmcut rank"}))
def test_row27_C_missing(program, capsys):
    refuse(program, "", "C is missing; give -c", capsys)


def test_row27_C_missing_of_a_loss_that_is_no_sum(capsys):
    refuse(
        "svmcut learn", "-l roc-area", "C is missing, and -l roc-area has none by default", capsys
    )


@pytest.mark.parametrize("program", ["svmcut learn", "svmcut rank"])
@pytest.mark.parametrize(
    "options", ["--example-cost 0", "--gap 0", "--gap 1.5", "--threads 0", "--max-iterations 0"]
)
def test_row27_long_options(program, options, capsys):
    refuse(program, f"{options} -c 1", "is not a ", capsys)


@pytest.mark.parametrize("program", LEARNERS)
def test_row27_text_that_would_break_the_model_file(program, capsys):
    put("train", [1, -1], [[1.0], [2.0]])
    assert call(program, "-c", "1", "-u", "two\nlines", "train", "model") == status_of(program, 2)
    assert "is not one line" in capsys.readouterr().err
    assert call(program, "-c", "1", "-u", "one line", "train", "model") == 0
    assert read_model("model").kernel.text == "one line"


def separable(rng):
    y = rng.choice([-1, 1], 200)
    return y, np.column_stack([y * rng.uniform(1, 2, 200), rng.normal(size=(200, 2))])


def zeros(rng):
    return np.tile([1, -1], 20), np.zeros((40, 2))


def uneven(rng):
    y = rng.choice([-1, 1], 200)
    return y, np.column_stack([1e12 * rng.normal(size=200), 1e-12 * y, y + rng.normal(size=200)])


def extreme(rng):
    y = rng.choice([-1, 1], 50)
    return y, np.column_stack([1e37 * rng.normal(size=50), 1e-38 * y, 1e37 * rng.normal(size=50)])


def assert_sound(status):
    """Ended with a gap and a model that can be read back, which no nan can."""
    report = document()
    assert status in (0, 3) and report["converged"] == (status == 0)
    assert all(np.isfinite(report[key]) for key in ("primal", "dual", "gap"))
    assert report["primal"] >= 0 and report["dual"] >= 0
    assert report["gap"] >= -1e-9 * report["primal"]
    model = read_model("model")
    assert np.all(np.isfinite(model.w)) and np.isfinite(model.b)


DATA = pytest.mark.parametrize(
    "data", [separable, zeros, uneven, extreme], ids=lambda data: f"row28-{data.__name__}"
)


@pytest.mark.every(4)
@DATA
@pytest.mark.parametrize("C", [1.0, 1e6, 1e9, 1e12])
def test_huge_c(data, C, rng):
    put("train", *data(rng))
    options = ["--example-cost", C, "--report", "report"]
    assert_sound(call("svmcut learn", *options, "train", "model"))


@pytest.mark.every(4)
@DATA
@pytest.mark.parametrize("loss", losses("classification"))
def test_huge_c_of_every_loss(data, loss, rng):
    put("train", *data(rng))
    assert_sound(
        call("svmcut learn", "-c", "1e12", "-l", loss, "--report", "report", "train", "model")
    )


@pytest.mark.every(4)
@DATA
@pytest.mark.parametrize("loss", losses("rank"))
def test_huge_c_in_ranking(data, loss, rng):
    y, X = data(rng)
    put("train", y, X, np.arange(len(y)) // 10)
    assert_sound(
        call("svmcut rank", "-c", "1e9", "-l", loss, "--report", "report", "train", "model")
    )


@pytest.mark.every(2)
@pytest.mark.parametrize(
    "rows", ["1 1:1 2:0.5\n", "1 1:1 2:0.5\n-1 1:1 2:0.5\n"], ids=["row28-one-class", "row28-two"]
)
def test_a_million_equal_rows(rows, folder):
    (folder / "train").write_text(rows * (1_000_000 // rows.count("\n")))
    options = ["-c", "1", "-v", "0", "--time-limit", "60", "--report", "report", "train", "model"]
    for program in ("svmcut learn", "svmcut rank"):
        assert call(program, *options) == 0
        assert_sound(0)
        assert document()["iterations"] < 10


class Answer:
    def __init__(self, x):
        self.x = x


ANSWERS = {
    "row29-none": lambda k: None,
    "row29-nan": lambda k: np.full(k, np.nan),
    "row29-inaccurate": lambda k: np.full(k, 1.0 / k) + 1e-3,
    "row29-not-feasible": lambda k: np.full(k, -7.0),
}


@pytest.fixture
def always_osqp(monkeypatch):
    """OSQP is asked from the first cut on; with answers(f), f(number of cuts) is what it says."""
    import osqp

    monkeypatch.setattr(qp, "DEFAULT", "osqp")
    asked = []

    def answers(x):
        setup = osqp.OSQP.setup

        def remember(self, *args, **kwargs):
            asked.append(len(kwargs["q"]))
            return setup(self, *args, **kwargs)

        monkeypatch.setattr(osqp.OSQP, "setup", remember)
        monkeypatch.setattr(
            osqp.OSQP, "solve", lambda self, raise_error=False: Answer(x(asked[-1]))
        )
        return asked

    return answers


@pytest.mark.every(2)
@pytest.mark.parametrize("x", ANSWERS.values(), ids=ANSWERS)
@pytest.mark.parametrize("program", ["svmcut learn", "svmcut rank"])
def test_the_exact_qp_answers_where_osqp_does_not(program, x, always_osqp, rng, monkeypatch):
    y, X = noisy(rng)
    put("train", y, X, np.arange(len(y)) // 10)
    asked = always_osqp(x)
    assert call(program, "-c", "10", "--gap", "1e-6", "--report", "report", "train", "model") == 0
    assert len(asked) > 5 and document()["relative_gap"] <= 1e-6
    primal = document()["primal"]
    monkeypatch.setattr(qp, "DEFAULT", "exact")
    assert call(program, "-c", "10", "--gap", "1e-6", "--report", "report", "train", "model") == 0
    assert document()["primal"] == pytest.approx(primal, rel=2e-6)


def test_row29_a_refusal_of_osqp_is_no_failure(always_osqp, monkeypatch, rng):
    import osqp

    def refuse(self, *args, **kwargs):
        raise osqp.OSQPException(4)

    monkeypatch.setattr(osqp.OSQP, "setup", refuse)
    assert (
        call("svmcut learn", "-c", "10", "--gap", "1e-6", put("train", *noisy(rng)), "model") == 0
    )


def test_row29_where_both_fail_the_gap_is_stated(always_osqp, monkeypatch, rng, capsys):
    always_osqp(lambda k: None)
    monkeypatch.setattr(ExactSimplexQp, "solve", lambda self, H, b, C, beta0, tol: np.array(beta0))
    assert (
        call(
            "svmcut learn",
            "-c",
            "10",
            "--report",
            "report",
            put("train", *noisy(rng, 700)),
            "model",
        )
        == 3
    )
    assert "stopped where rounding forbids progress, gap " in capsys.readouterr().out
    assert document()["gap"] > 0 and not document()["converged"]


def threads_agree(program, options, capsys):
    models = set()
    for threads in (1, 2, 3, 8):
        assert call(program, "-v", "0", "--threads", threads, *options, f"out{threads}") == 0
        capsys.readouterr()
        with open(f"out{threads}", "rb") as file:
            models.add(file.read())
    assert len(models) == 1


@pytest.fixture(scope="module")
def many_rows(tmp_path_factory):
    """Rows enough for several blocks of work, and a text of several pieces."""
    rng = np.random.default_rng(8)
    X = np.where(rng.random((6000, 30)) < 0.5, rng.normal(size=(6000, 30)), 0)
    y = np.round(X[:, 0] + X[:, 1] + rng.normal(size=len(X)))
    return put(str(tmp_path_factory.mktemp("rows") / "train"), y, X, np.arange(len(X)) // 25)


@pytest.mark.every(3)
@pytest.mark.parametrize("loss", losses("classification"))
def test_row30_threads_leave_the_model(loss, many_rows, capsys):
    threads_agree(
        "svmcut learn", ["-c", "0.1", "-e", "1", "-l", loss, "--positive", ">0", many_rows], capsys
    )


@pytest.mark.every(2)
@pytest.mark.parametrize("loss", losses("rank"))
def test_row30_threads_leave_the_ranking_model(loss, many_rows, capsys):
    threads_agree("svmcut rank", ["-c", "0.01", "-l", loss, many_rows], capsys)


def test_row30_threads_leave_the_predictions(many_rows, capsys):
    assert call("svmcut rank", "-v", "0", "-c", "0.01", many_rows, "model") == 0
    threads_agree("svmcut classify", [many_rows, "model"], capsys)


def test_no_warning_of_python_reaches_stderr(rng, monkeypatch):
    monkeypatch.setenv("PYTHONWARNINGS", "default")
    monkeypatch.setenv("PYTHONDEVMODE", "1")
    put("train", *extreme(rng))
    for program in (*CLASSIFICATION_LEARNERS, *RANK_LEARNERS):
        done = run(program, "-c", "1e12", "train", "model")
        assert done.returncode == status_of(program, 3)
        (line,) = (line for line in done.stderr.splitlines() if "svmcut scale" not in line)
        assert line.startswith(f"{program}: warning: model: stopped")
    for program in ("svmcut classify", "svm_perf_classify"):
        done = run(program, "train", "model")
        assert (done.returncode, done.stderr) == (0, "")
