# SPDX-License-Identifier: BSD-3-Clause
"""Files of chains: models go round unchanged, sequences come out of blocks of any size whole."""

import numpy as np
import pytest

from svmcut.base import resources
from svmcut.base.errors import MemoryLimitError, ModelError
from svmcut.data.examples import Csr
from svmcut.files import sequences as sequence_files
from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.formats import read_model, write_model
from svmcut.models import ChainModel, ChainShape


@pytest.mark.parametrize("columns", [None, [0, 3, 40_000_000]])
@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (1, 1), (2, 1), (3, 0), (3, 1)])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_models_go_round(tmp_path, rng, K, t, e, columns):
    if columns and K * (K + 1) > 40:
        columns = [0, 3, 4_000_000]
    shape = ChainShape(K, 3, t, e)
    w = np.zeros(shape.dim)
    w.reshape(-1, shape.stride)[:, :K] = rng.normal(size=(shape.dim // shape.stride, K)).astype(
        np.float32
    )
    w[rng.random(shape.dim) < 0.2] = 0
    model = ChainModel(w, shape, columns=None if columns is None else np.array(columns, np.int32))
    write_model(str(tmp_path / "a"), model)
    again = read_model(str(tmp_path / "a"))
    write_model(str(tmp_path / "b"), again)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    if columns is None:
        assert again.shape == shape
        np.testing.assert_allclose(again.w, w, rtol=1e-7)


@pytest.mark.parametrize("case", ["hmm", "hmm_t0", "hmm_t2e1"])
def test_models_of_the_original_go_round(shared, tmp_path, case):
    path = shared / "golden" / "cases" / case / "model"
    write_model(str(tmp_path / "model"), read_model(str(path)))
    written, checksum = (tmp_path / "model").read_bytes().rsplit(b"#@ crc32 ", 1)
    assert written == path.read_bytes() and checksum


@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (2, 1)])
@pytest.mark.parametrize("columns", [None, [0, 3, 40_000]])
def test_slacks_above_the_weights_are_read_over(tmp_path, rng, t, e, columns):
    shape = ChainShape(3, 3, t, e)
    w = np.zeros(shape.dim)
    w.reshape(-1, shape.stride)[:, :3] = rng.normal(size=(shape.dim // shape.stride, 3)).astype(
        np.float32
    )
    model = ChainModel(w, shape, columns=None if columns is None else np.array(columns, np.int32))
    write_model(str(tmp_path / "a"), model)
    lines = (tmp_path / "a").read_text().splitlines()
    highest = int(lines[7].split()[0])
    lines[7] = f"{highest + 8} # highest feature index "
    slacks = " ".join(f"{highest + k}:{0.1 * (k + 1):g}" for k in range(8))
    lines[15] = f"{lines[15].removesuffix('#')}{slacks} #"
    (tmp_path / "b").write_text("\n".join(lines) + "\n")
    write_model(str(tmp_path / "c"), read_model(str(tmp_path / "b")))
    assert (tmp_path / "c").read_bytes() == (tmp_path / "a").read_bytes()


HEADER = """SVM-HMM Version V3.10
0 # kernel type
3 # kernel parameter -d
1 # kernel parameter -g
1 # kernel parameter -s
1 # kernel parameter -r
empty# kernel parameter -u
2147483647 # highest feature index
{features} # number of emission features
{tags} # number of classes
{t} # HMM order of transitions
{e} # HMM order of emissions
1 # loss function
2 # number of support vectors plus 1
0 # threshold b, each following line is a SV (starting with alpha*y)
1 {weights}#
"""


def put_model(tmp_path, tags, features=5, t=1, e=0, weights=""):
    path = tmp_path / "model"
    path.write_text(HEADER.format(tags=tags, features=features, t=t, e=e, weights=weights))
    return str(path)


@pytest.mark.parametrize("t, e", [(0, 0), (1, 1), (3, 0)])
def test_a_model_without_weights_gives_every_token_the_first_tag(tmp_path, t, e):
    model = read_model(put_model(tmp_path, 3, t=t, e=e))
    X = Csr.from_dense(np.eye(4, dtype=np.float32))
    assert model.tags(X, np.array([0, 1, 4])).tolist() == [0, 0, 0, 0]


@pytest.mark.parametrize(
    ("tags", "t", "says"),
    [
        (2_147_483_647, 0, ":10:1: "),
        (1_000_001, 0, ":10:1: "),
        (
            1_000_000,
            3,
            ":10:1: 1000000 tags at order 3 are more than a file of this size describes",
        ),
        (100_000, 3, ":10:1: "),
        (1_000_000, 1, ":10:1: "),
    ],
)
@pytest.mark.parametrize("features", [0, 5, 2_147_483_647])
def test_more_tags_than_a_file_describes_are_refused(tmp_path, tags, features, t, says):
    with pytest.raises(ModelError) as error:
        read_model(put_model(tmp_path, tags, features, t))
    assert says in str(error.value)


def test_features_that_no_weight_names_take_no_memory(tmp_path):
    """At emission order 1 each would take the square of the tags: 32 GB."""
    number = 1000**2 + 1000 + 1 + 4000 + 7  # tag 1, feature 7
    model = read_model(put_model(tmp_path, 1000, 4000, t=1, e=1, weights=f"{number}:2.5 "))
    assert len(model.w) < 5_000_000
    assert model.columns.tolist() == [6]
    X = Csr.from_dense(np.eye(9, dtype=np.float32)[6:8])
    assert model.tags(X, np.array([0, 2])).tolist() == [0, 0]
    write_model(str(tmp_path / "again"), model)
    again = (tmp_path / "again").read_text().splitlines()
    assert (again[8].split()[0], again[15]) == ("4000", f"1 {number}:2.5 #")


def test_weights_that_do_not_fit_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(resources, "available_memory", lambda: 150.0)
    places = "".join(f"{1_000_000 + 1000 + 2 + k + 20}:1 " for k in range(20))
    with pytest.raises(MemoryLimitError, match="its weights take 170 MB, and 150 MB are available"):
        read_model(put_model(tmp_path, 1000, 20, t=1, e=1, weights=places))


@pytest.mark.parametrize("block_bytes", [1, 40, 64, 100, 1 << 20])
def test_sequences_come_out_whole(tmp_path, rng, monkeypatch, block_bytes):
    lengths = rng.integers(1, 9, 40)
    qids = np.repeat(np.cumsum(rng.integers(1, 3, 40)), lengths)
    lines = [
        f"{rng.integers(1, 5)} qid:{q} {rng.integers(1, 9)}:{rng.normal():.3f}\n" for q in qids
    ]
    (tmp_path / "file").write_text("# head\n" + "".join(lines))
    path = str(tmp_path / "file")
    whole = read_sequences(path)
    assert np.diff(whole.indptr).tolist() == lengths.tolist()
    stream = sequence_files.stream_examples
    monkeypatch.setattr(
        sequence_files,
        "stream_examples",
        lambda path, **how: stream(path, **how, block_bytes=block_bytes),
    )
    parts = list(stream_sequences(path))
    assert np.concatenate([np.diff(part.indptr) for part in parts]).tolist() == lengths.tolist()
    assert (np.concatenate([part.tags for part in parts]) == whole.tags).all()
    dense = np.zeros((len(whole.tags), whole.X.n_features), np.float32)
    row = 0
    for part in parts:
        dense[row : row + part.X.n_rows, : part.X.n_features] = part.X.to_dense()
        row += part.X.n_rows
    assert (dense == whole.X.to_dense()).all()
