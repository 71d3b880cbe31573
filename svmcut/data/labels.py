# SPDX-License-Identifier: BSD-3-Clause
"""Labels of classes: the number of classes, the positive one of two, and the rows of each."""

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

#: Labels of the negative and the positive class; None as the first stands for every label but the
#: second. None instead of a pair: labels above 0 are positive, and the classes are named -1 and 1.
Labels: TypeAlias = "tuple[float | None, float]"
SIGNS = (-1.0, 1.0)
REST = "rest"
#: With more classes, or fewer rows per class on average, labels may be numbers to predict.
MAX_CLASSES, MIN_ROWS = 100, 5


def choose_task(
    settings: Settings, y: NDArray[np.float64], path: str, words: Sequence[str] = ()
) -> Settings:
    """Return settings without a task with the task that the labels imply, multiclass for three or
    more; O(n log n).

    The settings are checked; `words` are the names of the labels 1, 2, ... Raises DataError if
    three or more labels are not whole, or may well be numbers to predict, and UsageError for
    parameters that the task cannot honour.
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
                _list_labels(y),
            )
        return settings
    names = distinct(y)
    shown = label_texts([high], words)[0]
    _check_classes(y, names, path, words)
    of_classes = replace(settings, task="multiclass")
    try:
        check(of_classes)
    except UsageError as error:
        raise refuse_classes(path, len(names), error.sentence, shown) from None
    return of_classes


def _check_classes(
    y: NDArray[np.float64], names: NDArray[np.float64], path: str, words: Sequence[str]
) -> None:
    """Refuse three or more labels that may well be no classes, with a DataError."""
    import numpy as np

    positive = Message(
        "name the positive class of two as in {positive=}",
        label_texts([float(names[-1])], words)[0],
    )
    listed = _list_labels(y, words=words)
    many = len(names) > MAX_CLASSES or len(y) < MIN_ROWS * len(names)
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
    """Return the settings with labels that are words replaced by their numbers 1, 2, ...

    Raises UsageError for a word that is no label.
    """
    from svmcut.spec.kinds import ABOVE_ZERO, BALANCED, weights_by_label

    places = {word: float(k) for k, word in enumerate(words, 1)}

    def numbered(label: Any, name: str) -> float:
        text = label_text(label) if isinstance(label, float) else label
        if words and text in places:
            return places[text]
        if words or isinstance(label, str):
            known = _list_words(words) if words else "numbers"
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


def _list_words(words: Sequence[str], most: int = 10) -> str:
    return ", ".join([*words[:most], "..."] if len(words) > most else words)


def refuse_classes(path: str, count: int, reason: str, label: str) -> UsageError:
    """Return the refusal of a setting that several classes cannot honour."""
    return UsageError(
        "{} has {} classes: {}; or train one against the others as in {positive=}",
        path,
        count,
        reason,
        label,
    )


def labels_of(y: NDArray[np.float64], positive: float | str | None, path: str) -> Labels | None:
    """Return the labels of the two classes of a training set; O(n).

    `positive` is the label of the positive class, or ">0" for all labels above 0; None chooses the
    larger of two. Raises DataError for three or more labels if none is named, and UsageError if no
    row has the named label.
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
                _list_labels(y),
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
                "{positive} is {}, but the labels of {} are {}",
                label_text(named),
                path,
                _list_labels(y),
            )
        labels = (float(rest[0]) + 0.0 if len(rest) and (rest == rest[0]).all() else None, named)
    return None if labels == SIGNS else labels


def classes_of(y: NDArray, labels: Labels | None) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return the rows of the positive class and the rows whose label is of neither class, (n,)
    each; O(n)."""
    import numpy as np

    y = np.asarray(y)
    if labels is None:
        return y > 0, np.zeros(len(y), bool)
    negative, positive = labels
    right = y == positive
    return right, np.zeros(len(y), bool) if negative is None else ~(right | (y == negative))


def is_number(label: str | bytes) -> bool:
    """Test that the text of a label is a number, finite or not."""
    try:
        float(label)
    except ValueError:
        return False
    return not {"_", 95} & {*label}


def label_text(label: float | None) -> str:
    """Return a label as in a model file: the shortest text of the number, `rest` for all other
    labels."""
    return REST if label is None else repr(float(label)).removesuffix(".0")


def label_texts(labels: Iterable[float | None], words: Sequence[str] = ()) -> list[str]:
    """Return texts of labels: their words if 1, 2, ... have names, and then `rest` for others."""
    named: dict[float | None, str] = {float(k): word for k, word in enumerate(words, 1)}
    return [named.get(label, REST) if words else label_text(label) for label in labels]


def named_labels(labels: Iterable[float | None], words: Sequence[str] = ()) -> list[Any]:
    """Return labels as in a report: numbers, or words if they have names."""
    return label_texts(labels, words) if words else [*labels]


def _list_labels(y: NDArray[np.float64], most: int = 5, words: Sequence[str] = ()) -> str:
    names = label_texts(distinct(y)[: most + 1].tolist(), words)
    return ", ".join([*names[:most], "..."] if len(names) > most else names)


#: Number of values from which finding the distinct ones takes longer than an import.
_UNIQUE_SIZE = 1 << 18


def distinct(values: NDArray) -> NDArray:
    """Return the distinct values of an array, rising, as np.unique: that imports numpy.ma unless
    places are requested, a tenth of a small run."""
    import numpy as np

    if len(values) > _UNIQUE_SIZE:
        return np.unique(values)
    return np.unique(values, return_inverse=True)[0]
