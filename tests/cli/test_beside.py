# SPDX-License-Identifier: BSD-3-Clause
"""Runs beside LIBSVM and LIBLINEAR: their judge, with svmcut's own programs as the other side."""

import os
import re
from pathlib import Path

import pytest
from attack import beside, rows_beside

NUMBERS = (1, 3, 4, 9)


class Same:
    """svmcut as the other side, whose output is changed by what a test gives."""

    def __init__(self, pattern="", other=""):
        self._changed = pattern, other

    def run(self, folder, program, words):
        status, out, _ = beside.own(folder, program, words)
        for name in {"theirs", "rival.p"} & {words[-1]}:
            path = Path(folder, name)
            path.write_text(self._change(path.read_text(encoding="ascii")), encoding="ascii")
        return status, self._change(out)

    def _change(self, text):
        pattern, other = self._changed
        return re.sub(pattern, other, text, flags=re.M) if pattern else text


CHANGES = {
    r"^(obj|Objective value) = .": r"\1 = 9",
    r"^(nSV = .*)": r"\1\nmore",
    r"^(nr_class) \d+": r"\1 17",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="runs are forked")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_what_differs_from_the_other_side_is_seen(tmp_path, capfd):
    seen = set()
    with capfd.disabled():  # runs write to the files of their folder
        for number in NUMBERS:
            case = rows_beside.make(2, number)
            case.write(tmp_path)
            assert list(beside.differences(case, tmp_path, Same())) == [], case.words
            for change in CHANGES.items():
                if list(beside.differences(case, tmp_path, Same(*change))):
                    seen.add(change[0])
    assert seen == set(CHANGES)
