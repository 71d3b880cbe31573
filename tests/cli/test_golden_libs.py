# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of LIBSVM's and LIBLINEAR's programs, where the reference data stand beside
the project."""

import importlib
import os

from programs import forked_function
from recorded import each_family, module_at, pattern_of, subprocess_by

from svmcut.originals.names import LAUNCHERS

FAMILIES = ["lin_(?!C|v)", "lin_[Cv]", "err_lin", "svm_(?!b_|v)", "svm_(b_|v)", "err_svm"]
FAMILIES += ["(err_)?pred|err_model", "(err_)?scale"]


@each_family(FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, tmp_path, capfd):
    lib = shared / "golden" / "lib"
    for name in LAUNCHERS:
        (tmp_path / name).touch()
    check, execute = module_at(lib / "check_lib.py")
    execute(check)

    def run(line, *, cwd, timeout, **_):
        module, function = LAUNCHERS[os.path.basename(line[0])].split(":")
        entry = getattr(importlib.import_module(module), function)
        return forked_function(line, entry, cwd=cwd, timeout=timeout)

    monkeypatch.setattr(check, "subprocess", subprocess_by(run))
    only = pattern_of(lib / "cases", f"({family})", every)
    monkeypatch.setattr("sys.argv", ["check_lib.py", "--bin", str(tmp_path), "--only", only])
    status = check.main()
    told = capfd.readouterr().out
    assert status == 0 and "\n0 passed" not in f"\n{told}", told
