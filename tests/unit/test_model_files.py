# SPDX-License-Identifier: BSD-3-Clause
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from programs import uncertified

from svmcut.base.errors import ModelError
from svmcut.data.examples import Csr
from svmcut.formats import read_model, write_model
from svmcut.models import KernelModel, LinearModel
from svmcut.models.kernels import Kernel

HEADER = """\
SVM-light Version V6.20
{kernel} # kernel type
3 # kernel parameter -d 
1 # kernel parameter -g 
1 # kernel parameter -s 
1 # kernel parameter -r 
empty# kernel parameter -u 
{highest} # highest feature index 
{documents} # number of training documents 
{count} # number of support vectors plus 1 
{b} # threshold b, each following line is a SV (starting with alpha*y)
"""  # noqa: W291


def text_of(lines="1 1:0.5 4:-2 #\n", kernel=0, highest=6, documents=9, count=2, b=0.25):
    return (
        HEADER.format(kernel=kernel, highest=highest, documents=documents, count=count, b=b) + lines
    )


@pytest.fixture
def file(tmp_path):
    def write(text):
        path = tmp_path / "model"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return str(path)

    return write


def test_layout_of_a_linear_model(tmp_path):
    path = tmp_path / "model"
    w = np.array([0.342, 0, -2, 1e-50, -0.0, 123456789])
    write_model(str(path), LinearModel(w, -0.0, highest_index=8, n_documents=9))
    expected = text_of("1 1:0.34200001 3:-2 6:1.2345679e+08 #\n", highest=8, b="-0")
    assert uncertified(path).decode() == expected


def test_layout_of_a_kernel_model(tmp_path):
    path = tmp_path / "model"
    support = Csr(
        np.array([0.5, 0.0, 3], np.float32),
        np.array([0, 2, 1], np.int32),
        np.array([0, 2, 2, 3]),
        3,
    )
    kernel = Kernel("rbf", 2, 0.125, 3.5, -1, "text")
    write_model(str(path), KernelModel(kernel, support, np.array([0.1, -0.0, -3]), 1 / 3))
    lines = uncertified(path).decode().splitlines()
    assert lines[1:11] == [
        "2 # kernel type",
        "2 # kernel parameter -d ",
        "0.125 # kernel parameter -g ",
        "3.5 # kernel parameter -s ",
        *("-1 # kernel parameter -r ", "text# kernel parameter -u ", "3 # highest feature index "),
        *("0 # number of training documents ", "4 # number of support vectors plus 1 "),
        "0.33333333 # threshold b, each following line is a SV (starting with alpha*y)",
    ]
    assert lines[11:] == ["0.10000000000000000555111512312578 1:0.5 3:0 #", "-0 #", "-3 2:3 #"]


def test_a_kernel_model_has_the_digits_that_read_back_and_eight_by_an_original(tmp_path):
    x = np.float32(0.114932634)
    support = Csr.from_dense(np.array([[x, 0.5]], np.float32))
    model = KernelModel(Kernel("rbf", 3, 1 / 3, 0.1, -2 / 3), support, np.ones(1), 1 / 3)
    own, original = str(tmp_path / "own"), str(tmp_path / "original")
    write_model(own, model)
    write_model(original, model, original=True)
    lines = [Path(path).read_text().splitlines() for path in (own, original)]
    assert [line.split(" #")[0] for line in lines[0][3:6]] == [
        "0.33333333333333331",
        "0.1",
        "-0.66666666666666663",
    ]
    assert [line.split(" #")[0] for line in lines[1][3:6]] == ["0.33333333", "0.1", "-0.66666667"]
    assert lines[0][10] == lines[1][10] and lines[0][10].startswith("0.33333333 ")
    assert (lines[0][11], lines[1][11]) == (f"1 1:{x:.9g} 2:0.5 #", f"1 1:{x:.8g} 2:0.5 #")
    for path in (own, original):  # what is read is written again as it was, whoever wrote it
        write_model(str(tmp_path / "again"), read_model(path))
        assert uncertified(tmp_path / "again") == uncertified(path)


def test_linear_model_is_read(file):
    model = read_model(file(text_of()))
    assert isinstance(model, LinearModel)
    assert model.w.tolist() == [0.5, 0, 0, -2]
    assert (model.b, model.highest_index, model.n_documents) == (0.25, 6, 9)


def test_values_are_float32_and_alpha_float64(file):
    model = read_model(file(text_of("0.1 1:0.1 #\n", kernel=1)))
    assert model.alpha[0] == 0.1
    assert model.support.data[0] == np.float32(0.1)
    assert read_model(file(text_of("1 1:0.1 #\n"))).w[0] == float(np.float32(0.1))


@pytest.mark.parametrize(
    "lines, count, w",
    [
        ("1 1:1 2:2 #\n-0.5 2:2 3:4 #\n2 1:1\n", 4, [3, 1, -2]),
        ("1 1:0.5 2:1\n", 2, [0.5, 1]),
        ("1 qid:0 1:0.5 2:1 # text 3:4\r\n", 2, [0.5, 1]),
        ("1  1:0.5\t2:1#\n\n  \n", 2, [0.5, 1]),
        ("+1 +1:+.5 2:1. #\n", 2, [0.5, 1]),
        ("1 #\n", 2, []),
        ("", 1, []),
    ],
)
def test_what_originals_write_or_accept(file, lines, count, w):
    assert read_model(file(text_of(lines, count=count))).w.tolist() == w


def test_crlf(file):
    assert read_model(file(text_of().replace("\n", "\r\n"))).w.tolist() == [0.5, 0, 0, -2]


@pytest.mark.parametrize(
    "kernel, lines", [(0, "1 1:0.5 4:-2 #\n"), (2, "0.5 1:0.5 4:-2 #\n-0.5 2:1.25 #\n")]
)
def test_truncation_at_every_byte_is_refused(file, kernel, lines):
    text = text_of(lines, kernel=kernel, count=lines.count("\n") + 1)
    read_model(file(text))
    for length in range(len(text)):
        with pytest.raises(ModelError):
            read_model(file(text[:length]))


@pytest.mark.parametrize(
    "text, place, message",
    [
        ("", "1:1", "empty"),
        ("SVM-light Version V6.03\n", "1:1", "V6.03"),
        ("\0" * 100_000, "1:1", "no model"),
        (
            text_of(kernel=4),
            "2:1",
            'kernel type "4" is unknown; expected 0 .linear. to 3 .sigmoid.',
        ),
        (text_of(kernel=-1), "2:1", 'kernel type "-1"'),
        (text_of(kernel="x"), "2:1", 'kernel type "x"'),
        (
            text_of().replace("3 # kernel parameter -d", "3.5 # kernel parameter -d"),
            "3:1",
            "degree",
        ),
        (
            text_of().replace("1 # kernel parameter -g", "nan # kernel parameter -g"),
            "4:1",
            "finite",
        ),
        (text_of(highest=2**31), "8:1", "highest"),
        (text_of(highest=-1), "8:1", "highest"),
        (text_of(documents=2**31), "9:1", "documents"),
        (text_of(count=2**31), "10:1", "support vectors"),
        (text_of(count=0), "10:1", "support vectors"),
        (text_of(count=2**31 - 1), "13:1", "cut short"),
        (text_of(count=3), "13:1", "cut short"),
        (text_of(count=1), "12:1", "line 10"),
        (text_of(b="inf"), "11:1", "threshold"),
        (text_of(b="1x"), "11:1", "threshold"),
        (text_of("1 1:0.5 7:1 #\n"), "12:9", "highest index of line 8"),
        (text_of("1 1:0.5 2:nan #\n"), "12:11", "finite"),
        (text_of("1 1:0.5 #\n1 2:x #\n", count=3), "13:5", "finite"),
        (text_of("1 2:0.5 1:1 #\n"), "12:9", "increase"),
        (text_of("1 1:3e38 #\n1e308 1:3e38 #\n", count=3), "", "not finite"),
    ],
)
def test_refusals_name_the_place(file, text, place, message):
    path = file(text)
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}:{place}" if place else path)


def test_header_counts_cost_no_memory(file):
    path = file(text_of("1 2147483646:1 #\n", highest=2**31 - 1))
    tracemalloc.start()
    model = read_model(path)
    with pytest.raises(ModelError):
        read_model(file(text_of(count=2**31 - 1)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000
    X = Csr(
        np.array([2, 3], np.float32),
        np.array([5, 2**31 - 3], np.int32),
        np.array([0, 2]),
        2**31 - 2,
    )
    assert model.scores(X).tolist() == [2.75]


MARKED = [
    (None, None, ""),
    ((1.0, 2.0), None, "#@ labels 1 2\n"),
    ((0.1, 1e300), "f1", "#@ labels 0.1 1e+300\n#@ loss f1\n"),
    ((None, -3.0), None, "#@ labels rest -3\n"),
    ((7.0, 3.0), "roc-area", "#@ labels 7 3\n#@ loss roc-area\n"),
]


@pytest.mark.parametrize(("labels", "loss", "lines"), MARKED)
def test_marks_stand_behind_the_last_support_vector_and_are_read_back(
    tmp_path, labels, loss, lines
):
    path, marks = str(tmp_path / "model"), {"labels": labels, "loss": loss}
    support = Csr(np.ones(2, np.float32), np.array([0, 1], np.int32), np.array([0, 1, 2]), 2)
    for model, last in (
        (LinearModel(np.array([0.5]), 0.0, **marks), "1 1:0.5 #\n"),
        (KernelModel(Kernel("rbf"), support, np.array([1.0, -2.0]), 0.0, **marks), "-2 2:1 #\n"),
        (
            KernelModel(Kernel("rbf"), support.rows(0, 0), np.zeros(0), 0.0, **marks),
            "SV (starting with alpha*y)\n",
        ),
    ):
        write_model(path, model)
        text = uncertified(path).decode()
        assert text.endswith(last + lines)
        again = read_model(path)
        assert (type(again), again.labels, again.loss) == (type(model), labels, loss)
        write_model(path, again)
        assert uncertified(path).decode() == text
        (tmp_path / "model").write_bytes(text.replace("\n", "\r\n").encode())
        assert read_model(path).labels == labels
        start = len(text) - len(lines)
        for length in (
            {*range(0, start, 7), *range(start, len(text))}
            - {start}
            - {start + k + 1 for k, c in enumerate(lines) if c == "\n"}
        ):
            (tmp_path / "model").write_text(text[:length])
            with pytest.raises(ModelError):
                read_model(path)


@pytest.mark.parametrize(
    ("lines", "place", "message"),
    [
        (
            "#@ labels 1\n",
            "13:1",
            "'#@ labels 1' is refused; expected '#@ labels NEGATIVE POSITIVE', '#@ loss NAME', ",
        ),
        ("#@ labels 1 2 3\n", "13:1", "refused"),
        ("#@ labels 1 1\n", "13:1", "refused"),
        ("#@ labels 1 rest\n", "13:1", "refused"),
        ("#@ labels nan 1\n", "13:1", "refused"),
        ("#@ labels 1 inf\n", "13:1", "refused"),
        ("#@ labels 1 x\n", "13:1", "refused"),
        ("#@ labels 1 2\n#@ labels 1 2\n", "14:1", "each once"),
        ("#@ loss much\n", "13:1", "refused"),
        ("#@ loss\n", "13:1", "refused"),
        ("#@ other 1\n", "13:1", "refused"),
        ("#@ \n", "13:1", "refused"),
        ("#@labels 1 2\n", "13:1", "more lines than line 10"),
        ("# text\n", "13:1", "more lines than line 10"),
        ("#@ labels 1 2\n1 1:1 #\n", "13:1", "more lines than line 10"),
        ("#@ labels \xff 2\n", "13:1", "refused"),
    ],
)
def test_other_lines_behind_the_last_support_vector_are_refused(file, lines, place, message):
    path = file(text_of().encode() + lines.encode("latin-1"))
    with pytest.raises(ModelError, match=message) as caught:
        read_model(path)
    assert str(caught.value).startswith(f"{path}:{place}: ")


#: Models as svmcut 0.1 and svm_perf wrote them: without marks.
EARLIER = [
    text_of(
        "1 1:-0.10803648 3:2.801029e-05 4:0.068331331 #\n",
        highest=6,
        documents=42,
        b="0.0064459363",
    ),
    text_of(
        "0.25 1:1 #\n-0.10000000000000000555111512312578 2:1 3:-2.5 #\n", kernel=2, count=3, b="-0"
    ),
]


@pytest.mark.parametrize("text", EARLIER, ids=["linear", "rbf"])
def test_models_of_earlier_releases_load_and_keep_above_zero(file, tmp_path, text):
    model = read_model(file(text))
    assert (model.labels, model.loss) == (None, None)
    write_model(str(tmp_path / "again"), model)
    assert uncertified(tmp_path / "again").decode() == text


def test_missing_file_and_directory(tmp_path):
    with pytest.raises(ModelError, match="No such file"):
        read_model(str(tmp_path / "none"))
    with pytest.raises(ModelError, match="directory"):
        read_model(str(tmp_path))


@pytest.mark.parametrize("w, b", [([np.nan], 0), ([np.inf], 0), ([1e39], 0), ([1], np.nan)])
def test_numbers_that_are_not_finite_are_not_written(tmp_path, w, b):
    path = tmp_path / "model"
    path.write_text("old")
    with pytest.raises(ModelError, match="not written"):
        write_model(str(path), LinearModel(np.array(w, float), b))
    assert path.read_text() == "old" and len(list(tmp_path.iterdir())) == 1
