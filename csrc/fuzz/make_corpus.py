# SPDX-License-Identifier: BSD-3-Clause
"""Files that the targets of this folder begin with, a folder a target.

python csrc/fuzz/make_corpus.py FOLDER
"""

import random
import struct
import sys
from pathlib import Path


def rows(choose):
    """Examples in LIBSVM's text, of every kind of line."""
    lines = []
    for k in range(choose.randint(1, 6)):
        label = choose.choice(("1", "-1", "+1.5e0", "3,7", "0", "-.5"))
        more = choose.choice(("", f" qid:{k // 2 + 1}", " cost:0.5", f" qid:{k + 1} cost:2"))
        places = sorted(choose.sample(range(1, 40), choose.randint(0, 5)))
        pairs = "".join(f" {place}:{choose.uniform(-9, 9):.{k}g}" for place in places)
        lines.append(label + more + pairs + choose.choice(("", " # note", " ", "\r", " 7:-2e-3")))
    return "\n".join(lines).encode() + b"\n" * choose.randint(0, 2)


def vectors(choose):
    """Lines of support vectors."""
    lines = []
    for _ in range(choose.randint(1, 5)):
        places = sorted(choose.sample(range(1, 12), choose.randint(0, 4)))
        pairs = "".join(f" {place}:{choose.gauss(0, 1):.8g}" for place in places)
        lines.append(f"{choose.gauss(0, 1):.17g}{pairs} #{choose.choice(('', 'note'))}\n")
    return "".join(lines).encode()


def cells(choose):
    """Choices, offsets and texts of words and numbers."""
    signs = (
        "free",
        "Money ",
        "été",
        "日本 ",
        "İ",
        "ß",
        "NA",
        "1.5e3",
        "-7",
        "00123",
        "_x",
        "𐐀",
        "\n",
    )
    texts = ["".join(choose.choices(signs, k=choose.randint(0, 6))).encode() for _ in range(8)]
    choices = bytes([len(texts), *(choose.randrange(256) for _ in range(7))])
    ends = [sum(map(len, texts[:k])) for k in range(len(texts) + 1)]
    steps = ends if choices[1] % 2 else [0, *map(len, texts)]
    return choices + struct.pack(f"<{len(steps)}h", *steps) + b"".join(texts)


TARGETS = {"scan": rows, "expansion": vectors, "words": cells}


def main(folder, count=12):
    """Writes so many files of each."""
    for name, make in TARGETS.items():
        choose, into = random.Random(name), Path(folder, name)
        into.mkdir(parents=True, exist_ok=True)
        for k in range(count):
            (into / f"seed{k}").write_bytes(make(choose))


if __name__ == "__main__":
    main(sys.argv[1])
