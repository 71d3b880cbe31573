# SPDX-License-Identifier: BSD-3-Clause
"""Random bytes for what is parsed in Python: models, files of sequences and label sets,
checkpoints, argument lists.

    python tests/fuzz.py [SECONDS [SEED]]

Whatever comes in is read or refused with one of our own errors; anything else ends the program with
the input that did it, as do ten seconds or two gigabytes spent on one input. What is read is used:
a model predicts and is written again, blocks of examples are those of the file read as a whole. The
scanner and the lines of models are parsed in C++ and have targets of their own in csrc/fuzz.
"""

import os
import random
import re
import resource
import signal
import string
import sys
import tempfile
import time

import numpy as np

from svmcut.base.errors import DataError, MemoryLimitError, ModelError, OutputError, SvmcutError
from svmcut.data.examples import Csr
from svmcut.files import sequences as sequence_files
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.files.examples import stream_examples
from svmcut.files.multilabel import read_multilabel, stream_multilabel
from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.formats import read_model, write_model
from svmcut.models import (
    ChainModel,
    ChainShape,
    JointKernelModel,
    KernelChainModel,
    KernelModel,
    KernelMulticlassModel,
    LinearModel,
    MulticlassModel,
    MultilabelModel,
)
from svmcut.models.kernels import Kernel
from svmcut.originals import perf
from svmcut.spec.schemas import state_classes

SECONDS, MEGABYTES = 10, 2000
"""More than this for one input is a finding."""

TOKENS = (
    b"0",
    b"-1",
    b"2147483648",
    b"99999999999999999999",
    b"nan",
    b"1e999",
    b":",
    b"#",
    b"\n",
    b"\0",
    b" ",
    b"\xff",
    b"1:1",
    b"SVM-light Version V6.20",
    b"{}",
    b"[",
    b'"',
    b",",
    b"9" * 5000,
    b"\xef\xbb\xbf",
    b"qid:",
    b"1000000",
    b"3",
    b"\r\n",
    b"\x1f\x8b",
)

NUMBERS = (
    b"0",
    b"1",
    b"2",
    b"3",
    b"60",
    b"5000",
    b"30000",
    b"999999",
    b"2147483646",
    b"2147483647",
    b"9" * 18,
    b"-1",
)
NUMBER = re.compile(rb"\d+")


def mutated(choose, data):
    """The bytes with a few changes: flipped bits, cuts, repeats, other numbers, tokens that parsers
    stumble over."""
    data = bytearray(data)
    for _ in range(choose.randint(1, 6)):
        at = choose.randrange(len(data) + 1)
        kind = choose.randrange(6)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            del data[at : at + choose.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[at : at + choose.randint(1, 40)]
        elif kind == 3:
            data[at:at] = choose.choice(TOKENS)
        elif kind == 4 and (found := NUMBER.search(data, at)):
            data[found.start() : found.end()] = choose.choice(NUMBERS)
        else:
            del data[at:]
    return bytes(data)


def models(folder):
    """Files of all kinds of models."""
    rng = np.random.default_rng(1)
    rows = Csr(
        rng.normal(size=6).astype(np.float32),
        np.array([0, 2, 1, 2, 0, 1], np.int32),
        np.array([0, 2, 4, 6]),
        3,
    )
    orders = ((0, 0), (1, 0), (1, 1), (2, 1), (3, 0))
    chains = [
        (ChainShape(2, 3, *pair), columns)
        for pair in orders
        for columns in (None, [0, 4, 9_000_000])
    ]
    pairs = np.array([0, 0, 1], np.int32), np.array([1, 2, 2], np.int32)
    names = np.array([1, 2, 30])
    for k, model in enumerate(
        (
            LinearModel(rng.normal(size=5), 0.25),
            LinearModel(np.zeros(0), 0.0),
            KernelModel(Kernel("rbf", gamma=0.5), rows, rng.normal(size=3), 0.1, None, 3, 3),
            KernelModel(Kernel("polynomial", degree=2), rows, rng.normal(size=3), 0.1, None, 3, 3),
            *(
                ChainModel(
                    weights_of(rng, shape), shape, columns=columns and np.array(columns, np.int32)
                )
                for shape, columns in chains
            ),
            *(
                KernelChainModel(
                    kernel,
                    rows,
                    rng.normal(size=(3, 2)),
                    transitions_of(rng, ChainShape(2, 3, order)),
                    ChainShape(2, 3, order),
                    columns and np.array(columns, np.int32),
                    3,
                )
                for kernel, order, columns in (
                    (Kernel("rbf", gamma=0.5), 1, None),
                    (Kernel("polynomial", degree=2), 0, [0, 4, 9_000_000]),
                    (Kernel("rbf", gamma=2.0), 3, None),
                )
            ),
            MultilabelModel(
                rng.normal(size=(3, 3)), rng.normal(size=3), *pairs, rng.normal(size=3), names
            ),
            MultilabelModel(
                rng.normal(size=(2, 3)),
                rng.normal(size=3),
                pairs[0][:0],
                pairs[1][:0],
                np.zeros(0),
                names,
                np.array([0, 2_000_000_000], np.int32),
            ),
            *(
                KernelMulticlassModel(
                    Kernel("rbf", gamma=0.5),
                    rows,
                    np.array([0, 2, 3, 5]),
                    np.array([0, 2, 1, 0, 1], np.int32),
                    rng.normal(size=5),
                    rng.normal(size=3),
                    np.array([-1.0, 4.0, 9.0]),
                    paired,
                    columns and np.array(columns, np.int32),
                )
                for paired, columns in ((True, None), (False, [0, 4, 9_000_000]))
            ),
            JointKernelModel(
                Kernel("rbf", gamma=0.5),
                rows,
                np.array([0, 2, 3, 5]),
                np.array([0, 2, 1, 0, 1], np.int32),
                rng.normal(size=5),
                np.zeros(3),
                np.array([-1.0, 4.0, 9.0]),
                False,
            ),
        )
    ):
        path = os.path.join(folder, f"model{k}")
        write_model(path, model)
        with open(path, "rb") as file:
            yield file.read()


def weights_of(rng, shape):
    """Weights of a chain; those beyond its tags are 0."""
    w = np.zeros(shape.dim)
    w.reshape(-1, shape.stride)[:, : shape.n_tags] = rng.normal(
        size=(shape.dim // shape.stride, shape.n_tags)
    )
    return w


def transitions_of(rng, shape):
    """The last of the weights of a chain."""
    return weights_of(rng, shape)[shape.dim - shape.transitions :]


SEQUENCES = (
    b"# head\n1 qid:1 1:0.5 3:1\n2 qid:1 2:1 # end\n1 qid:2\n\n3 qid:9 1:1\n3 qid:9 2:-1e3\n",
    b"1 1:1\n2 2:1\n",
    b"1 qid:1 1:1\n" * 9,
)
LABEL_SETS = (
    b"7,0 1:2 3:0.5\n 2:1\n# no row\n3, 7 1:1 # text\n12\n",
    b"3 5 9\n8,0 0:1 3:4\n 4:1\n2 0:1\n",
    b" 1:1\n" * 9,
)


def use_model(path):
    """Reads a model, predicts a few rows with it and writes it again."""
    model = read_model(path)
    X = Csr.from_dense(np.eye(4, 6, dtype=np.float32))
    if isinstance(model, ChainModel):
        if model.shape.transitions + model.shape.node_size > 1_000_000:  # right, and slow
            return
        assert model.tags(X, np.array([0, 1, 4])).min() >= 0
    elif isinstance(model, KernelChainModel):
        if model.shape.transitions > 1_000_000:
            return
        assert model.tags(X, np.array([0, 1, 4])).min() >= 0
    elif isinstance(model, MultilabelModel):
        assert model.decode(X)[0].shape == (4, len(model.names))
    elif isinstance(model, MulticlassModel | KernelMulticlassModel):
        assert model.scores(X).shape == (4, len(model.names))
    else:
        assert model.scores(X).shape == (4,)
    write_model(path + ".again", model)


def outcome(read, *words, **options):
    """The rows and labels read, or None where the file is refused."""
    try:
        parts = (
            [read(*words, **options)] if read is read_multilabel else list(read(*words, **options))
        )
    except DataError:
        return None
    return (
        [
            part.X.indices[a:b].tolist()
            for part in parts
            for a, b in zip(part.X.indptr, part.X.indptr[1:])
        ],
        [labels for part in parts for labels in labels_of(part)],
    )


def labels_of(part):
    """Tags of every sequence, or labels of every row."""
    labels = part.names[part.labels] if hasattr(part, "labels") else part.tags
    return [labels[a:b].tolist() for a, b in zip(part.indptr, part.indptr[1:])]


def use_sequences(path):
    """Reads a file for training and for tagging, in blocks of two sizes."""
    whole = outcome(stream_sequences, path)
    sequence_files.stream_examples = lambda path, **how: stream_examples(
        path, **how | {"block_bytes": 16}
    )
    assert whole == outcome(stream_sequences, path)
    sequence_files.stream_examples = stream_examples
    assert len(read_sequences(path)) == len(whole[1])


def use_label_sets(path):
    """Reads a file as a whole and in blocks."""
    whole = outcome(read_multilabel, path)
    assert whole == outcome(stream_multilabel, path)
    assert whole == outcome(stream_multilabel, path, block_bytes=16)


def too_long(number, frame):
    """The handler of the alarm."""
    raise TimeoutError(f"more than {SECONDS} s")


def checkpoint(folder):
    """A file of a state."""
    path = os.path.join(folder, "state")
    identity = {"version": "1", "examples": "digest", "options": {"gap": "0.1"}}
    write_checkpoint(
        path, identity, {"a": np.arange(4.0), "b": (1, None, "x", [2.5])}, state_classes()
    )
    with open(path, "rb") as file:
        return file.read()


def arguments(choose):
    """An argument list, more or less like one of svm_perf_learn."""
    words = []
    for _ in range(choose.randrange(8)):
        dashes = choose.choice(("-", "--", "", "---"))
        words.append(dashes + "".join(choose.choices(string.printable, k=choose.randrange(4))))
        words.append(
            choose.choice(("1", "-1", "nan", "", "x", "1e400", "\0", "é", "3.7", "99999999999"))
        )
    return words


def try_file(path, data, use, refusals):
    """Writes the bytes and has them read; anything but a refusal goes through, with the input
    printed."""
    with open(path, "wb") as file:
        file.write(data)
    signal.alarm(SECONDS)
    try:
        use(path)
    except refusals:
        pass
    except BaseException:
        print("input:", data, file=sys.stderr)
        raise
    finally:
        signal.alarm(0)


def main(seconds=60.0, seed=1):
    """Runs for so many seconds; returns how many inputs were tried."""
    choose, tried, end = random.Random(seed), 0, time.monotonic() + seconds
    signal.signal(signal.SIGALRM, too_long)
    with open("/proc/self/statm", encoding="ascii") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + MEGABYTES * 1_000_000, resource.RLIM_INFINITY))
    with tempfile.TemporaryDirectory() as folder:
        kinds = (
            (list(models(folder)), use_model, (ModelError, MemoryLimitError, OutputError)),
            (
                [checkpoint(folder)],
                lambda path: read_checkpoint(path, state_classes()),
                SvmcutError,
            ),
            (SEQUENCES, use_sequences, DataError),
            (LABEL_SETS, use_label_sets, DataError),
        )
        grammars = [
            perf.learn_grammar(perf.svm_perf_learn),
            perf.learn_grammar(perf.svm_rank_learn),
            perf.classify_grammar(perf.svm_perf_classify),
        ]
        path = os.path.join(folder, "input")
        while time.monotonic() < end:
            for corpus, use, refusals in kinds:
                try_file(path, mutated(choose, choose.choice(corpus)), use, refusals)
            words = arguments(choose)
            try:
                perf.read_argv(words, choose.choice(grammars))
            except (SvmcutError, perf.TextRequested):
                pass
            except BaseException:
                print("arguments:", words, file=sys.stderr)
                raise
            tried += 1 + len(kinds)
    return tried


if __name__ == "__main__":
    began = time.monotonic()
    count = main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]))
    print(f"{count} inputs in {time.monotonic() - began:.0f} s, no finding")
