#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What svmcut looks like: pictures of its help, its progress bar and its pages, for docs/looks.md.

    python docs/screens.py text               help and progress bar, docs/assets/*.svg
    python docs/screens.py pages site         pages of `make site` in a browser, docs/assets/*.png
    python docs/screens.py widths site        how wide each page is at 1280 and 390 pixels
    python docs/screens.py dashboard          that of Dask in a training, docs/assets/dashboard.png

Pages need Chromium, playwright (`pip install playwright`) and Pillow, the dashboard bokeh too.
`widths` ends with 1 where a page is wider than its window.
"""

from __future__ import annotations

import argparse
import fcntl
import os
import pty
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import termios
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from replay import ROOT, run
from terminal import PROMPT, picture

ASSETS = ROOT / "docs" / "assets"
WIDTHS = (1280, 390)
HELP = "svmcut learn --help"
TRAINING = (
    "svmcut learn -c 2000 --gap 0.02 --solver cutting-plane --time-limit 20s data/text.train model"
)
#: Of a terminal, in characters.
COLUMNS = 88
_MOVES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def frames(command: str) -> list[str]:
    """What a command writes on one line of a terminal, one after the other."""
    main, other = pty.openpty()
    fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, COLUMNS, 0, 0))
    words = [sys.executable, "-m", *command.split()]
    size = {"COLUMNS": str(COLUMNS), "LINES": "24", "OMP_NUM_THREADS": "1"}
    with subprocess.Popen(words, stdin=other, stdout=other, stderr=other, env=os.environ | size):
        os.close(other)
        text = b""
        try:
            while piece := os.read(main, 1 << 16):
                text += piece
        except OSError:  # the other end is closed
            pass
    os.close(main)
    parts = text.decode().replace("\n", "\r").split("\r")
    shown = (_MOVES.sub("", part).rstrip() for part in parts)
    return list(dict.fromkeys(part for part in shown if part))


def bar_lines() -> list[str]:
    """The progress bar at four moments."""
    with in_folder():
        found = [frame for frame in frames(TRAINING) if "%|" in frame]
    chosen = [found[k * (len(found) - 1) // 4] for k in range(5)]
    return [PROMPT + TRAINING, *chosen]


def help_lines() -> list[str]:
    """The short help."""
    os.environ["COLUMNS"] = str(COLUMNS)
    return [PROMPT + HELP, *run(HELP)]


@contextmanager
def in_folder() -> Iterator[Path]:
    """A folder of its own beside data/."""
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        Path("data").symlink_to(ROOT / "data", target_is_directory=True)
        try:
            yield Path(folder)
        finally:
            os.chdir(before)


@contextmanager
def browser() -> Iterator[Any]:
    """Chromium without a window."""
    from playwright.sync_api import sync_playwright

    program = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play:
        opened = play.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


def widths(site: Path) -> list[tuple[str, int, int]]:
    """Page, width of the window, and of the page where it is wider."""
    wide = []
    with browser() as opened:
        for width in WIDTHS:
            page = opened.new_page(viewport={"width": width, "height": 800})
            for path in sorted(site.rglob("*.html")):
                if path.name == "404.html":
                    continue
                page.goto(path.resolve().as_uri())
                found = page.evaluate("document.documentElement.scrollWidth")
                if found > width:
                    wide.append((path.relative_to(site).as_posix(), width, found))
                print(f"{path.relative_to(site).as_posix():40} {width:5} {found:5}")
            page.close()
    return wide


def shot(opened: Any, page: str, target: str, width: int, height: int, wait: int = 500) -> None:
    """The top of a page after so many milliseconds, in few colours."""
    from PIL import Image

    view = {"width": width, "height": height}
    tab = opened.new_page(viewport=view)
    tab.goto(page)
    tab.wait_for_timeout(wait)
    tab.screenshot(path=ASSETS / target)
    tab.close()
    with Image.open(ASSETS / target) as image:
        few = image.convert("RGB").quantize(64, dither=Image.Dither.NONE)
    few.save(ASSETS / target, optimize=True)
    print(f"docs/assets/{target}: {(ASSETS / target).stat().st_size:,} bytes")


def pages(site: Path) -> None:
    """The site at both widths, and the page of svmcut inspect --html."""
    start, facts = (site / "index.html").resolve().as_uri(), "--report report --trace trace"
    with in_folder() as folder, browser() as opened:
        run(f"svmcut learn -v 0 --gap 0.001 --probability {facts} data/text.train model")
        run(f"svmcut inspect model {facts} --data data/text.test --html page.html")
        shot(opened, start, "site-wide.png", 1280, 800)
        shot(opened, start, "site-narrow.png", 390, 800)
        shot(opened, (folder / "page.html").as_uri(), "inspect-page.png", 900, 1000)


def cut(folder: Path) -> None:
    """data/text.train, several times over, in eight parts."""
    lines = (folder / "data" / "text.train").read_text().splitlines(keepends=True) * 8
    for k in range(8):
        (folder / f"part-{k}.svm").write_text("".join(lines[k::8]))


def dashboard() -> None:
    """What Dask shows of a run on two workers."""
    from dask.distributed import Client, LocalCluster

    import svmcut.dask

    over = threading.Event()

    def train(client: Client) -> None:
        while not over.is_set():
            svmcut.dask.train(client, "part-*.svm", loss="f1", cost=100.0, gap=1e-3)

    address = "127.0.0.1:0"
    with in_folder() as folder:
        cut(folder)
        cluster = LocalCluster(2, threads_per_worker=1, dashboard_address=address)
        with cluster, Client(cluster) as client, browser() as opened:
            training = threading.Thread(target=train, args=(client,))
            training.start()
            shot(opened, cluster.dashboard_link, "dashboard.png", 1100, 620, wait=15_000)
            over.set()
            training.join()


def text() -> None:
    """Pictures of a terminal."""
    for name, lines in (("help.svg", help_lines()), ("bar.svg", bar_lines())):
        (ASSETS / name).write_text(picture(lines), encoding="utf-8", newline="\n")
        print(f"docs/assets/{name}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("text", "pages", "widths", "dashboard"))
    parser.add_argument("site", nargs="?", type=Path, default=ROOT / "site")
    arguments = parser.parse_args()
    if arguments.what == "widths":
        sys.exit("\n".join(map(str, widths(arguments.site))) or None)
    of_site = {"pages": lambda: pages(arguments.site), "text": text, "dashboard": dashboard}
    of_site[arguments.what]()
