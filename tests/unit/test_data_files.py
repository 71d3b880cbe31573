# SPDX-License-Identifier: BSD-3-Clause
"""The example files in data/ are what their two scripts write."""

import importlib.util
import sys
from pathlib import Path

import pytest

DATA = Path(__file__).resolve().parents[2] / "data"


def load(name):
    spec = importlib.util.spec_from_file_location(f"svmcut_data_{name}", DATA / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("script", "function", "files"), [("export", "export", 6), ("generate", "generate", 14)]
)
def test_committed_bytes_are_reproduced(script, function, files, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    written = getattr(load(script), function)(tmp_path)
    assert len(written) == files
    for path in written:
        assert path.read_bytes() == (DATA / path.name).read_bytes(), path.name


def test_no_other_data_and_all_small():
    files = [path for path in DATA.iterdir() if path.suffix in (".train", ".test")]
    assert len(files) == 18
    assert max(path.stat().st_size for path in files) < 300_000
    assert sum(path.stat().st_size for path in files) < 1_600_000
