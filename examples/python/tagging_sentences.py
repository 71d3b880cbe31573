#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Tags of words: what the neighbours tell. The model is a file that the command line tags
CRFsuite's text with.

python examples/python/tagging_sentences.py [PICTURE]
"""

import random
import sys
import tempfile
from pathlib import Path

from matplotlib.figure import Figure

import svmcut
from svmcut import ChainSVM

picture = sys.argv[1] if len(sys.argv) > 1 else Path(__file__).with_suffix(".png")

# Sentences of a little grammar, in which flies, saw and light are more than one kind of word.
WORDS = {
    "DET": ["the", "a", "every", "this"],
    "ADJ": ["old", "small", "light", "quiet"],
    "PREP": ["with", "on", "under"],
    "NOUN": ["dog", "saw", "flies", "tree", "light", "house"],
    "VERB": ["saw", "flies", "sees", "likes", "light"],
}
NEXT = {
    "START": ["DET", "DET", "NOUN"],
    "DET": ["NOUN", "NOUN", "ADJ"],
    "ADJ": ["NOUN", "NOUN", "ADJ"],
    "NOUN": ["VERB", "VERB", "PREP", "END"],
    "VERB": ["DET", "DET", "NOUN", "PREP"],
    "PREP": ["DET", "NOUN"],
}


def sentence(draw):
    """Words and their tags."""
    tag, found = draw.choice(NEXT["START"]), []
    while tag != "END":
        found.append((draw.choice(WORDS[tag]), tag))
        tag = draw.choice(NEXT[tag])
    return [[{"word": word, "ending": word[-1]} for word, _ in found], [tag for _, tag in found]]


draw = random.Random(0)
(X, y), (test, right) = (zip(*[sentence(draw) for _ in range(n)], strict=True) for n in (300, 200))
chain = ChainSVM(C=0.1, tol=0.01, random_state=0).fit(X, y)
alone = ChainSVM(C=0.1, tol=0.01, random_state=0, transitions=0).fit(X, y)
print(f"primal {chain.primal_[0]:.3f}, at most {chain.gap_[0]:.3f} above the optimum")
print(
    f"right tags: {100 * chain.score(test, right):.1f} %, every word alone "
    f"{100 * alone.score(test, right):.1f} %"
)

with tempfile.TemporaryDirectory() as folder:
    chain.save(f"{folder}/model")  # svmcut classify --input crfsuite FILE model
    assert svmcut.load(f"{folder}/model").predict(test[:1]) == chain.predict(test[:1])

figure = Figure(figsize=(5, 4), layout="constrained")
axes, tags = figure.subplots(), chain.classes_.tolist()
image = axes.imshow(chain.transition_coef_, cmap="RdBu", vmin=-2, vmax=2)
axes.set(xticks=range(len(tags)), xticklabels=tags, yticks=range(len(tags)), yticklabels=tags)
axes.set(xlabel="tag", ylabel="tag before it", title="Weights of transitions")
figure.colorbar(image)
figure.savefig(picture)
