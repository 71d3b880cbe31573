# SPDX-License-Identifier: BSD-3-Clause
"""Files that are not ours: no output is an input or another output; ``-`` is standard output."""

import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest
from programs import TIMEOUT, call, command, forked, status_of

pytestmark = pytest.mark.skipif(os.name != "posix", reason="links, pipes and locks of POSIX")

ROWS = "1 qid:1 1:1 2:0.5\n2 qid:1 1:-1 3:2\n1 qid:2 2:1\n2 qid:2 1:-2 2:0.25\n"
TWO = "1 1:1 2:0.5\n-1 1:-1 3:2\n1 2:1\n-1 1:-2 2:0.25\n"
LEARN = ("-v", 0, "-c", 1)
RANKERS = ("svmcut rank", "svm_rank_learn", "svm_hmm_learn")
TRAINERS = ("svmcut learn", "svm_perf_learn", *RANKERS)
CLASSIFIERS = {
    "svmcut classify": "model",
    "svm_perf_classify": "model",
    "svm_rank_classify": "ranks",
    "svm_hmm_classify": "tags",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("rows").write_text(ROWS)
    Path("two").write_text(TWO)
    Path("dev").write_text(TWO)
    os.mkdir("sub")
    return tmp_path


def contents():
    """What stands in the folder, links as what they point to."""
    found = {}
    for path in sorted(Path().rglob("*")):
        if path.is_symlink():
            found[str(path)] = os.readlink(path)
        elif path.is_file():
            found[str(path)] = path.read_bytes()
        else:
            found[str(path)] = path.stat().st_mode
    return found


def make_models():
    """The models that the classifiers are called with."""
    for program, data, model, *words in (
        ("svmcut learn", "two", "model"),
        ("svmcut rank", "rows", "ranks"),
        ("svmcut learn", "rows", "tags", "--task", "sequence"),
    ):
        assert call(program, *words, *LEARN, data, model) == 0


@pytest.mark.parametrize("program", TRAINERS)
def test_a_model_is_no_example_file_and_no_file_of_multipliers(program, capsys):
    data = "rows" if program in RANKERS else "two"
    named = (
        ("EXAMPLE_FILE", "MODEL_FILE")
        if program.startswith("svmcut")
        else ("example_file", "model_file")
    )
    before = contents()
    for words, first, second in (
        ((data, data), f"{named[0]} '{data}'", f"{named[1]} '{data}'"),
        (("-a", "m", data, "m"), f"{named[1]} 'm'", "-a 'm'"),
        (("-a", data, data, "m"), f"{named[0]} '{data}'", "-a"),
    ):
        assert call(program, *LEARN, *words) == status_of(program, 2)
        message = capsys.readouterr().err
        assert message.startswith(f"{program}: {first} and {second}") and message.count("\n") == 1
        assert contents() == before


@pytest.mark.parametrize("program", CLASSIFIERS)
def test_predictions_are_neither_examples_nor_model(program, capsys):
    make_models()
    model = CLASSIFIERS[program]
    data = "two" if model == "model" else "rows"
    before = contents()
    for target in (data, model):
        assert call(program, data, model, target) == status_of(program, 2)
        message = capsys.readouterr().err
        assert message.count(repr(target)) == 2 and message.lower().count("_file") == 2
        assert contents() == before
    os.symlink(model, "svm_predictions")  # the default name counts too
    assert call(program, data, model) == status_of(program, 2)


@pytest.mark.parametrize(
    ("words", "first", "second"),
    [
        (("--report", "m", "two", "m"), "MODEL_FILE 'm'", "--report 'm'"),
        (("--trace", "m", "two", "m"), "MODEL_FILE 'm'", "--trace 'm'"),
        (("--report", "x", "--trace", "x", "two", "m"), "--report 'x'", "--trace 'x'"),
        (("--report", "two", "two", "m"), "EXAMPLE_FILE 'two'", "--report 'two'"),
        (("--validate", "dev", "two", "dev"), "--validate 'dev'", "MODEL_FILE 'dev'"),
        (("--validate", "dev", "--trace", "dev", "two", "m"), "--validate 'dev'", "--trace 'dev'"),
        (
            ("-t", "2", "--i", "0", "--t", "1", "--f", "dev", "--b", "0", "two", "dev"),
            "--f 'dev'",
            "MODEL_FILE 'dev'",
        ),
        (
            ("-c", "0.1,1", "--report", "m.0.1", "two", "m"),
            "MODEL_FILE 'm.0.1'",
            "--report 'm.0.1'",
        ),
        (
            ("-c", "1,2", "--validate", "dev", "--select", "f1", "two", "dev"),
            "--validate 'dev'",
            "MODEL_FILE 'dev'",
        ),
        (("--checkpoint", "two", "two", "m"), "EXAMPLE_FILE 'two'", "--checkpoint 'two'"),
        (("--checkpoint", "m", "two", "m"), "MODEL_FILE 'm'", "--checkpoint 'm'"),
        (("--checkpoint", "m", "-c", "1,2", "two", "m"), "MODEL_FILE 'm.1'", "--checkpoint 'm.1'"),
        (("--checkpoint", "s", "two", "s.1"), "MODEL_FILE 's.1'", "--checkpoint 's.1'"),
        (
            ("--checkpoint", "s", "--trace", "s.lock", "two", "m"),
            "--trace 's.lock'",
            "--checkpoint 's.lock'",
        ),
        (("--report", "./sub/../m", "two", "m"), "MODEL_FILE 'm'", "--report './sub/../m'"),
    ],
)
def test_two_roles_of_one_file_are_named(words, first, second, capsys):
    before = contents()
    assert call("svmcut learn", *LEARN, *words) == 2
    message = capsys.readouterr().err
    assert (
        message
        == f"svmcut learn: {first} and {second} are the same file; give the output a name of its "
        "own\n"
    )
    assert contents() == before


@pytest.mark.parametrize("link", [os.link, os.symlink])
def test_a_file_is_known_by_any_of_its_names(link):
    link("two", "other")
    os.symlink("nowhere", "dangling")
    os.symlink("sub", "folder")
    before = contents()
    for words in (
        ("two", "other"),
        ("--report", "nowhere", "two", "dangling"),
        ("--report", "sub/m", "two", "folder/m"),
    ):
        assert call("svmcut learn", *LEARN, *words) == 2
    assert contents() == before


def test_redirected_streams_are_files_too():
    before = contents()
    for line in (
        "learn -v 0 -c 1 - two <two",
        "learn -v 0 -c 1 two m >>two",
        "learn -v 0 -c 1 --report - two m >m",
        "learn -c 1 two m 2>>m",
    ):
        done = subprocess.run(
            ["sh", "-c", f'exec "$0" {line}', command("svmcut")[0]], capture_output=True, text=True
        )
        assert done.returncode == 2, line
        assert done.stderr.count("are the same file") == ("2>" not in line)
        Path("m").unlink(missing_ok=True)
    assert contents() == before


def test_equal_inputs_and_what_is_no_regular_file_are_free():
    null = "/dev/null"
    assert (
        call(
            "svmcut learn",
            *(*LEARN, "--validate", "two", "--report", null, "--trace", null, "-a", null, "two"),
            *(null, "--solver", "cutting-plane"),
        )
        == 0
    )
    assert call("svmcut learn", *LEARN, "two", "model") == 0
    assert call("svmcut classify", "-v", 0, "--report", null, "two", "model", null) == 0
    os.mkfifo("pipe")
    got = []
    reader = threading.Thread(target=lambda: got.append(Path("pipe").read_bytes()))
    reader.start()
    descriptor = os.open("pipe", os.O_WRONLY)  # so that the reader waits for the second writer too
    assert call("svmcut learn", *LEARN, "--report", "pipe", "two", "pipe") == 0
    os.close(descriptor)
    reader.join(TIMEOUT)
    assert b"SVM-light" in got[0] and b'"converged"' in got[0]


def test_dash_is_standard_output(capfdbinary):
    """The log goes to standard error then, and the bytes are those of a file."""
    assert call("svmcut learn", "-c", 1, "--solver", "cutting-plane", "two", "model") == 0
    log = capfdbinary.readouterr().out
    assert call("svmcut learn", "-c", 1, "--solver", "cutting-plane", "two", "-") == 0
    done = capfdbinary.readouterr()
    assert done.out == Path("model").read_bytes()
    assert done.err.count(b"\n") == log.count(b"\n") - 2  # neither a file nor what comes next
    assert b"Certificate " in done.err
    assert call("svmcut classify", "two", "model", "scores") == 0
    log = capfdbinary.readouterr().out
    assert call("svmcut classify", "two", "model", "-") == 0
    done = capfdbinary.readouterr()
    assert (done.out, b"Accuracy  " in log, b"Accuracy  " in done.err) == (
        Path("scores").read_bytes(),
        True,
        True,
    )
    assert call("svmcut classify", "--report", "-", "two", "model", "/dev/null") == 0
    assert json.loads(capfdbinary.readouterr().out)["accuracy"] == 100
    assert (
        call("svmcut learn", "-c", 1, "--solver", "cutting-plane", "--trace", "-", "two", "model")
        == 0
    )
    assert json.loads(capfdbinary.readouterr().out.splitlines()[0])["iteration"] == 1
    assert not os.path.exists("-")


@pytest.mark.parametrize(
    "program", ["svm_perf_classify", "svm_rank_classify", "svm_hmm_classify", "svm_perf_learn"]
)
def test_dash_is_standard_output_of_the_executables(program, capfdbinary):
    make_models()
    words = (
        ("-c", 1, "two")
        if program not in CLASSIFIERS
        else ("two" if "perf" in program else "rows",)
    )
    words = (*words, *filter(None, [CLASSIFIERS.get(program)]))
    assert call(program, *words, "file") == 0
    capfdbinary.readouterr()
    assert call(program, *words, "-") == 0
    done = capfdbinary.readouterr()
    assert done.out == Path("file").read_bytes() and done.err
    assert not os.path.exists("-")


def test_a_path_of_c_needs_the_name_of_a_file(capsys):
    assert call("svmcut learn", "-c", "1,2", "two", "-") == 2
    assert "several models" in capsys.readouterr().err
    assert call("svmcut learn", *LEARN, "two", "./-") == 0  # a file may still have this name
    assert os.path.getsize("-") > 0


@pytest.mark.every(2)
@pytest.mark.skipif(not os.path.exists("/dev/zero"), reason="devices of Linux")
@pytest.mark.parametrize(
    "words",
    [
        "learn /dev/zero m",
        "learn --task multilabel /dev/zero m",
        "learn --task sequence --input crfsuite /dev/zero m",
        "learn --weights /dev/zero train m",
        "classify /dev/zero model p",
        "classify train /dev/zero p",
        "scale /dev/zero",
        "scale -r /dev/zero train",
        "inspect /dev/zero",
        "inspect model --names /dev/zero",
        "inspect model --report /dev/zero",
        "inspect model --trace /dev/zero",
        "inspect model --data /dev/zero",
        "learn /dev/urandom m",
        "learn --input crfsuite --task sequence zeros.gz m",
        "learn zeros.gz m",
    ],
)
def test_files_without_an_end_are_refused_at_their_beginning(words, tmp_path, monkeypatch):
    """Of zeros in a packed file too: none waits for the end of a line that has a NUL byte."""
    import gzip

    Path("train").write_text("1 1:1\n-1 2:1\n")
    assert call("svmcut learn", "-v", 0, "train", "model") == 0
    Path("zeros.gz").write_bytes(gzip.compress(bytes(3 << 20), 1))
    done = forked("svmcut", *words.split(), timeout=20)
    assert done.returncode == 1, done
    (line,) = done.stderr.splitlines()
    assert re.match("(/dev/(zero|urandom)|zeros.gz):(1:)?", line), line
    assert not Path("m").exists() and not Path("p").exists()
