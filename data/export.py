#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the UCI sets that scikit-learn bundles as LIBSVM text: breast_cancer, digits, wine, each
.train and .test.

Every third row goes to the test part. Breast cancer and wine are scaled to [0, 1] by the range of
each column in the training part; digits keep their grey values, 0 to 16. Zeros are left out.
"""

from __future__ import annotations

import argparse
from pathlib import Path


def scaled(rows, train):
    """Columns mapped so that their training part fills [0, 1]."""
    low, high = rows[train].min(axis=0), rows[train].max(axis=0)
    return (rows - low) / (high - low)


def lines(labels, rows):
    """LIBSVM lines of a dense array, four digits a value."""
    for label, row in zip(labels, rows):
        pairs = ((index, format(value, ".4g")) for index, value in enumerate(row.tolist(), 1))
        yield (
            f"{label:+d} "
            + " ".join(f"{index}:{text}" for index, text in pairs if float(text) != 0)
            + "\n"
        )


def export(folder: Path) -> list[Path]:
    """Writes six files into ``folder`` and returns their paths."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_digits, load_wine

    written = []
    for name, load, positive in (
        ("breast_cancer", load_breast_cancer, lambda target: target == 0),  # malignant
        ("digits", load_digits, lambda target: target % 2 == 0),  # even
        ("wine", load_wine, lambda target: target == 1),  # the second cultivar
    ):
        rows, target = load(return_X_y=True)
        test = np.arange(len(rows)) % 3 == 2
        if name != "digits":
            rows = scaled(rows, ~test)
        labels = np.where(positive(target), 1, -1)
        for part, chosen in (("train", ~test), ("test", test)):
            path = folder / f"{name}.{part}"
            path.write_text(
                "".join(lines(labels[chosen].tolist(), rows[chosen])),
                encoding="ascii",
                newline="\n",
            )
            written.append(path)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    for path in export(parser.parse_args().folder):
        print(path)
