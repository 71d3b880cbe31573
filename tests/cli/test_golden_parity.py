# SPDX-License-Identifier: BSD-3-Clause
"""Recorded differences from the originals, where the reference data stand beside the project."""

import contextlib
import importlib.util
import os
import re
import sys
from types import SimpleNamespace

import pytest
from programs import BIN, forked
from thinned import EVERY, recorded

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


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs are forked")
@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning", "ignore:unclosed file:ResourceWarning"
)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("family", FAMILIES)
def test_what_the_originals_did(shared, family, every, monkeypatch, capfd):
    golden = shared / "golden"
    parity = golden / "parity"
    if not parity.exists():
        pytest.skip("no recorded differences beside the project")
    words = ["--bin", BIN, "--cases", str(parity / "cases"), "--only"]
    words.append(recorded(parity / "cases", f"(?:{family})", every))
    checks = [str(golden / "check.py"), str(golden / "light" / "check_light.py")]
    monkeypatch.setattr(sys, "argv", ["check_parity.py", *checks, *words])
    spec = importlib.util.spec_from_file_location("golden_parity", parity / "check_parity.py")
    checker = importlib.util.module_from_spec(spec)
    with contextlib.suppress(SystemExit):
        spec.loader.exec_module(checker)

    def run(line, *, cwd, timeout, **_):
        return forked(os.path.basename(line[0]), *line[1:], cwd=cwd, timeout=timeout)

    monkeypatch.setattr(checker, "real", SimpleNamespace(run=run))
    failed = checker.check.main()
    told = capfd.readouterr().out
    assert not failed and re.search(r"^[1-9]\d* passed, 0 failed", told, re.MULTILINE), told
