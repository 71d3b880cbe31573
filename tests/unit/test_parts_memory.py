# SPDX-License-Identifier: BSD-3-Clause
"""Memory of parts: a worker's is 1.3 times its rows at most, of rows that are mapped it is what
lies beside them."""

import tracemalloc

import numpy as np
import pytest
from parted import trained

from svmcut.distributed.parts import Part, Reading
from svmcut.distributed.rows import SerialRows


class Watched(SerialRows):
    """Counts what is taken once the rows are there; of mapped ones from the beginning."""

    def load(self, paths, reading):
        if reading.cache:
            [Part(path, reading) for path in paths]
            tracemalloc.start()
            return super().load(paths, reading)
        found = super().load(paths, reading)
        tracemalloc.start()
        return found

    def bind(self, bounds):
        found = super().bind(bounds)
        self.nbytes = sum(size.nbytes for size in found)
        return found


@pytest.mark.slow
def test_beside_the_rows_little_is_taken_wherever_they_are(tmp_path, rng, monkeypatch):
    w, some = rng.normal(size=500), []
    for _ in range(400):
        columns = np.sort(rng.choice(500, 75, replace=False))
        values = rng.normal(size=75).round(2)
        label = 1 if values @ w[columns] > 0 else -1
        some.append(f"{label} " + " ".join(f"{j + 1}:{x}" for j, x in zip(columns, values)) + "\n")
    paths = [tmp_path / f"part-{k}.dat" for k in range(2)]
    for path in paths:
        path.write_text("".join(some[k] for k in rng.integers(0, 400, 8000)))
    models = [trained(paths, gap=0.2).model.w.tobytes()]
    for cache in (None, str(tmp_path / "cache")):
        rows = Watched()
        reading = Reading(False, cache=cache)
        with monkeypatch.context() as patched:
            patched.setattr("parted.Reading", lambda *_, reading=reading: reading)
            try:
                models.append(trained(paths, rows=rows, gap=0.2).model.w.tobytes())
                peak = tracemalloc.get_traced_memory()[1]
            finally:
                tracemalloc.stop()
        assert rows.nbytes > 16_000 * 75 * 8 and peak < 0.3 * rows.nbytes
        assert all(
            isinstance(part.examples.X.data.base, np.memmap) is bool(cache) for part in rows._parts
        )
    assert models == models[:1] * 3
