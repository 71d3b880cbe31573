# SPDX-License-Identifier: BSD-3-Clause
"""A store of objects with the protocol of S3, and a web server, as processes on the loopback."""

import contextlib
import socket
import subprocess
import sys
import time

import pytest
from parted import lines, written
from programs import run

pytestmark = pytest.mark.slow


@contextlib.contextmanager
def serving(line, folder):
    """The port of a server that is started for a while."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port = one.getsockname()[1]
    log = subprocess.DEVNULL
    words = [sys.executable, *(word.format(port) for word in line)]
    process = subprocess.Popen(words, cwd=folder, stdout=log, stderr=log)
    try:
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            time.sleep(0.1)
        yield port
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def bucket(tmp_path, monkeypatch):
    """A file system of s3fs with a bucket `rows`."""
    s3fs, _ = pytest.importorskip("s3fs"), pytest.importorskip("moto")
    line = ("-m", "moto.server", "-H", "127.0.0.1", "-p", "{}")
    with serving(line, tmp_path) as port:
        address = f"http://127.0.0.1:{port}"
        known = {"ENDPOINT_URL": address, "ACCESS_KEY_ID": "me", "SECRET_ACCESS_KEY": "secret"}
        for name, value in known.items():
            monkeypatch.setenv(f"AWS_{name}", value)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        found = s3fs.S3FileSystem(endpoint_url=address, skip_instance_cache=True)
        found.mkdir("rows")
        yield found


def test_s3_from_examples_to_predictions(bucket, tmp_path):
    for path in written(tmp_path, lines(), 3):
        bucket.put_file(path, f"rows/{path.rpartition('/')[2]}")
    there, pattern = "s3://rows/", "s3://rows/part-*.dat"
    exact = ("--solver", "cutting-plane", "--gap", "0.05")
    learn = ("svmcut learn", *exact)
    assert run(*learn, tmp_path / "part-*.dat", tmp_path / "model").returncode == 0
    saved = ("--checkpoint", there + "c", "--checkpoint-every", "0")
    cut = run(*learn, *saved, "--max-iterations", "3", pattern, there + "model")
    assert cut.returncode == 3 and bucket.exists("rows/c"), cut.stderr
    report = ("--report", there + "report")
    done = run(*learn, *saved, "--resume", *report, pattern, there + "model")
    assert done.returncode == 0 and bucket.exists("rows/report"), done.stderr
    bucket.invalidate_cache()
    assert not bucket.exists("rows/c") and not bucket.exists("rows/c.1")
    assert bucket.cat("rows/model") == (tmp_path / "model").read_bytes()
    scored = run("svmcut classify", there + "part-0.dat", there + "model", there + "scores")
    assert scored.returncode == 0 and bucket.cat("rows/scores").count(b"\n") > 100
    kept = ("--cache", tmp_path / "kept", "--scheduler", "local:2")
    workers = run("svmcut learn", *exact[2:], *kept, pattern, there + "of-workers")
    assert workers.returncode == 0 and len(list((tmp_path / "kept").iterdir())) == 3


def test_s3_refusals_are_one_line_each(bucket, tmp_path):
    bucket.pipe("rows/part.dat", "".join(lines(30)).encode())
    for words, told in (
        (("s3://none/part.dat", "m"), "s3://none/part.dat: No such file or directory"),
        (("s3://rows/none-*", "m"), "s3://rows/none-*: no file fits this pattern"),
        (("s3://rows/part.dat", "s3://none/m"), "cannot be written: there is no bucket none"),
        (("s3://rows/part.dat", "s3://rows/part.dat"), "are the same file"),
    ):
        done = run("svmcut learn", *words)
        assert done.returncode in (1, 2) and told in done.stderr
        assert len(done.stderr.strip().splitlines()) == 1 and not done.stdout


def test_rows_of_a_web_server(tmp_path):
    pytest.importorskip("aiohttp")
    (path,) = written(tmp_path, lines(100), 0)
    with serving(("-m", "http.server", "--bind", "127.0.0.1", "{}"), tmp_path) as port:
        url = f"http://127.0.0.1:{port}/{path.rpartition('/')[2]}"
        kept = ("--cache", tmp_path / "kept")
        assert run("svmcut", "learn", *kept, url, tmp_path / "model").returncode == 0
        done = run("svmcut", "learn", url, url)
        assert done.returncode == 2 and "are the same file" in done.stderr
        done = run("svmcut", "learn", url + ".none", tmp_path / "model")
        assert done.returncode == 1 and ".none: No such file or directory" in done.stderr
