# SPDX-License-Identifier: BSD-3-Clause
"""Random bytes for what is parsed in Python: model headers, checkpoints, the originals' argument lists.

    python tests/fuzz.py [SECONDS [SEED]]

Whatever comes in is read or refused with one of our own errors; anything else ends the program with the input that did
it. The scanner and the lines of models are parsed in C++ and have targets of their own in csrc/fuzz.
"""

import os
import random
import string
import sys
import tempfile
import time

import numpy as np

from svmcut.cli import originals
from svmcut.cli.options import LEARN, RANK
from svmcut.errors import SvmcutError
from svmcut.files.checkpoints import read_checkpoint, write_checkpoint
from svmcut.files.models import read_model, write_model
from svmcut.kernels import Kernel
from svmcut.models import KernelModel, LinearModel
from svmcut.train import state_classes

TOKENS = (b"0", b"-1", b"2147483648", b"99999999999999999999", b"nan", b"1e999", b":", b"#", b"\n", b"\0", b" ",
          b"\xff", b"1:1", b"SVM-light Version V6.20", b"{}", b"[", b'"')  # fmt: skip


def mutated(choose, data):
    """The bytes with a few changes: flipped bits, cuts, repeated parts, tokens that parsers stumble over."""
    data = bytearray(data)
    for _ in range(choose.randint(1, 6)):
        at = choose.randrange(len(data) + 1)
        kind = choose.randrange(5)
        if kind == 0 and at < len(data):
            data[at] ^= 1 << choose.randrange(8)
        elif kind == 1:
            del data[at : at + choose.randint(1, 40)]
        elif kind == 2:
            data[at:at] = data[at : at + choose.randint(1, 40)]
        elif kind == 3:
            data[at:at] = choose.choice(TOKENS)
        else:
            del data[at:]
    return bytes(data)


def models(folder):
    """Files of all kinds of models."""
    rng = np.random.default_rng(1)
    from svmcut.data import Csr

    rows = Csr(rng.normal(size=6).astype(np.float32), np.array([0, 2, 1, 2, 0, 1], np.int32), np.array([0, 2, 4, 6]), 3)
    for k, model in enumerate((
        LinearModel(rng.normal(size=5), 0.25),
        LinearModel(np.zeros(0), 0.0),
        KernelModel(Kernel("rbf", gamma=0.5), rows, rng.normal(size=3), 0.1, None, 3, 3),
        KernelModel(Kernel("polynomial", degree=2), rows, rng.normal(size=3), 0.1, None, 3, 3),
    )):  # fmt: skip
        path = os.path.join(folder, f"model{k}")
        write_model(path, model)
        with open(path, "rb") as file:
            yield file.read()


def checkpoint(folder):
    """A file of a state."""
    path = os.path.join(folder, "state")
    write_checkpoint(path, {"version": "1"}, {"a": np.arange(4.0), "b": (1, None, "x", [2.5])}, state_classes())
    with open(path, "rb") as file:
        return file.read()


def arguments(choose):
    """An argument list, more or less like one of svm_perf_learn."""
    words = []
    for _ in range(choose.randrange(8)):
        dashes = choose.choice(("-", "--", "", "---"))
        words.append(dashes + "".join(choose.choices(string.printable, k=choose.randrange(4))))
        words.append(choose.choice(("1", "-1", "nan", "", "x", "1e400", "\0", "é", "3.7", "99999999999")))
    return words


def main(seconds=60.0, seed=1):
    """Runs for so many seconds; returns how many inputs were tried."""
    choose, tried, end = random.Random(seed), 0, time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        corpus, state = list(models(folder)), checkpoint(folder)
        grammars = [originals._learn_grammar("svm_perf_learn", "", LEARN, {}), originals._PERF_CLASSIFY,
                    originals._learn_grammar("svm_rank_learn", "", RANK, {})]  # fmt: skip
        path = os.path.join(folder, "input")
        while time.monotonic() < end:
            model, damaged, words = mutated(choose, choose.choice(corpus)), mutated(choose, state), arguments(choose)
            for data, read in ((model, read_model), (damaged, lambda name: read_checkpoint(name, state_classes()))):
                with open(path, "wb") as file:
                    file.write(data)
                try:
                    read(path)
                except SvmcutError:
                    pass
                except BaseException:
                    print("input:", data, file=sys.stderr)
                    raise
            try:
                originals.read_argv(words, choose.choice(grammars))
            except (SvmcutError, originals.HelpRequested):
                pass
            except BaseException:
                print("arguments:", words, file=sys.stderr)
                raise
            tried += 3
    return tried


if __name__ == "__main__":
    began = time.monotonic()
    count = main(*map(float, sys.argv[1:2]), *map(int, sys.argv[2:3]))
    print(f"{count} inputs in {time.monotonic() - began:.0f} s, no finding")
