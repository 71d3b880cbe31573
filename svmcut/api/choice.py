# SPDX-License-Identifier: BSD-3-Clause
"""The choice of C from an interval, with a proof that no other C of it is better by much."""

from __future__ import annotations

import os

from svmcut.api import Choice, complete, examples_of, width_of
from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.records import replace
from svmcut.base.resources import one_blas_thread
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.loading import Fitted
from svmcut.selection.grid import held_out, parts_of
from svmcut.selection.interval import CertifiedChoice, Interval, check_choice
from svmcut.spec.kinds import number
from svmcut.spec.parameters import C as OF_C
from svmcut.spec.parameters import Settings
from svmcut.spec.typed import Training
from svmcut.tables.options import is_frame
from svmcut.tasks.protocol import Task, names_for_second_file

if TYPE_CHECKING:
    from typing import Unpack


@one_blas_thread()
def certified_choice(
    data: Any,
    interval: tuple[float, float],
    within: float,
    *,
    folds: int = 5,
    validate: Any = None,
    weights: Any = None,
    **parameters: Unpack[Training],
) -> Choice:
    """Chooses C, the weight of an example's loss, so that no other C of an interval has fewer
    errors on rows held out by more than a share of them, and trains with it on all examples.

    Parameters
    ----------
    data
        As in `train`, of two classes.
    interval : (float, float)
        The lowest and the highest C.
    within : float
        The share of the rows: 0.01 is one in a hundred.
    folds : int
        Where errors are counted, unless `validate` is given.
    validate : str, DataFrame, (X, y) or None
        Rows held out; the data are all trained on then.
    weights
        As in `train`.
    **parameters
        As in `train`. Every training is to a relative gap of 1e-5 where `gap` is not given, and a
        time_limit is that of the choice.

    Returns
    -------
    Choice
        .proof says what is proven: "errors" of the chosen C, "within", the share by which another C
        may be better at most, "proven", whether that is at most what was asked for, and what was
        trained. It is not where a limit came first, or rounding forbids it.

    Raises
    ------
    UsageError, DataError, TrainingError, MemoryLimitError
        As `train`.

    Examples
    --------
    >>> import svmcut
    >>> choice = svmcut.certified_choice("data/wine.train", (0.01, 1.0), 0.1, threads=1)
    >>> choice.proof["proven"], choice.proof["within"] <= 0.1
    (True, True)
    """
    low, high = _interval(interval)
    try:
        most = number(0, 1, above=True).take(within)
    except ValueError:
        expected = "a number above 0 and at most 1"
        raise UsageError("{} is no share; expected {}", Parameter("within"), expected) from None
    given: dict[str, Any] = {**parameters}
    for name in ("cost", "example_cost", "until_decided"):
        if given.get(name):
            raise UsageError("{} does not go with an interval of C; leave it out", Parameter(name))
    given["example_cost"] = low
    own, examples, settings, idle = examples_of(data, given.pop("task", None), weights, given)
    check_choice(settings)
    whole = own.plan(examples, replace(settings, probability=False))
    warnings: list[str] = []
    if validate is None:
        parts, parted, warnings = parts_of(examples, whole.settings, folds)
    else:
        held = _read_validation(validate, own, examples, settings)
        parts, parted = held_out(examples, held, whole.settings)
    limit = settings.time_limit
    search = CertifiedChoice(own, parted, Interval(low, high, most), parts, whole, limit)
    search.run()
    C, _ = search.best
    driver = own.plan(examples, replace(settings, example_cost=C, gap=search.gap, time_limit=None))
    outcome = driver.fit(None, C)
    outcome.model = complete(outcome, examples, driver.settings)
    outcome.warnings = [*idle, *warnings, *driver.warnings, *outcome.warnings]
    if search.stuck:
        outcome.warnings.append(search.stuck)
    proof = search.report()
    return Choice(Fitted.of(outcome, width_of(data)), {"example_cost": C}, proof["trained"], proof)


def _interval(interval: Any) -> tuple[float, float]:
    """The two ends of an interval of C."""
    try:
        low, high = (OF_C.take(end) for end in interval)
    except (TypeError, ValueError):
        low = high = 0.0
    if not low < high:
        expected = "two numbers above 0, the lower one first"
        raise UsageError("{} is no interval of C; expected {}", Parameter("interval"), expected)
    return low, high


def _read_validation(validate: Any, own: Task, examples: Any, settings: Settings) -> Any:
    """The rows held out."""
    if examples.table is not None and is_frame(validate):
        from svmcut.tables.encoded import TestTable, join_examples

        blocks = TestTable(examples.table.encoding).stream(validate, own.label_kind)
        return join_examples([*blocks])
    if not isinstance(validate, str | os.PathLike):
        return own.from_arrays(*validate)
    path = os.fspath(validate)
    how = names_for_second_file(examples, settings.task, settings.input, path)
    how |= {"threads": settings.threads, "max_memory": settings.max_memory}
    return own.read(path, test=True, **how, zero_based=settings.zero_based)
