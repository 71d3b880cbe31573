# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut classify`` of many files on the workers of a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from svmcut.cli.scoring import Spread, run_scoring
from svmcut.errors import UsageError
from svmcut.files.patterns import files_of


def score_on(
    address: Sequence[str | None], examples: str, model: str, folder: str, options: dict[str, Any]
) -> list[str]:
    """As run_scoring, of the files that fit a pattern; address: of the scheduler, or of its
    file."""
    if all(address):
        raise UsageError(
            "--scheduler and --scheduler-file name one scheduler; leave one of them out"
        )
    name, files = files_of(examples)
    from svmcut.distributed.engine import connected
    from svmcut.distributed.scoring import predict_files, targets_of

    targets = targets_of(files, folder)
    with connected(*address) as client:
        found = partial(predict_files, client, files=files, targets=targets)
        return run_scoring(name, model, folder, spread=Spread(files, targets, found), **options)
