# SPDX-License-Identifier: BSD-3-Clause
"""Labels of classes: how many classes they are, which of two is positive, and which rows are."""

from __future__ import annotations

from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message, Parameter
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from svmcut.spec.parameters import Settings

#: Labels of the negative and the positive class; None for the first stands for every label but the
#: second. Where there is None in place of a pair, labels above 0 are positive, and the classes go
#: by -1 and 1.
Labels: TypeAlias = "tuple[float | None, float]"
SIGNS = (-1.0, 1.0)
REST = "rest"
#: More classes, or fewer rows a class on average, may be numbers as well.
MOST_CLASSES, FEWEST_ROWS = 100, 5


def by_labels(
    settings: Settings, y: NDArray[np.float64], path: str, words: Sequence[str] = ()
) -> Settings:
    """Settings that name no task with the one the labels name: multiclass of three or more; O(n log
    n).

    Parameters
    ----------
    settings : Settings
        Checked, and open to it (`is_open`).
    y : (n,)
        Labels as in the file, at least one.
    words : sequence of str
        What 1, 2, ... are called.

    Raises
    ------
    DataError
        Where three labels or more are not whole, or may well be numbers.
    UsageError
        For parameters that the task the labels name cannot honour.
    """
    import numpy as np

    from svmcut.spec.refusals import check

    low, high = float(y.min()), float(y.max())
    if not np.isfinite(high - low):
        return settings  # what is refused elsewhere
    if ((y == low) | (y == high)).all():
        if "multiclass" in settings.wishes():
            raise UsageError(
                "{multiclass} is for three labels or more, but the labels of {} are {}; leave it "
                "out or give "
                "{task=multiclass}",
                path,
                _listed(y),
            )
        return settings
    names = distinct(y)
    shown = label_texts([high], words)[0]
    _check_classes(y, names, path, words)
    of_classes = replace(settings, task="multiclass")
    try:
        check(of_classes)
    except UsageError as error:
        raise beside_classes(path, len(names), error.sentence, shown) from None
    return of_classes


def _check_classes(
    y: NDArray[np.float64], names: NDArray[np.float64], path: str, words: Sequence[str]
) -> None:
    """Refuses, as a DataError, three labels or more that may well be no classes."""
    import numpy as np

    positive = Message(
        "name the positive class of two as in {positive=}",
        label_texts([float(names[-1])], words)[0],
    )
    listed = _listed(y, words=words)
    many = len(names) > MOST_CLASSES or len(y) < FEWEST_ROWS * len(names)
    if words:
        if many:
            message = (
                "the labels of {} rows are {} words, {}; give {task=multiclass} if they are "
                "classes, or {}"
            )
            raise DataError(path, Message(message, len(y), len(names), listed, positive))
        return
    if (names != np.round(names)).any():
        message = (
            "the labels are {}, which are no names of classes, for not all are whole; give "
            "{task=regression} to learn numbers, or {}"
        )
        raise DataError(path, Message(message, listed, positive))
    if many:
        message = (
            "the labels of {} rows are {} whole numbers, {}; give {task=multiclass} if they are "
            "classes, {task=regression} if they are numbers, or {}"
        )
        raise DataError(path, Message(message, len(y), len(names), listed, positive))


def number_labels(settings: Settings, words: Sequence[str], path: str) -> Settings:
    """The settings with numbers in the place of words: 1, 2, ... of those that are the labels.

    Raises
    ------
    UsageError
        For a word that is no label.
    """
    from svmcut.spec.kinds import ABOVE_ZERO, BALANCED, weights_by_label

    places = {word: float(k) for k, word in enumerate(words, 1)}

    def numbered(label: Any, name: str) -> float:
        text = label_text(label) if isinstance(label, float) else label
        if words and text in places:
            return places[text]
        if words or isinstance(label, str):
            known = _some(words) if words else "numbers"
            raise UsageError(
                "{} names '{}', but the labels of {} are {}", Parameter(name), text, path, known
            )
        return label

    changed: dict[str, Any] = {}
    if settings.positive not in (None, ABOVE_ZERO):
        changed["positive"] = numbered(settings.positive, "positive")
    if settings.class_weight not in (None, BALANCED):
        weights = weights_by_label(settings.class_weight)
        changed["class_weight"] = ",".join(
            f"{numbered(label, 'class_weight')!r}={weight!r}" for label, weight in weights.items()
        )
    return replace(settings, **changed) if changed else settings


def _some(words: Sequence[str], most: int = 10) -> str:
    return ", ".join([*words[:most], "..."] if len(words) > most else words)


def beside_classes(path: str, count: int, reason: str, label: str) -> UsageError:
    """The refusal of what several classes cannot honour."""
    return UsageError(
        "{} has {} classes: {}; or train one against the others as in {positive=}",
        path,
        count,
        reason,
        label,
    )


def labels_of(y: NDArray[np.float64], positive: float | str | None, path: str) -> Labels | None:
    """The labels of the two classes of a training set; O(n).

    Parameters
    ----------
    y : (n,)
        Labels as in the file, at least one.
    positive : float, ">0" or None
        The label of the positive class, or the rule that has labels above 0 in it; None for the
        larger one of two.

    Raises
    ------
    DataError
        When there are three labels or more, and none is named.
    UsageError
        When no row has the label that is named.
    """
    import numpy as np

    from svmcut.spec.kinds import ABOVE_ZERO

    if positive == ABOVE_ZERO:
        return None
    low, high = float(y.min()) + 0.0, float(y.max()) + 0.0  # no -0
    if positive is None:
        if not ((y == low) | (y == high)).all():
            task = "multiclass" if (y == np.round(y)).all() else "regression"
            message = Message(
                "the labels are {}, but two classes are trained; name the positive one as in "
                "{positive=}, give "
                "{positive} with '>0' for all labels above 0, or {task=}",
                _listed(y),
                label_text(high),
                task,
            )
            raise DataError(path, message)
        if low == high in SIGNS:
            return None
        labels: Labels = (low if low < high else None, high)
    else:
        named = float(positive) + 0.0
        rest = y[y != named]
        if len(rest) == len(y):
            raise UsageError(
                "{positive} is {}, but the labels of {} are {}", label_text(named), path, _listed(y)
            )
        labels = (float(rest[0]) + 0.0 if len(rest) and (rest == rest[0]).all() else None, named)
    return None if labels == SIGNS else labels


def classes_of(y: NDArray, labels: Labels | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """(n,) rows of the positive class, and rows with a label that is of neither; O(n)."""
    import numpy as np

    y = np.asarray(y)
    if labels is None:
        return y > 0, np.zeros(len(y), bool)
    negative, positive = labels
    right = y == positive
    return right, np.zeros(len(y), bool) if negative is None else ~(right | (y == negative))


def is_number(label: str | bytes) -> bool:
    """Whether the text of a label is a number, finite or not."""
    try:
        float(label)
    except ValueError:
        return False
    return not {"_", 95} & {*label}


def label_text(label: float | None) -> str:
    """A label as a model file has it: the shortest text of the number, `rest` for all others."""
    return REST if label is None else repr(float(label)).removesuffix(".0")


def label_texts(labels: Iterable[float | None], words: Sequence[str] = ()) -> list[str]:
    """Texts of labels: words where 1, 2, ... have such names, and `rest` for others then."""
    named: dict[float | None, str] = {float(k): word for k, word in enumerate(words, 1)}
    return [named.get(label, REST) if words else label_text(label) for label in labels]


def named_labels(labels: Iterable[float | None], words: Sequence[str] = ()) -> list[Any]:
    """Labels as a report has them: numbers, or words where they have such names."""
    return label_texts(labels, words) if words else [*labels]


def _listed(y: NDArray[np.float64], most: int = 5, words: Sequence[str] = ()) -> str:
    names = label_texts(distinct(y)[: most + 1].tolist(), words)
    return ", ".join([*names[:most], "..."] if len(names) > most else names)


#: Values from which on looking for those that differ takes longer than an import.
_MANY = 1 << 18


def distinct(values: NDArray) -> NDArray:
    """The values of an array that differ, rising: np.unique, which imports numpy.ma unless places
    are asked for, and that takes a tenth of a small run."""
    import numpy as np

    if len(values) > _MANY:
        return np.unique(values)
    return np.unique(values, return_inverse=True)[0]
