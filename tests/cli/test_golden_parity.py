# SPDX-License-Identifier: BSD-3-Clause
"""Recorded differences from the originals, where the reference data stand beside the project."""

import contextlib
import re
import sys
from types import SimpleNamespace

import pytest
from programs import BIN
from recorded import each_family, module_at, pattern_of, run_forked

#: Regular expressions of names of cases, a test each.
FAMILIES = [
    "t3_(rk|mc|perf)_(rbf|poly).*classify",
    "t3_mc_(p2|l1|l2|l3|o1|tiny)",
    "t3_perf_(p2|t1|t2|f_)",
    "t3_perf_y1",
    "t3_hmm_b",
    "t3_rt_(perf|rank|hmm|mc)",
    "t3_tr_",
    "t3_(xa|zp)_",
    "t3_(loo|f0|all0|i1|nan|rt_light)",
]


@each_family(FAMILIES)
def test_what_the_originals_did(shared, family, every, monkeypatch, capfd):
    golden = shared / "golden"
    parity = golden / "parity"
    if not parity.exists():
        pytest.skip("no recorded differences beside the project")
    only = pattern_of(parity / "cases", f"(?:{family})", every)
    words = [golden / "check.py", golden / "light" / "check_light.py", "--bin", BIN]
    words += ["--cases", parity / "cases", "--only", only]
    monkeypatch.setattr(sys, "argv", ["check_parity.py", *map(str, words)])
    checker, execute = module_at(parity / "check_parity.py")
    with contextlib.suppress(SystemExit):
        execute(checker)
    monkeypatch.setattr(checker, "real", SimpleNamespace(run=run_forked))
    failed = checker.check.main()
    told = capfd.readouterr().out
    assert not failed and re.search(r"^[1-9]\d* passed, 0 failed", told, re.MULTILINE), told
