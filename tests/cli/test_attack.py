# SPDX-License-Identifier: BSD-3-Clause
"""The attack: a share of its runs, its truths beside slower ones, and that it sees what is
wrong."""

import copy
import json
import math
from pathlib import Path

import numpy as np
import pytest
from attack import labellings, truths
from attack.families import make_case
from attack.maker import Case
from attack.model_files import parse
from attack.proofs import unproven
from attack.runs import Ended
from attack.verdicts import judge
from programs import call, script
from reference import chain, multilabel
from reference.risks import all_labellings, contingency

from svmcut.data.examples import Csr, Sequences
from svmcut.formats import read_model

TESTS = Path(__file__).resolve().parent.parent
X = np.array([[1.5, 0.25], [-0.5, 1.0], [0.75, -1.25], [-1.0, -0.5], [0.25, 0.5]], np.float32)
SIGNS = [1, -1, 1, -1, -1]
ONES = {
    "loss": "error-rate",
    "rescaling": "margin",
    "slack_norm": 1,
    "bias": 1.0,
    "example_cost": 2.0,
    "gap": 1e-4,
}
TWO = ("--example-cost", "2", "--gap", "1e-4")
RBF = ("-t", "2", "-g", "0.3333333333333333")
GAUSS = ONES | {"bias": 0.0, "kernel": "rbf", "gamma": 0.3333333333333333, "solver": "auto"}
TOLD = ("--report", "report", "--format", "original")
CASES = {
    "learn": Case("-", "learn", X, SIGNS, None, ["learn", *TWO], ONES),
    "rank": Case(
        "-",
        "rank",
        X,
        [2, 1, 3, 1, 2],
        [1, 1, 1, 2, 2],
        ["rank", "-c", "2", "--gap", "1e-4"],
        {"loss": "swapped-pairs", "bias": 0.0, "cost": 2.0, "gap": 1e-4},
    ),
    "sequence": Case(
        "-",
        "sequence",
        X,
        [1, 2, 2, 1, 2],
        [1, 1, 1, 2, 2],
        ["learn", "--task", "sequence", *TWO],
        {
            "loss": "hamming",
            "rescaling": "margin",
            "slack_norm": 1,
            "order": 1,
            "emissions": 0,
            "example_cost": 2.0,
            "gap": 1e-4,
        },
    ),
    "multilabel": Case(
        "-",
        "multilabel",
        X,
        [(2,), (2, 7), (), (7,), (2, 7)],
        None,
        ["learn", "--task", "multilabel", *TWO],
        {"loss": "hamming", "bias": 1.0, "example_cost": 2.0, "gap": 1e-4},
    ),
    "smooth": Case(
        *("-", "smooth", X, SIGNS, None),
        ["learn", "-l", "logistic", *TWO],
        ONES | {"loss": "logistic"},
    ),
    "regression": Case(
        "-",
        "regression",
        X,
        [0.5, -1, 2, 1.5, 0],
        None,
        ["learn", "--task", "regression", *TWO],
        ONES | {"loss": "epsilon-insensitive", "tube": 0.1},
    ),
    "classes": Case(
        "-",
        "classes",
        X,
        [4, 2, 2, 7, 4],
        None,
        ["learn", "--task", "multiclass", *TWO],
        ONES | {"multiclass": "crammer-singer"},
    ),
    "support vectors": Case(
        "-", "kernel", X, SIGNS, None, ["learn", *RBF, "--solver", "smo", *TWO], GAUSS
    ),
    "waves": Case(
        "-", "kernel", X, SIGNS, None, ["learn", *RBF, "--basis-kind", "fourier", *TWO], GAUSS
    ),
    "machines": Case(
        "-",
        "classes",
        X,
        [4, 2, 2, 7, 4],
        None,
        ["learn", "--task", "multiclass", *RBF, *TWO],
        GAUSS | {"multiclass": "one-vs-one"},
    ),
    "functions": Case(
        "-",
        "classes",
        X,
        [4, 2, 2, 7, 4],
        None,
        ["learn", "--task", "multiclass", *RBF, "--multiclass", "crammer-singer", *TWO],
        GAUSS | {"multiclass": "crammer-singer"},
    ),
    "tokens": Case(
        "-",
        "sequence",
        X,
        [1, 2, 2, 1, 2],
        [1, 1, 1, 2, 2],
        ["learn", "--task", "sequence", *RBF, *TWO],
        GAUSS | {"loss": "hamming", "order": 1, "emissions": 0},
    ),
}

# of seed 1, quick ones of every family
SHARE = (
    "0,1,2,3,4,5,6,7,8,9,11,13,14,15,17,18,19,20,22,25,26,27,28,29,31,32,37,44,47,50,51,53,"
    "56,57,58,63,74,80,83,89,91,97,99,100,108,109,110,111,112,130,133,134,141,154,170,172,"
    "179,203,213"
)
#: One in Python, with scores, and two of programs with the originals' names among them.
SCRIPTS = (58, 29, 44)
#: One whose bounds are held against an exact optimum.
PROOF = 83


@pytest.fixture
def trained(tmp_path, monkeypatch, capfd):
    """Trains a case; gives how that ended."""
    monkeypatch.chdir(tmp_path)

    def run(case):
        Path("train").write_text(case.text(), encoding="ascii")
        status = call("svmcut", *case.words, "--threads", "1", *TOLD, "train", "model")
        return Ended(status, 0.1, *capfd.readouterr())

    return run


@pytest.fixture(scope="module")
def share(tmp_path_factory):
    """The runs of SHARE, ended, and the folder of their files."""
    folder = tmp_path_factory.mktemp("attack")
    done = script(TESTS, "--seed", "1", "--only", SHARE, "--keep", folder, module="attack")
    done.folder = folder
    return done


def kinds(case, ended):
    return {kind for kind, _ in judge(case, ended, ".")}


def changed(path, line, old, new):
    """Replaces a word of a line of a file."""
    lines = Path(path).read_text(encoding="ascii").split("\n")
    assert old in lines[line]
    lines[line] = lines[line].replace(old, new, 1)
    Path(path).write_text("\n".join(lines), encoding="ascii")


def test_random_runs_keep_their_promises(share):
    assert share.returncode == 0, share.stdout + share.stderr
    assert f"{len(SHARE.split(','))} runs, 0 violations" in share.stdout


def test_a_run_is_made_again_by_its_name(tmp_path):
    one, other = make_case(5, 12), make_case(5, 12)
    assert (one.text(), one.line()) == (other.text(), other.line())
    assert make_case(5, 13).text() != one.text()


@pytest.mark.parametrize("family", CASES)
def test_a_changed_weight_is_seen(trained, family):
    case = CASES[family]
    ended = trained(case)
    assert judge(case, ended, ".") == []
    lines = Path("model").read_text(encoding="ascii").split("\n")
    place = (
        5
        if family == "multilabel"
        else max(k for k, line in enumerate(lines) if line and line[:2] != "#@")
    )
    last = [word for word in lines[place].split() if ":" in word][-1]
    index, value = last.split(":")
    changed("model", place, last, f"{index}:{float(value) * 1.1 + 0.01:.8g}")
    assert kinds(case, ended) & {"primal", "file"}
    if "kernel" in case.facts:
        number = next(k for k, line in enumerate(lines) if line.startswith("0.3333"))
        changed("model", number, "0.3333", "0.3334")
        assert "kernel" in kinds(case, ended)


def test_a_bound_of_an_indefinite_kernel_and_a_model_worse_than_nothing_are_seen(trained):
    case = copy.deepcopy(CASES["support vectors"])
    case.words = ["learn", "-t", "3", "-s", "2", "-r", "-1", "--solver", "smo", *TWO]
    case.facts |= {"kernel": "sigmoid", "scale_kernel": 2.0, "coef0": -1.0}
    ended = trained(case)
    assert judge(case, ended, ".") == []
    report = json.loads(Path("report").read_text(encoding="ascii"))
    for change in (
        {"converged": True, "stopped_by": None},
        {"dual": 1.0, "gap": report["primal"] - 1},
    ):
        Path("report").write_text(json.dumps(report | change), encoding="ascii")
        assert "claim" in kinds(case, ended)
    model = Path("model").read_text(encoding="ascii").split("\n")
    vectors = [
        line.replace(line.split()[0], str(-1e3 * float(line.split()[0])), 1)
        for line in model[11:]
        if line and not line.startswith("#@")
    ]
    Path("model").write_text("\n".join([*model[:11], *vectors, ""]), encoding="ascii")
    assert "worse" in kinds(case, ended)
    case.facts["refused"] = True
    assert kinds(case, ended) == {"refusal"}


def test_every_model_of_a_path_and_the_cell_that_was_chosen_are_judged(trained):
    case = copy.deepcopy(CASES["support vectors"])
    case.words = ["learn", *RBF, "--solver", "smo", "--example-cost", "2,20", "--gap", "1e-4"]
    case.facts["costs"] = [2.0, 20.0]
    ended = trained(case)
    assert judge(case, ended, ".") == []
    line = Path("model.2").read_text(encoding="ascii").split("\n")[11]
    changed("model.2", 11, line.split()[0], "0.5")
    assert "primal" in kinds(case, ended)
    case.words += ["--cv", "2"]
    ended = trained(case)
    assert judge(case, ended, ".") == []
    case.facts["costs"] = [3.0, 30.0]
    with pytest.raises(ValueError, match="none of the grid"):
        judge(case, ended, ".")


def test_probabilities_that_are_none_are_seen(trained):
    case = copy.deepcopy(CASES["smooth"])
    case.after = ["classify", "--probability", "train", "model", "probabilities"]
    ended = trained(case)
    assert call("svmcut", *case.after) == 0
    assert judge(case, ended, ".") == []
    lines = Path("probabilities").read_text(encoding="ascii").split("\n")
    for first in ("0.5 0.6", "-0.1 1.1", " ".join(lines[0].split()[::-1])):
        Path("probabilities").write_text("\n".join([first, *lines[1:]]), encoding="ascii")
        assert "probability" in kinds(case, ended)


def test_attributes_of_estimators_and_lines_of_the_originals_are_judged(share):
    seen = set()
    for number in SCRIPTS:
        case, folder = make_case(1, number), share.folder / f"1-{number}"
        ended = Ended(
            0, 0.1, *((folder / name).read_text(encoding="utf-8") for name in ("stdout", "stderr"))
        )
        assert judge(case, ended, folder) == []
        if case.program == "python":
            report = json.loads((folder / "report").read_text(encoding="ascii"))
            report["scores"] = (1.01 * np.array(report["scores"]) + 0.1).tolist()
            (folder / "report").write_text(json.dumps(report), encoding="ascii")
        else:
            ended.out = ended.out.replace("pval=", "pval=1").replace("loss: loss=", "loss: loss=1")
        seen |= {(case.program, kind) for kind, _ in judge(case, ended, folder)}
    assert seen == {("python", "scores"), ("svm_perf_learn", "primal"), ("svm_learn", "primal")}


@pytest.mark.parametrize(
    ("key", "change", "kind"),
    [
        ("dual", lambda r: r["primal"] * 1.001, "dual"),
        ("dual", lambda r: r["primal"] * 0.99, "gap"),
        ("primal", lambda r: r["primal"] * 1.001, "primal"),
        ("primal_of_file", lambda r: r["primal"] * 1.001, "primal"),
        ("converged", lambda r: False, "status"),
        ("dual", lambda r: None, "gap"),
        ("gap", lambda r: 0.5, "gap"),
    ],
)
def test_a_changed_report_is_seen(trained, key, change, kind):
    case = CASES["learn"]
    ended = trained(case)
    report = json.loads(Path("report").read_text(encoding="ascii"))
    report[key] = change(report)
    if key == "primal":
        report.pop("primal_of_file", None)
    if key == "dual" and report["dual"] is not None:
        report["gap"] = report["primal"] - report["dual"]
    Path("report").write_text(json.dumps(report), encoding="ascii")
    assert kind in kinds(case, ended)


def test_endings_and_prints_are_seen(trained):
    case = CASES["learn"]
    ended = trained(case)
    for change, kind in (
        ({"status": -24}, "ends"),
        ({"status": 70}, "status"),
        ({"status": 3}, "status"),
        ({"err": "x.py:3: RuntimeWarning: overflow"}, "stderr"),
        ({"status": 1}, "status"),
        ({"out": ended.out.replace("dval=", "dval=1")}, "printed"),
    ):
        other = copy.copy(ended)
        for name, value in change.items():
            setattr(other, name, value)
        assert kind in kinds(case, other), change


@pytest.mark.parametrize("loss", ["zero-one", "f1", "error-rate", "prbep", "prec-at-k", "rec-at-k"])
@pytest.mark.parametrize("rescaling", ["margin", "slack"])
def test_tables_are_all_labellings(trained, rng, loss, rescaling):
    case = copy.deepcopy(CASES["learn"])
    trained(case)
    case.facts |= {"loss": loss, "rescaling": rescaling, "slack_norm": 2, "p": 1.0, "cost": 1.0}
    del case.facts["example_cost"]
    truth = truths.Vectors(case, parse("model"))
    for s in rng.normal(size=(20, 5)):
        truth.s = s.astype(np.longdouble)
        slow = contingency(s, np.array(SIGNS) > 0, loss, 2, rescaling, 2, all_labellings(5))
        assert math.sqrt(truth.risk(1.0)[0]) == pytest.approx(slow, rel=1e-12, abs=1e-12)


def test_chains_and_label_sets_are_those_of_slower_truths(trained):
    trained(CASES["sequence"])
    case, model = CASES["sequence"], read_model("model")
    rows = Sequences(
        Csr.from_dense(X), np.array([0, 3, 5], np.int64), np.array(case.y, np.int32) - 1
    )
    slow = 0.5 * model.w @ model.w
    for n in range(2):
        gold = rows.tags[rows.indptr[n] : rows.indptr[n + 1]]
        slow += (
            2.0 * chain.slack(chain.dense_rows(rows, n), model.w, model.shape, gold, "margin")[0]
        )
    assert labellings.Sequences(case, parse("model")).primal()[0] == pytest.approx(slow, rel=1e-12)
    trained(CASES["multilabel"])
    case, model = CASES["multilabel"], read_model("model")
    v = np.zeros((2, 2))
    v[model.first, model.second] = v[model.second, model.first] = model.v
    W = np.vstack([model.W, model.constant])
    gold = np.array([[name in labels for name in (2, 7)] for labels in case.y])
    slow = multilabel.primal(np.hstack([X, np.ones((5, 1))]), gold, W, v, 2.0)
    assert labellings.LabelSets(case, parse("model")).primal()[0] == pytest.approx(slow, rel=1e-9)


def test_bounds_that_do_not_hold_the_optimum_are_seen(share):
    case, folder = make_case(1, PROOF), share.folder / f"1-{PROOF}"
    assert case.family == "proofs" and unproven(case, folder) == []
    bounds = np.loadtxt(folder / "bounds", ndmin=2)
    for wrong in (bounds + 1 + abs(bounds).max(), bounds[:, [0, 0]] - 1):
        np.savetxt(folder / "bounds", wrong, "%.17g")
        assert "bounds" in {kind for kind, _ in unproven(case, folder)}
