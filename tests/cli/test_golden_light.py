# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of svm_light V6.02 and svm_multiclass V2.20, where the reference data stand
beside the project."""

import importlib.util
import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
from programs import BIN, forked
from thinned import EVERY, recorded

FAMILIES = ["mc_", "light_(?!p|r|cls)", "light_[pr]", "light_cls"]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the programs are forked")
@pytest.mark.filterwarnings(
    "ignore:.*fork:DeprecationWarning", "ignore:unclosed file:ResourceWarning"
)
@pytest.mark.parametrize("every", EVERY)
@pytest.mark.parametrize("family", FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, capfd):
    light = shared / "golden" / "light"
    words = ["--bin", BIN, "--cases", str(light / "cases"), "--only"]
    words.append(recorded(light / "cases", family, every))
    monkeypatch.setattr(
        sys, "argv", ["check_light.py", str(shared / "golden" / "check.py"), *words]
    )
    loader = importlib.util.spec_from_file_location("golden_check", sys.argv[1]).loader
    streams = {name: getattr(subprocess, name) for name in ("DEVNULL", "TimeoutExpired")}
    load = type(loader).exec_module

    def forking(self, module):
        load(self, module)
        if module.__name__ == "check":
            module.subprocess = SimpleNamespace(run=run, **streams)

    def run(line, *, cwd, timeout, **_):
        return forked(os.path.basename(line[0]), *line[1:], cwd=cwd, timeout=timeout)

    monkeypatch.setattr(type(loader), "exec_module", forking)
    spec = importlib.util.spec_from_file_location("golden_check_light", light / "check_light.py")
    with pytest.raises(SystemExit) as ended:
        spec.loader.exec_module(importlib.util.module_from_spec(spec))
    told = capfd.readouterr().out
    assert ended.value.code == 0 and not told.startswith("0 passed"), told
