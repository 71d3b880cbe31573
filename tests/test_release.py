# SPDX-License-Identifier: BSD-3-Clause
"""What a newcomer installs: the source distribution is whole, and its wheel trains in an empty
environment."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from svmcut import __version__

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
NOT_SOURCE = {".gitattributes", ".gitignore"}
UNTRACKED = shutil.ignore_patterns(
    ".git",
    ".venv*",
    "build",
    "dist",
    "demo",
    "site",
    "*.egg-info",
    "__pycache__",
    "*.so",
    "*.pyc",
    ".*_cache",
    ".hypothesis",
)
BYTES = (
    "--only",
    r"^(zero-one|newton, C 1|smo, rbf|bsca, rbf|cutting-plane, rbf|rank|sequence, "
    r"bcfw|multilabel, bcfw)",
)
"""Runs over all families of compiled code."""
OLDEST = (3, 11)
"""The Python under which the least versions of the dependencies have wheels."""


def run(*words, cwd=None, **environment):
    """Standard output of a process that succeeds."""
    done = subprocess.run(
        [str(word) for word in words],
        cwd=cwd,
        env=os.environ | environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def tracked():
    """Paths of the files under version control; the test is skipped outside a clone."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a clone")
    names = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    return {name for name in names if name and (ROOT / name).exists()} - NOT_SOURCE


def test_manifest_names_every_file_of_the_repository(monkeypatch):
    from setuptools.command.egg_info import FileList

    monkeypatch.chdir(ROOT)
    found = FileList()
    for line in Path("MANIFEST.in").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            found.process_template_line(line)
    names = {name.replace(os.sep, "/") for name in found.files}
    by_setuptools = {"LICENSE", "README.md", "pyproject.toml", "setup.py"}
    assert tracked() - names - by_setuptools == set()
    assert [name for name in names if name.endswith((".so", ".pyc"))] == []


@pytest.mark.parametrize(
    ("kept", "message"),
    [
        ((), "svmcut/_native holds no .pyx file"),
        (
            ("svmcut/_native/newton.pyx",),
            "svmcut/_native/newton.pyx needs csrc/linear/newton.cc, which is missing",
        ),
    ],
)
def test_setup_fails_where_sources_are_missing(tmp_path, kept, message):
    shutil.copy(ROOT / "setup.py", tmp_path)
    for name in kept:
        (tmp_path / name).parent.mkdir(parents=True)
        shutil.copy(ROOT / name, tmp_path / name)
    done = subprocess.run(
        [sys.executable, "setup.py", "egg_info"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"setup.py: error: {message}" in done.stderr.replace(os.sep, "/")
    assert "Traceback" not in done.stderr


def text(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_every_file_of_packaging_names_this_version():
    released = re.search(r"^## \[(.+)\] - (\d{4}-\d\d-\d\d)$", text("CHANGELOG.md"), re.MULTILINE)
    cited = yaml.safe_load(text("CITATION.cff"))
    assert released.groups() == (__version__, str(cited["date-released"]))
    assert str(cited["version"]) == __version__
    assert yaml.safe_load(text("packaging/recipe.yaml"))["package"]["version"] == __version__
    assert f'"svmcut {__version__}"' in text("man/svmcut.1").splitlines()[0]
    for name in ("packaging/Containerfile", "packaging/svmcut.def"):
        assert set(re.findall(r"\b\d+\.\d+\.\d+\b", text(name))) == {__version__}, name


def test_the_recipe_needs_what_the_package_needs():
    needs = yaml.safe_load(text("packaging/recipe.yaml"))["requirements"]
    plain = [[line.replace(" ", "") for line in needs[part]] for part in ("host", "run")]
    python = "python" + PROJECT["project"]["requires-python"]
    assert plain == [
        [python, "pip", *PROJECT["build-system"]["requires"]],
        [python, *PROJECT["project"]["dependencies"]],
    ]


def test_wheels_are_built_by_the_least_python():
    least, *others = PROJECT["tool"]["cibuildwheel"]["build"]
    assert least == "cp" + "".join(map(str, OLDEST)) + "-*" and others
    assert PROJECT["project"]["requires-python"] == ">=" + ".".join(map(str, OLDEST))


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """Folder of the unpacked source distribution, and the wheel built from it and from nothing
    else."""
    folder = tmp_path_factory.mktemp("release")
    tree = folder / "tree"
    shutil.copytree(ROOT, tree, ignore=UNTRACKED)
    build = "import setuptools.build_meta as b, sys; b.build_sdist(sys.argv[1])"
    run(sys.executable, "-c", build, folder, cwd=tree)
    shutil.rmtree(tree)
    (archive,) = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    run(
        sys.executable,
        *("-m", "pip", "--quiet", "wheel", "--no-deps", "--wheel-dir", folder, archive),
        cwd=folder,
    )
    (made,) = folder.glob("*.whl")
    return folder / archive.name.removesuffix(".tar.gz"), made


def demo_of(source, folder, *requirements):
    """Last lines of the demo, run with what pip puts into an empty environment."""
    run(sys.executable, "-m", "venv", folder / "empty")
    python = folder / "empty" / "bin" / "python"
    run(python, "-m", "pip", "--quiet", "install", *requirements, cwd=folder)
    run(python, "-m", "pip", "check", cwd=folder)
    out = run(
        python,
        source / "examples" / "demo.py",
        "--bin",
        python.parent,
        "--output",
        folder / "demo",
        cwd=folder,
        PYTHONWARNINGS="error",
    )
    kernel = ("-t", "2", "-g", "0.5", "--example-cost", "1", "-v", "0")
    program, train = python.parent / "svmcut", source / "data" / "wine.train"
    run(program, "learn", *kernel, train, folder / "model", cwd=folder)
    return out.splitlines()


def check_demo(lines):
    """The table of the demo has a row for every run, each at its gap."""
    start = next(k for k, line in enumerate(lines) if line.startswith("set "))
    rows = [line for line in lines[start + 1 :] if "%" in line]
    assert len(rows) == 10
    gaps = [float(re.search(r"\d\.\de[-+]\d\d", row)[0]) for row in rows]
    assert max(gaps) <= 1e-3


@pytest.mark.slow
def test_source_distribution_holds_every_file_of_the_repository(wheel):
    source, _ = wheel
    held = {
        str(path.relative_to(source)).replace(os.sep, "/")
        for path in source.rglob("*")
        if path.is_file()
    }
    assert tracked() - held == set()
    assert [name for name in held if name.endswith((".so", ".cpp"))] == []


@pytest.mark.slow
def test_a_wheel_serves_every_later_python_and_holds_the_man_page(wheel):
    _, made = wheel
    assert "-cp311-abi3-" in made.name
    with zipfile.ZipFile(made) as archive:
        names = archive.namelist()
    compiled = [name for name in names if name.endswith(".so")]
    assert len(compiled) > 15 and all(name.endswith(".abi3.so") for name in compiled)
    assert {"svmcut/inspection/page.html", "svmcut/inspection/section.html"} <= {*names}
    assert {"svmcut/scorers/c.h", "svmcut/scorers/javascript.mjs"} <= {*names}
    for page in ("svmcut", "svmcut-learn", "svmcut-classify"):
        assert [name for name in names if name.endswith(f"/data/share/man/man1/{page}.1")]


@pytest.mark.slow
def test_a_wheel_writes_the_models_of_this_tree(wheel, tmp_path):
    source, made = wheel
    program = source / "tests" / "model_bytes.py"
    run(
        sys.executable,
        program,
        "record",
        tmp_path / "bytes",
        "--bin",
        Path(sys.executable).parent,
        *BYTES,
    )
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "python", "-m", "pip", "--quiet", "install", made, cwd=tmp_path)
    run(
        sys.executable,
        program,
        "compare",
        tmp_path / "bytes",
        "--bin",
        tmp_path / "venv" / "bin",
        *BYTES,
        cwd=tmp_path,
    )


@pytest.mark.slow
def test_a_wheel_of_the_source_distribution_runs_the_demo_in_an_empty_environment(wheel, tmp_path):
    source, made = wheel
    check_demo(demo_of(source, tmp_path, made))


@pytest.mark.slow
@pytest.mark.skipif(
    sys.version_info[:2] != OLDEST, reason="the least versions have wheels for Python 3.11"
)
def test_the_least_versions_install_together_and_run_the_demo(wheel, tmp_path):
    source, made = wheel
    least = [requirement.replace(">=", "==") for requirement in PROJECT["project"]["dependencies"]]
    check_demo(demo_of(source, tmp_path, "--only-binary", ":all:", made, *least))
    frozen = run(tmp_path / "empty" / "bin" / "python", "-m", "pip", "freeze", cwd=tmp_path)
    assert "numpy==2.0" in frozen


@pytest.mark.slow
def test_a_build_without_a_compiler_names_what_to_install(tmp_path):
    environment = {**os.environ, "CXX": str(tmp_path / "none")}
    command = [sys.executable, "setup.py", "build_ext", "--build-lib", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert done.returncode and "apt-get install g++" in done.stderr
