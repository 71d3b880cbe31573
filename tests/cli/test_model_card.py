# SPDX-License-Identifier: BSD-3-Clause
"""The model card of inspect: its front matter is read, its intervals are right, its command line
trains the model again, and names of the data are no signs of Markdown in it."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import yaml
from programs import call
from raw_tables import trained

from svmcut.inspection.card import share_interval


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def learnt(*options):
    lines = [f"{k % 7},{'ab'[k % 2]}<b>|,{['no', 'yes'][k % 3 == 0]}" for k in range(60)]
    Path("t.csv").write_text("a,*b*|c,y\n" + "\n".join(lines) + "\n")
    words = ["learn", "-v", "0", "--label", "y", "--report", "r.json", *options, "t.csv", "model"]
    assert call("svmcut", *words) == 0


def written(*options):
    assert call("svmcut", "inspect", "model", *options, "--card", "card.md") == 0
    return Path("card.md").read_text(encoding="utf-8")


def test_front_matter_has_measures_and_tables_have_columns_and_intervals():
    learnt("--probability", "--cv", "3")
    card = written("--data", "t.csv", "--report", "r.json")
    _, front, body = card.split("---\n", 2)
    known = yaml.safe_load(front)
    assert known["library_name"] == "svmcut" and known["pipeline_tag"] == "tabular-classification"
    metrics = {
        one["type"]: one["value"] for one in known["model-index"][0]["results"][0]["metrics"]
    }
    assert call("svmcut", "inspect", "model", "--data", "t.csv", "--json") == 0
    (row,) = re.findall(r"\| Accuracy \| (\S+) \| (\S+) to (\S+) \|", body)
    low, high = share_interval(round(metrics["accuracy"] * 0.6), 60)
    assert [float(cell) for cell in row] == pytest.approx(
        [metrics["accuracy"], low, high], abs=0.006
    )
    assert r"| \*b\*\|c | 2 categories | 2 |" in body and "<b>" not in body
    assert "at most" in body and "held out" in body


@pytest.mark.parametrize(
    "options", [["-c", "2"], ["--cv", "3", "-l", "logistic", "--ngrams", "1,2"]]
)
def test_the_command_line_of_a_card_trains_the_model_again(options):
    learnt(*options)
    before = Path("model").read_bytes()
    (line,) = re.findall(r"^    (svmcut learn .*)$", written("--report", "r.json"), re.MULTILINE)
    Path("model").unlink()
    assert call(*shlex.split(line)[:1], *shlex.split(line)[1:]) == 0
    assert Path("model").read_bytes() == before


def test_the_interval_of_a_share_covers_about_as_often_as_it_says():
    rng = np.random.default_rng(0)
    for share in (0.5, 0.9, 0.98):
        hits = rng.binomial(200, share, 2000)
        ends = {k: share_interval(k, 200) for k in np.unique(hits).tolist()}
        covered = [ends[k][0] <= 100 * share <= ends[k][1] for k in hits.tolist()]
        assert 0.92 < np.mean(covered) < 0.98


@pytest.mark.parametrize("kind", ["classes", "numbers", "two, rbf", "survival", "one class"])
def test_every_kind_of_model_has_a_card(kind):
    trained(kind)
    card = written()
    assert "## Limits" in card and "```python" in card
    assert json.dumps("model") in card
