# SPDX-License-Identifier: BSD-3-Clause
"""Chunks of tags, by conlleval's rules read one token at a time; slow on purpose."""


def split(tag):
    """Letter and type of a tag."""
    letter, _, kind = tag.partition("-")
    return letter, kind if letter != "O" else ""


def chunks(tags):
    """(first, last, type) of the chunks of one sequence."""
    found, start = [], None
    before, before_kind = "O", ""
    for t, tag in enumerate([*tags, "O"]):
        letter, kind = split(tag)
        ends = before != "O" and (before in "ES" or letter in "BSO" or kind != before_kind)
        begins = letter != "O" and (letter in "BS" or before in "ESO" or kind != before_kind)
        if ends:
            found.append((start, t - 1, before_kind))
        if begins:
            start = t
        before, before_kind = letter, kind
    return found


def scores(right, predicted):
    """Precision, recall and F1 of all chunks of lists of sequences, and by type, in percent."""
    ours = {(n, *chunk) for n, tags in enumerate(right) for chunk in chunks(tags)}
    theirs = {(n, *chunk) for n, tags in enumerate(predicted) for chunk in chunks(tags)}

    def of(a, b):
        p = 100 * len(a & b) / len(b) if b else 0.0
        r = 100 * len(a & b) / len(a) if a else 0.0
        return p, r, 2 * p * r / (p + r) if p + r else 0.0

    kinds = {chunk[3] for chunk in ours | theirs}
    return of(ours, theirs), {
        kind: of({c for c in ours if c[3] == kind}, {c for c in theirs if c[3] == kind})
        for kind in kinds
    }
