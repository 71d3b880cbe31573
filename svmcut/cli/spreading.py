# SPDX-License-Identifier: BSD-3-Clause
"""``svmcut classify`` of many files on the workers of a scheduler."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from svmcut.base.errors import UsageError
from svmcut.cli.score_lines import Files, ScoringOptions
from svmcut.cli.scoring import Spread, run_scoring
from svmcut.files.patterns import files_of


def score_on(address: Sequence[str | None], files: Files, options: ScoringOptions) -> Sequence[str]:
    """As run_scoring, of the files that fit a pattern; address: of the scheduler, or of its
    file."""
    if all(address):
        raise UsageError(
            "--scheduler and --scheduler-file name one scheduler; leave one of them out"
        )
    name, parts = files_of(files.examples)
    from svmcut.distributed.engine import connected
    from svmcut.distributed.scoring import predict_files, targets_of

    targets = targets_of(parts, files.predictions)
    with connected(*address) as client:
        spread = Spread(parts, targets, partial(predict_files, client, parts, targets))
        return run_scoring(files._replace(examples=name), options, spread)
