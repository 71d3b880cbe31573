# SPDX-License-Identifier: BSD-3-Clause
"""What share of labels is proven at which gap, how tight the bounds are, and what --certify costs.

    python benchmarks/certify.py [SET ...]      by default five sets of data/

Hinge, C = 1 an example. At each relative gap the share of test labels that are proven, that by the
radius sqrt(2 gap) alone in brackets, and the largest |f - f*| / (r |x|) to the scores f* of a gap
of 1e-10. CPU seconds of classify with and without --certify on the test rows, many times over: the
least of nine.
"""

from __future__ import annotations

import contextlib
import io
import math
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import svmcut
from svmcut.cli.start import main as program
from svmcut.data.arrays import as_rows
from svmcut.models.bounds import lengths, limits

DATA = Path(__file__).resolve().parent.parent / "data"
SETS = ("text", "breast_cancer", "wine", "digits", "unbalanced")
GAPS = (1e-2, 1e-3, 1e-4, 1e-6)


def seconds(*words: str) -> float:
    """CPU seconds of the least of nine runs of classify in this process."""
    found = []
    for _ in range(9):
        began = time.process_time()
        with contextlib.redirect_stdout(io.StringIO()):
            assert program(["classify", "-v", "0", *words]) == 0
        found.append(time.process_time() - began)
    return min(found)


def row(name: str) -> list[str]:
    """The cells of a set."""
    train, test = str(DATA / f"{name}.train"), str(DATA / f"{name}.test")
    width = svmcut.load_svmlight_file(train)[0].shape[1]
    X, _ = svmcut.load_svmlight_file(test)
    X = X[:, :width]
    best, cells = svmcut.train(train, gap=1e-10, threads=1).decision_function(X), [name]
    for gap in GAPS:
        outcome = svmcut.train(train, gap=gap, threads=1)
        scores, length = outcome.decision_function(X), lengths(outcome.model, as_rows(X))
        reached = limits(outcome.model, scores, length)
        kept, radius, _ = outcome.model.certificate
        shares = [100 * float((reached > r).mean()) for r in (radius, math.sqrt(2 * kept))]
        tight = float((np.abs(scores - best) / (radius * length)).max())
        cells.append(f"{shares[0]:.1f} ({shares[1]:.1f}), {tight:.2f}")
    with tempfile.TemporaryDirectory() as folder:
        model, to = f"{folder}/m", f"{folder}/p"
        outcome.save(model)
        text = Path(test).read_text()
        test = f"{folder}/test"
        Path(test).write_text(text * (1 + 2_000_000 // len(text)))
        cells.append(f"{seconds('--certify', test, model, to) / seconds(test, model, to):.2f}")
    return cells


def main(words: list[str]) -> None:
    print("| set |", " | ".join(f"gap {gap:g}" for gap in GAPS), "| cost of --certify |")
    print("|---|" + "---:|" * (len(GAPS) + 1))
    for name in words or SETS:
        print("|", " | ".join(row(name)), "|", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
