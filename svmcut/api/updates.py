# SPDX-License-Identifier: BSD-3-Clause
"""Rows added to a model and rows forgotten: what is proven at once, and what training finds."""

from __future__ import annotations

import os

import numpy as np

from svmcut.api import complete, examples_of, rows_beside, width_of
from svmcut.base.errors import UsageError
from svmcut.base.messages import Parameter
from svmcut.base.resources import one_blas_thread
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.changes import Change, find_rows
from svmcut.formats import read_model
from svmcut.loading import Fitted
from svmcut.spec.parameters import Settings
from svmcut.spec.refusals import check_kept, check_names
from svmcut.spec.typed import Training
from svmcut.tasks.protocol import Task, names_for_second_file
from svmcut.training.update import (
    DecidingDriver,
    Earlier,
    UpdatingDriver,
    check_earlier,
    check_fraction,
    inherit_parameters,
)

if TYPE_CHECKING:
    from typing import Unpack

#: What asks for training.
_AIMS = ("gap", "epsilon", "until_decided")


def fit_more(fitted: Any, data: Any, added: Any, **parameters: Unpack[Training]) -> Fitted:
    """A model of the rows it was trained on and of others, bounded before any training.

    Parameters
    ----------
    fitted : Outcome, Model or path
        Of two classes, trained with keep_multipliers.
    data : str or (X, y)
        The rows it was trained on, in any order.
    added : str or (X, y)
        The others.
    **parameters
        As of `train`. C, the loss and the kernel are those of the model where they are not given.
        Nothing is trained unless gap, epsilon or until_decided asks for it and the bound does not
        give it: without, the model is the middle of a ball that has the exact optimum in it, and
        bounds(X) and decided(X) say what that proves.

    Returns
    -------
    Outcome
        As of `train`; .stopped_by is "bounded" where nothing was trained and no gap met.
        .details has rows_added and rows_removed, and with until_decided the key unchanged: labels
        of these rows that are proven to be those of the earlier model.

    Raises
    ------
    UsageError, DataError
        Where the model keeps no multipliers, is of other rows, or of another problem.

    Examples
    --------
    >>> import svmcut
    >>> X, y = svmcut.load_svmlight_file("data/text.train", n_features=2000)
    >>> first = svmcut.train((X[:890], y[:890]), example_cost=0.1, gap=1e-6, keep_multipliers=True)
    >>> more = svmcut.fit_more(first, (X[:890], y[:890]), (X[890:], y[890:]))
    >>> more.stopped_by, bool(more.decided(X).mean() > 0.5)
    ('bounded', True)
    """
    return _update(fitted, data, (added, None), {**parameters})


def forget(fitted: Any, data: Any, removed: Any, **parameters: Unpack[Training]) -> Fitted:
    """A model of the rows it was trained on without some of them, bounded before any training.

    Parameters
    ----------
    fitted, data, **parameters
        As in `fit_more`.
    removed : (k,) int or (n,) bool array, str or (X, y)
        Which rows of the data, or these rows themselves.

    Returns
    -------
    Outcome
        As of `fit_more`.

    Raises
    ------
    UsageError, DataError
        As `fit_more`, and where a row is not among the data.

    Examples
    --------
    >>> import svmcut
    >>> X, y = svmcut.load_svmlight_file("data/text.train", n_features=2000)
    >>> first = svmcut.train((X, y), example_cost=0.1, gap=1e-6, keep_multipliers=True)
    >>> less = svmcut.forget(first, (X, y), [3, 14, 15], until_decided=X, fraction=0.7)
    >>> less.details["decided_rounds"], less.details["rows_removed"]
    (0, 3)
    """
    return _update(fitted, data, (None, removed), {**parameters})


@one_blas_thread()
def _update(fitted: Any, data: Any, rows: tuple[Any, Any], given: dict[str, Any]) -> Fitted:
    until, fraction = given.pop("until_decided", None), given.pop("fraction", None)
    share = check_fraction(until, fraction)
    check_names(given)
    for name in ("initial", "probability", "task"):
        if given.pop(name, None):
            raise UsageError("{} does not go with an update; leave it out", Parameter(name))
    is_path = isinstance(fitted, str | os.PathLike)
    where = os.fspath(fitted) if is_path else "the model"
    model = read_model(where) if is_path else fitted.model
    trains = until is not None or not given.keys().isdisjoint(_AIMS)
    given |= inherit_parameters(model, where, given)
    changes: list[Change] = []

    def change(own: Task, examples: Any, settings: Settings) -> Any:
        changes.append(_change(own, examples, settings, rows))
        return changes[0].examples()

    own, examples, settings, idle = examples_of(data, "classification", None, given, change=change)
    check_kept(settings, "keep_multipliers")
    driver = own.plan(examples, settings)
    check_earlier(model, where, driver.settings, driver.task_fields.get("labels"))
    earlier = Earlier.from_model(model, where, changes[0], examples)
    updating: Any = UpdatingDriver(driver, earlier, trains)
    if until is not None:
        judged = rows_beside(until, own, examples, settings)
        updating = DecidingDriver(updating, judged, share, "until_decided")
    outcome = updating.fit(settings.cost, settings.example_cost)
    outcome.model = complete(outcome, examples, driver.settings)
    outcome.warnings = [*idle, *driver.warnings, *outcome.warnings]
    return Fitted.of(outcome, width_of(data))


def _change(own: Task, examples: Any, settings: Settings, rows: tuple[Any, Any]) -> Change:
    """The change of the rows of a model."""
    if examples.table is not None and examples.table.encoding.columns:
        raise UsageError(
            "the columns of a table are fitted to its rows, and do not change with them; give "
            "(X, y), or a file in LIBSVM's text"
        )

    def read(given: Any) -> Any:
        if not isinstance(given, str | os.PathLike):
            return own.from_arrays(*given)
        path = os.fspath(given)
        how = names_for_second_file(examples, settings.task, settings.input, path)
        how |= {"threads": settings.threads, "max_memory": settings.max_memory}
        return own.read(path, test=True, costs=True, **how, zero_based=settings.zero_based)

    added, removed = rows
    places = np.zeros(0, np.int64)
    if isinstance(removed, str | os.PathLike | tuple):
        places = find_rows(examples, read(removed))
    elif removed is not None:
        places = _numbers(removed, len(examples))
    return Change(examples, None if added is None else read(added), places)


def _numbers(removed: Any, n: int) -> np.ndarray:
    """The places that an array of them, or of True and False, names."""
    places = np.asarray(removed)
    if places.dtype == bool and places.shape == (n,):
        return np.flatnonzero(places)
    fits = places.ndim == 1 and (places.dtype.kind in "iu" or not places.size)
    if not fits or (places.size and not 0 <= places.min() <= places.max() < n):
        raise UsageError(
            "{} is no choice of the {} rows; give their numbers from 0, or True and False for each",
            "removed",
            n,
        )
    return np.unique(places).astype(np.int64)
