# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut learn and rank say of a run: a summary, or the lines of the originals."""

import json
import re

import pytest
from programs import call

import svmcut

ROWS = "".join(f"{'+1' if k % 3 else '-1'} 1:{k % 7} 2:{k % 5 - 2} 3:1\n" for k in range(60))


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train").write_text(ROWS)
    return tmp_path


def facts(out):
    """The lines by their names."""
    return {line[:15].strip(): line[15:] for line in out.splitlines()}


def test_a_summary_says_what_was_trained_and_how_far_it_is_from_the_best(folder, capsys):
    assert call("svmcut", "learn", "--report", "report", "train", "model") == 0
    told, report = facts(capsys.readouterr().out), json.loads((folder / "report").read_text())
    assert told["Examples"] == "60 examples (40 pos / 20 neg), 3 features"
    assert told["Loss"] == "error-rate" and told["Solver"] == f"{report['solver']}, chosen by auto"
    assert told["C"] == "0.6 in svm_perf's unit (-c), 1 per example (--example-cost)"
    assert told["Training"].startswith("converged, gap ")
    share = float(re.search(r"lower by more than (\S+) %", told["Certificate"])[1])
    assert share == pytest.approx(100 * report["gap"] / report["primal"], rel=0.05)
    X, y = svmcut.load_svmlight_file("train")[:2]
    wrong = 100 * (svmcut.load("model").predict(X) != y).mean()
    assert told["Training error"] == f"{wrong:.2f} %"
    assert told["Model"] == "model"
    assert told["Next"] == "svmcut classify TEST_FILE model PREDICTIONS"


def test_the_format_changes_nothing_but_the_lines(folder, capsys):
    assert call("svmcut", "learn", "train", "plain") == 0
    assert "pval=" not in capsys.readouterr().out
    for name in ("original", "svm_perf"):
        assert call("svmcut", "learn", "--format", name, "train", "other") == 0
        out = capsys.readouterr().out
        assert "Primal objective value: pval=" in out and "Certificate" not in out
        assert (folder / "plain").read_bytes() == (folder / "other").read_bytes()
    assert call("svm_perf_learn", "-c", "0.6", "train", "other") == 0
    assert "pval=" in capsys.readouterr().out
    assert call("svmcut", "learn", "-v", "2", "train", "other") == 0
    both = capsys.readouterr().out
    assert "Iter 1: " in both and "Certificate" in both
    assert call("svmcut", "learn", "-v", "0", "train", "other") == 0
    assert capsys.readouterr().out == ""


def test_a_kernel_a_limit_and_a_path(capsys):
    assert call("svmcut", "learn", "-t", "2", "-g", "0.5", "train", "model") == 0
    told = facts(capsys.readouterr().out)
    assert told["Kernel"] == "rbf, gamma 0.5" and "Training error" not in told
    assert call("svmcut", "learn", "--max-iterations", "1", "--gap", "1e-9", "train", "model") == 3
    told = facts(capsys.readouterr().out)
    assert (
        told["Training"].startswith("stopped by a limit") and "1 iteration in" in told["Training"]
    )
    assert call("svmcut", "learn", "-c", "1,2", "train", "model") == 0
    out = capsys.readouterr().out
    assert "C = 1: " in out and "C = 2: " in out and "train error" in out


def test_rankings_and_sequences_have_theirs(folder, capsys):
    (folder / "rank").write_text("1 qid:1 1:1\n2 qid:1 1:2\n1 qid:2 2:1\n2 qid:2 1:1\n")
    assert call("svmcut", "rank", "-c", "1", "rank", "model") == 0
    assert facts(capsys.readouterr().out)["Examples"] == "2 rankings, 4 examples, 2 features"
    (folder / "tags").write_text("1 qid:1 1:1\n2 qid:1 2:1\n1 qid:2 1:1\n")
    assert call("svmcut", "learn", "--task", "sequence", "-c", "1", "tags", "model") == 0
    told = facts(capsys.readouterr().out)
    assert told["Examples"] == "2 sequences, 3 tokens, 2 tags, 2 features"
