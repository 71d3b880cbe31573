# SPDX-License-Identifier: BSD-3-Clause
"""Labels that are words in LIBSVM's text: ``spam 1:1 2:0.5``.

The scanner knows numbers. Words are numbered on their way to it, in the place of their first
letters, so that columns of messages stay right.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from svmcut.base.errors import DataError
from svmcut.base.messages import Message
from svmcut.base.records import replace
from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.data.labels import is_number
from svmcut.files.examples import read_examples
from svmcut.files.text import ChangedText
from svmcut.tables.encoding import Encoding, Rows
from svmcut.tables.labels import by_code_point
from svmcut.tables.options import TableOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Examples
    from svmcut.files.text import ByteSource

#: The first word of a line that is no comment.
_FIRST = re.compile(rb"^([^\S\n]*)([^\s#]+)", re.MULTILINE)
#: Signs of a table, of a list of labels, and of a feature without a label.
_STRANGE = re.compile(rb'[:,;|"\0]')
#: What the scanner says of a label that may be a word.
_NO_NUMBER = re.compile(r": label .* is not a number$", re.DOTALL)
#: Words of a file that can be labels; where there are more, something else stands there.
MOST = 1 << 20
FORMAT = "svm"


class LabelWords:
    """Numbers of words, from 1 as they come, or as a model has them.

    Parameters
    ----------
    path : str
        For messages.
    known : sequence of str or None
        The words of a model, others have numbers behind theirs; None for a training set.
    sure : bool
        Whether labels are words; else the first one says so.

    Attributes
    ----------
    used : bool
        Whether labels are words, once lines were read.
    """

    def __init__(self, path: str, known: Sequence[str] | None = None, sure: bool = True):
        self._path, self._most = path, MOST + len(known or ())
        self._trains = known is None
        self.used, self._open = sure, not sure
        words = [word.encode("utf-8", "surrogateescape") for word in known or ()]
        self._numbers = {word: k for k, word in enumerate(words, 1)}

    def of(self, text: ByteSource) -> ByteSource:
        """The text with numbers for words."""
        return ChangedText(text, self._numbered)

    def _numbered(self, lines: bytes) -> bytes:
        if self._open and (first := _FIRST.search(lines)) is not None:
            self.used, self._open = not is_number(first[2]), False
        return _FIRST.sub(self._number, lines) if self.used else lines

    def _number(self, match: re.Match[bytes]) -> bytes:
        blanks, word = match.groups()
        number = self._numbers.get(word)
        if number is None:
            if _STRANGE.search(word):
                return match[0]  # the scanner refuses it
            number = self._new(word)
        return blanks + b"%d" % number + b" " * (len(word) - len(str(number)))

    def _new(self, word: bytes) -> int:
        """The number of a word that is met for the first time; 0 of one too many for a model."""
        full = len(self._numbers) == self._most
        if not self._trains:
            if not full:
                self._numbers[word] = len(self._numbers) + 1
            return self._numbers.get(word, 0)
        try:
            word.decode()
        except UnicodeDecodeError:
            shown = word[:40].decode("utf-8", "backslashreplace")
            message = Message("label '{}' is no UTF-8; convert the file to it", shown)
            raise DataError(self._path, message) from None
        if full:
            raise DataError(self._path, Message("more than {:,} labels; expected classes", MOST))
        self._numbers[word] = number = len(self._numbers) + 1
        return number

    def sorted(self, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], Rows]:
        """(n,) labels as places from 1 among the words by code point, and what a model keeps of
        them."""
        places, words = by_code_point([*self._numbers])
        encoding = Encoding((), (), words, FORMAT)
        return places[y.astype(np.int64) - 1].astype(np.float64), Rows(
            self._path, [], [], TableOptions(), encoding
        )


def read_words(path: str, known: Sequence[str] = (), **how: Any) -> Examples:
    """As `svmcut.files.examples.read_examples`, of numbers or words as labels, as the first one is.

    Parameters
    ----------
    known : sequence of str
        The words there are, others have numbers behind theirs; none where the file names them.

    Returns
    -------
    Examples
        Where labels are words, y has their places from 1 by code point, and `table` the words.
    """
    if known:
        return read_examples(path, numbered=LabelWords(path, known).of, **how)
    words = LabelWords(path, sure=False)
    return _named(words, read_examples(path, numbered=words.of, **how))


def read_again(path: str, error: DataError, **how: Any) -> Examples:
    """The examples of a file whose labels are words, as `read_words`: it was refused where they are
    numbers.

    Raises
    ------
    DataError
        That one, where it was for something else, or where there are no features.
    """
    if not _NO_NUMBER.search(str(error)):
        raise error
    words = LabelWords(path)
    examples = read_examples(path, numbered=words.of, **how)
    if not examples.X.nnz:
        raise error
    return _named(words, examples)


def _named(words: LabelWords, examples: Examples) -> Examples:
    if not words.used:
        return examples
    y, table = words.sorted(examples.y)
    return replace(examples, y=y, table=table)
