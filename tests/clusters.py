# SPDX-License-Identifier: BSD-3-Clause
"""Schedulers and workers of Dask as processes on the loopback, each stopped at the end."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

SETTINGS = {
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s",
    "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "30",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h",
}


class Cluster:
    """A scheduler with its file, and workers of one thread without a nanny: a pid is a worker.

    Parameters
    ----------
    folder : Path
        Of logs, and of the scheduler's file.
    workers : int
    tls : Path or None
        Folder of certificates, as `certificates` makes them; connections are encrypted then.
    settings : dict
        Of the scheduler's environment.
    """

    def __init__(self, folder, workers=2, tls=None, **settings):
        self._tls = tls
        self.file, self._folder = folder / f"scheduler-{time.monotonic_ns()}.json", folder
        self._environment = os.environ | SETTINGS | settings
        self.workers, self._all = [], []
        self.scheduler = self._start(
            "scheduler",
            *("--host", "127.0.0.1", "--port", "0", "--no-dashboard"),
            *("--scheduler-file", self.file),
        )
        for _ in range(workers):
            self.join()

    def _start(self, *words):
        with open(self._folder / f"log-{len(self._all)}", "wb") as log:
            line = [sys.executable, "-m", "dask", *map(str, words), *self._identity(words[0])]
            process = subprocess.Popen(
                line, stdout=log, stderr=log, env=self._environment, cwd=self._folder
            )
        self._all.append(process)
        return process

    def _identity(self, name):
        if self._tls is None:
            return []
        return [
            *("--tls-ca-file", self._tls / "ca.pem", "--tls-cert", self._tls / f"{name}.pem"),
            *("--tls-key", self._tls / f"{name}.key"),
        ]

    def join(self):
        """Starts one more worker."""
        self.workers.append(
            self._start(
                "worker",
                *("--scheduler-file", self.file, "--nthreads", "1", "--no-nanny", "--no-dashboard"),
                *("--host", "127.0.0.1", "--death-timeout", "60"),
            )
        )

    @property
    def address(self):
        """Of the scheduler, once it has written its file."""
        ends = time.monotonic() + 60
        while time.monotonic() < ends:
            with contextlib.suppress(OSError, ValueError):
                return json.loads(self.file.read_text())["address"]
            time.sleep(0.05)
        raise TimeoutError("the scheduler wrote no file")

    def stop(self):
        """Ends every process."""
        for process in self._all:
            if process.poll() is None:
                process.send_signal(signal.SIGCONT)
                process.kill()
        for process in self._all:
            process.wait()


def certificates(folder, *names):
    """Makes an authority, and a key and certificate of it for every name."""

    def openssl(*words):
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    new = ("req", "-newkey", "rsa:2048", "-nodes")
    openssl(
        *new, "-x509", "-keyout", "ca.key", "-out", "ca.pem", "-days", "2", "-subj", "/CN=authority"
    )
    for name in names:
        openssl(*new, "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={name}")
        openssl(
            "x509",
            *("-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial"),
            *("-out", f"{name}.pem", "-days", "2"),
        )


@contextlib.contextmanager
def cluster(folder, workers=2, tls=None, **settings):
    """A Cluster that is stopped at the end."""
    found = Cluster(folder, workers, tls, **settings)
    try:
        yield found
    finally:
        found.stop()
