# SPDX-License-Identifier: BSD-3-Clause
"""Every option over tasks, solvers and kernels: what is given takes effect, or is refused, or is
warned of."""

import functools
import re
import subprocess
import sys

import click
import pytest
from drivers import cost_of, way_of
from programs import options_of, uncertified

import svmcut
from svmcut.base.errors import UsageError
from svmcut.cli import option_checks
from svmcut.cli.advice import in_options
from svmcut.cli.option_texts import options
from svmcut.cli.start import main
from svmcut.spec.catalog import AUTO, KERNELS, LOSSES, SOLVERS, TASKS, measures, solvers
from svmcut.spec.kinds import FLAG
from svmcut.spec.options import COMPATIBILITY, PANELS
from svmcut.spec.parameters import DEFAULTS, KINDS, UNASKED, Settings, task_defaults
from svmcut.spec.refusals import check, plain
from svmcut.spec.task_refusals import OF_TASKS, STEERING
from svmcut.spec.trainers import candidates, chosen_solver, reads

RUNS = [
    (task, kernel, solver)
    for task in TASKS
    for kernel in ("linear", "rbf")
    for solver in (AUTO, *solvers(task, kernel != "linear"))
    if kernel == "linear" or solvers(task, True)
]
#: Parameters with a default of None, and a value that asks for what is done anyway.
ASKED = {
    "prune": 0.01,
    "label_block": 64,
    "model_format": "binary",
    "polish": True,
    "certify": True,
    "free_bias": False,
    "epochs": 10.0,
    "maintenance": "merge",
    "nu": 0.1,
    "qp": "auto",
    "basis_file": "rows",
    "positive": 1.0,
    "class_weight": "balanced",
    "multiclass": "one-vs-rest",
    "initial": "model",
    "quick": True,
    "parts": 2,
    "at": 5,
    "line_search": False,
}


def words_of(task, *words):
    head = ["rank"] if task == "rank" else ["learn", "--task", task]
    if words[:2] == ("-c", 1) and not TASKS[task].has_cost:
        words = words[2:]
    return [*head, *map(str, words), "train"]


def verdict(words):
    """("refused", message) or ("taken", warnings) of a command line, before anything is read."""
    try:
        return "taken", option_checks.check(options_of(words))
    except (UsageError, click.ClickException) as error:
        return "refused", in_options(getattr(error, "sentence", str(error)))


def read_in(task, kernel, solver, **more):
    settings = Settings(task=task, kernel=kernel, solver=solver, **cost_of(task, 1.0), **more)
    return {name for each in candidates(settings) for name in reads(settings, each)}


@pytest.mark.every(2)
@pytest.mark.parametrize(("task", "kernel", "solver"), RUNS)
def test_an_added_option_takes_effect_or_is_refused_even_with_its_default(task, kernel, solver):
    found = {"read": 0, "refused": 0}
    for row in options(task):
        if row.field not in STEERING or row.field in ("nu", "certify"):  # of every machine
            continue
        value, rest = ASKED.get(row.field, DEFAULTS[row.field]), way_of(task, solver, kernel)
        spelt = [row.flags[0].split("/")[value is False]] + ([] if row.kind is FLAG else [value])
        how, said = verdict(
            words_of(
                task,
                "-c",
                1,
                *spelt,
                *(("-t", kernel) if solvers(task, True) else ()),
                "--solver",
                solver,
                *(f"--{name}={way}" for name, way in rest.items()),
            )
        )
        asked = {row.field: True} if row.field in ("polish", "quick") else {}
        settings = {"task": task, "kernel": kernel, "solver": solver, **asked, **rest}
        settings |= cost_of(task, 1.0)
        if row.field in read_in(
            task, kernel, solver, **({"quick": True} if row.field == "quick" else {})
        ):
            found["read"] += 1
            assert (how, said) == ("taken", []) or "--no-free-bias" in said, (row.field, said)
        else:
            found["refused"] += 1
            assert (
                how == "refused" and row.flags[0].split("/")[0] in said and "leave it out" in said
            ), (row.field, said)
            with pytest.raises(UsageError, match=f"parameter '{row.field}' .*leave it out"):
                check(Settings(**settings | {row.field: value}, given=frozenset({row.field})))
    assert found["read"] + found["refused"] > (
        -1
        if task == "one-class"
        else 0
        if task in ("multilabel", "multiclass", "regression")
        else 2
    )
    assert found["refused"] or task != "classification", found


def test_python_refuses_what_was_given_and_nothing_else():
    for name in sorted(
        (STEERING | OF_TASKS) - {"qp", "free_bias", "certify"}
    ):  # every solver on features may go on by cutting planes, and a sum may have a free bias
        task = (
            next(task for task in TASKS if name not in TASKS[task].takes)
            if name in OF_TASKS
            else "classification"
        )
        value = ASKED.get(name, DEFAULTS[name])
        with pytest.raises(UsageError, match=f"^parameter '{name}' "):
            svmcut.train("no file", task=task, cost=1.0, **{name: value})
        check(
            Settings(
                task=task,
                cost=1.0,
                given=frozenset({"cost"}),
                **{name: None if DEFAULTS[name] is None else value},
            )
        )


@pytest.mark.parametrize("task", TASKS)
def test_an_option_of_the_originals_without_effect_is_warned_of(task):
    """Against a list by hand: what the kernels read, and what nobody does."""
    read = {"linear": "", "polynomial": "dsr", "rbf": "g", "sigmoid": "sr", "precomputed": ""}
    values = {"d": 3, "g": 1, "s": 1, "r": 1}
    refused = {"sequence": {"sigmoid", "precomputed"}, "rank": {"precomputed"}}
    refused = refused.get(task, {"precomputed"} if task == "survival" else set())
    definite = [kernel for kernel in KERNELS if kernel not in refused]
    for kernel in definite if solvers(task, True) else ():
        for letter, value in values.items():
            how, said = verdict(words_of(task, "-c", 1, "-t", kernel, f"-{letter}", value))
            assert how == "taken"
            other = {"g": "rbf", "d": "polynomial", "s": "polynomial", "r": "polynomial"}[letter]
            no_effect = [f"-{letter} has no effect with the {kernel} kernel; add -t {other}"]
            assert said == ([] if letter in read[kernel] else no_effect)
    for row in options(task):
        if row.inert:
            default = row.default
            how, said = verdict(words_of(task, "-c", 1, row.flags[0], default))
            assert (how, said) == (
                "taken",
                [f"{row.flags[0]} is taken for compatibility and has no effect"],
            )
    for name in UNASKED & {row.field for row in options(task)}:
        assert verdict(words_of(task, "-c", 1, "--" + name.replace("_", "-"), 7)) == ("taken", [])


def test_other_options_of_svm_perf_without_effect():
    for words, said in (
        (("--p", 0), "--p has no effect with loss 'error-rate'"),
        (("--k", 300), "--k has no effect without a subspace or a polish"),
        (("--i", 2), "--i has no effect with the linear kernel"),
        (("-w", 9, "-o", 2), "-o has no effect with -w 9"),
        (("-e", 0.1, "--gap", 0.1), "-e has no effect beside --gap"),
    ):
        assert verdict(words_of("classification", "-c", 1, *words)) == ("taken", [said])
    how, said = verdict(words_of("classification", "-c", 1, "--basis", 500))
    assert how == "refused" and "--basis is for --solver subspace" in said
    assert verdict(words_of("classification", "-c", 1, "-t", 2, "--k", 300)) == ("taken", [])
    assert "--checkpoint FILE" in verdict(words_of("rank", "-c", 1, "--checkpoint-every", 60))[1]


def test_warnings_are_printed_and_reported_and_the_executables_are_silent(tmp_path, capsys):
    (tmp_path / "train").write_text("1 1:1\n-1 2:1\n")
    files = [str(tmp_path / "train"), str(tmp_path / "model")]
    assert main(["learn", "-v", "0", "-c", "1", "-g", "1", "-k", "100", *files]) == 0
    assert capsys.readouterr().err == (
        "svmcut learn: warning: -g has no effect with the linear kernel; add -t rbf\n"
        "svmcut learn: warning: -k is taken for compatibility and has no effect\n"
    )
    model = uncertified(tmp_path / "model")
    from svmcut.originals.perf import svm_perf_learn

    assert svm_perf_learn(["-v", "0", "-c", "1", "-g", "1", "-k", "100", "--k", "7", *files]) == 0
    assert capsys.readouterr().err == "" and (tmp_path / "model").read_bytes() == model
    assert svmcut.train(files[0], cost=1.0, gamma=2.0).warnings == [
        "parameter 'gamma' has no effect with the linear kernel; add kernel='rbf'"
    ]


PAIRS = [
    ("sampled-cuts", "sample_size", 3),
    ("sampled-cuts", "basis", 2),
    ("constant-cuts", "patience", 1),
    ("bsca", "budget", 3),
    ("bsca", "maintenance", "remove"),
    ("bsgd", "epochs", 1),
    ("pegasos", "sampling", "independent"),
    ("sdca", "hold_out", 0.3),
    ("perceptron", "polish", True),
    ("sbp", "nu", 0.5),
    ("sbp", "average", "full"),
    ("sbp", "free_bias", False),
    ("smo", "free_bias", False),
    ("subspace", "basis", 2),
    ("subspace", "certify", False),
    ("constant-cuts", "certify", False),
    ("sampled-cuts", "certify", False),
]


@functools.cache
def outcome_of(solver, name=None, value=None):
    import numpy as np

    rng = np.random.default_rng(3)
    X = rng.normal(size=(60, 4)).astype(np.float32)
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=60) > 0, 1, -1)
    given = {"budget": 10} if solver in ("bsca", "bsgd") and name != "budget" else {}
    given |= {"sample_size": 5} if solver == "constant-cuts" else {}
    given |= {"polish": False} if solver in ("bsca", "bsgd", "constant-cuts") else {}
    given |= {} if name is None else {name: value}
    outcome = svmcut.train(
        (X, y), cost=2.0, kernel="rbf", gamma=0.5, solver=solver, threads=1, **given
    )
    return outcome.model.alpha.tobytes(), repr(outcome.dual)


@pytest.mark.parametrize(("solver", "name", "value"), PAIRS)
def test_what_the_rows_say_is_read_changes_the_result(solver, name, value):
    assert name in reads(Settings(kernel="rbf", solver=solver), solver)
    assert outcome_of(solver, name, value) != outcome_of(solver)


def help_of(*words):
    code = (
        "import sys; from svmcut.cli.start import main; sys.exit(main(sys.argv[1:]) or ('numpy' in "
        "sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, *words, "--help", "all"], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr  # without numpy
    return done.stdout


@pytest.mark.parametrize("task", TASKS)
def test_help_has_panels_defaults_and_only_what_the_task_can_use(task):
    text = help_of(*words_of(task)[:-1])
    panels = [line[:-1] for line in text.splitlines() if line[:1].isalpha() and line.endswith(":")]
    assert panels == [panel for panel in PANELS if any(row.panel == panel for row in options(task))]
    flat = re.sub(r"(?<=\w)-\s+(?=\w)", "-", " ".join(text.split()))  # lines end at hyphens
    for row in options(task):
        assert row.default or row.field in ("cost", "example_cost"), row.field
        assert f"[default: {' '.join(row.default.split())}]" in flat if row.default else True
    others = {*SOLVERS, *(loss.name for loss in LOSSES)} - {*solvers(task)}
    others -= {loss.name for loss in LOSSES if loss.task == task} | {
        name.replace("_", "-") for name in measures(task)
    }
    others -= {"pairs", "hamming", "zero-one", "f1"}
    words = {
        word.strip(",.;:()")
        for word in flat.split("Examples:")[0].partition("Objective:")[2].split()
    }
    assert words & others == set()
    lacking = {
        "rank": ("--free-bias", "--budget", "--epochs"),
        "sequence": ("--polish", "--free-bias", "--basis"),
        "multilabel": ("--certify", "--kernel"),
        "multiclass": ("--pairs", "--beam"),
        "regression": ("--pairs", "--beam"),
        "survival": ("--pairs", "--bias"),
        "one-class": ("--cost", "--free-bias"),
        "classification": ("--pairs", "--beam"),
    }
    assert not [flag for flag in lacking[task] if f"{flag} " in text]
    assert "Examples:" in text


def test_defaults_of_the_help_are_those_of_the_parameters():
    for task in TASKS:
        own = {**DEFAULTS, **task_defaults(task)}
        for row in options(task):
            value = own.get(row.field)
            if (
                row.field in KINDS
                and isinstance(value, int | float | str)
                and row.field
                not in ("bias", "task", "input")  # hang on the loss, the labels, the file
            ):
                told = "on" if value is True else "off" if value is False else value
                assert row.default == (f"{told:g}" if isinstance(told, float) else str(told)), (
                    task,
                    row.field,
                )


@pytest.mark.parametrize(
    ("flag", "text", "value"),
    [
        ("--time-limit", "30s", 30.0),
        ("--time-limit", "5m", 300.0),
        ("--time-limit", "1.5H", 5400.0),
        ("--time-limit", "2d", 172800.0),
        ("--time-limit", "7", 7.0),
        ("--max-memory", "2G", 2000.0),
        ("--max-memory", "512M", 512.0),
        ("--cache-size", "500k", 0.5),
        ("-m", "40", 40.0),
        ("--select", "roc-area", "roc_area"),
        ("--select", "roc_area", "roc_area"),
    ],
)
def test_units_and_dashes(flag, text, value):
    row = next(row for row in options("classification") if flag in row.flags)
    found = getattr(options_of(["learn", "-c", "1", flag, text, "train"]), row.field)
    assert found == pytest.approx(value) if isinstance(value, float) else found == value


@pytest.mark.parametrize("text", ["1w", "s", "-1s", "0s", "nan", "infm", "1 2", ""])
def test_bad_units_are_refused_with_the_remedy(text, capsys):
    assert main(["learn", "-c", "1", "--time-limit", text, "train"]) == 2
    assert "--time-limit: " in (told := capsys.readouterr().err)
    assert told.rstrip().endswith(
        "expected a number above 0: seconds, or with a unit as in 30s, 5m, 1h or 2d"
    ) or ("is not a number above 0: seconds, or with a unit as in 30s, 5m, 1h or 2d" in told)
    with pytest.raises(
        UsageError,
        match="expected a number above 0: megabytes, or with a unit as in 500K, 512M or 2G",
    ):
        svmcut.train("no file", cost=1.0, max_memory=text)


def test_python_takes_units_too():
    given = Settings(cost=1.0, time_limit="1h", max_memory="2G", cache_size="500K")
    settings = plain(given)
    assert check(given) == [] and given.time_limit == "1h"
    assert (settings.time_limit, settings.max_memory, settings.cache_size) == (3600.0, 2000.0, 0.5)


@pytest.mark.parametrize(
    "words",
    [
        ["learn"],
        ["learn", "--bogus", "x"],
        ["learn", "-c"],
        ["learn", "-c", "x", "a"],
        ["learn", "a", "b", "c"],
        ["bogus"],
        ["rank", "--budget", "3", "a"],
        ["learn", "--polish=3", "a"],
        ["learn", "-l", "f1", "a"],
        ["learn", "-c", "1", "--solver", "nope", "a"],
        ["learn", "-c", "1", "--gap", "2", "a"],
        ["classify", "a"],
        ["classify", "a", "b", "--threads", "0"],
    ],
    ids=" ".join,
)
def test_every_error_is_one_line_in_one_form(words, capsys):
    assert main(words) == 2
    out, told = capsys.readouterr()
    name = "svmcut" if words[0] == "bogus" else f"svmcut {words[0]}"
    assert told.startswith(f"{name}: ") and told.count("\n") == 1 and out == ""
    assert any(
        word in told
        for word in ("expected", "--help", "did you mean", "give ", "is not a", "belongs to")
    ), told


def test_no_option_of_compatibility_is_required_to_know():
    """Each stands in the panel, and the solver that -w and --t name is one of the rows."""
    for task in TASKS:
        rows = [row for row in options(task) if row.panel == COMPATIBILITY]
        assert bool(rows) == (TASKS[task].original is not None)
    assert chosen_solver(Settings(kernel="rbf", basis_method=1)) in solvers("classification", True)
