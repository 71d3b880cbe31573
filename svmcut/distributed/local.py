# SPDX-License-Identifier: BSD-3-Clause
"""Settings and credentials of a scheduler and workers that run on this machine for one run.

Also losses of all examples together: the scores of the parts come to one place, and the
coefficients of a cut go back.
"""

from __future__ import annotations

import contextlib
import datetime
import os
import subprocess
import tempfile
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from svmcut.base.typing import Any
from svmcut.data.examples import Csr, Examples, Source
from svmcut.distributed.oracle import Carried
from svmcut.distributed.parts import Part, Place
from svmcut.distributed.rows import Rows
from svmcut.spaces.linear import WeightSpace
from svmcut.spec import schemas

#: Of an elliptic curve, which costs no time; for a day or so, as whoever has the key has the
#: certificate too.
_NAME, _DAYS = "svmcut", 30
_OPENSSL = (
    "openssl",
    "req",
    "-x509",
    "-newkey",
    "ec",
    "-pkeyopt",
    "ec_paramgen_curve:prime256v1",
    "-nodes",
    "-sha256",
    "-days",
    str(_DAYS),
    "-subj",
    f"/CN={_NAME}",
    "-addext",
    f"subjectAltName=DNS:{_NAME}",
)
GONE = (
    "all workers of local:N are gone, and none came up again; where they had no memory left, use "
    "fewer of them or "
    "smaller files"
)
PLAIN = (
    "workers of local:N are reached without encryption, on 127.0.0.1 alone, where every user of "
    "this machine may reach "
    "them; install the Python package cryptography or the program openssl"
)
#: Of Dask's scheduler and workers that are started here. A worker that ended has the first of these
#: to come again.
SETTINGS: dict[str, Any] = {
    "distributed.deploy.lost-worker-timeout": "80s",
    "distributed.scheduler.worker-ttl": "60s",
    "distributed.scheduler.allowed-failures": 30,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.memory.target": False,
    "distributed.worker.memory.spill": False,
    # what looks at the processes themselves takes 7 % of two cores otherwise
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "500ms",
    "distributed.admin.system-monitor.interval": "5s",
    "distributed.worker.memory.monitor-interval": "1s",
    # scores and coefficients come and go every round: their memory stays with the process
    "distributed.nanny.pre-spawn-environ": {
        "OMP_NUM_THREADS": 1,
        "OPENBLAS_NUM_THREADS": 1,
        "MALLOC_TRIM_THRESHOLD_": 1 << 27,
        "MALLOC_MMAP_THRESHOLD_": 1 << 25,
    },
}


def temporary() -> tuple[str, str] | None:
    """Key and certificate as PEM texts, by the library `cryptography` or by openssl; None where
    neither is there."""
    for make in (_by_library, _by_program):
        with contextlib.suppress(ImportError, OSError, subprocess.SubprocessError, ValueError):
            return make()
    return None


def _by_library() -> tuple[str, str]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, _NAME)])
    now = datetime.datetime.now(datetime.UTC)
    builder = x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - datetime.timedelta(hours=1))
    builder = builder.not_valid_after(now + datetime.timedelta(days=_DAYS))
    builder = builder.add_extension(
        x509.SubjectAlternativeName([x509.DNSName(_NAME)]), critical=False
    )
    certificate = builder.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    return key.private_bytes(serialization.Encoding.PEM, *form).decode(), certificate.decode()


def _by_program() -> tuple[str, str]:
    with tempfile.TemporaryDirectory() as folder:  # of this user alone
        paths = [os.path.join(folder, name) for name in ("key", "certificate")]
        line = [*_OPENSSL, "-keyout", paths[0], "-out", paths[1]]
        subprocess.run(line, check=True, capture_output=True, timeout=60)
        texts = []
        for path in paths:
            with open(path, encoding="ascii") as file:
                texts.append(file.read())
        key, certificate = texts
        return key, certificate


#: Examples up to which their scores are gathered: 80 MB a round.
MOST_GATHERED = 10_000_000
NO_ROWS = Csr(np.empty(0, np.float32), np.empty(0, np.int32), np.zeros(1, np.int64), 0, True)


def signs(part: Part) -> NDArray[np.float64]:
    """(rows,) labels as the risk takes them."""
    return part.examples.y


def scores(part: Part, at: Place) -> NDArray[np.float64]:
    """(rows,) of a point."""
    return part.scores(at)


def seen(part: Part, at: Place) -> tuple:
    """Labels as the risk takes them, queries, and scores at a point."""
    examples = part.examples
    return examples.y, examples.qid, part.scores(at)


def normal(part: Part, dim: float, coef: NDArray[np.float64]) -> NDArray[np.float64]:
    """(dim,): A^T coef"""
    return part.space(int(dim)).adjoint(coef)


def tally_parts(rows: Rows, tally: Any, w: NDArray[np.float64], n: int) -> Any:
    """A Tally of scores with those of n rows at w; None where they are more than are gathered."""
    K = len(tally.names) if hasattr(tally, "names") else 1
    if n * K > MOST_GATHERED:
        return None
    for y, qid, of_rows in rows.gather(seen, [Carried(w)]):
        of_rows = of_rows if K == 1 else of_rows.reshape(-1, K)
        tally.add(Examples(NO_ROWS, y, qid, None, Source("a part")), of_rows)
    return tally


class GatheredSpace(WeightSpace):
    """Rows in parts, whose scores are seen at one place; bounds: (parts + 1,) the first example of
    every part, and the number of all."""

    def __init__(
        self, rows: Rows, bounds: Sequence[int], n_features: int, bias: float, threads: int
    ):
        super().__init__(n_features, bias, threads)
        self._rows, self._bounds = rows, bounds

    def kinds(self) -> schemas.Kinds:
        of_examples = schemas.reals(self._bounds[-1])
        return super().kinds()._replace(scores=of_examples, coef=of_examples)

    def scores(self, w) -> NDArray[np.float64]:
        """A w: (n,) scores; one round."""
        return np.concatenate(self._rows.gather(scores, [Carried(w)]))

    def adjoint(self, coef) -> NDArray[np.float64]:
        """A^T coef; one round."""
        each = [
            coef[start:stop] for start, stop in zip(self._bounds, self._bounds[1:], strict=False)
        ]
        return self._rows.sum(normal, [], float(self.dim), each=each)
