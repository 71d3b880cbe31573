# SPDX-License-Identifier: BSD-3-Clause
"""docs/messages.md shows what svmcut says today of what people get wrong."""

import sys
from pathlib import Path

import pytest
from programs import BENCHMARKS, call

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def wrong(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import wrong_inputs

    yield wrong_inputs
    sys.modules.pop("wrong_inputs")


def test_the_page_shows_what_is_said_today(wrong, tmp_path, monkeypatch, capsys):
    page = (ROOT / "docs" / "messages.md").read_text(encoding="utf-8").splitlines()
    rows = [line.rpartition(" | ") for line in page if line.startswith("| `")]
    shown = {head.split("`")[1]: last.removesuffix(" |") for head, _, last in rows}
    assert list(shown) == wrong.LINES.splitlines() and len(shown) >= 100
    failed = []
    for k, (line, expected) in enumerate(shown.items()):
        folder = tmp_path / str(k)
        folder.mkdir()
        monkeypatch.chdir(folder)
        wrong.write_files(folder)
        status = call("svmcut", *([] if line == "svmcut" else line.split()))
        told = wrong.told(capsys.readouterr().err, status)
        failed += [(line, told)] * (told != expected)
    assert failed == [], "python benchmarks/wrong_inputs.py --write docs/messages.md"
