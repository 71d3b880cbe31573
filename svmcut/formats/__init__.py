# SPDX-License-Identifier: BSD-3-Clause
"""Model files; the rows of `svmcut.spec.catalog.FORMATS` name the file here that reads and writes
each."""

from __future__ import annotations

import io

from svmcut.base.errors import ModelError
from svmcut.base.messages import Message
from svmcut.base.typing import TYPE_CHECKING, Any, NamedTuple
from svmcut.files.output import write_atomically
from svmcut.files.remote import is_file, open_file
from svmcut.formats.coverage import format_coverage, split_coverage, with_coverage
from svmcut.formats.grammar import LINE_LIMIT
from svmcut.formats.marks import split_table, with_table, write_table
from svmcut.formats.seals import EARLIER, ChecksumOutput, split_seal
from svmcut.spec.catalog import FORMATS, load

if TYPE_CHECKING:
    from svmcut.models import KernelModel, Model, ScoringModel
    from svmcut.spec.entries import Format


class ModelFile(NamedTuple):
    """Contents of a model file."""

    #: Line 1.
    first: str
    #: Values are rounded to float32, alpha is float64; the support vectors of a linear model are
    #: summed to weights. A certificate holds for these numbers.
    model: Model
    #: Warning that the file was changed, or why its certificate does not count; "" for none.
    caution: str

    @property
    def is_changed(self) -> bool:
        """True if the checksum does not fit."""
        return self.caution not in ("", EARLIER)


def read_model(path: str, foreign: bool = True, zero_based: bool = False) -> Model:
    """Returns the model of `read_file`."""
    return read_file(path, foreign, zero_based).model


def read_file(
    path: str, foreign: bool = True, zero_based: bool = False, probable: bool = False
) -> ModelFile:
    """Reads a model of svm_perf, svm_rank, svm_hmm, svm_light V6.20 or of this program; with
    `foreign` of LIBLINEAR and LIBSVM too. `zero_based` numbers features from 0 if the format allows
    it, LIBSVM's; a `probable` model predicts as its own program does with probabilities.

    Raises ModelError with line and column for another version or kernel, a header line that is no
    number or out of range, a file cut short, more or fewer support vectors than announced, indices
    that do not increase, numbers that are not finite; MemoryLimitError if the weights exceed the
    memory. O(bytes) time and memory: no count of the header is believed before the file has shown
    the lines it announces.
    """
    try:
        with open_file(path) as file:
            first = file.readline(LINE_LIMIT)
            row = _row(first, foreign)
            if row is None:
                raise _unknown(path, first)
            how = {"zero_based": True} if zero_based and row.from_zero else {}
            read = load(f"{row.where}:read")
            body, seal = split_seal(path, first, file, row.mapped)
            body, coverage = (body, []) if row.mapped else split_coverage(body)
            body, table = split_table(path, body, row.mapped)
            model = read(path, first, body, **how)
            if not (row.mapped or row.foreign):
                model = _validate(path, model)
            model = model if table is None else with_table(path, model, table)
            model = with_coverage(path, model, coverage) if coverage else model
            model, caution = seal.apply(path, model)
            if probable and row.most_probable and getattr(model, "has_probabilities", False):
                from svmcut.models import most_probable

                model = most_probable(model)
            return ModelFile(first.rstrip().decode("ascii", "backslashreplace"), model, caution)
    except OSError as error:
        raise ModelError(path, error.strerror or str(error)) from error


def _validate(path: str, model: Model) -> Model:
    """Returns the model if its arrays fit together; else raises ModelError."""
    from svmcut.spec.schemas import StateError

    try:
        return model.validate()
    except StateError as error:
        message = Message("the numbers do not fit together: {}", str(error))
        raise ModelError(path, message) from None


def read_light(path: str) -> tuple[ScoringModel, int]:
    """Reads a model of SVM-light V6.02 or V6.20 only; returns it with the number of support vectors
    in its file. Raises as `read_file`."""
    from svmcut.formats import svm_light

    try:
        with open_file(path) as file:
            first = file.readline(LINE_LIMIT)
            if first.rstrip() not in (svm_light.LIGHT, FORMATS[0].first):
                raise _unknown(path, first)
            body, _ = split_coverage(split_seal(path, first, file, False)[0])
            return svm_light.read_counted(path, first, body)
    except OSError as error:
        raise ModelError(path, error.strerror or str(error)) from error


def write_light(path: str, model: KernelModel, comments: list[bytes]) -> None:
    """Writes a model in V6.02 of SVM-light, as `write_model` does, with comments of the support
    vectors."""
    from svmcut.formats import svm_light

    with write_atomically(path) as output:
        svm_light.write_vectors(path, output, model, comments)


def is_model(path: str) -> bool:
    """True if a regular file begins like a model."""
    try:
        if not is_file(path):
            return False
        with open_file(path) as file:
            return _row(file.readline(LINE_LIMIT)) is not None
    except (OSError, ValueError):  # ValueError: an unknown kind of URL too
        return False


def write_model(path: str, model: Model, original: bool = False) -> None:
    """Writes a model so that it replaces the file of that name as a whole. `original` writes the
    eight digits of the originals, even if a parameter of a kernel or a feature of a support vector
    needs more to be read back as it is.

    Raises OutputError if the file cannot be written, and ModelError if a number of the model is not
    finite in the precision of the file; nothing is written then.
    """
    with write_atomically(path) as output:
        summed: Any = ChecksumOutput(output)
        _write(path, summed, model, original)
        has_arrays = getattr(model, "binary", False)  # which have a checksum of their own
        summed.crc = 0 if has_arrays else summed.crc
        write_table(summed, model)
        if not original and (lines := format_coverage(model)):
            summed.write(lines)
        if not original and not (has_arrays and getattr(model, "table", None) is None):
            summed.seal(getattr(model, "certificate", None), getattr(model, "cost", None))


def written_and_read(model: Model, original: bool = False, path: str = "the model") -> Model:
    """Returns the model as a reader of its file gets it, through the text that `write_model`
    writes; raises ModelError and MemoryLimitError as writing and reading do."""
    text = io.BytesIO()
    _write(path, text, model, original)
    text.seek(0)
    first = text.readline(LINE_LIMIT)
    row = _row(first, False)
    assert row is not None
    return load(f"{row.where}:read")(path, first, text)


def _write(path: str, output: Any, model: Model, original: bool) -> None:
    """Writes the lines of the format, without table and checksum."""
    row = next(row for row in FORMATS if type(model).__name__ in row.models and not row.foreign)
    load(f"{row.where}:write")(path, row.first, output, model, original)


def _row(first: bytes, foreign: bool = True) -> Format | None:
    """Row of the format whose files begin with such a line."""
    line, word = first.rstrip(), (first.split(maxsplit=1) or [b""])[0]
    own, others = (line,), (line, word) if foreign else ()
    return next((row for row in FORMATS if row.first in (others if row.foreign else own)), None)


def _unknown(path: str, line: bytes) -> ModelError:
    expected = FORMATS[0].first.decode()
    if not line:
        return ModelError(
            path, f"the file is empty; expected a model that starts with '{expected}'", 1, 1
        )
    version = line.rstrip().decode("ascii", "backslashreplace")[:60]
    index, colon, _ = [*line.split(maxsplit=2), b"", b""][1].partition(b":")
    if colon and (index == b"qid" or index.isdigit()):
        return ModelError(
            path, f"'{version}' is an example; expected a model, as svmcut learn writes it", 1, 1
        )
    if _row(line) is not None or line.startswith((b"SVM", b"svm")):
        return ModelError(
            path, f"version '{version}' is not supported; expected '{expected}'", 1, 1
        )
    return ModelError(path, f"no model; it starts with '{version}'", 1, 1)
