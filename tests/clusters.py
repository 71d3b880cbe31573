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
    "DASK_DISTRIBUTED__SCHEDULER__WORKER_TTL": "5s", "DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES": "30",
    "DASK_DISTRIBUTED__ADMIN__TICK__LIMIT": "1h",
}  # fmt: skip


class Cluster:
    """A scheduler with its file, and workers of one thread without a nanny: a pid is a worker.

    Parameters
    ----------
    folder : Path
        Of logs, and of the scheduler's file.
    workers : int
    settings : dict
        Of the scheduler's environment.
    """

    def __init__(self, folder, workers=2, **settings):
        self.file, self._folder = folder / f"scheduler-{time.monotonic_ns()}.json", folder
        self._environment = os.environ | SETTINGS | settings
        self.workers, self._all = [], []
        self.scheduler = self._start("scheduler", "--host", "127.0.0.1", "--port", "0", "--no-dashboard",
                                     "--scheduler-file", self.file)  # fmt: skip
        for _ in range(workers):
            self.join()

    def _start(self, *words):
        with open(self._folder / f"log-{len(self._all)}", "wb") as log:
            line = [sys.executable, "-m", "dask", *map(str, words)]
            process = subprocess.Popen(line, stdout=log, stderr=log, env=self._environment, cwd=self._folder)
        self._all.append(process)
        return process

    def join(self):
        """Starts one more worker."""
        self.workers.append(self._start("worker", "--scheduler-file", self.file, "--nthreads", "1", "--no-nanny",
                                        "--no-dashboard", "--host", "127.0.0.1", "--death-timeout", "60"))  # fmt: skip

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


@contextlib.contextmanager
def cluster(folder, workers=2, **settings):
    """A Cluster that is stopped at the end."""
    found = Cluster(folder, workers, **settings)
    try:
        yield found
    finally:
        found.stop()
