# SPDX-License-Identifier: BSD-3-Clause
"""The documentation as a site: its pages, their links, and, built, that it asks nothing of other
hosts."""

import importlib.util
import os
import posixpath
import re
import subprocess
import sys
import unicodedata
from html.parser import HTMLParser
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))


def load():
    spec = importlib.util.spec_from_file_location("svmcut_docs_hooks", ROOT / "docs" / "hooks.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


hooks = load()
PAGES = {path.relative_to(ROOT / "docs").as_posix(): path for path in (ROOT / "docs").rglob("*.md")}
PAGES |= {page: ROOT / source for page, source in hooks.ELSEWHERE.items()}
FENCE = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)


def nav(items):
    """The pages of a part of the navigation."""
    for item in items:
        for value in item.values():
            yield from nav(value) if isinstance(value, list) else [value]


def anchors(text):
    """Ids of a page: of its headings, as Python-Markdown makes them, and of its options."""
    found = []
    for line in FENCE.sub("", text).splitlines():
        if heading := re.match(r"#{1,6} +(.*)", line):
            plain = unicodedata.normalize("NFKD", heading[1]).encode("ascii", "ignore").decode()
            slug = hooks.anchor(plain)
            found.append(slug + (f"_{found.count(slug)}" if slug in found else ""))
    return found + re.findall(r'<a id="([^"]+)"', text)


def broken(page, text, texts):
    """Links of a page of the site that lead nowhere."""
    for target in (found[2] for found in hooks.LINK.finditer(FENCE.sub("", text))):
        path, _, part = target.partition("#")
        if ":" in path:
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(page), path)) if path else page
        known = path in texts or (ROOT / "docs" / path).is_file()
        if not known or (part and part not in anchors(texts.get(path, ""))):
            yield target


@pytest.fixture(scope="module")
def texts():
    """The Markdown of every page of the site."""
    found = {
        page: hooks.relinked(path.read_text(encoding="utf-8"), page) for page, path in PAGES.items()
    }
    return found | {page: make() for page, make in hooks.GENERATED.items()}


def test_the_navigation_has_every_page_once(texts):
    listed = list(nav(CONFIG["nav"]))
    assert sorted(listed) == sorted(texts)


def test_links_of_the_site_lead_somewhere(texts):
    assert sum(len(hooks.LINK.findall(text)) for text in texts.values()) > 100
    assert {
        page: found for page, text in texts.items() if (found := list(broken(page, text, texts)))
    } == {}


def test_links_of_the_repository_lead_somewhere():
    missing = []
    for path in PAGES.values():
        for target in (
            found[2]
            for found in hooks.LINK.finditer(FENCE.sub("", path.read_text(encoding="utf-8")))
        ):
            file = target.partition("#")[0]
            if ":" not in target and not (path.parent / file).exists():
                missing.append((path.name, target))
    assert missing == []


OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
MADE = ("commands.md", "classes.md", "tasks.md", "models.md", "originals.md")


def strange(text, known):
    """Options a page names that no program has; lines of other programs are left out."""
    others = re.compile(r"dask (worker|scheduler)|kubectl |\bsplit -")
    lines = (line for line in text.splitlines() if not others.search(line))
    return sorted({option for line in lines for option in OPTION.findall(line)} - known)


def test_pages_name_options_that_there_are():
    """Those of docs/generate.py's pages, which are held against the help, and of the scripts a page
    may run."""
    texts = {page: path.read_text(encoding="utf-8") for page, path in PAGES.items()}
    scripts = [
        *(ROOT / "benchmarks").glob("*.py"),
        *(ROOT / "tests" / "attack").glob("*.py"),
        ROOT / "tests/fuzz.py",
    ]
    sources = "".join(path.read_text(encoding="utf-8") for path in scripts)
    known = set(OPTION.findall("".join(texts[page] for page in MADE))) | set(
        re.findall(r'"(--[a-z][\w-]*)"', sources)
    )
    recipes = texts["contributing.md"] + texts["extending.md"]
    fields = re.findall(r"^    (\w+): .* = param\(", recipes, re.MULTILINE)
    known |= {f"--{name.replace('_', '-')}" for name in fields}
    texts.pop("messages.md")  # wrong command lines, held to what is said of them
    assert {page: found for page, text in texts.items() if (found := strange(text, known))} == {}
    assert strange(
        "`--gap 0.1` or `--gaps`, `-x --no-such`\n    dask worker --nthreads 1", known
    ) == ["--no-such"]


@pytest.mark.parametrize(
    "target", ["no.md", "formats.md#no-such-heading", "#no-such-heading", "../examples/no.sh"]
)
def test_a_link_that_leads_nowhere_is_found(texts, target):
    page = "howto/kernels.md" if target.startswith("../") else "tasks.md"
    text = hooks.relinked(f"see [this]({target}) and [that](formats.md#model-files)", page)
    assert len(list(broken(page, text, texts))) >= 1


def test_links_become_those_of_the_site():
    text = (
        "[a](docs/formats.md#x) [b](data/README.md) ![c](docs/plots/gap.svg) "
        "[d](https://a.org)\n```\n[e](f.md)\n```\n"
    )
    new = (
        "[a](formats.md#x) [b](data.md) ![c](plots/gap.svg) "
        "[d](https://a.org)\n```\n[e](f.md)\n```\n"
    )
    assert hooks.relinked(text, "index.md") == new
    script = hooks.relinked("[x](../../examples/python/ranking_queries.py)", "howto/rankings.md")
    assert script == "[x](../examples.md#ranking_queriespy)"


def test_the_api_has_every_public_name():
    import svmcut

    text = hooks.api_page()
    for name in set(svmcut.__all__) - {"__version__"}:
        assert re.search(rf"^::: svmcut\.[\w.]+\.{name}$", text, re.MULTILINE), name


class Asked(HTMLParser):
    """What a page asks a host for when it is shown, where its links lead, and its ids."""

    def __init__(self):
        super().__init__()
        self.fetched, self.links, self.ids, self.formulas = [], [], set(), 0

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids |= {given.get("id"), given.get("name")}
        self.formulas += tag == "math"
        if tag == "a":
            self.links.append(given.get("href", ""))
        elif tag == "link" and given.get("rel") not in ("canonical", "prev", "next"):
            self.fetched.append(given["href"])
        elif "src" in given:
            self.fetched.append(given["src"])


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_needs_no_other_host(tmp_path):
    pytest.importorskip("mkdocs")
    words = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path)]
    done = subprocess.run(
        words,
        cwd=ROOT,
        capture_output=True,
        text=True,
        env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )
    assert done.returncode == 0 and "WARNING" not in done.stderr, done.stderr
    pages = {}
    for path in tmp_path.rglob("*.html"):
        pages[path] = Asked()
        pages[path].feed(path.read_text(encoding="utf-8"))
        assert 'class="arithmatex"' not in path.read_text(encoding="utf-8"), path
    assert pages[tmp_path / "theory.html"].formulas > 50
    assert len(list(tmp_path.rglob("*.py"))) == 0
    assert (tmp_path / "search" / "search_index.js").is_file()  # what pages from disk search in
    for path, page in pages.items():
        if path.name == "404.html":  # its links are from the root of a host
            continue
        for target in page.fetched:
            assert ":" not in target and (path.parent / target.partition("?")[0]).is_file(), (
                path.name,
                target,
            )
        for target in page.links:
            file, _, part = target.partition("#")
            if ":" in target:
                continue
            there = (path.parent / file).resolve() if file and file != "." else path
            there = there / "index.html" if there.is_dir() else there
            assert there.is_file(), (path.name, target)
            assert not part or part in pages[there].ids, (path.name, target)
    for path in tmp_path.rglob("*.css"):
        assert not re.findall(r"url\(['\"]?(?:https?:)?//", path.read_text(encoding="utf-8")), path
