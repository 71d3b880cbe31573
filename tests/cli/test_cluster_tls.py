# SPDX-License-Identifier: BSD-3-Clause
"""Training over encrypted connections, with the settings that docs/clusters.md names."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from parted import lines, trained, written
from programs import command

pytest.importorskip("distributed")
from clusters import certificates, cluster

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("openssl"), reason="makes certificates with openssl"),
]
DOCS = Path(__file__).parents[2] / "docs" / "clusters.md"


def learn(folder, *words, **environment):
    """Status, and what was told."""
    line = list(map(str, command("svmcut learn", "--gap", "1e-3", *words)))
    found = subprocess.run(
        line, cwd=folder, env=os.environ | environment, capture_output=True, text=True, timeout=120
    )
    return found.returncode, found.stderr.strip()


def test_nobody_without_a_certificate_trains_and_those_with_one_have_the_bytes(tmp_path):
    written(tmp_path, lines(), 4)
    certificates(tmp_path, "scheduler", "worker", "me")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    certificates(elsewhere, "me")
    told = dict(re.findall(r"(DASK_DISTRIBUTED__COMM__\w+)=(\S+)", DOCS.read_text()))
    assert len(told) == 4 and told["DASK_DISTRIBUTED__COMM__TLS__CLIENT__CERT"] == "me.pem"
    with cluster(tmp_path, 2, tmp_path) as there:
        assert there.address.startswith("tls://127.0.0.1:")
        words = [
            *("--scheduler", there.address, "--report", "report", tmp_path / "part-*.dat", "model"),
        ]
        plain = ["--scheduler", there.address.replace("tls", "tcp"), *words[2:]]
        required = {"DASK_DISTRIBUTED__COMM__REQUIRE_ENCRYPTION": "True"}
        for given, environment in ((words, {}), (plain, required)):
            status, text = learn(tmp_path, *given, **environment)
            assert status == 1 and text.startswith(
                f"svmcut learn: {given[1]}: this scheduler is reached by tls://"
            )
            assert text.endswith("CLIENT__CERT and DASK_DISTRIBUTED__COMM__TLS__CLIENT__KEY")
        status, text = learn(elsewhere, *words, **told)  # a certificate of another authority
        assert status == 1 and text.startswith("svmcut learn: no scheduler answers at tls://"), text
        assert len(text.splitlines()) == 1 and not (tmp_path / "model").exists()
        assert learn(tmp_path, *words, **told) == (0, "")
    local = ["--scheduler", "local:1", tmp_path / "part-*.dat", "local"]
    assert learn(tmp_path, *local) == (0, "")
    assert (tmp_path / "model").read_bytes() == (tmp_path / "local").read_bytes()
    here = trained([tmp_path / f"part-{k}.dat" for k in range(4)], gap=1e-3)
    assert f"{here.primal:.10g}"[:8] in (tmp_path / "report").read_text()
