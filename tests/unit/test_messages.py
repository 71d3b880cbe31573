# SPDX-License-Identifier: BSD-3-Clause
"""Messages as values: what stands in them, and who words them."""

import pickle
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from svmcut.base.errors import DataError, TrainingError, UsageError
from svmcut.base.messages import Message, Parameter, escape, join_names, word_message
from svmcut.cli.advice import in_options

SENTENCES = [
    (
        ("{epsilon} has no effect beside {gap}",),
        "parameter 'epsilon' has no effect beside parameter 'gap'",
        "-e has no effect beside --gap",
        "-e has no effect beside --gap",
    ),
    (
        ("use {solver=}", ("smo", "sbp")),
        "use solver='smo' or 'sbp'",
        "use --solver smo or sbp",
        None,
    ),
    (
        ("use {solver=}", ["a", "b", "c"]),
        "use solver='a', 'b' or 'c'",
        "use --solver a, b or c",
        None,
    ),
    (("give {basis_method=1|2}",), "give basis_method=1 or 2", "give --t 1 or 2", None),
    (
        ("give {free_bias=False} or {free_bias=True}",),
        "give free_bias=False or free_bias=True",
        "give --no-free-bias or --free-bias",
        None,
    ),
    (
        ("{hold_out=} of {:,} rows", 0.25, 1234),
        "hold_out=0.25 of 1,234 rows",
        "--hold-out 0.25 of 1,234 rows",
        None,
    ),
    (("{!r} and {{}}", "a"), "'a' and {}", "'a' and {}", None),
    (
        ("{} is out of range", Parameter("p", 3.5)),
        "p=3.5 is out of range",
        "--p 3.5 is out of range",
        None,
    ),
    (
        ("{}: {}", "x", Message("raise {basis}")),
        "x: raise parameter 'basis'",
        "x: raise --basis",
        None,
    ),
    (("{no_such} stays",), "parameter 'no_such' stays", "parameter 'no_such' stays", None),
]


@pytest.mark.parametrize(
    "parts, python, command, original", SENTENCES, ids=[row[0][0] for row in SENTENCES]
)
def test_parameters_are_worded_by_who_prints(parts, python, command, original):
    message = Message(*parts)
    assert message == python and in_options(message) == command
    assert in_options(message, True) == (original or in_options(message, True))
    assert in_options(str(message)) == python, "a plain text is no message"
    assert in_options(pickle.loads(pickle.dumps(message))) == command


@given(path=st.text(string.printable + "é☃", min_size=1))
def test_a_path_stands_as_it_is(path):
    named = DataError(
        path, Message("has no rows of {}; lower {budget}", path), 3, 4, Message(", or {gap}")
    )
    for error in (
        UsageError("{}: use {solver=smo}", path),
        TrainingError("{}: {}", path, "solver='smo'"),
        named,
    ):
        assert str(error).count(escape(path)) >= 1 and in_options(error.sentence).startswith(
            escape(path)
        )
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) and in_options(again.sentence) == in_options(error.sentence)


def test_an_error_in_a_message_keeps_its_parameters():
    cause = DataError("rows", Message("leave out {cache}"), 7)
    assert (
        in_options(TrainingError("fold 2: {}", cause).sentence)
        == "fold 2: rows:7: leave out --cache"
    )
    cause.add("go on")
    assert str(cause) == "rows:7: leave out parameter 'cache'; go on"


@pytest.mark.parametrize(
    "parts", [("{", 1), ("}",), ("{} {}", 1), ("{}", 1, 2), ("{solver=}",), ("{gap} {",)]
)
def test_a_template_that_is_none_is_refused(parts):
    with pytest.raises(ValueError, match="template"):
        Message(*parts)


def test_a_plain_text_is_worded_as_it_is():
    assert word_message("solver='smo' and {gap}", str) == "solver='smo' and {gap}"
    assert [join_names([]), join_names(["a"]), join_names(["a", "b"], "or")] == ["", "a", "a or b"]
