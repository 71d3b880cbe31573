# SPDX-License-Identifier: BSD-3-Clause
"""Checkpoints that were changed and sealed again: see tests/mutants.py, which says what counts as a
finding."""

import os

import mutants
import pytest

COUNT = int(os.environ.get("SVMCUT_MUTANTS", "2000"))
"""Of the slow test."""

#: One of every kind of state, for the default suite.
FEW = (
    "path",
    "dual-cd",
    "smo",
    "bsca",
    "pegasos",
    "sequences, bcfw",
    "sequences, gdmm",
    "label sets, bcfw",
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_row23_changed_checkpoints_train_or_are_refused_in_one_line():
    findings, ends = mutants.attack(30, seed=5, names=FEW)
    assert findings == []
    assert ends[1] > 7, "few were refused: what was changed?"


@pytest.mark.slow
def test_row23_changed_checkpoints_of_every_trainer():
    findings, ends = mutants.attack(COUNT, seed=6)
    assert findings == []
    assert ends[1] > COUNT // 4
