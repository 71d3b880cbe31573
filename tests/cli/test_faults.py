# SPDX-License-Identifier: BSD-3-Clause
"""Faulty and odd files, for every command and executable; ids are rows of the table of faults."""

import gzip
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from programs import (
    CLASSIFICATION_LEARNERS,
    CLASSIFIERS,
    LEARNERS,
    RANK_LEARNERS,
    TIMEOUT,
    call,
    command,
    run,
    start,
    status_of,
    uncertified,
)

from svmcut.formats import read_model, write_model
from svmcut.models import LinearModel

ROWS = "1 qid:1 1:1.5 2:-2\n-1 qid:1 1:-0.25\n1 qid:2 3:1e-3\n-1 qid:2 2:0.125 7:3\n"
BAD = "bad.dat"
TWO_CLASSES = {
    0: "zero-one",
    1: "f1",
    3: "prbep",
    4: "prec-at-k",
    5: "rec-at-k",
    10: "roc-area",
    11: "average-precision",
}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(
        os, "fsync", lambda descriptor: None
    )  # hundreds of small files need not reach the disk
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5))
    (tmp_path / "clean.dat").write_text(ROWS)
    return tmp_path


def words(program, examples, target):
    """Arguments that make a program read examples and write target."""
    return ("-c", "1", examples, target) if program in LEARNERS else (examples, "model", target)


def result(program, examples, *options):
    """What a program makes of examples: the bytes of its model or its predictions."""
    assert call(program, *options, *words(program, examples, "out")) == 0
    return uncertified("out")


def put(text, name=BAD):
    with open(name, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode())
    return name


def refused(program, capsys, examples=BAD):
    """The message of a refusal, which leaves the folder as it was."""
    before = sorted(os.listdir())
    assert call(program, *words(program, examples, "out")) == 1
    assert sorted(os.listdir()) == before
    message = capsys.readouterr().err
    assert message.count("\n") == 1
    return message


REFUSALS = {
    "row01-empty": ("", ": no examples"),
    "row01-comments-and-blank-lines": ("# 1 1:1\n\n   \n# end", ": no examples"),
    "row04-nul": (b"1 1:1\n1 1:1 \x00 2:1\n", ":2:7: NUL byte"),
    "row05-index-zero": ("1 0:1\n", ":1:3: feature index 0;"),
    "row05-index-negative": ("1 -3:1\n", ":1:3: feature index -3;"),
    "row05-index-2^31-1": (
        "1 2147483647:1\n",
        ":1:3: feature index 2147483647 is above the largest, 2147483646",
    ),
    "row05-index-2^32+1": ("1 4294967297:1\n", ":1:3: feature index 4294967297 is above"),
    "row05-index-2^63": (
        "1 9223372036854775808:1\n",
        ":1:3: feature index 9223372036854775808 is above",
    ),
    "row05-index-of-20-digits": (
        "1 18446744073709551617:1\n",
        ":1:3: feature index 18446744073709551617 is above",
    ),
    "row07-decreasing": ("1 9:1 7:1\n", ":1:7: feature index 7 follows 9"),
    "row07-repeated": ("1 1:1\n1 7:1 7:1\n", ":2:7: feature index 7 repeats 7"),
    "row11-value-nan": ("1 1:nan\n", ":1:5: feature value nan is not finite"),
    "row11-value-inf": ("1 1:-inf\n", ":1:5: feature value -inf is not finite"),
    "row11-value-1e39": ("1 1:1e39\n", ":1:5: feature value 1e39 is out of range"),
    "row11-label-nan": ("nan 1:1\n", ":1:1: label nan is not finite"),
    "row11-label-1e999": ("1 1:1\n1e999 1:1\n", ":2:1: label 1e999 is out of range"),
    "row11-label-text": ("1a,b 1:1\n", ":1:1: label 1a,b is not a number"),
    "row13-value-missing": ("1 3:\n", ":1:5: feature value is missing"),
    "row13-index-missing": ("1 :5\n", ":1:3: :5 has no feature index"),
    "row13-two-colons": ("1 3:5:7\n", ":1:5: feature value 5:7 is not a number"),
    "row13-hexadecimal": ("1 1:0x10\n", ":1:5: feature value 0x10 is not a number"),
    "row13-two-signs": ("1 1:+-1\n", ":1:5: feature value +-1 is not a number"),
    "row03-column-behind-a-byte-order-mark": (
        b"\xef\xbb\xbf1 1:x\n",
        ":1:5: feature value x is not a number",
    ),
    "row14-truncated-gzip": (
        gzip.compress(ROWS.encode() * 99)[:-9],
        ": the gzip data is truncated",
    ),
    "row14-damaged-gzip": (
        gzip.compress(ROWS.encode())[:-8] + b"12345678",
        ": the gzip data is damaged",
    ),
}


@pytest.mark.parametrize("program", LEARNERS + CLASSIFIERS)
@pytest.mark.parametrize("text, message", REFUSALS.values(), ids=REFUSALS)
def test_refused_with_place_and_nothing_written(program, text, message, capsys):
    put(text)
    assert refused(program, capsys).startswith(BAD + message)


@pytest.mark.parametrize("sign", [1, -1])
@pytest.mark.parametrize("loss", [0, 2], ids=["row02-zero-one", "row02-error-rate"])
def test_one_class_trains_a_constant(loss, sign, capsys):
    put(f"{sign} 1:1\n{sign} 1:3 2:-1\n", "one.dat")
    if loss == 0:
        assert (
            call("svm_perf_learn", "-c", "1", "-e", "1e-3", "-l", loss, "-w", "3", "one.dat", "out")
            == 0
        )
    else:
        assert call("svmcut learn", "-c", "1", "-l", loss, "--gap", "1e-3", "one.dat", "out") == 0
        assert capsys.readouterr().err.startswith(
            "svmcut learn: warning: all 2 labels of one.dat are "
        )
    assert call("svm_perf_learn", "-c", "1", "-l", loss, "-w", "3", "one.dat", "out2") == 0
    assert capsys.readouterr().err == ""
    assert call("svmcut classify", "one.dat", "out", "scores") == 0
    assert capsys.readouterr().err.startswith("svmcut classify: warning: all 2 examples are ")
    assert np.all(sign * np.loadtxt("scores") > 0)


@pytest.mark.parametrize(
    "loss, name", TWO_CLASSES.items(), ids=[f"row02-{loss}" for loss in TWO_CLASSES]
)
def test_one_class_is_refused_where_the_loss_needs_two(loss, name, capsys):
    put("1 1:1\n1 2:1\n", "one.dat")
    assert call("svmcut learn", "-c", "1", "-l", loss, "-w", "3", "one.dat", "out") == 1
    message = capsys.readouterr().err
    assert f"one.dat: loss '{name}' needs two classes, but all 2 labels are 1\n" in message
    assert not os.path.exists("out")


CLEANED = {
    "row03-no-newline-at-the-end": lambda text: text[:-1],
    "row03-CRLF": lambda text: text.replace(b"\n", b"\r\n"),
    "row03-tabs": lambda text: text.replace(b" ", b"\t"),
    "row03-byte-order-mark": lambda text: b"\xef\xbb\xbf" + text,
    "row03-comments-and-blank-lines": lambda text: (
        b"# head\n\n" + text.replace(b"\n", b" # end\n\n")
    ),
    "row11-underflow-is-zero": lambda text: text.replace(b"1:1.5 2:-2\n", b"1:1.5 2:-2 4:1e-400\n"),
    "row14-gzip-by-content": lambda text: gzip.compress(text),
    "row14-gzip-members": lambda text: (
        gzip.compress(text[:9]) + gzip.compress(text[9:]) + gzip.compress(b"")
    ),
}


@pytest.mark.every(2)
@pytest.mark.parametrize("program", LEARNERS + CLASSIFIERS)
@pytest.mark.parametrize("change", CLEANED.values(), ids=CLEANED)
def test_same_result_however_written(program, change):
    clean = result(program, "clean.dat")
    assert result(program, put(change(ROWS.encode()), "other.txt")) == clean


@pytest.mark.every(2)
@pytest.mark.parametrize("program", LEARNERS + CLASSIFIERS)
def test_row03_a_line_of_20_megabytes(program):
    first, rest = ROWS.encode().split(b" 2:", 1)
    put(first + b" " * 20_000_000 + b"2:" + rest[:-1] + b"#" + b"x" * 2_000_000, "long.dat")
    assert result(program, "long.dat") == result(program, "clean.dat")


@pytest.mark.every(3)
@pytest.mark.skipif(not hasattr(os, "wait4"), reason="peak memory of a child by wait4")
@pytest.mark.parametrize("program", LEARNERS + CLASSIFIERS)
def test_row06_largest_index_in_little_memory(program, folder):
    put("1 qid:1 1:1 2147483646:2\n-1 qid:1 2:1\n", "huge.dat")
    assert call("svmcut learn", "-c", "1", "huge.dat", "model") == 0
    assert read_model("model").columns.tolist() == [0, 1, 2147483645]
    # a program's peak is at least that of whoever starts it, so something small does
    starter = (
        "import os, sys; pid = os.posix_spawn(sys.argv[1], sys.argv[1:], os.environ)\n"
        "_, status, usage = os.wait4(pid, 0); print(); print(os.waitstatus_to_exitcode(status), "
        "usage.ru_maxrss)"
    )
    run = command(program, *words(program, "huge.dat", "out"))
    printed = subprocess.check_output([sys.executable, "-SE", "-c", starter, *run], text=True)
    code, peak = map(int, printed.splitlines()[-1].split())
    assert code == 0
    assert peak < (400 << 10) * (1024 if sys.platform == "darwin" else 1)
    if program in LEARNERS:
        weights = read_model("out")
        assert weights.columns[-1] == 2147483645 and weights.w[-1] > 0
    else:
        first, second = np.loadtxt("out")
        assert first > second


def all_features(count):
    """Those that do not occur would take no memory."""
    return " ".join(f"{j}:1" for j in range(1, count + 1))


@pytest.mark.parametrize("program", ["svmcut learn", "svmcut rank"])
def test_row06_memory_is_stated_before_it_is_asked_for(program, capsys):
    put(f"1 qid:1 {all_features(900_000)}\n-1 qid:1 2:1\n", "wide.dat")
    assert call(program, "-c", "1", "--max-memory", "50", "wide.dat", "out") == 1
    assert "needs about 86 MB for weight vectors and 50 MB are available" in capsys.readouterr().err
    assert not os.path.exists("out")


@pytest.mark.parametrize("program", RANK_LEARNERS)
def test_row08_query_ids_are_exact(program, capsys):
    exact = "1 qid:{0} 1:1\n-1 qid:{0} 2:1\n5 qid:{1} 2:1 3:1\n2 qid:{1} 1:1\n"
    put(exact.format(1, 2), "small.dat")
    put(exact.format(72048431380967004, 72048431380967005), "large.dat")
    assert result(program, "large.dat") == result(program, "small.dat")
    assert " 2 rankings, 4 examples" in capsys.readouterr().out
    assert call("svm_rank_classify", "large.dat", "model", "scores") == 0
    assert " 2 total)" in capsys.readouterr().out


DISORDER = {
    "row09-decreasing": ("1 qid:2 1:1\n# text\n1 qid:1 1:1\n", ":3: qid 1 follows 2"),
    "row09-returning": ("1 qid:1 1:1\n1 qid:2 1:1\n2 qid:1 1:1\n", ":3: qid 1 follows 2"),
    "row09-off-by-one-of-2^56": (
        "1 qid:72048431380967005 1:1\n1 qid:72048431380967004 1:1\n",
        ":2: qid 720484313",
    ),
    "row09-negative": ("1 qid:-1 1:1\n", ":1: qid -1"),
}


@pytest.mark.parametrize("program", (*RANK_LEARNERS, "svmcut classify", "svm_rank_classify"))
@pytest.mark.parametrize("text, message", DISORDER.values(), ids=DISORDER)
def test_queries_out_of_order_are_refused(program, text, message, capsys):
    put(text)
    assert refused(program, capsys).startswith(BAD + message)


@pytest.mark.parametrize("program", (*CLASSIFICATION_LEARNERS, "svm_perf_classify"))
def test_row09_queries_do_not_matter_in_classification(program):
    put("1 qid:2 1:1\n-1 qid:1 1:2\n", "queries.dat")
    put("1 1:1\n-1 1:2\n", "plain.dat")
    assert result(program, "queries.dat") == result(program, "plain.dat")


@pytest.mark.parametrize("loss", ["swapped-pairs", "swapped-fraction", "pairs"])
def test_row10_queries_without_pairs_count_and_cost_nothing(loss, capsys):
    pairs = "2 qid:5 1:1\n1 qid:5 2:1\n0 qid:5 1:3 2:1\n"
    put(pairs, "pairs.dat")
    put("1 qid:1 1:9 3:2\n" + pairs + "1 qid:7 1:-3\n1 qid:7 2:8\n", "more.dat")
    documents = []
    for name, factor in (("pairs.dat", 1), ("more.dat", 1 if loss == "pairs" else 3)):
        call(
            "svmcut rank",
            *("-c", factor, "-l", loss, "--gap", "1e-9", "--report", "report", name, "out"),
        )
        with open("report", encoding="ascii") as file:
            documents.append(json.load(file))
    assert "3 rankings, 6 examples" in capsys.readouterr().out
    assert documents[1]["primal"] == pytest.approx(documents[0]["primal"], rel=1e-8)
    assert documents[0]["primal"] > 0


def test_row10_nothing_to_rank_is_a_warning(capsys):
    put("1 qid:1 1:9\n1 qid:2 1:-3\n1 qid:2 2:8\n", "none.dat")
    assert result("svmcut rank", "none.dat").endswith(b"\n1 #\n")
    assert capsys.readouterr().err.startswith(
        "svmcut rank: warning: no query has two rows with different labels"
    )
    assert call("svm_rank_learn", "-c", "1", "none.dat", "out") == 0
    assert capsys.readouterr().err == ""


@pytest.fixture
def comma_locale(tmp_path):
    """Environment of a locale that writes 1,5; compiled here where there is none."""
    environment = {"LC_ALL": "de_DE"}
    if shutil.which("localedef"):
        subprocess.run(
            ["localedef", "-i", "de_DE", "-f", "ISO-8859-1", tmp_path / "de_DE"],
            capture_output=True,
        )
        environment |= {"LOCPATH": str(tmp_path)} if (tmp_path / "de_DE").exists() else {}
    check = (
        "import locale; locale.setlocale(locale.LC_ALL, ''); assert "
        "locale.localeconv()['decimal_point'] == ','"
    )
    found = subprocess.run(
        [sys.executable, "-c", check], env=os.environ | environment, capture_output=True
    )
    if found.returncode:
        pytest.skip("no locale with a decimal comma here, and none can be made")
    return environment


OF_QUERIES = (
    b"svmcut learn: warning: qid has no effect in classification; svmcut rank learns the order "
    b"within queries, --task sequence the tags of sequences\n"
)


def test_row12_locale(comma_locale):
    code = (
        "import locale, sys; locale.setlocale(locale.LC_ALL, '')\n"
        "from programs import *\n"
        "for program in LEARNERS:\n"
        "    call(program, '-c', '1', 'clean.dat', program + '.located')\n"
        "for program in CLASSIFIERS:\n"
        "    call(program, 'clean.dat', 'model', program + '.located')\n"
    )
    tests = os.path.dirname(os.path.dirname(__file__))
    environment = os.environ | comma_locale | {"PYTHONPATH": tests}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, timeout=TIMEOUT
    )
    assert (done.returncode, done.stderr) == (0, OF_QUERIES)
    for program in LEARNERS + CLASSIFIERS:
        assert uncertified(f"{program}.located") == result(program, "clean.dat")


@pytest.mark.parametrize("program", ["svmcut learn", "svm_rank_classify"])
def test_row14_gzip_that_comes_byte_by_byte(program):
    expected = result(program, "clean.dat")
    packed = gzip.compress(ROWS.encode()[:30], mtime=0) + gzip.compress(ROWS.encode()[30:], mtime=0)
    with start(
        program, *words(program, "-", "piped"), stdout=subprocess.DEVNULL, bufsize=0
    ) as child:
        for byte in packed:
            child.stdin.write(bytes([byte]))
        child.stdin.close()
        assert (child.wait(TIMEOUT), child.stderr.read()) == (
            0,
            OF_QUERIES if program == "svmcut learn" else b"",
        )
    assert uncertified("piped") == expected


@pytest.mark.parametrize("program", CLASSIFICATION_LEARNERS)
def test_row16_a_label_is_positive_above_zero(program, capsys):
    put("1 1:1\n0 2:1\n1 3:2\n", "zero.dat")
    put("1 1:1\n-1 2:1\n1 3:2\n", "signs.dat")
    own = b"#@ labels 0 1\n" if program == "svmcut learn" else b""
    assert result(program, "zero.dat") == result(program, "signs.dat") + own
    assert capsys.readouterr().err == ""
    put("1 1:1\n2 2:1\n", "two.dat")
    put("1 1:1\n1 2:1\n", "one.dat")
    above = ["--positive", ">0"] if program == "svmcut learn" else []
    assert result(program, "two.dat", *above) == result(program, "one.dat")
    warning = (
        "svmcut learn: warning: all 2 labels of two.dat are positive, a label being positive where "
        "it is above 0"
    )
    assert capsys.readouterr().err.startswith(warning if program == "svmcut learn" else "")


@pytest.mark.parametrize("program", CLASSIFIERS)
@pytest.mark.parametrize(
    "columns", [None, np.array([0, 4, 2147483645], np.int32)], ids=["dense", "renumbered"]
)
def test_row17_unknown_features_are_ignored(program, columns):
    write_model("model", LinearModel(np.array([1.0, 2.0, -2.0]), 0.5, columns=columns))
    last = 3 if columns is None else 2147483646
    put(f"1 qid:1 1:1 {last}:2\n-1 qid:1 1:3\n", "known.dat")
    extra = " 9:1e30 77:5" if columns is None else ""
    between = "" if columns is None else " 2:8 4:5 6:7"
    put(f"1 qid:1 1:1{between} {last}:2{extra}\n-1 qid:1 1:3 1000000:4\n", "more.dat")
    assert result(program, "more.dat") == result(program, "known.dat")


DAMAGES = {
    "row18-empty": (lambda text: b"", "model:1:1: the file is empty"),
    "row18-cut-in-the-header": (lambda text: text[:100], "model:5:"),
    "row18-cut-before-the-weights": (
        lambda text: text[: text.rindex(b"\n1 ") + 1],
        "model:12:1: the file ends",
    ),
    "row18-cut-before-the-last-newline": (
        lambda text: text[: text.rindex(b"#@") - 1],
        "model:12:",
    ),
    "row18-cut-in-the-last-line": (lambda text: text[:-1], "model:13:1: "),
    "row18-documents-2^31": (
        lambda text: text.replace(b"\n0 # number", b"\n2147483648 # number"),
        "model:9:1: ",
    ),
    "row18-vectors-2^31": (
        lambda text: text.replace(b"\n2 # number", b"\n2147483648 # number"),
        "model:10:1: ",
    ),
    "row18-vectors-2^31-1": (
        lambda text: text.replace(b"\n2 # number", b"\n2147483647 # number"),
        "model:13:1: ",
    ),
    "row18-weight-nan": (lambda text: text.replace(b" 2:2", b" 2:nan"), "model:12:"),
    "row18-alpha-inf": (
        lambda text: text.replace(b"\n1 1:", b"\ninf 1:"),
        "model:12:1: no finite number",
    ),
    "row18-threshold-nan": (lambda text: text.replace(b"0.5 # thr", b"nan # thr"), "model:11:1: "),
    "row18-kernel": (
        lambda text: text.replace(b"\n0 # k", b"\n7 # k"),
        'model:2:1: kernel type "7" is unknown',
    ),
    "row18-version": (lambda text: text.replace(b"V6.20", b"V6.03"), "model:1:1: version"),
}


@pytest.mark.parametrize("program", CLASSIFIERS)
@pytest.mark.parametrize("damage, message", DAMAGES.values(), ids=DAMAGES)
def test_damaged_models_are_refused(program, damage, message, folder, capsys):
    model = folder / "model"
    whole = model.read_bytes()
    model.write_bytes(damage(whole))
    assert model.read_bytes() != whole
    assert refused(program, capsys, "clean.dat").startswith(message)


def test_row18_the_last_mark_of_a_model_is_optional(folder):
    expected = result("svmcut classify", "clean.dat")
    text = (folder / "model").read_bytes()
    (folder / "model").write_bytes(text.replace(b" #\n", b"\n"))
    assert result("svmcut classify", "clean.dat") == expected


def test_messages_of_a_process_open_with_the_place_and_show_no_traceback(monkeypatch):
    put("1 1:1\n1 2:x\n")
    for program in ("svmcut rank", "svm_perf_learn", "svm_rank_classify"):
        done = run(program, *words(program, BAD, "out"))
        assert (done.returncode, done.stderr) == (
            1,
            "bad.dat:2:5: feature value x is not a number\n",
        )
        assert done.stdout.endswith("\n") != (program == "svmcut rank")
    monkeypatch.setenv("SVMCUT_DEBUG", "1")
    for program in ("svmcut learn", "svm_perf_classify"):
        done = run(program, *words(program, BAD, "out"))
        assert done.returncode == 1 and "Traceback" in done.stderr and "DataError" in done.stderr


def test_usage_exits_with_2_and_the_executables_with_1(capsys):
    for program in LEARNERS + CLASSIFIERS:
        assert call(program) == status_of(program, 2)
        assert call(program, "-!", "1", "clean.dat", "model") == status_of(program, 2)
        assert capsys.readouterr().out == ""
