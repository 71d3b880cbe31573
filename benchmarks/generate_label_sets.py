# SPDX-License-Identifier: BSD-3-Clause
"""Sets of labels on text like RCV1's in LIBSVM's multilabel format: topics in groups, words by
Zipf's law.

    python benchmarks/generate_label_sets.py --examples 8000 > train
    python benchmarks/generate_label_sets.py --examples 3000 --stream 2 > test

A document has one to four topics, frequent ones more often, most of them from the group of the
first: topics of a group are seen together. Three words in five are drawn from its topics' own, the
rest from all words; values are (1 + ln count) ln(words / rank of the word), rows of length 1. The
language depends on --seed alone.
"""

from __future__ import annotations

import sys

import numpy as np
from arguments import make_parser

GROUPS, OWN_WORDS = 12, 120
AGAIN = 0.4  # probability of one more topic
ABROAD = 0.1  # of a further topic from any group
OWN = 0.6  # part of the words that are of the topics
MEAN_WORDS, SPREAD = 4.3, 0.55  # of the logarithm of a document's length


class Language:
    """Words and topics.

    Parameters
    ----------
    n_labels, n_features, seed : int
    """

    def __init__(self, n_labels: int, n_features: int, seed: int):
        rng = np.random.default_rng(seed)
        self.n_features, self.group = n_features, np.arange(n_labels) % GROUPS
        self.popular = rng.gamma(0.5, size=n_labels) + 0.02
        # words are numbered by rank; feature ids are not
        frequency = 1.0 / (np.arange(n_features) + 15.0)
        self.cumulated = np.cumsum(frequency / frequency.sum())
        self.ids = rng.permutation(n_features)
        own = min(OWN_WORDS, n_features)
        # topics of a group share a third of their words
        shared = rng.integers(n_features, size=(GROUPS, own // 3))
        rest = rng.integers(n_features, size=(n_labels, own - own // 3))
        self.words = np.concatenate([shared[self.group], rest], axis=1)
        weight = rng.gamma(0.5, size=self.words.shape)
        self.share = np.cumsum(weight, axis=1) / weight.sum(axis=1, keepdims=True)

    def topics(self, rng) -> np.ndarray:
        """Different topics of one document, in increasing order."""
        first = rng.choice(len(self.popular), p=self.popular / self.popular.sum())
        found = {int(first)}
        while len(found) < 4 and rng.random() < AGAIN:
            weight = np.where(
                (self.group == self.group[first]) | (rng.random() < ABROAD), self.popular, 0.0
            )
            found.add(int(rng.choice(len(weight), p=weight / weight.sum())))
        return np.array(sorted(found))

    def document(self, rng) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Topics, increasing feature ids from 0, values."""
        topics = self.topics(rng)
        length = int(np.clip(np.exp(rng.normal(MEAN_WORDS, SPREAD)), 10, 1000))
        of_topic = np.sort(rng.choice(topics, size=rng.binomial(length, OWN)))
        parts = [np.searchsorted(self.cumulated, rng.random(length - len(of_topic)))]
        for topic, count in zip(*np.unique(of_topic, return_counts=True)):
            parts.append(self.words[topic, np.searchsorted(self.share[topic], rng.random(count))])
        ranks, counts = np.unique(
            np.minimum(np.concatenate(parts), self.n_features - 1), return_counts=True
        )
        values = (1 + np.log(counts)) * np.log((self.n_features + 1) / (ranks + 1))
        order = np.argsort(self.ids[ranks])
        return topics, self.ids[ranks][order], (values / np.sqrt(values @ values))[order]


def write(out, language: Language, n_examples: int, seed: int, stream: int) -> None:
    """Lines ``LABEL,LABEL,... INDEX:VALUE ...``."""
    rng = np.random.default_rng([seed, stream])
    for _ in range(n_examples):
        topics, columns, values = language.document(rng)
        row = " ".join(f"{j + 1}:{x:.4g}" for j, x in zip(columns.tolist(), values.tolist()))
        out.write(f"{','.join(map(str, topics.tolist()))} {row}\n")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--examples", type=int, default=8000)
    parser.add_argument("--labels", type=int, default=103)
    parser.add_argument("--features", type=int, default=47_236)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--stream", type=int, default=1, help="1 and 2 give train and test parts of one language"
    )
    given = parser.parse_args()
    language = Language(given.labels, given.features, given.seed)
    write(sys.stdout, language, given.examples, given.seed, given.stream)


if __name__ == "__main__":
    main()
