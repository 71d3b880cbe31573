# SPDX-License-Identifier: BSD-3-Clause
"""Models as one Python file of the standard library alone: score(row), label(row) and, where the
model has them, probability(row), of a dict by column."""

from __future__ import annotations

from collections.abc import Iterator

from svmcut.base.typing import TYPE_CHECKING, Any
from svmcut.scorers import description
from svmcut.scorers.description import Scorer, describe
from svmcut.scorers.literals import in_python, real, wrap
from svmcut.scorers.notes import column_note, head, weight_notes
from svmcut.tables.encoding import Category, Number

if TYPE_CHECKING:
    from svmcut.files.output import Output


def write(path: str, first: bytes, output: Output, model: Any) -> None:
    """Writes the whole file; see svmcut.spec.entries.Format. Raises as `describe`."""
    output.write(program(describe(path, model)).encode())


def program(scorer: Scorer) -> str:
    """The text of the file."""
    sums = _WEIGHTED if scorer.machines is None else _of_kernel(scorer)
    parts = [
        *(f"# {line}" for line in head(scorer)),
        _IMPORTS,
        "\n".join(_numbers(scorer)),
        _columns(scorer) if scorer.columns else _SPARSE,
        sums,
        _answers(scorer),
    ]
    return "\n".join(parts)


def _numbers(scorer: Scorer) -> Iterator[str]:
    """Numbers of the model as constants."""
    words = [_label(text, scorer) for text in scorer.labels]
    if words:
        yield f"LABELS = [\n{wrap(words)}\n]"
    yield f"CONSTANTS = [\n{wrap(map(real, scorer.constants))}\n]"
    if scorer.weights is not None:
        yield "# of every feature the weights of all scores"
        yield "WEIGHTS = ["
        for row, note in zip(scorer.weights.tolist(), weight_notes(scorer), strict=True):
            yield f"    [{', '.join(map(real, row))}]," + f"  # {note}" * bool(note)
        yield "]"
    else:
        machines = scorer.machines
        assert machines is not None
        yield "# of every support vector its features and their values"
        yield "SUPPORT = ["
        for indices, values in machines.rows():
            entries = (f"({j}, {value!r})" for j, value in zip(indices, values, strict=True))
            yield f"    [\n{wrap(entries, '        ')}\n    ],"
        yield f"]\nPLACES = [\n{wrap(map(str, machines.places))}\n]"
        yield f"ALPHA = [\n{wrap(map(real, machines.alpha))}\n]"
        yield f"STARTS = [\n{wrap(map(str, machines.starts))}\n]"


def _label(text: str, scorer: Scorer) -> str:
    return text if scorer.has_numbers and text != "rest" else in_python(text)


def _columns(scorer: Scorer) -> str:
    """Functions of cells, and the columns that they take."""
    lines, used = [], set()
    for column, first in scorer.columns:
        name, missing = in_python(column.name), getattr(column, "missing", False)
        lines.append(f"    # {column_note(column)}")
        if isinstance(column, Number):
            used.add(_NUMBER)
            last = first + 1 if missing else None
            how = ", ".join(map(real, (column.mean, column.scale, column.fill)))
            lines.append(f"    ({name}, _number, {first}, {how}, {last}, {column.boolean}),")
        elif isinstance(column, Category):
            used.add(_CATEGORY)
            last = first + len(column.values) if missing else None
            known = _dict(column.values, first)
            lines.append(f"    ({name}, _category, {known}, {last}),")
        else:
            used.add(_TEXT)
            places = _dict(column.terms, 0)
            if column.hash_bits is not None:
                places = str(column.hash_bits)
                used.add(_HASH)
            idf = column.idf_weights()
            weights = "None" if idf is None else f"[\n{wrap(map(real, idf), '        ')}\n    ]"
            how = f"{column.ngrams}, {column.log}, {column.normed}"
            lines.append(f"    ({name}, _text, {first}, {places}, {weights}, {how}),")
    pieces = [piece for piece in (_NUMBER, _CATEGORY, _HASH, _TEXT) if piece in used]
    return "\n".join([_CELLS, *pieces, "COLUMNS = [", *lines, "]", _FEATURES])


def _dict(names: tuple[str, ...], first: int) -> str:
    """Places of names."""
    pairs = (f"{in_python(name)}: {k}" for k, name in enumerate(names, first))
    return f"{{\n{wrap(pairs, '        ')}\n    }}"


def _of_kernel(scorer: Scorer) -> str:
    assert scorer.machines is not None
    kernel = scorer.machines.kernel
    form = {
        "rbf": f"math.exp({real(-kernel.gamma)} * value)",
        "polynomial": f"({real(kernel.scale)} * value + {real(kernel.offset)}) ** {kernel.degree}",
        "sigmoid": f"math.tanh({real(kernel.scale)} * value + {real(kernel.offset)})",
    }[kernel.name]
    distances = _DISTANCES.replace("GAMMA", real(kernel.gamma)) if kernel.name == "rbf" else ""
    return _KERNEL.replace("FORM", form).replace("    DISTANCES\n", distances)


def _answers(scorer: Scorer) -> str:
    """The functions to call."""
    text = ""
    if scorer.answer in (description.LARGEST, description.VOTES):
        votes = _VOTES if scorer.answer == description.VOTES else _LISTED
        text += votes + _LARGEST
        if scorer.temperature is not None:
            text += _SOFTMAX.replace("TEMPERATURE", real(scorer.temperature))
        elif scorer.sigmoid is not None:
            text += _SHARES
        return text
    text += _ONE
    if scorer.answer == description.SIGN:
        text += _LABEL.replace("SIGN", "> 0")
    elif scorer.answer == description.INSIDE:
        text += _LABEL.replace("SIGN", ">= 0")
    if scorer.sigmoid is not None:
        A, B = map(real, scorer.sigmoid)
        shift = f" + {real(scorer.threshold)}" if scorer.threshold else ""
        text += _SIGMOID.replace("SHIFT", shift).replace("SLOPE", A).replace("OFFSET", B)
    return text


_IMPORTS = '''"""score(row), label(row) and probability(row), where the model has them."""

import math
import re
import struct
'''

_CELLS = '''

def _float32(value):
    """The nearest number of single precision; OverflowError for one beyond it."""
    return struct.unpack("<f", struct.pack("<f", value))[0]


def _cell(value):
    """A cell as a text; None where it is missing."""
    if value is None or value != value:
        return None
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        text = value
    else:
        text = str(value) if isinstance(value, int) else repr(float(value)).removesuffix(".0")
    return text.strip(" \\t\\r\\n") or None
'''

_NUMBER = """
_DIGITS = re.compile(r"[-+]?(?!0[0-9])([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][-+]?[0-9]+)?")
_NOTHING = ("na", "n/a", "nan", "-nan", "null", "none", "?", "#n/a")


def _number(cell, first, mean, scale, fill, missing, boolean):
    text = _cell(cell)
    if text is None or text.lower() in _NOTHING:
        value = math.nan
    elif boolean and text.lower() in ("true", "false"):
        value = float(text.lower() == "true")
    elif _DIGITS.fullmatch(text) and abs(float(text)) < math.inf:
        value = float(text)
    else:
        raise ValueError(f"{text!r} is no finite number")
    absent = value != value
    yield first, _float32(((fill if absent else value) - mean) * scale)
    if absent and missing is not None:
        yield missing, 1.0

"""

_CATEGORY = """
def _category(cell, places, missing):
    text = _cell(cell)
    place = missing if text is None else places.get(text)
    if place is not None:
        yield place, 1.0

"""

_HASH = '''
def _hash(word):
    """murmurhash3_x86_32."""
    data, mask = word.encode(), 0xFFFFFFFF
    h, whole = 0, len(data) // 4 * 4
    for start in range(0, len(data), 4):
        k = int.from_bytes(data[start : start + 4], "little") * 0xCC9E2D51 & mask
        h ^= (k << 15 | k >> 17) * 0x1B873593 & mask
        if start < whole:
            h = (h << 13 | h >> 19) & mask
            h = h * 5 + 0xE6546B64 & mask
    h ^= len(data)
    h = (h ^ h >> 16) * 0x85EBCA6B & mask
    h = (h ^ h >> 13) * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h

'''

_TEXT = """
def _text(cell, first, places, idf, lengths, log, normed):
    words = re.findall(r"\\w\\w+", (_cell(cell) or "").lower())
    counts = {}
    for length in range(lengths[0], lengths[1] + 1):
        for start in range(len(words) - length + 1):
            term, sign = " ".join(words[start : start + length]), 1
            if isinstance(places, int):
                hashed = _hash(term)
                place, sign = abs(hashed) % (1 << places), -1 if hashed < 0 else 1
            else:
                place = places.get(term)
            if place is not None:
                counts[place] = counts.get(place, 0) + sign
    values, squares = {}, 0.0
    for place in sorted(counts) if isinstance(places, int) else counts:
        if counts[place]:
            value = 1 + math.log(counts[place]) if log else float(counts[place])
            values[place] = value = value if idf is None else value * idf[place]
            squares += value * value
    size = math.sqrt(squares) if normed and squares > 0 else 1.0
    for place in sorted(values):
        yield first + place, _float32(values[place] / size)

"""

_FEATURES = """

def _features(row):
    if len(COLUMNS) == 1 and isinstance(row, str):
        row = {COLUMNS[0][0]: row}
    found = (entry for name, encode, *how in COLUMNS for entry in encode(row[name], *how))
    return [(feature, value) for feature, value in found if value]
"""

_SPARSE = '''

def _features(row):
    """Features of a dict by their numbers, from 1 on."""
    pairs = sorted((int(number), value) for number, value in row.items())
    layout = f"<{len(pairs)}f"
    values = struct.unpack(layout, struct.pack(layout, *(value for _, value in pairs)))
    return [(number - 1, value) for (number, _), value in zip(pairs, values) if value]
'''

_WEIGHTED = """

def _sums(row):
    sums = [0.0] * len(CONSTANTS)
    for feature, value in _features(row):
        if feature < len(WEIGHTS):
            for k, weight in enumerate(WEIGHTS[feature]):
                sums[k] += value * weight
    return [total + constant for total, constant in zip(sums, CONSTANTS)]
"""

_DISTANCES = """        own = 0.0
        for x in features.values():
            own += x * x
        norm = 0.0
        for _, z in vector:
            norm += z * z
        if 4 * GAMMA * (LARGEST + own) * 2.0**-53 > 1e-12:
            value = 0.0
            there = dict(vector)
            for feature in sorted({*features, *there}):
                value += (features.get(feature, 0.0) - there.get(feature, 0.0)) ** 2
        else:
            value = max(norm - 2 * value + own, 0.0)
"""

_KERNEL = """

LARGEST = 0.0
for _vector in SUPPORT:
    _norm = 0.0
    for _, _z in _vector:
        _norm += _z * _z
    LARGEST = max(LARGEST, _norm)


def _sums(row):
    features = dict(_features(row))
    values = []
    for vector in SUPPORT:
        value = 0.0
        for feature, z in vector:
            value += features.get(feature, 0.0) * z
    DISTANCES
        values.append(FORM)
    sums = []
    for k, constant in enumerate(CONSTANTS):
        total = 0.0
        for entry in range(STARTS[k], STARTS[k + 1]):
            total += ALPHA[entry] * values[PLACES[entry]]
        sums.append(total + constant)
    return sums
"""

_ONE = '''

def score(row):
    """The score of a row."""
    return _sums(row)[0]
'''
_LABEL = '''

def label(row):
    """The label of a row."""
    return LABELS[score(row) SIGN]
'''
_SIGMOID = '''

def probability(row):
    """The probability of the label LABELS[1]."""
    z = SLOPE * (score(row)SHIFT) + OFFSET
    least = math.exp(-abs(z))
    return (least if z >= 0 else 1.0) / (1.0 + least)
'''
_LISTED = '''

def score(row):
    """The scores of all labels, in the order of LABELS."""
    return _sums(row)
'''
_VOTES = '''

def score(row):
    """The votes of all pairs of labels for each, in the order of LABELS."""
    votes, decisions = [0] * len(LABELS), iter(_sums(row))
    for first in range(len(LABELS)):
        for second in range(first + 1, len(LABELS)):
            votes[first if next(decisions) > 0 else second] += 1
    return votes
'''
_LARGEST = '''

def label(row):
    """The label with the largest score, the first of equal ones."""
    scores = score(row)
    return LABELS[scores.index(max(scores))]
'''
_SOFTMAX = '''

def probability(row):
    """The probabilities of all labels, in the order of LABELS."""
    scores = score(row)
    parts = [math.exp(TEMPERATURE * (value - max(scores))) for value in scores]
    return [part / sum(parts) for part in parts]
'''
_SHARES = '''

def probability(row):
    """The probabilities of all labels, in the order of LABELS."""
    least = [math.exp(-abs(value)) for value in score(row)]
    parts = [(1.0 if v >= 0 else e) / (1.0 + e) for v, e in zip(score(row), least)]
    return [part / sum(parts) for part in parts]
'''
