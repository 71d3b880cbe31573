# SPDX-License-Identifier: BSD-3-Clause
"""Compiled extensions only; all metadata stands in pyproject.toml."""

import copy
import os
import re
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MSVC = sys.platform == "win32"
COMPILE = ["/std:c++17", "/O2"] if MSVC else ["-std=c++17", "-O3", "-fvisibility=hidden", "-Wall", "-ffp-contract=off"]
LINK = [] if MSVC else ["-pthread"]
if not MSVC:
    COMPILE.append("-pthread")
if os.environ.get("SVMCUT_SANITIZE"):
    sanitize = [f"-fsanitize={os.environ['SVMCUT_SANITIZE']}", "-fno-omit-frame-pointer", "-g", "-O1"]
    COMPILE += sanitize
    LINK += sanitize


def fail(message):
    """Ends the build: an installation that lacks extensions would succeed and could not train."""
    sys.exit(f"setup.py: error: {message}; unpack the whole source distribution or clone the repository")


modules = sorted(Path("svmcut/_native").glob("*.pyx"))
if not modules:
    fail("svmcut/_native holds no .pyx file, so there is nothing to compile")
# Each .pyx names the C++ files it calls in a "# distutils: sources" line at its head.
for module in modules:
    named = re.findall(r"^# distutils: sources = (.*)", module.read_text(encoding="utf-8"), re.MULTILINE)
    for source in " ".join(named).split():
        if not Path(source).is_file():
            fail(f"{module} needs {source}, which is missing")
extensions = [
    Extension(
        f"svmcut._native.{path.stem}",
        [str(path)],
        include_dirs=["csrc"],
        depends=[str(header) for header in Path("csrc").glob("*.h")],
        language="c++",
        extra_compile_args=COMPILE,
        extra_link_args=LINK,
    )
    for path in modules
]


class BuildExt(build_ext):
    """Extensions are compiled side by side, each in a folder of its own: some have C++ files in common."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or min(8, os.cpu_count() or 1)

    def build_extension(self, ext):
        own = copy.copy(self)
        own.build_temp = os.path.join(self.build_temp, ext.name)
        super(BuildExt, own).build_extension(ext)


setup(
    cmdclass={"build_ext": BuildExt},
    ext_modules=cythonize(
        extensions,
        build_dir="build/cython",
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "binding": False},
    ),
)
