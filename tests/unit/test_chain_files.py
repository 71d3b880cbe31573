# SPDX-License-Identifier: BSD-3-Clause
"""Files of chains: models go round unchanged, sequences come out of blocks of any size whole."""

import numpy as np
import pytest

from svmcut.files import sequences as sequence_files
from svmcut.files.models import read_model, write_model
from svmcut.files.sequences import read_sequences, stream_sequences
from svmcut.models import ChainModel, ChainShape


@pytest.mark.parametrize("columns", [None, [0, 3, 40_000_000]])
@pytest.mark.parametrize("t, e", [(0, 0), (1, 0), (1, 1), (2, 1), (3, 0), (3, 1)])
@pytest.mark.parametrize("K", [1, 2, 5])
def test_models_go_round(tmp_path, rng, K, t, e, columns):
    if columns and K * (K + 1) > 40:
        columns = [0, 3, 4_000_000]
    shape = ChainShape(K, 3, t, e)
    w = np.zeros(shape.dim)
    w.reshape(-1, shape.stride)[:, :K] = rng.normal(size=(shape.dim // shape.stride, K)).astype(np.float32)
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
    assert (tmp_path / "model").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("block_bytes", [1, 40, 64, 100, 1 << 20])
def test_sequences_come_out_whole(tmp_path, rng, monkeypatch, block_bytes):
    lengths = rng.integers(1, 9, 40)
    qids = np.repeat(np.cumsum(rng.integers(1, 3, 40)), lengths)
    lines = [f"{rng.integers(1, 5)} qid:{q} {rng.integers(1, 9)}:{rng.normal():.3f}\n" for q in qids]
    (tmp_path / "file").write_text("# head\n" + "".join(lines))
    path = str(tmp_path / "file")
    _, whole = read_sequences(path)
    assert np.diff(whole.indptr).tolist() == lengths.tolist()
    stream = sequence_files.stream_examples
    monkeypatch.setattr(
        sequence_files, "stream_examples", lambda path, threads: stream(path, threads=threads, block_bytes=block_bytes)
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
