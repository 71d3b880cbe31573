#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Writes the sets svmcut makes itself: text, unbalanced, ranking, tags, chunks and labels, each
.train and .test, and a table, mail.

Only random(), the four operations and square roots are used, so the bytes are the same with every
Python and machine.
"""

from __future__ import annotations

import argparse
import bisect
import itertools
import math
from pathlib import Path
from random import Random


def normal(random: Random) -> float:
    """Nearly normal: twelve uniform numbers less six (mean 0, variance 1)."""
    return sum(random.random() for _ in range(12)) - 6.0


def pairs(values: dict[int, float]) -> str:
    texts = ((index, format(values[index], ".4g")) for index in sorted(values))
    return " ".join(f"{index}:{text}" for index, text in texts if float(text) != 0)


def text(random: Random, sizes):
    """Short documents over 2,000 words with Zipf frequencies and three topics a class; 4 % of the
    labels are wrong.

    Values are square roots of counts, rows have length 1.
    """
    words = 2000
    cumulated = list(itertools.accumulate(1.0 / (rank + 8.0) for rank in range(words)))
    ids = list(range(1, words + 1))
    ids.sort(key=lambda _: random.random())
    topics = {
        sign: [[int(random.random() * words) for _ in range(60)] for _ in range(3)]
        for sign in (-1, 1)
    }
    for size in sizes:
        part = []
        for _ in range(size):
            sign = 1 if random.random() < 0.45 else -1
            topic = topics[sign][int(random.random() * 3)]
            share = 0.15 + 0.3 * random.random()
            counts: dict[int, int] = {}
            for _ in range(14 + int(random.random() * 22)):
                if random.random() < share:
                    rank = topic[int(random.random() * len(topic))]
                else:
                    rank = bisect.bisect(cumulated, random.random() * cumulated[-1] * 0.999999)
                counts[ids[rank]] = counts.get(ids[rank], 0) + 1
            length = math.sqrt(sum(counts.values()))
            label = -sign if random.random() < 0.04 else sign
            part.append(
                f"{label:+d} "
                f"{pairs({index: math.sqrt(n) / length for index, n in counts.items()})}\n"
            )
        yield part


def unbalanced(random: Random, sizes):
    """One positive in twenty-five, and two kinds of them among negatives around the origin.

    Six in ten stand out in five features. The others differ a little in the other seven: no
    threshold finds them without more false alarms, so the error rate gives them up, which a measure
    of the whole order does not.
    """
    for size in sizes:
        part = []
        for _ in range(size):
            kind = random.random()
            plain, faint = kind < 0.024, 0.024 <= kind < 0.04
            shifts = [0.85 * plain] * 5 + [0.45 * faint] * 7
            values = {j: normal(random) / 2 + shift for j, shift in enumerate(shifts, 1)}
            part.append(f"{1 if plain or faint else -1:+d} {pairs(values)}\n")
        yield part


def ranking(random: Random, sizes):
    """Queries of 6 to 20 documents with grades 0 to 4; each query shifts its features, so only
    differences tell."""
    weights = [normal(random) for _ in range(10)]
    query = 0
    for size in sizes:
        part = []
        for _ in range(size):
            query += 1
            shift = [normal(random) for _ in weights]
            for _ in range(6 + int(random.random() * 15)):
                own = [normal(random) for _ in weights]
                useful = sum(w * x for w, x in zip(weights, own)) / 3 + 0.5 * normal(random)
                grade = sum(useful > limit for limit in (0.0, 0.6, 1.2, 1.8))
                values = {j: (x + s) / 4 for j, (x, s) in enumerate(zip(own, shift), 1)}
                part.append(f"{grade} qid:{query} {pairs(values)}\n")
        yield part


def tags(random: Random, sizes):
    """Sentences of 3 to 14 words from a hidden Markov chain of 6 tags with 2 likely successors
    each.

    A word is one of the 12 its tag has for itself, one of 30 that all tags share, or rare; its
    ending is a second feature, common to two tags. What is shared only the neighbours can tell.
    """
    count, own, shared, endings = 6, 12, 30, 3
    rare = 60
    start_endings = count * own + shared + rare
    sequence = 0
    for size in sizes:
        part = []
        for _ in range(size):
            sequence += 1
            tag = int(random.random() * count)
            for _ in range(3 + int(random.random() * 12)):
                kind = random.random()
                if kind < 0.4:
                    word = 1 + tag * own + int(random.random() * own)
                elif kind < 0.8:
                    word = 1 + count * own + int(random.random() * shared)
                else:
                    word = 1 + count * own + shared + int(random.random() * rare)
                ending = tag // 2 if random.random() < 0.7 else int(random.random() * endings)
                part.append(f"{tag + 1} qid:{sequence} {word}:1 {start_endings + 1 + ending}:1\n")
                follow = random.random()
                if follow < 0.92:
                    tag = (tag + 1 if follow < 0.6 else tag * 2 + 3) % count
                else:
                    tag = int(random.random() * count)
        yield part


def chunks(random: Random, sizes):
    """Sentences of words, their kinds and the phrases they are in, in columns: noun, verb and
    prepositional phrases, and adverbs.

    Words are made of syllables; an ending tells the kind of many, and some are of two kinds. One
    kind in twenty and one phrase in fifty is wrong.
    """
    syllables = ("ba", "ko", "ri", "ten", "mal", "us", "po", "dra", "shi", "ne", "lor", "gu")

    def pick(known):
        return known[int(len(known) * random.random() ** 2)]

    def words(count, endings):
        made = []
        for _ in range(count):
            stem = "".join(pick(syllables) for _ in range(1 + int(3 * random.random())))
            made.append(stem + pick(endings))
        return made

    shared = words(60, ("",))
    lexicon = {
        "DT": ["the", "a", "this"],
        "IN": ["of", "in", "for", "with"],
        "JJ": [*words(120, ("al", "ous", "")), *shared],
        "NN": [*words(400, ("tion", "ness", "er", "")), *shared],
        "NNP": [word.capitalize() for word in words(200, ("", "son"))],
        "VB": [*words(150, ("ed", "ing", "s")), *shared],
        "RB": words(50, ("ly",)),
    }
    kinds = list(lexicon)

    def phrase(name, *inner):
        return [(kind, f"{'I' if k else 'B'}-{name}") for k, kind in enumerate(inner)]

    def nouns():
        inner = ["DT"] * (random.random() < 0.6) + ["JJ"] * int(3 * random.random() ** 2)
        return phrase("NP", *inner, *["NN", "NNP"][: 1 + (random.random() < 0.3)])

    for size in sizes:
        part = []
        for _ in range(size):
            row = []
            for _ in range(1 + int(3 * random.random())):
                row += nouns()
                row += phrase("ADVP", "RB") if random.random() < 0.2 else []
                row += phrase("VP", *["VB"] * (1 + int(2 * random.random())))
                row += [("IN", "B-PP"), *nouns()] if random.random() < 0.5 else []
            for kind, tag in row:
                word = pick(lexicon[kind])
                shown = pick(kinds) if random.random() < 0.05 else kind
                said = pick(("O", "B-NP", "I-NP", "B-VP")) if random.random() < 0.02 else tag
                part.append(f"{word} {shown} {said}\n")
            part.append(". . O\n\n")
        yield part


def labels(random: Random, sizes):
    """Sets of 6 labels: one of 0, 1, 2, one or none of 3 and 4, and 5 mostly where 2 and 3 are.

    Features tell that some label of a group is on better than which one: alone, two of them or none
    look right.
    """
    width, common = 5, 4
    groups = ((0, 1, 2), (3, 4), (5,))
    for size in sizes:
        part = []
        for _ in range(size):
            chosen = [int(random.random() * 3)]
            second = random.random()
            if second < 0.7:
                chosen.append(3 if second < 0.35 else 4)
            if random.random() < (0.9 if 2 in chosen or 3 in chosen else 0.1):
                chosen.append(5)
            values: dict[int, float] = {}
            for number, group in enumerate(groups):
                on = any(label in chosen for label in group)
                for j in range(common):
                    values[1 + number * common + j] = normal(random) / 2 + (0.9 if on else 0.0)
            for label in range(6):
                for j in range(width):
                    index = 1 + len(groups) * common + label * width + j
                    if random.random() < 0.25:
                        values[index] = normal(random) / 2 + (0.8 if label in chosen else 0.0)
            part.append(f"{','.join(map(str, chosen))} {pairs(values)}\n")
        yield part


SETS = (
    (text, (900, 600)),
    (unbalanced, (1500, 1000)),
    (ranking, (60, 40)),
    (tags, (150, 100)),
    (labels, (300, 200)),
    (chunks, (150, 100)),
)


def mail(random: Random, size: int) -> str:
    """A table of short mails: label, text, length and sender, which is missing in every fifth."""
    ham, spam = (
        line.split() for line in ("meeting ten hello report lunch", "free money offer win now")
    )
    rows = ["label,text,length,sender\n"]
    for _ in range(size):
        label = "spam" if random.random() < 0.5 else "ham"
        words = []
        for _ in range(6):
            known = spam if label == "spam" and random.random() < 0.7 else ham
            words.append(known[int(random.random() * len(known))])
        text = " ".join(words)
        sender = ("eve", "bob", "ann", "joe", "")[int(random.random() * 5)]
        rows.append(f"{label},{text},{len(text)},{sender}\n")
    return "".join(rows)


def generate(folder: Path) -> list[Path]:
    """Writes fourteen files into ``folder`` and returns their paths."""
    written = []
    for seed, (part, size) in enumerate((("mail", 200), ("new_mail", 60)), 1):
        path = folder / f"{part}.csv"
        path.write_text(mail(Random(seed), size), encoding="ascii", newline="\n")
        written.append(path)
    for seed, (make, sizes) in enumerate(SETS, 1):
        for part, rows in zip(("train", "test"), make(Random(seed), sizes)):
            path = folder / f"{make.__name__}.{part}"
            path.write_text("".join(rows), encoding="ascii", newline="\n")
            written.append(path)
    return written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", nargs="?", type=Path, default=Path(__file__).parent)
    for path in generate(parser.parse_args().folder):
        print(path)
