# SPDX-License-Identifier: BSD-3-Clause
import tomllib
from pathlib import Path

import pytest

from svmcut.base.errors import UsageError
from svmcut.originals.names import LAUNCHERS
from svmcut.originals.perf import (
    PROGRAMS,
    Flag,
    Grammar,
    TextRequested,
    read_argv,
    svm_perf_classify,
    svm_rank_classify,
)

GRAMMAR = Grammar(
    "program",
    "example_file [model_file]",
    "A program.",
    {
        "c": Flag("cost", float, None),
        "v": Flag("verbosity", int, 1),
        "a": Flag("alphas", str, None),
    },
    {"b": Flag("bias", float, 1.0)},
    least=1,
)
DEFAULTS = {"cost": None, "verbosity": 1, "alphas": None, "bias": 1.0}


@pytest.mark.parametrize(
    "argv, values, arguments",
    [
        ("x", {}, ["x"]),
        ("-c 1 x m", {"cost": 1.0}, ["x", "m"]),
        ("-cost 1e-3 x", {"cost": 1e-3}, ["x"]),
        ("-c1 7 x", {"cost": 7.0}, ["x"]),
        ("-c 1 -c .5 x", {"cost": 0.5}, ["x"]),
        ("-c -1 x", {"cost": -1.0}, ["x"]),
        ("--bias 0 x", {"bias": 0.0}, ["x"]),
        ("--b 0 -v 2.9 x", {"bias": 0.0, "verbosity": 2}, ["x"]),
        ("x m -c 1", {}, ["x", "m", "-c", "1"]),
        ("-v 0 - m", {"verbosity": 0}, ["-", "m"]),
        ("-a -c x", {"alphas": "-c"}, ["x"]),
    ],
)
def test_the_scan(argv, values, arguments):
    assert read_argv(argv.split(), GRAMMAR) == (DEFAULTS | values, arguments)


@pytest.mark.parametrize(
    "argv, message",
    [
        ("", "not enough arguments"),
        ("-c 1", "not enough arguments"),
        ("-z 1 x", "unrecognized option -z"),
        ("--z 1 x", "unrecognized option --z"),
        ("-- x", "unrecognized option --"),
        ("-c", "option -c needs a value"),
        ("-c one x", "'one' is refused; expected a number"),
        ("-c nan x", "expected a number"),
        ("-c 1e999 x", "expected a number"),
        ("-c 1x x", "expected a number"),
        ("-v 1e3 x", "expected an integer"),
        ("-v x y", "expected an integer"),
    ],
)
def test_refusals(argv, message):
    with pytest.raises(UsageError, match=message):
        read_argv(argv.split(), GRAMMAR)


def test_help_is_asked_for_anywhere_in_the_options():
    with pytest.raises(TextRequested):
        read_argv(["-c", "1", "-?"], GRAMMAR)


@pytest.mark.parametrize("program", [svm_perf_classify, svm_rank_classify])
@pytest.mark.parametrize("option", ["-?", "-h"])
def test_help(program, option, capsys):
    assert program([option]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {program.name}")


@pytest.mark.parametrize("argv", [[], ["x"], ["-f", "1", "x", "m"], ["none", "none"], ["-v"]])
def test_failures_are_one_line_and_status_1(argv, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert svm_perf_classify(argv) == 1
    assert capsys.readouterr().err.count("\n") == 1


def test_every_program_is_installed_under_its_name():
    project = Path(__file__).resolve().parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
    entries = {
        name: where for name, where in (scripts | LAUNCHERS).items() if ".originals.perf:" in where
    }
    assert entries == {
        row.name: f"svmcut.originals.perf:{entry}" for entry, row in PROGRAMS.items()
    }
