# SPDX-License-Identifier: BSD-3-Clause
"""Of cases that differ in data alone some are in every run of the suite, all in the slow one."""

import json
import re

import pytest


def thinned(cases, every, single=False):
    """The first of every so many cases as they are; the others are marked slow. single: a tuple is
    the value of one argument."""
    return [case if at % every == 0 else _slow(case, single) for at, case in enumerate(cases)]


def _slow(case, single=False):
    if hasattr(case, "marks"):
        return case._replace(marks=[*case.marks, pytest.mark.slow])
    values = case if isinstance(case, tuple) and not single else (case,)
    return pytest.param(*values, marks=pytest.mark.slow)


#: Every so many recorded cases of a family are run.
EVERY = [4, _slow(1)]


def recorded(cases, family, every):
    """A regular expression for the names of the first of every so many recorded cases whose name
    begins with the regular expression ``family``; ``cases`` is their folder."""
    with open(cases / "manifest.json", encoding="utf-8") as manifest:
        names = [case["name"] for case in json.load(manifest)]
    names = [name for name in names if re.match(family, name)]
    return "^(?:" + "|".join(map(re.escape, names[::every])) + ")$"
