# SPDX-License-Identifier: BSD-3-Clause
"""Recorded runs of the originals, compared by the scripts that lie beside them with forks of this
process, which saves hundreds of starts of an interpreter."""

import importlib.util
import json
import os
import re
import subprocess
from types import SimpleNamespace

import pytest
from programs import forked


def each_family(families):
    """Runs a test on every family of cases: on a part of it, and on the whole in the slow suite."""
    marks = (
        pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs are forked"),
        pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),
        pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning"),
        pytest.mark.parametrize("every", [8, pytest.param(1, marks=pytest.mark.slow)]),
        pytest.mark.parametrize("family", families),
    )

    def decorate(test):
        for mark in marks:
            test = mark(test)
        return test

    return decorate


def pattern_of(cases, family, every):
    """Return a regular expression for the names of the first of every so many cases in a folder
    whose name begins with the regular expression ``family``."""
    with open(cases / "manifest.json", encoding="utf-8") as manifest:
        names = [case["name"] for case in json.load(manifest)]
    names = [name for name in names if re.match(family, name)]
    return "^(?:" + "|".join(map(re.escape, names[::every])) + ")$"


def run_forked(line, *, cwd, timeout, **_):
    """Run a command line as `subprocess.run` would, in a fork."""
    return forked(os.path.basename(line[0]), *line[1:], cwd=cwd, timeout=timeout)


def subprocess_by(run):
    """Return a stand-in for the module subprocess."""
    names = ("DEVNULL", "TimeoutExpired")
    return SimpleNamespace(run=run, **{name: getattr(subprocess, name) for name in names})


def module_at(path):
    """Return the module of a file, not yet executed, and what executes it."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    return importlib.util.module_from_spec(spec), spec.loader.exec_module
