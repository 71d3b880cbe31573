# SPDX-License-Identifier: BSD-3-Clause
"""Files of a web server on the loopback: whole, of one version, and not waited for without end."""

import base64
import contextlib
import gzip
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from programs import call

import svmcut
from svmcut.base.errors import DataError
from svmcut.files import http, remote
from svmcut.files.examples import read_examples

ROWS = "".join(f"{1 if k % 2 else -1} 1:{k % 7 + k % 2} 2:{k % 5}\n" for k in range(4000)).encode()


class Server(BaseHTTPRequestHandler):
    """Answers as `how` says: the bytes, and what is wrong with them."""

    files: dict
    asked: list

    def log_message(self, *words):
        pass

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.asked.append((self.command, self.path, dict(self.headers)))
        if path not in self.files:
            self.send_error(404)
            return
        how = {"data": ROWS, "etag": "one", **self.files[path]}
        if how.get("fails"):
            self.send_error(how["fails"])
            return
        data, start = how["data"], 0
        if ranges := self.headers.get("Range"):
            start = int(ranges.removeprefix("bytes=").rstrip("-"))
            self.send_response(206)
            self.send_header("Content-Range", f"bytes {start}-{len(data) - 1}/{len(data)}")
        else:
            self.send_response(200)
        if how["etag"]:
            version = how["etag"]
            if how.get("changes"):
                version += str(len(self.asked))
            self.send_header("ETag", version)
        self.send_header("Accept-Ranges", "bytes")
        self.send_header("Content-Length", str(len(data) - start))
        self.end_headers()
        if self.command == "HEAD":
            return
        with contextlib.suppress(OSError):
            self.wfile.write(data[start : how.get("stops")])
            self.wfile.flush()
            time.sleep(how.get("sleeps", 0))
        self.close_connection = True


@pytest.fixture
def serve(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    kind = type("Own", (Server,), {"files": {}, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), kind)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    monkeypatch.setattr(http, "TIMEOUT", 0.3)

    def add(name, **how):
        kind.files[f"/{name}"] = how
        return f"http://127.0.0.1:{server.server_port}/{name}"

    add.asked = kind.asked
    yield add
    server.shutdown()
    server.server_close()


def test_rows_are_those_of_the_file(serve, tmp_path):
    (tmp_path / "rows").write_bytes(ROWS)
    packed = serve("rows.gz", data=gzip.compress(ROWS))
    assert (
        svmcut.load_svmlight_file(packed)[0].nnz
        == svmcut.load_svmlight_file(tmp_path / "rows")[0].nnz
    )
    url = serve("rows").replace("http://", "http://me:pass%20word@") + "?sig=secret"
    assert call("svmcut learn", "-v", 0, url, tmp_path / "a") == 0
    assert call("svmcut learn", "-v", 0, tmp_path / "rows", tmp_path / "b") == 0
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    _, path, headers = serve.asked[-1]
    assert path == "/rows?sig=secret"
    assert base64.b64decode(headers["Authorization"].split()[1]) == b"me:pass word"


def test_tables_are_read_at_any_place(serve, tmp_path):
    import io

    import pyarrow as pa
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    table = pa.table({"x": rng.normal(size=40_000), "y": ["a", "b"] * 20_000})
    file = io.BytesIO()
    parquet.write_table(table, file, row_group_size=10_000)
    url = serve("t.parquet", data=file.getvalue())
    assert call("svmcut learn", "-v", 0, "--label", "y", url, tmp_path / "model") == 0
    assert any("Range" in headers for _, _, headers in serve.asked)
    assert remote.file_size(url) == len(file.getvalue()) and remote.has_file(url)
    assert not remote.has_file(url + "x") and remote.read_state(url)[1] == "ETag=one"
    serve("t.parquet", data=file.getvalue(), changes=True)
    with pytest.raises(DataError, match="changed while it was read"):
        svmcut.train(url, label="y")


@pytest.mark.parametrize(
    ("how", "says"),
    [
        ({"stops": 3000}, "closed after 3,000 bytes of 4|not whole"),
        ({"stops": 3000, "sleeps": 2}, "time-out: the server has sent nothing for 0.3 seconds"),
        ({"changes": True}, "the file changed while it was read"),
        ({"fails": 403}, "the server answers 403 Forbidden"),
        ({"fails": 500}, "the server answers 500"),
        ({"fails": 404}, "No such file"),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_is_not_the_file_is_refused(serve, how, says, threads):
    url = serve("rows", **how)
    with pytest.raises(DataError, match=says):
        read_examples(url, threads=threads)


def test_a_server_without_versions_and_none_at_all(serve):
    assert len(read_examples(serve("rows", etag=None))) == 4000
    with pytest.raises(OSError, match="neither a version nor a time"):
        remote.read_state(serve("rows", etag=None))
    with pytest.raises(DataError, match="refused"):
        read_examples("http://127.0.0.1:9/rows")


def test_files_of_other_systems_are_whole_and_of_one_version():
    fsspec = pytest.importorskip("fsspec")
    store = fsspec.filesystem("memory")
    try:
        store.pipe("/rows", ROWS)
        with remote.open_file("memory://rows", buffered=False) as file:
            file.size = len(ROWS) + 1
            with pytest.raises(OSError, match="ends after"):
                while file.read(1 << 16):
                    pass
        with remote.open_file("memory://rows", buffered=False) as file:
            file.check_unchanged()
            store.pipe("/rows", ROWS + b"1 1:1\n")
            with pytest.raises(OSError, match="changed"):
                file.check_unchanged()
    finally:
        store.store.clear()
