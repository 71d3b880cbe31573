# SPDX-License-Identifier: BSD-3-Clause
"""Passwords, keys and signatures in URLs stand in no message, report, cache, checkpoint, model."""

import json
import pickle

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import DataError, ModelError, OutputError, UsageError
from svmcut.base.messages import Message, hide_secrets

SECRET = "S3cr3t"


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (f"ftp://user:{SECRET}@host:21/x.svm", "ftp://user:***@host:21/x.svm"),
        (f"https://user:{SECRET}@p@ss@host/x", "https://user:***@host/x"),
        (f"https://user:{SECRET}/p@host/x", "https://user:***@host/x"),
        (f"sftp://user:{SECRET}?#@host/x", "sftp://user:***@host/x"),
        (f"https://{SECRET}@host/x", "https://***@host/x"),
        (f"https://host/x?X-Amz-Signature={SECRET}&a=b", "https://host/x"),
        (f"HTTPS://host:8080/x?{SECRET}", "HTTPS://host:8080/x"),
        (f"webhdfs://host/x?token={SECRET}", "webhdfs://host/x"),
        (f"simplecache::https://u:{SECRET}@host/x?s={SECRET}", "simplecache::https://u:***@host/x"),
        ("s3://bucket/part-?.dat", "s3://bucket/part-?.dat"),
        ("abfs://container@account/x", "abfs://container@account/x"),
        ("https://host:80/a@b/c", "https://host:80/a@b/c"),
        ("memory:///a:b@c", "memory:///a:b@c"),
        ("user:word@host", "user:word@host"),
    ],
)
def test_what_is_shown_of_a_url(url, shown):
    assert hide_secrets(url) == hide_secrets(shown) == shown
    for kind in (DataError, ModelError, OutputError):
        error = kind(url, Message("label '{}' of {} is none", "x", url), 3, 17)
        for told in (error, pickle.loads(pickle.dumps(error))):
            assert str(told) == f"{shown}:3:17: label 'x' of {shown} is none"
    assert str(UsageError("{}: use another; {}, '{}'.", url, url, url)) == (
        f"{shown}: use another; {shown}, '{shown}'."
    )
    assert hide_secrets(f"a {url}:3: b ({url}).") == f"a {shown}:3: b ({shown})."


def test_nothing_of_a_run_shows_them(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    rng = np.random.default_rng(0)
    rows = "".join(f"{k % 2 * 2 - 1} 1:{k % 2 + rng.random()}\n" for k in range(40)).encode()
    url = f"memory://user:{SECRET}@x/rows"
    try:
        store.pipe(f"/user:{SECRET}@x/rows", rows)
        there = f"memory://user:{SECRET}@x/model"
        words = ("--report", "report", "--checkpoint", "state", "--cache", "cache", "--trace", "t")
        for target in (there, "model"):
            assert call("svmcut learn", "-v", 2, *words, url, target) == 0
        assert (
            call("svmcut learn", "-v", 2, "--validate", url, "-c", "1,2", *words[:2], url, there)
            == 0
        )
        assert call("svmcut classify", "-v", 2, "--report", "told", url, there, "out") == 0
        for more in ([], ["--json"], ["--html", "page"]):
            assert call("svmcut inspect", "--data", url, "--report", "report", *more, there) == 0
        line = ("svmcut threshold", "--at-least", "recall=0.5", "--report", "chosen")
        assert call(*line, url, there, "chosen-model") == 0
        assert call("svmcut learn", url + "x", "never") == 1
        assert call("svmcut classify", url, url, "never") == 1
        told = capfd.readouterr()
        assert SECRET not in told.out + told.err and "user:***@x" in told.out + told.err
        assert json.loads((tmp_path / "report").read_text())["options"]["example_file"] == (
            "memory://user:***@x/rows"
        )
        files = [path for path in tmp_path.rglob("*") if path.is_file()]
        assert len(files) > 9
        assert not [path for path in files if SECRET.encode() in path.read_bytes()]
        assert SECRET.encode() not in store.cat(f"/user:{SECRET}@x/model")
        with pytest.raises(DataError) as error:
            svmcut.train(url + "x")
        assert SECRET not in str(error.value)
    finally:
        store.store.clear()
        store.pseudo_dirs[:] = [""]


def test_of_a_scheme_that_nothing_opens(capfd):
    assert call("svmcut learn", f"ftp://user:{SECRET}@127.0.0.1:9/x.svm", "model") != 0
    assert call("svmcut learn", f"https://u:{SECRET}@127.0.0.1:9/x?k={SECRET}", "model") != 0
    assert (
        call("svm_perf_learn", "-c", 1, f"https://u:{SECRET}@127.0.0.1:9/x?k={SECRET}", "model")
        != 0
    )
    assert SECRET not in capfd.readouterr().err
