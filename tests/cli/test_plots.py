# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/plots.py draws its figures."""

import pytest
from programs import BENCHMARKS, benchmark


@pytest.mark.parametrize(
    "what, rows", [("growth", 4), pytest.param("gap", 6, marks=pytest.mark.slow)]
)
def test_curves_are_recorded_and_drawn(tmp_path, what, rows):
    pytest.importorskip("matplotlib")
    rows_of_set = (BENCHMARKS.parent / "data" / "unbalanced.train").read_text().splitlines(True)
    (tmp_path / "set").write_text("".join(rows_of_set[:400]))
    lines = (
        [what, "curves.csv", "set"],
        ["draw", "figure.svg", "curves.csv"],
    )
    for line in lines:
        table = benchmark(tmp_path, "plots.py", *line)
    assert len(table) >= 2 + rows
    assert (tmp_path / "figure.svg").read_text().startswith("<?xml")


@pytest.fixture
def style(monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import style

    return style


def test_a_trainer_looks_the_same_in_every_figure(style):
    assert (
        style.look("bsca, polished")["color"]
        == style.look("bsca, B = 200")["color"]
        != style.look("bsgd")["color"]
    )
    first, second = style.look("one of no figure yet"), style.look("another of none")
    assert first["color"] != second["color"] and first == style.look("one of no figure yet")
    assert style.look("bsca", linestyle=":")["linestyle"] == ":"


def test_an_entry_stands_once_in_the_legend_and_a_figure_is_written_twice_alike(style, tmp_path):
    drawn = []
    for _ in range(2):
        figure, axes = style.two_wide(3)
        for axis in axes:
            axis.loglog([1, 10, 30], [0.002, 0.02, 0.01], **style.look("bsca"))
        style.legend(figure)
        style.save(figure, tmp_path / "figure.svg")
        drawn.append((tmp_path / "figure.svg").read_text())
    assert drawn[0] == drawn[1] and drawn[0].count(">bsca<") == 1
    shown = [text.get_text() for text in axes[0].get_xticklabels()]
    assert {"1", "2", "5", "10", "20"} <= set(shown)
