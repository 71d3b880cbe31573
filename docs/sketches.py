#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Pictures of docs/ (make docs): sketch.svg, margin, cut and gap of a problem small enough
to draw; speed.svg, of docs/board.md; certificate.svg, of the runs of benchmarks/issue_22283.py;
words.svg, of the filter of docs/tutorial.md; proven.svg and forgotten.svg, of
docs/certified-answers.md."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np

DOCS = Path(__file__).resolve().parent
INK, BLUE, RED, GREY, GREEN = "#37474f", "#1565c0", "#d84315", "#90a4ae", "#00796b"
#: One feature and its labels: the problem whose cuts and gap are drawn.
FEATURE = np.array([-2.0, -1.2, -0.4, 0.5, 0.3, 0.9, 1.6, 2.2])
LABELS = np.array([-1.0, -1, -1, -1, 1, 1, 1, 1])
COST = 2.0


def risk(w: float) -> float:
    """Mean hinge loss at one weight."""
    return float(np.maximum(0, 1 - LABELS * FEATURE * w).mean())


def cut(w: float) -> tuple[float, float]:
    """Slope and offset of the line that touches the risk at w."""
    hit = LABELS * FEATURE * w < 1
    return float(-(LABELS * FEATURE * hit).mean()), float(hit.mean())


def planes(steps: int) -> tuple[list[tuple[float, float]], list[float], list[float]]:
    """Cutting planes here: the cuts, and of each step the best objective and the lower bound."""
    grid, w, best = np.linspace(-1, 4, 50_001), 0.0, np.inf
    cuts, primal, dual = [], [], []
    for _ in range(steps):
        cuts.append(cut(w))
        best = min(best, w * w / 2 + COST * risk(w))
        model = grid**2 / 2 + COST * np.max(
            [[0] + [a * v + b for a, b in cuts] for v in grid], axis=1
        )
        w = float(grid[model.argmin()])
        primal.append(best)
        dual.append(float(model.min()))
    return cuts, primal, dual


class Sketch:
    """A picture of lines, points and words in pixels."""

    def __init__(self, width: int, height: int, title: str):
        box = f'width="{width}" height="{height}"'
        font = f'font-family="sans-serif" font-size="13" fill="{INK}"'
        self.parts = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {box} {font}>',
            f"<title>{title}</title>",
            f'<rect {box} rx="6" fill="#fff"/>',
        ]

    def line(self, points, colour=INK, width=1.5, dash=""):
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        self.parts.append(
            f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{width}"'
            + (f' stroke-dasharray="{dash}"' if dash else "") + "/>"
        )  # fmt: skip

    def dot(self, x, y, colour=INK, size=4.5, ring=False):
        fill = f'fill="none" stroke="{colour}" stroke-width="1.5"' if ring else f'fill="{colour}"'
        self.parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{size}" {fill}/>')

    def text(self, x, y, words, colour=INK, anchor="start", size=13, weight="normal"):
        how = f'fill="{colour}" text-anchor="{anchor}" font-size="{size}" font-weight="{weight}"'
        self.parts.append(f'<text x="{x:.1f}" y="{y:.1f}" {how}>{words}</text>')

    def saved(self, name: str):
        text = "\n".join([*self.parts, "</svg>", ""])
        (DOCS / name).write_text(text, encoding="utf-8", newline="\n")
        print(f"docs/{name}")


def draw_margin(to: Sketch):
    """Two classes, the plane between them, and the rows that hold it in place."""
    rng = np.random.default_rng(4)
    to.text(20, 28, "Margin", weight="bold", size=15)
    to.text(20, 46, "The widest road between the classes.", size=12)
    for offset, colour, dash, width in (
        (-42, GREY, "5 4", 1.5),
        (0, INK, "", 2),
        (42, GREY, "5 4", 1.5),
    ):
        to.line([(50 + offset + 42, 240), (190 + offset, 70)], colour, width, dash)
    for sign, colour in ((-1, BLUE), (1, RED)):
        for along, away in zip(np.linspace(0.1, 0.9, 6), rng.uniform(52, 88, 6)):
            to.dot(92 - 42 + 42 + along * 98 + sign * away, 240 - along * 170, colour)
    for x, y, colour in ((94, 163, BLUE), (193, 138, RED), (140, 190, RED)):
        to.dot(x, y, colour)
        to.dot(x, y, INK, 8, ring=True)
    to.text(20, 268, "Circled: support vectors, on or inside the margin.", size=12)


def draw_cuts(to: Sketch, left: float):
    """The risk over one weight and the lines below it."""
    across, up = (lambda w: left + 20 + (w + 0.5) * 80), (lambda r: 240 - r * 105)
    to.text(left, 28, "Cut", weight="bold", size=15)
    to.text(left, 46, "A line that lies below the risk everywhere.", size=12)
    for a, b in planes(3)[0]:
        ends = [w for w in np.linspace(-0.5, 2.5, 301) if 0 <= a * w + b <= 1.6]
        to.line([(across(w), up(a * w + b)) for w in (ends[0], ends[-1])], BLUE, 1.2)
    grid = np.linspace(-0.5, 2.5, 121)
    to.line([(across(w), up(risk(w))) for w in grid if risk(w) < 1.6], RED, 2.5)
    to.line([(left + 20, 240), (left + 260, 240)], GREY, 1)
    to.text(left + 200, up(risk(2.2)) - 12, "risk R(w)", RED)
    to.text(left + 120, up(0.0) - 8, "cuts", BLUE)
    to.text(left, 268, "With a few cuts, a lower bound of the optimum.", size=12)


def draw_gap(to: Sketch, left: float):
    """Upper and lower bounds of the optimum meet."""
    steps = 5
    _, primal, dual = planes(steps)
    across, up = (lambda k: left + 20 + k * 62), (lambda v: 240 - (v - 0.45) * 110)
    to.text(left, 28, "Gap", weight="bold", size=15)
    to.text(left, 46, "The optimum lies between two numbers.", size=12)
    to.line([(across(k), up(v)) for k, v in enumerate(primal)], RED, 2.5)
    to.line([(across(k), up(v)) for k, v in enumerate(dual)], BLUE, 2.5)
    to.line([(across(0), up(primal[-1])), (across(steps - 1), up(primal[-1]))], GREY, 1, "3 3")
    to.line([(across(1), up(primal[1]) + 2), (across(1), up(dual[1]) - 2)], GREEN, 2)
    to.text(across(1) + 8, (up(primal[1]) + up(dual[1])) / 2 + 4, "gap", GREEN, weight="bold")
    to.text(across(0) + 26, up(primal[0]) + 8, "primal: the best model so far", RED)
    to.text(across(0) + 26, up(dual[0]) + 4, "dual: no model is below this", BLUE)
    to.text(left, 268, "No other model is better by more than the gap.", size=12)


def sketch():
    """docs/sketch.svg."""
    to = Sketch(960, 285, "Margin, cut and gap")
    draw_margin(to)
    draw_cuts(to, 335)
    draw_gap(to, 665)
    to.saved("sketch.svg")


def speed():
    """docs/speed.svg: seconds of svmcut and of the fastest peer, hinge loss at C = 1."""
    board = (DOCS / "board.md").read_text(encoding="utf-8").split("## Hinge loss\n\n")[1]
    lines = board.partition("\n\n")[0].splitlines()
    head, _, *rows = [[cell.strip(" *") for cell in line[1:-1].split(" | ")] for line in lines]
    jobs = []
    for row in rows:
        mine, peer = row[head.index("C = 1")].split(" / ")
        if peer != "-":
            jobs.append((float(peer.split()[0]), float(mine), row[0]))
    bottom = 37 + 19 * len(jobs)
    title = f"CPU seconds of svmcut and of the fastest peer on {len(jobs)} sets"
    to = Sketch(400, bottom + 42, title)
    across = lambda seconds: 120 + 150 * np.log10(seconds / 0.1)  # noqa: E731
    to.text(10, 22, "Seconds to the same objective", weight="bold", size=15)
    for seconds in (0.1, 0.3, 1.0, 3.0):
        to.line([(across(seconds), 35), (across(seconds), bottom)], "#eceff1", 1)
        to.text(across(seconds), bottom + 14, f"{seconds:g} s", anchor="middle", size=11)
    for place, (peer, mine, name) in enumerate(sorted(jobs, reverse=True)):
        height = 45 + 19 * place
        to.line([(across(peer), height), (across(mine), height)], GREY, 1)
        to.dot(across(peer), height, RED, 4)
        to.dot(across(mine), height, GREEN, 4)
        to.text(108, height + 4, name, anchor="end", size=12)
    for place, color, name in ((130, GREEN, "svmcut"), (220, RED, "fastest peer")):
        to.dot(place, bottom + 32, color, 4)
        to.text(place + 10, bottom + 36, name, size=12)
    to.saved("speed.svg")


def certificate():
    """docs/certificate.svg: how far above svmcut's bound each run ended, in percent of it."""
    with (DOCS / "plots" / "curves" / "issue-22283.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    bound = max(float(row["bound"]) for row in rows if row["bound"])

    def above(trainer: str, **given: str) -> list[float]:
        wanted = {"trainer": trainer, **given}.items()
        chosen = (row for row in rows if wanted <= row.items())
        return [100 * (float(row["objective"]) / bound - 1) for row in chosen]

    to = Sketch(400, 250, "Distance from the optimum: LinearSVC beside svmcut")
    to.text(10, 22, "How far from the optimum?", weight="bold", size=15)
    across = lambda percent: 25 + 225 * percent  # noqa: E731
    for percent in (0.0, 0.5, 1.0, 1.5):
        to.line([(across(percent), 40), (across(percent), 200)], "#eceff1", 1)
        to.text(across(percent), 218, f"{percent:g} %", anchor="middle", size=11)
    thousand = above("LinearSVC", tolerance="1e-12", iterations="1000")
    lanes = (
        ("LinearSVC, 1,000 iterations, ten seeds", RED, thousand),
        (
            "LinearSVC, 100,000 iterations, two of them",
            RED,
            above("LinearSVC", iterations="100000"),
        ),
        ("svmcut, with a proven gap", GREEN, above("svmcut")),
    )
    for height, (name, colour, values) in zip((55, 110, 165), lanes):
        to.text(25, height, name, size=12)
        for value in values:
            to.dot(across(value), height + 20, colour, 5)
    to.text(across(0.75), 240, "objective above the optimum", anchor="middle", size=12)
    to.saved("certificate.svg")


def words():
    """docs/words.svg: the weights of the filter of docs/tutorial.md; what its columns became."""
    import svmcut

    data = str(DOCS.parent / "data" / "mail.csv")
    model = svmcut.train(data, label="label", text=["text"]).model
    found = sorted(zip(model.w.tolist(), model.table.features()), reverse=True)
    to = Sketch(760, 40 + 19 * len(found), "Weights of the features of a filter of mails")
    to.text(20, 24, "What decides between ham and spam", weight="bold", size=15)
    across = lambda weight: 440 + 150 * weight  # noqa: E731
    to.line([(across(0), 34), (across(0), 34 + 19 * len(found))], GREY, 1)
    for place, (weight, name) in enumerate(found):
        height = 48 + 19 * place
        colour = RED if weight > 0 else BLUE
        to.line([(across(0), height - 4), (across(weight), height - 4)], colour, 10)
        anchor, beside = ("end", -8) if weight > 0 else ("start", 8)
        to.text(across(0) + beside, height, name, anchor=anchor, size=12)
    to.text(across(1.0), 24, "spam", RED, "middle", 12)
    to.text(across(-1.0), 24, "ham", BLUE, "middle", 12)
    to.saved("words.svg")


def proven_labels(to: Sketch):
    """Scores of rows with the bounds of the optimum's."""
    to.text(20, 28, "Labels", weight="bold", size=15)
    to.text(20, 46, "Bounds of the exact optimum's score.", size=12)
    to.line([(150, 62), (150, 240)], GREY, 1.5, "5 4")
    rows = ((-1.3, 0.7), (-0.9, 0.6), (-0.4, 0.6), (0.2, 0.5), (0.7, 0.6), (1.1, 0.7), (1.5, 0.5))
    for place, (score, width) in enumerate(rows):
        height, across = 75 + 25 * place, lambda value: 150 + 62 * value
        sure = abs(score) > width
        colour = GREEN if sure else GREY
        to.line([(across(score - width), height), (across(score + width), height)], colour, 3)
        to.dot(across(score), height, colour)
    to.text(20, 268, "Green: no side of 0 but one, so the label is proven.", size=12)


def proven_shares(to: Sketch, left: float):
    """Shares of labels of data/text.test that are proven, over the gap."""
    import svmcut

    train, test = (str(DOCS.parent / "data" / f"text.{kind}") for kind in ("train", "test"))
    X, _ = svmcut.load_svmlight_file(test, n_features=2000)
    gaps = [10 ** (-k / 2) for k in range(3, 13)]
    shares = [float(svmcut.train(train, gap=g, threads=1).decided(X).mean()) for g in gaps]
    across = lambda gap: left - 20 - 44 * np.log10(gap)  # noqa: E731
    up = lambda share: 240 - 170 * share  # noqa: E731
    to.text(left, 28, "Gap", weight="bold", size=15)
    to.text(left, 46, "--until-decided goes on until 99 % are.", size=12)
    to.line([(left + 20, up(0.99)), (left + 260, up(0.99))], RED, 1.5, "5 4")
    to.line([(across(g), up(share)) for g, share in zip(gaps, shares)], GREEN, 2.5)
    for gap, share in zip(gaps, shares):
        to.dot(across(gap), up(share), GREEN, 3.5)
    for power in (-2, -4, -6):
        to.text(across(10**power), 256, f"1e{power}", anchor="middle", size=11)
    to.text(left, 274, "Share of the labels of data/text that is proven.", size=12)


def proven_choice(to: Sketch, left: float):
    """Errors over C on data/text, and the bound below them."""
    from svmcut.selection.grid import held_out
    from svmcut.selection.interval import CertifiedChoice, Interval
    from svmcut.spec.parameters import Settings
    from svmcut.spec.refusals import plain
    from svmcut.tasks.protocol import make_task

    task, files = make_task("classification"), DOCS.parent / "data"
    data, held = task.read(f"{files}/text.train"), task.read(f"{files}/text.test", test=True)
    driver = task.plan(data, plain(Settings(example_cost=1.0, threads=1, given=frozenset())))
    parts, settings = held_out(data, held, driver.settings)
    choice = CertifiedChoice(task, settings, Interval(0.01, 10.0, 0.05), parts, driver)
    choice.run()
    found = choice.report()
    across = lambda C: left + 180 + 80 * np.log10(C)  # noqa: E731
    up = lambda share: 240 - 750 * share  # noqa: E731
    to.text(left, 28, "Choice of C", weight="bold", size=15)
    to.text(left, 46, "No C has fewer errors than the bound.", size=12)
    seen = [row for row in found["trained"] if row["errors"] < 0.24]
    to.line([(across(row["C"]), up(row["errors"])) for row in seen], BLUE, 2)
    for row in seen:
        to.dot(across(row["C"]), up(row["errors"]), BLUE, 3)
    for row in found["intervals"]:
        least = max(0.0, row["at_least"])
        if least < 0.24:
            to.line([(across(row[end]), up(least)) for end in ("low", "high")], GREEN, 2.5)
    for C in (0.01, 0.1, 1, 10):
        to.text(across(C), 256, f"{C:g}", anchor="middle", size=11)
    to.text(left + 185, up(0.13), "errors", BLUE)
    to.text(left + 185, up(0.01), "bound", GREEN)
    to.text(left, 274, "Trained values of C, and what is proven between.", size=12)


def proven():
    """docs/proven.svg: what a certificate says of labels, of a gap and of C."""
    to = Sketch(960, 288, "Proven labels, the gap that proves them, and a proven choice of C")
    proven_labels(to)
    proven_shares(to, 335)
    proven_choice(to, 665)
    to.saved("proven.svg")


def forgotten():
    """docs/forgotten.svg: labels of data/text.test that are proven when rows of training go."""
    import svmcut

    X, y = svmcut.load_svmlight_file(DOCS.parent / "data" / "text.train", n_features=2000)
    test, _ = svmcut.load_svmlight_file(DOCS.parent / "data" / "text.test", n_features=2000)
    words = {"example_cost": 0.1, "gap": 1e-6, "threads": 1}
    whole = svmcut.train((X, y), keep_multipliers=True, **words)
    before = whole.decision_function(test) > 0
    counts, order = (1, 2, 5, 10, 20, 50, 100, 200), np.random.default_rng(0).permutation(len(y))
    known = []
    for count in counts:
        gone = svmcut.forget(whole, (X, y), order[:count], threads=1)
        rest = np.sort(order[count:])
        new = svmcut.train((X[rest], y[rest]), **words).decision_function(test) > 0
        known.append((float(gone.decided(test).mean()), float((new == before).mean())))
    to = Sketch(640, 288, "Labels that are proven before training, when rows go")
    across = lambda count: 70 + 190 * np.log10(count)  # noqa: E731
    up = lambda share: 235 - 170 * share  # noqa: E731
    to.text(20, 28, "Forgetting", weight="bold", size=15)
    to.text(20, 46, "Labels of data/text that are proven at once, and those that stay.", size=12)
    for place, colour in ((1, BLUE), (0, GREEN)):
        to.line([(across(n), up(each[place])) for n, each in zip(counts, known)], colour, 2.5)
        for n, each in zip(counts, known):
            to.dot(across(n), up(each[place]), colour, 3.5)
    to.text(across(200) + 12, up(known[-1][1]) + 4, "stay", BLUE)
    to.text(across(200) + 12, up(known[-1][0]) + 4, "proven", GREEN)
    for share in (0, 0.5, 1):
        to.text(56, up(share) + 4, f"{100 * share:.0f} %", anchor="end", size=11)
    for count in (1, 10, 100):
        to.text(across(count), 256, str(count), anchor="middle", size=11)
    to.text(20, 276, "Rows of 900 that go.", size=12)
    to.saved("forgotten.svg")


if __name__ == "__main__":
    forgotten()
    proven()
    sketch()
    speed()
    certificate()
    words()
