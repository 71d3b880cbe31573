# SPDX-License-Identifier: BSD-3-Clause
"""Labels that are words in LIBSVM's text: ``spam 1:1 2:0.5``.

The scanner reads numbers only. Words are replaced by their numbers and blanks, so that columns in
messages stay right.
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
from svmcut.tables.labels import sort_names
from svmcut.tables.options import TableOptions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from svmcut.data.examples import Examples
    from svmcut.files.text import ByteSource

#: The first word of a line that is no comment.
_FIRST = re.compile(rb"^([^\S\n]*)([^\s#]+)", re.MULTILINE)
#: Characters of a table, of a list of labels, and of a feature without a label.
_STRANGE = re.compile(rb'[:,;|"\0]')
#: The scanner's message for a label that may be a word.
_NO_NUMBER = re.compile(r": label .* is not a number$", re.DOTALL)
#: Most different words of a file that are taken as labels.
MAX_WORDS = 1 << 20
FORMAT = "svm"


class LabelWords:
    """The numbers of words, from 1 in the order of the file, or those of a model.

    `known` are the words of a model, whose numbers come first; None for a training set. Unless
    `sure`, the first label decides whether labels are words.
    """

    def __init__(self, path: str, known: Sequence[str] | None = None, sure: bool = True):
        self._path, self._most = path, MAX_WORDS + len(known or ())
        self._trains = known is None
        #: True if labels are words, known after lines were read.
        self.used, self._open = sure, not sure
        words = [word.encode("utf-8", "surrogateescape") for word in known or ()]
        self._numbers = {word: k for k, word in enumerate(words, 1)}

    def number_text(self, text: ByteSource) -> ByteSource:
        """Return the text with words replaced by numbers."""
        return ChangedText(text, self._replace_words)

    def _replace_words(self, lines: bytes) -> bytes:
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
        """Return the number of a new word; 0 if it is one too many for a model."""
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
            raise DataError(
                self._path, Message("more than {:,} labels; expected classes", MAX_WORDS)
            )
        self._numbers[word] = number = len(self._numbers) + 1
        return number

    def sort_labels(self, y: NDArray[np.float64]) -> tuple[NDArray[np.float64], Rows]:
        """Return (n,) labels as places from 1 among the sorted words, and the rows that a model
        keeps."""
        places, words = sort_names([*self._numbers])
        encoding = Encoding((), (), words, FORMAT)
        return places[y.astype(np.int64) - 1].astype(np.float64), Rows(
            self._path, [], [], TableOptions(), encoding
        )


def read_words(path: str, known: Sequence[str] = (), **how: Any) -> Examples:
    """Read examples whose labels are numbers or words, as the first one is.

    `known` are the words of a model; without them, y has places among the file's words, sorted by
    code point, and `table` has the words. Other arguments and failures are those of
    `svmcut.files.examples.read_examples`.
    """
    if known:
        return read_examples(path, numbered=LabelWords(path, known).number_text, **how)
    words = LabelWords(path, sure=False)
    return _apply_words(words, read_examples(path, numbered=words.number_text, **how))


def read_again(path: str, error: DataError, **how: Any) -> Examples:
    """Read examples with words as labels after `error` refused them as numbers; raise it again if
    it had another cause or there are no features."""
    if not _NO_NUMBER.search(str(error)):
        raise error
    words = LabelWords(path)
    examples = read_examples(path, numbered=words.number_text, **how)
    if not examples.X.nnz:
        raise error
    return _apply_words(words, examples)


def _apply_words(words: LabelWords, examples: Examples) -> Examples:
    if not words.used:
        return examples
    y, table = words.sort_labels(examples.y)
    return replace(examples, y=y, table=table)
