# SPDX-License-Identifier: BSD-3-Clause
"""Damaged models and tables through the programs: see tests/damaged.py, which says what counts as a
finding."""

import os

import damaged
import pytest

SECONDS = float(os.environ.get("SVMCUT_FUZZ_SECONDS", "60"))
"""Of the slow test."""

FEW = (
    "linear",
    "fourier",
    "label tree, binary",
    "model of table, hashed",
    "table.jsonl",
    "table.arrow",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_damaged_files_are_used_or_refused_in_one_line():
    findings, ends = damaged.attack(seed=3, count=30, names=FEW)
    assert findings == []
    assert (
        sum(each[0] for each in ends.values()) > 3 and sum(each[1] for each in ends.values()) > 12
    )


@pytest.mark.slow
def test_damaged_files_of_every_kind():
    findings, ends = damaged.attack(seed=4, seconds=SECONDS)
    assert findings == [] and all(each[1] for each in ends.values())
