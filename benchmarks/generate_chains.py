# SPDX-License-Identifier: BSD-3-Clause
"""Sequences of K tags in svm_hmm's format: a sparse Markov chain whose tokens alone say little.

    python benchmarks/generate_chains.py --tags 800 --sequences 600 > train
    python benchmarks/generate_chains.py --tags 800 --sequences 100 --stream 2 > test

Each tag has 3 successors of probability 0.97 in all, any tag follows otherwise. A token shows
`--active` of its tag's 12 features and `--noise` others; tags share their features with 3 others,
so that neighbours must tell them apart.
"""

import sys

import numpy as np
from arguments import make_parser

SUCCESSORS, POOL, SHARED = 3, 12, 4


def generate(n_tags: int, n_sequences: int, length=20, active=5, noise=2, seed=0, stream=1):
    """Tags (n_sequences, length) from 0 and feature ids (n_sequences, length, active + noise) from
    0, sorted."""
    language = np.random.default_rng(seed)
    successors = language.integers(n_tags, size=(n_tags, SUCCESSORS))
    n_features = max(POOL + 1, n_tags * POOL // SHARED)
    pools = language.integers(n_features, size=(-(-n_tags // SHARED), POOL))[
        np.arange(n_tags) // SHARED
    ]
    own = language.integers(n_features, size=n_tags)
    rng = np.random.default_rng([seed, stream])
    tags = np.empty((n_sequences, length), np.int64)
    tags[:, 0] = rng.integers(n_tags, size=n_sequences)
    for t in range(1, length):
        follow = successors[tags[:, t - 1], rng.integers(SUCCESSORS, size=n_sequences)]
        tags[:, t] = np.where(
            rng.random(n_sequences) < 0.97, follow, rng.integers(n_tags, size=n_sequences)
        )
    shape = (n_sequences, length, active)
    shown = pools[tags[..., None], rng.integers(POOL, size=shape)]
    shown[..., 0] = np.where(rng.random(tags.shape) < 0.5, own[tags], shown[..., 0])
    features = np.concatenate([shown, rng.integers(n_features, size=(*tags.shape, noise))], axis=2)
    return tags, np.sort(features, axis=2)


def write(out, tags, features) -> None:
    """Lines ``TAG qid:N INDEX:1 ...``."""
    for n in range(len(tags)):
        for tag, row in zip(tags[n].tolist(), features[n]):
            columns = " ".join(f"{j + 1}:1" for j in sorted(set(row.tolist())))
            out.write(f"{tag + 1} qid:{n + 1} {columns}\n")


def main() -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--tags", type=int, default=800)
    parser.add_argument("--sequences", type=int, default=600)
    parser.add_argument("--length", type=int, default=20)
    parser.add_argument("--active", type=int, default=5)
    parser.add_argument("--noise", type=int, default=2)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--stream", type=int, default=1, help="1 and 2 give train and test parts of one language"
    )
    given = parser.parse_args()
    write(
        sys.stdout,
        *generate(
            given.tags,
            given.sequences,
            given.length,
            given.active,
            given.noise,
            given.seed,
            given.stream,
        ),
    )


if __name__ == "__main__":
    main()
