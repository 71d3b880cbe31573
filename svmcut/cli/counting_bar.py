# SPDX-License-Identifier: BSD-3-Clause
"""A bar that counts rows on standard error, while a file of unknown length is read and scored."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator

from svmcut.typing import Any

#: Seconds before the bar is drawn, and between two draws.
DELAY, BETWEEN = 1.0, 0.2


@contextlib.contextmanager
def counting(wanted: bool | None) -> Iterator[Callable[[Any, Any], None]]:
    """Gives what is told of every part, and what is predicted of it.

    Parameters
    ----------
    wanted : bool or None
        None for on a terminal.
    """
    if sys.stderr is None or not (sys.stderr.isatty() if wanted is None else wanted):
        yield lambda part, predicted: None
        return
    from tqdm import tqdm

    tqdm.monitor_interval = 0
    bar = tqdm(
        desc="classifying",
        unit=" rows",
        unit_scale=True,
        file=sys.stderr,
        leave=False,
        delay=DELAY if wanted is None else 0,
        mininterval=BETWEEN if wanted is None else 0.0,
    )

    def count(part: Any, predicted: Any) -> None:
        with contextlib.suppress(OSError):
            bar.update(part.X.n_rows)

    try:
        yield count
    finally:
        with contextlib.suppress(OSError):
            bar.close()
