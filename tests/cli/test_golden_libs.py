# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of LIBSVM's and LIBLINEAR's programs, where the reference data stand beside
the project."""

import importlib
import importlib.util
import os
import subprocess
from types import SimpleNamespace

import pytest
from programs import forked_function
from thinned import EVERY, recorded

from svmcut.originals.launchers import LAUNCHERS

FAMILIES = ["lin_(?!C|v)", "lin_[Cv]", "err_lin", "svm_(?!b_|v)", "svm_(b_|v)", "err_svm"]
FAMILIES += ["(err_)?pred|err_model", "(err_)?scale"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs are forked")
@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning", "ignore:unclosed file:ResourceWarning"
)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, tmp_path, capfd):
    lib = shared / "golden" / "lib"
    for name in LAUNCHERS:
        (tmp_path / name).touch()
    spec = importlib.util.spec_from_file_location("check_lib", lib / "check_lib.py")
    check = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(check)

    def run(line, *, cwd, timeout, **_):
        module, function = LAUNCHERS[os.path.basename(line[0])].split(":")
        entry = getattr(importlib.import_module(module), function)
        return forked_function(line, entry, cwd=cwd, timeout=timeout)

    streams = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    monkeypatch.setattr(check, "subprocess", SimpleNamespace(run=run, **streams))
    words = ["check_lib.py", "--bin", str(tmp_path), "--only"]
    words.append(recorded(lib / "cases", f"({family})", every))
    monkeypatch.setattr("sys.argv", words)
    status = check.main()
    told = capfd.readouterr().out
    assert status == 0 and "\n0 passed" not in f"\n{told}", told
