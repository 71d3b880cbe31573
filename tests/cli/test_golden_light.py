# SPDX-License-Identifier: BSD-3-Clause
"""Recorded behaviour of svm_light V6.02 and svm_multiclass V2.20, where the reference data stand
beside the project."""

import sys

import pytest
from programs import BIN
from recorded import each_family, module_at, pattern_of, run_forked, subprocess_by

FAMILIES = ["mc_", "light_(?!p|r|cls)", "light_[pr]", "light_cls"]


@each_family(FAMILIES)
def test_the_originals_behaviour(shared, family, every, monkeypatch, capfd):
    light = shared / "golden" / "light"
    only = pattern_of(light / "cases", family, every)
    words = [shared / "golden" / "check.py", "--bin", BIN, "--cases", light / "cases"]
    monkeypatch.setattr(sys, "argv", ["check_light.py", *map(str, words), "--only", only])
    module, execute = module_at(light / "check_light.py")
    loader = type(module.__loader__)
    load = loader.exec_module

    def load_forking(self, loaded):
        load(self, loaded)
        if loaded.__name__ == "check":
            loaded.subprocess = subprocess_by(run_forked)

    monkeypatch.setattr(loader, "exec_module", load_forking)
    with pytest.raises(SystemExit) as ended:
        execute(module)
    told = capfd.readouterr().out
    assert ended.value.code == 0 and not told.startswith("0 passed"), told
