# SPDX-License-Identifier: BSD-3-Clause
"""Names of files in messages: as they are whatever they look like, without control characters, in
any encoding."""

import io
import os
import pickle
import re
import sys
from pathlib import Path

import pytest
from programs import call

import svmcut
from svmcut.base.errors import DataError, UsageError
from svmcut.base.messages import Message, word_message

#: Every word of it is one that the command line puts a flag for.
FOLDER = "gamma=0.5,seed=3/loss='f1',parameter 'gap'"
DATA = Path(__file__).resolve().parents[2] / "data"

TWO = "1 1:1 2:0.5\n-1 1:-1\n1 1:2\n-1 2:-1\n" * 3
TEXTS = {
    "two": TWO,
    "one": "1 1:1\n1 1:2\n",
    "three": "1 1:1\n2 2:1\n3 3:1\n" * 10,
    "numbers": "0.5 1:1\n1.5 2:1\n2.5 3:1\n",
    "many": "".join(f"{k} 1:{k}\n" for k in range(1, 30)),
    "few": "1 1:1\n-1 1:-1\n-1 1:-2\n",
    "costs": TWO.replace("1 1:1 ", "1 cost:2 1:1 "),
    "ranking": "2 qid:1 1:1\n1 qid:1 2:1\n2 qid:2 1:1\n1 qid:2 2:1\n",
    "falling": "2 qid:2 1:1\n1 qid:1 2:1\n",
    "tags": "1 qid:1 1:1\n2 qid:1 2:1\n",
    "sets": "1,2 1:1\n2 2:1\n",
    "crf": "A\tx\nB\ty\n\nA\tx\n",
    "crf-bad": "A\tx:seed=3\n",
    "crf-escape": "A\tx\\y\n",
    "crf-tag": "\tx\n",
    "empty": "",
    "words": "1 seed=3:2\n",
    "order": "1 2:1 1:1\n",
    "zero": "1 0:1\n",
    "nan": "nan 1:1\n",
    "nul": "1 1:1\0\n",
    "wide": "1 2147483646:1\n-1 1:1\n",
    "weights": "1\n",
    "all-zero": "0\n" * 12,
    "bad-weight": "seed=3\n",
    "negative": "-1\n" * 12,
    "ranges": "x\n-1 1\n1 0 2\n",
    "no-ranges": "seed=3\n",
    "report": "{}",
    "trace": "seed=3\n",
    "version": "svmcut seed=3\n",
    "truncated": "SVM-light Version V6.20\n0 # kernel type\n3 #",
    "kernel-7": "SVM-light Version V6.20\nseed=3 # kernel type\n" + "1 # x\n" * 9,
    "checkpoint": "seed=3",
    "torn.gz": "\x1f\x8b\x08\0",
}

#: Programs and arguments; {} is the folder. Each names a file of the folder in what it says.
LINES = """
svmcut learn {}/none {}/m
svmcut learn {} {}/m
svmcut learn {}/empty {}/m
svmcut learn {}/words {}/m
svmcut learn {}/order {}/m
svmcut learn {}/zero {}/m
svmcut learn {}/nan {}/m
svmcut learn {}/nul {}/m
svmcut learn {}/torn.gz {}/m
svmcut learn {}/many {}/m
svmcut learn {}/numbers {}/m
svmcut learn --multiclass crammer-singer {}/two {}/m
svmcut learn -t rbf -g 1 --task multiclass {}/three {}/two/m
svmcut learn -w 9 {}/three {}/m
svmcut learn --positive 7 {}/two {}/m
svmcut learn -l f1 -c 1 {}/one {}/m
svmcut learn {}/one {}/m
svmcut learn {}/two {}/two
svmcut learn {}/two {}/none/m
svmcut learn {}/two {}/m --report {}/m
svmcut learn {}/two {}
svmcut learn {}/two {}/m/
svmcut learn --weights {}/weights {}/two {}/m
svmcut learn --weights {}/all-zero {}/two {}/m
svmcut learn --weights {}/bad-weight {}/two {}/m
svmcut learn --weights {}/negative {}/two {}/m
svmcut learn --weights {}/none {}/two {}/m
svmcut learn --class-weight 5=2 {}/two {}/m
svmcut learn -l prbep -c 1 {}/costs {}/m
svmcut learn --cv 5 {}/few {}/m
svmcut learn --cv 2 {}/few {}/m
svmcut rank --cv 9 {}/ranking {}/m
svmcut learn --max-memory 0.0001 {}/two {}/m
svmcut learn --task multiclass --max-memory 1M {}/wide {}/m
svmcut learn --task multiclass {}/one {}/m
svmcut learn --task multiclass {}/numbers {}/m
svmcut learn --task multilabel {}/words {}/m
svmcut learn --task multilabel --parts 9 {}/sets {}/m
svmcut learn --initial {}/none {}/two {}/m
svmcut learn --initial {}/empty {}/two {}/m
svmcut learn --initial {}/model-three {}/two {}/m
svmcut learn --initial {}/model-two -t rbf -g 1 {}/two {}/m
svmcut learn --probability {}/few {}/m
svmcut learn --checkpoint {}/checkpoint {}/two {}/m
svmcut learn --checkpoint {}/state --resume {}/two {}/m
svmcut learn --checkpoint {}/none/state {}/two {}/m
svmcut learn --cache {}/two/cache {}/two {}/m
svmcut learn --task sequence --quick {}/tags {}/m
svmcut learn --task sequence --input crfsuite {}/crf-bad {}/m
svmcut learn --task sequence --input crfsuite {}/crf-escape {}/m
svmcut learn --task sequence --input crfsuite {}/crf-tag {}/m
svmcut learn --scheduler local:1 {}/*.none {}/m
svmcut rank {}/falling {}/m
svmcut classify {}/none {}/model-two {}/p
svmcut classify {}/two {}/none {}/p
svmcut classify {}/two {}/version {}/p
svmcut classify {}/two {}/empty {}/p
svmcut classify {}/two {}/truncated {}/p
svmcut classify {}/two {}/kernel-7 {}/p
svmcut classify {}/many {}/model-three {}/p
svmcut classify {}/two {}/model-two {}/two
svmcut classify {}/two {}/model-two {}/none/p
svmcut classify --probability {}/two {}/model-two {}/p
svmcut scale -r {}/none {}/two
svmcut scale -r {}/no-ranges {}/two
svmcut scale -r {}/ranges -l 0 {}/two
svmcut scale {}/words
svmcut scale -s {}/two {}/two
svmcut inspect {}/none
svmcut inspect {}/model-two --report {}/report
svmcut inspect {}/model-two --trace {}/trace
svmcut inspect {}/model-two --trace {}/empty
svmcut inspect {}/model-three --names {}/weights
svmcut inspect {}/model-two --data {}/order
svmcut inspect {}/model-two --html {}/model-two
svm_perf_learn -c 1 {}/none {}/m
svm_perf_learn -c 1 {}/words {}/m
svm_perf_learn -c 1 {}/two {}/none/m
svm_rank_learn -c 1 {}/falling {}/m
svm_learn {}/words {}/m
svm_learn {}/two {}/two
svm_classify {}/two {}/none {}/p
svm_multiclass_learn -c 1 {}/numbers {}/m
svm_hmm_learn -c 1 {}/two {}/m
svm_hmm_classify {}/tags {}/model-two {}/p
""".strip().splitlines()


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working directory with the files in FOLDER."""
    top = tmp_path_factory.mktemp("names")
    own = top / FOLDER
    own.mkdir(parents=True)
    for name, text in TEXTS.items():
        (own / name).write_bytes(text.encode("latin-1"))
    for program, name in (("learn", "two"), ("learn", "three"), ("rank", "ranking")):
        assert call(f"svmcut {program}", "-v", 0, own / name, own / f"model-{name}") == 0
    return top


def told(folder, monkeypatch, capsys, line):
    """What a program says on standard error, with its own folder as it names it."""
    monkeypatch.chdir(folder)
    program, *words = re.split(r" (?=\S*$|\S)", line)
    if program == "svmcut":
        program = f"svmcut {words.pop(0)}"
    words = [word.replace("{}", FOLDER) for word in words]
    capsys.readouterr()
    call(program, *words)
    return capsys.readouterr().err


def test_the_name_of_a_file_is_never_worded(folder, monkeypatch, capsys):
    said, wrong = set(), []
    for line in LINES:
        text = told(folder, monkeypatch, capsys, line)
        here = text.replace(os.path.join(str(folder), FOLDER), FOLDER).replace(str(folder), "")
        rest = here.replace(FOLDER, "")
        if (
            FOLDER not in here
            or re.search(r"gamma|loss=|'gap'|--gap|ufdd|-g 0.5", rest)
            or "--seed" in text
        ):
            wrong.append((line, text))
        said.add(re.sub(r"\S*/[\w.*-]+|\d+", "", rest))
        for made in ("m", "p"):
            (folder / FOLDER / made).unlink(missing_ok=True)
    assert not wrong and len(said) >= 60, wrong


def test_messages_keep_names_through_wrapping_and_pickling():
    inner = UsageError("{gap} of {}", FOLDER)
    for error in (
        inner,
        UsageError("no: {}", inner),
        DataError(FOLDER, Message("lower {gap} gap=3"), 2),
    ):
        known = pickle.loads(pickle.dumps(error))
        assert str(known) == str(error) and FOLDER in str(known)
        text = word_message(known.sentence, lambda parameter: f"<{parameter.name}>")
        assert FOLDER in text and text.count("<gap>") == 1
    inner.add("seed=3")
    assert word_message(inner.sentence, lambda parameter: "-").endswith("; seed=3")


def test_estimators_and_train_keep_names_too(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with pytest.raises(DataError, match="^" + re.escape(f"{FOLDER}/none: ")):
        svmcut.train(f"{FOLDER}/none")


def test_control_characters_come_escaped(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    name = "red\x1b[31m\n\u202e\x9b.dat"
    Path(name).write_text("1 1:1 3:x\n")
    for words in (
        ("learn", name, "m"),
        ("learn", "--\x1b[2J", "m"),
        ("learn", "-l", "\x1b[2J", "m", "n"),
        ("learn", "a\x1bb", "m"),
        ("classify", name, name),
        ("inspect", name),
        ("scale", name),
        ("learn", "--scheduler", "local:1", "\x1b*", "m"),
        ("learn", "x", "no\x1b/m"),
    ):
        assert call("svmcut " + words[0], *words[1:]) in (1, 2)
        text = capsys.readouterr().err
        assert "\\x1b" in text and not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]", text), (
            words,
            text,
        )
        assert text.count("\n") == 1, text
    assert call("svm_perf_learn", "-c", 1, name, "m") == 1
    assert capsys.readouterr().err.startswith(
        "red\\x1b[31m\\n\\u202e\\x9b.dat:1:9: feature value x is not a number"
    )


#: Tags and attributes that no terminal should take as they are, and no Latin-1 holds.
NAMED = "A\x1b[31m\tw=\u4e2d\x07\nB\u4e2d\tw=b\n\n" * 3


@pytest.fixture(scope="module")
def named_model(tmp_path_factory):
    """A file of sequences, and its model."""
    path = tmp_path_factory.mktemp("named") / "train"
    path.write_text(NAMED, encoding="utf-8")
    model = path.with_name("model")
    assert (
        call("svmcut learn", "-v", 0, "--task", "sequence", "--input", "crfsuite", path, model) == 0
    )
    return path, model


@pytest.mark.parametrize("encoding", ["utf-8", "iso-8859-1", "ascii"])
def test_names_in_files_are_printed_in_any_encoding(named_model, monkeypatch, encoding, tmp_path):
    path, model = named_model
    for words in (
        ("inspect", model),
        ("inspect", model, "--json"),
        ("inspect", model, "--data", path, "--input", "crfsuite"),
        ("classify", "--input", "crfsuite", path, model, tmp_path / "p"),
        ("learn", "--task", "sequence", "--input", "crfsuite", path, tmp_path / "\u4e2d\udcff"),
    ):
        stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", stream)
        assert call("svmcut " + words[0], *words[1:]) == 0
        stream.flush()
        text = stream.buffer.getvalue().decode(encoding)
        assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", text.replace("\t", "")), text
        if words[0] != "learn":
            plain = encoding == "utf-8" and "--json" not in words
            assert ("A\\x1b[31m" in text or "A\\u001b" in text) and ("\u4e2d" in text) == plain
        assert stream.errors == "strict"
