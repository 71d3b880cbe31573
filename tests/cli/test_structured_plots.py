# SPDX-License-Identifier: BSD-3-Clause
"""benchmarks/structured_plots.py records curves of every trainer that agree with each other, and
draws them."""

import sys
import time
from itertools import pairwise
from pathlib import Path

import pytest
from programs import BENCHMARKS, script

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def plots(monkeypatch):
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import structured_plots

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["structured_plots.py", *map(str, arguments)])
        structured_plots.main()

    structured_plots.call = call
    return structured_plots


RUNS = {
    "chains": (
        None,
        ("--tags", 5, "--sequences", 30, "--test-sequences", 10),
        "gdmm-sublinear,gdmm-all-pairs,bcfw,ssg,soft-bcfw:1",
    ),
    "sequences": ("tags", ("--example-cost", 0.3), "gdmm,bcfw,ssg,cutting-plane,soft-bcfw:10"),
    "labels": ("labels", ("--example-cost", 0.1), "gdmm,bcfw,ssg,cutting-plane,soft-bcfw:10"),
}


@pytest.mark.parametrize("what", RUNS)
def test_bounds_of_all_trainers_hold_for_the_objectives_of_all(tmp_path, plots, what):
    name, options, trainers = RUNS[what]
    files = [ROOT / "data" / f"{name}.{part}" for part in ("train", "test")] if name else []
    target = tmp_path / "curves.csv"
    plots.call(what, target, *files, *options, "--time-limit", 0.15, "--trainers", trainers)
    points = plots.read(target)
    assert list(dict.fromkeys(point.trainer for point in points)) == trainers.split(",")
    assert (
        0
        < max(point.dual for point in points)
        <= min(point.primal for point in points) * (1 + 1e-9)
    )
    assert all(0 <= point.error <= 100 for point in points)
    for trainer in trainers.split(","):
        curve = [point for point in points if point.trainer == trainer]
        assert len(curve) > 1
        assert all(before.seconds < after.seconds for before, after in pairwise(curve))
        assert curve[-1].primal < curve[0].primal


def test_what_is_left_out_does_not_count(plots):
    from structured_curves import Clock

    def work():
        until = time.process_time() + 0.1
        while time.process_time() < until:
            pass

    clock = Clock()
    clock.leave_out(work)()
    assert clock.seconds() < 0.05
    work()
    assert clock.seconds() >= 0.1


def test_crfsuite_has_errors_and_no_objective(tmp_path, plots):
    pytest.importorskip("pycrfsuite")
    target = tmp_path / "tags.csv"
    train, test = (ROOT / "data" / f"tags.{part}" for part in ("train", "test"))
    plots.call("crfsuite", target, train, test, "--trainers", "ap", "--iterations", 2, 5)
    points = plots.read(target)
    assert [point.trainer for point in points] == ["crfsuite ap"] * 2
    assert all(point.primal != point.primal and 0 < point.error < 40 for point in points)


@pytest.mark.slow
def test_a_figure_of_files_and_its_table(tmp_path, plots, capsys):
    pytest.importorskip("matplotlib")
    (tmp_path / "a.csv").write_text(
        "trainer,seconds,primal,dual,error\nbcfw,0.1,20,5,30\nbcfw,0.2,10,8,20\ngdmm,0.1,15,1,25\n"
        "crfsuite ap,0.3,nan,nan,22.5\n"
    )
    target = tmp_path / "curves.svg"
    plots.call("draw", tmp_path / "curves.svg", tmp_path / "a.csv")
    assert (tmp_path / "curves.svg").read_text().startswith("<?xml")
    capsys.readouterr()
    plots.call("draw", target, tmp_path / "a.csv", tmp_path / "a.csv")
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2 + 2 * 3
    assert lines[2] == "| a | bcfw | 0.20 | 10 | 8 | 20.00 |"
    assert "crfsuite ap" in target.read_text()
    first = target.read_bytes()
    plots.call("draw", target, tmp_path / "a.csv", tmp_path / "a.csv")
    assert target.read_bytes() == first


def test_generated_label_sets_are_a_file_of_one_language(tmp_path):
    from svmcut.files.multilabel import read_multilabel

    sets = []
    for name, stream in (("train", 1), ("again", 1), ("test", 2)):
        options = ["--examples", 60, "--labels", 9, "--features", 500, "--stream", stream]
        done = script(BENCHMARKS / "generate_label_sets.py", *options)
        assert done.returncode == 0, done.stderr
        (tmp_path / name).write_text(done.stdout)
        sets.append(read_multilabel(str(tmp_path / name)))
    assert (
        (tmp_path / "train").read_bytes()
        == (tmp_path / "again").read_bytes()
        != (tmp_path / "test").read_bytes()
    )
    for part in sets:
        assert len(part) == 60 and part.X.n_features <= 500 and len(part.names) <= 9
        lengths = [
            float(part.X.data[a:b] @ part.X.data[a:b])
            for a, b in zip(part.X.indptr, part.X.indptr[1:])
        ]
        assert lengths == pytest.approx([1.0] * 60, abs=5e-3)
