# SPDX-License-Identifier: BSD-3-Clause
"""Compiled extensions only; all metadata stands in pyproject.toml."""

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


HEADERS = sorted(map(str, Path("csrc").rglob("*.h")))
# A C++ file is compiled once: by the extension whose .pyx names it in a "# distutils: sources" line at its head, or
# into a static library that several name in a "# distutils: libraries" line.
LIBRARIES = {"svmcut_kernel_rows": ["csrc/kernels/kernel_rows.cc"]}

modules = sorted(Path("svmcut/_native").glob("*.pyx"))
if not modules:
    fail("svmcut/_native holds no .pyx file, so there is nothing to compile")


def named(module, what):
    """The words of these lines of a .pyx."""
    lines = re.findall(rf"^# distutils: {what} = (.*)", module.read_text(encoding="utf-8"), re.MULTILINE)
    return " ".join(lines).split()


def extension(module):
    """The extension of a .pyx, whose C++ files are all there."""
    linked = [source for library in named(module, "libraries") for source in LIBRARIES[library]]
    for source in named(module, "sources") + linked:
        if not Path(source).is_file():
            fail(f"{module} needs {source}, which is missing")
    return Extension(
        f"svmcut._native.{module.stem}",
        [str(module)],
        include_dirs=["csrc"],
        depends=HEADERS + linked,
        language="c++",
        extra_compile_args=COMPILE,
        extra_link_args=LINK,
    )


class BuildExt(build_ext):
    """Extensions are compiled side by side, behind the libraries they link."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or min(8, os.cpu_count() or 1)

    def run(self):
        self.run_command("build_clib")
        super().run()


library = {"include_dirs": ["csrc"], "cflags": COMPILE, "obj_deps": {"": HEADERS}}
setup(
    cmdclass={"build_ext": BuildExt},
    libraries=[(name, library | {"sources": sources}) for name, sources in LIBRARIES.items()],
    ext_modules=cythonize(
        [extension(module) for module in modules],
        build_dir="build/cython",
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "binding": False},
    ),
)
