# SPDX-License-Identifier: BSD-3-Clause
"""Help and messages of the executables speak of options they take, and of nothing that svmcut alone
has."""

import re
from pathlib import Path

import numpy as np
import pytest
from programs import call, entry

from svmcut.base import resources
from svmcut.base.errors import MemoryLimitError
from svmcut.models import ChainShape, check_lattice
from svmcut.originals import perf
from svmcut.originals.svm_light import programs
from svmcut.training import checks, emissions, kernel_plan

LEARNERS = ("svm_perf_learn", "svm_rank_learn", "svm_hmm_learn", "svm_multiclass_learn")
CLASSIFIERS = (
    "svm_perf_classify",
    "svm_rank_classify",
    "svm_hmm_classify",
    "svm_multiclass_classify",
)
SVMCUT_ALONE = re.compile(
    r"\b(?:solvers?|smo|polish|sampled|stochastic|path of|paths|example.cost|checkpoint|svmcut "
    r"(?:learn|rank))\b"
)

REFUSED = {
    "svm_perf_learn": """
        -c 1,2 | -c 0 | -c 1 -w 5 | -c 1 -w 7 | -c 1 -l 10 | -c 1 -l 77 | -c 1 -t 2 | -c 1 -t 7 | -c 1 -t 2 --b 0 --i 0
        -c 1 -t 1 --b 0 | -c 1 -t 2 --b 0 --t 1 | -c 1 -t 2 --b 0 --t 1 --i 0 | -c 1 -t 2 --b 0 -w 3 --t 2
        -c 1 --t 1 -w 3 | -c 1 --t 1 --i 0 | -c 1 -t 2 --b 0 --i 7 | -c 1 -p 2 | -c 1 -w 3 -p 2
        -c 1 -o 1 -w 3 -l 10 | -c 1 -n 20 -q 10 | -c 1 -w 4 -f 0 | -c 1 -w 3 -l 4 --p 2
        -c 1 -w 3 -l 5 --p 0.5 | -c 1 -t 2 --b 0 -w 3 --t 1 --i 0 --f none | -c 1 -X 1 | -c 1 --z 1 |
    """,  # noqa: E501
    "svm_rank_learn": """
        -c 1,2 | -c 1 -w 9 | -c 1 -w 5 | -c 1 -l 3 | -c 1 -o 1 | -c 1 -o 1 -w 0 | -c 1 -p 2 | -c 1 -n 20
        -c 1 -w 4 -f 0 | -c 1 --b 1 | -c 1 -X 1 |
    """,  # noqa: E501
    "svm_hmm_learn": """
        -c 1,2 | -c 1 -w 9 | -c 1 -l 0 | -c 1 --t 4 | -c 1 --t 0 --e 1 | -c 1 -p 2 | -c 1 -n 20 | -c 1 -f 0
        -c 1 -t 2 --e 1 | -c 1 -t 2 -o 1 | -c 1 -t 2 -p 2 -w 0 | -c 1 --b -1 | -c 1 --z 1
        -c 1 -X 1 |
    """,  # noqa: E501
    "svm_multiclass_learn": """
        -c 1,2 | -c 0 | -c -1 | -c 1 -w 5 | -c 1 -w 7 | -c 1 -w 9 | -c 1 -p 2 | -c 1 -p 3 -w 0 | -c 1 -n 20 | -c 1 -f 0
        -c 1 -l 2 | -c 1 -l 77 | -c 1 -l squared-hinge | -c 1 -t 2 -p 2 | -c 1 -t 4 | -c 1 -X 1 |
    """,  # noqa: E501
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "plain": "1 1:1 2:2\n-1 1:-1\n1 3:-0.25\n",
        "rows": "2 qid:1 1:1 2:2\n1 qid:1 1:-1\n1 qid:2 3:-0.25\n2 qid:2 2:1\n",
        "empty": "",
        "text": "one 1:1\n",
        "pairs": "1 1:one\n",
        "falling": "1 qid:2 1:1\n2 qid:1 1:1\n",
        "below": "-1 qid:1 1:1\n",
        "other": "SVM-light Version V9\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def grammar_of(program, monkeypatch):
    found = []
    with monkeypatch.context() as patch:
        patch.setattr(perf, "run_original", lambda grammar, work, argv: found.append(grammar))
        patch.setattr(programs, "run_original", perf.run_original)
        entry(program)([])
    return found[0]


def foreign_options(text, grammar, typed=()):
    """Options in a text that the program does not take, and words of what svmcut alone has."""
    long = {"--" + letter for letter in grammar.long_flags} | {"--help", "--version"}
    short = {"-" + letter for letter in (*grammar.flags, *grammar.help_characters)}
    named = re.findall(r"(?<![\w-])(--[a-z][\w-]*|-[a-zA-Z#?](?![\w-]))", text)
    return [name for name in named if name not in long | short | set(typed)] + SVMCUT_ALONE.findall(
        text
    )


@pytest.mark.parametrize("program", LEARNERS + CLASSIFIERS)
def test_help(program, capsys, monkeypatch):
    grammar = grammar_of(program, monkeypatch)
    assert call(program, "--help") == 0
    text = capsys.readouterr().out
    assert foreign_options(text, grammar) == []
    named = ["--basis", "-Z", "--solver", "solver", "smo"]
    assert foreign_options("lower --basis or -Z; --solver smo", grammar) == named


def refusals(program, grammar):
    """Command lines without files: those that must be refused, and every option with odd values."""
    for words in re.split(r"\||\n", REFUSED[program]):
        yield words.split(), True
    for dashes, table in (("-", grammar.flags), ("--", grammar.long_flags)):
        for letter in table:
            yield ["-c", "1", dashes + letter], True
            for value in ("-7", "77") if dashes == "-" else ("x",):
                yield ["-c", "1", dashes + letter, value], False


@pytest.mark.parametrize("program", LEARNERS)
def test_refusals_of_learners(program, capsys, monkeypatch):
    grammar = grammar_of(program, monkeypatch)
    data = "plain" if program == "svm_perf_learn" else "rows"
    for words, must in refusals(program, grammar):
        status = call(program, *words, data, "model") if len(words) != 3 else call(program, *words)
        error = capsys.readouterr().err
        assert status in (0, 1) and bool(error) == bool(status), words
        assert status == 1 or not must, words
        assert error.count("\n") <= 1 and "internal error" not in error, error
        assert foreign_options(error, grammar, words) == [], error
    for name in ("empty", "text", "pairs", "falling", "below", "none", "."):
        status = call(program, "-c", 1, "-v", 0, name, "model")
        assert foreign_options(capsys.readouterr().err, grammar) == [] and status in (0, 1)


@pytest.mark.parametrize("program", CLASSIFIERS)
def test_refusals_of_classifiers(program, capsys, monkeypatch):
    grammar = grammar_of(program, monkeypatch)
    assert call("svm_hmm_learn", "-c", 1, "-v", 0, "rows", "chain") == 0
    assert call("svm_perf_learn", "-c", 1, "-v", 0, "plain", "linear") == 0
    capsys.readouterr()
    lines = [
        "",
        "rows",
        *("-v", "-v x rows linear", "-f 1 rows linear", "--z 1 rows linear", "--b -1 rows chain"),
    ]
    lines += [
        f"{rows} {model}"
        for rows in ("empty", "text", "pairs", ".")
        for model in ("linear", "chain", "other")
    ]
    lines += ["rows linear", "rows chain", "rows none", "none linear", "rows linear none/scores"]
    for line in lines:
        status = call(program, *line.split())
        error = capsys.readouterr().err
        assert bool(error) == bool(status)
        assert foreign_options(error, grammar, line.split()) == [], error


def test_what_does_not_fit_names_a_remedy_that_the_program_has(capsys, monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 0.0001)
    for module in (kernel_plan, emissions):
        monkeypatch.setattr(module, "planned_memory", lambda limit: 1e-9)
    Path("wide").write_text("1 200000:1\n-1 1:1\n")  # little memory is not asked for
    runs = (
        ("svm_perf_learn", "-c 1 wide", "are available"),
        ("svm_hmm_learn", "-c 1 -w 0 -p 2 rows", "are available"),
        ("svm_hmm_learn", "-c 1 -t 2 rows", "use fewer tokens"),
    )
    for program, line, says in runs:
        assert call(program, *line.split(), "model") == 1
        error = capsys.readouterr().err
        assert says in error and foreign_options(error, grammar_of(program, monkeypatch)) == []
    monkeypatch.setattr(checks, "check_memory", lambda *sizes: None)
    with monkeypatch.context() as patch:
        patch.setattr("svmcut.training.vectors.check_memory", lambda *sizes: None)
        assert call("svm_perf_learn", "-c", "1", "-t", "2", "--b", "0", "plain", "model") == 1
    assert "; lower --k\n" in capsys.readouterr().err
    with monkeypatch.context() as patch:
        patch.setattr("svmcut.training.chains.check_memory", lambda *sizes: None)
        assert call("svm_hmm_learn", "-c", "1", "-w", "0", "-p", "2", "rows", "model") == 1
    assert "; lower --t, cut the sequences, or leave out -p 2\n" in capsys.readouterr().err
    with pytest.raises(MemoryLimitError) as refusal:
        check_lattice(ChainShape(1000, 1, 2), np.array([0, 1_000_000]))
    assert (
        "lower parameter 'transitions'" in str(refusal.value)
        and "'transitions'" not in refusal.value.original
    )
