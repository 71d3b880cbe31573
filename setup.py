# SPDX-License-Identifier: BSD-3-Clause
"""Compiled extensions only; all metadata stands in pyproject.toml."""

import os
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

MSVC = sys.platform == "win32"
COMPILE = ["/std:c++17", "/O2"] if MSVC else ["-std=c++17", "-O3", "-fvisibility=hidden", "-Wall", "-ffp-contract=off"]
LINK = [] if MSVC else ["-pthread"]
CORES, CYTHON = min(8, os.cpu_count() or 1), "build/cython"
if not MSVC:
    COMPILE += ["-pthread", *["-g0"] * ("CFLAGS" not in os.environ)]  # Python's own flags ask for -g
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
    """Extensions are compiled side by side, those of most files first; those that link a library last, behind it."""

    def finalize_options(self):
        super().finalize_options()
        self.parallel = self.parallel or CORES

    def build_extensions(self):
        self.compiler.set_libraries([])  # each names its own
        if not MSVC:
            self.compiler._compile = quick_glue(self.compiler._compile)
        order = sorted(self.extensions, key=lambda each: (bool(each.libraries), -len(each.sources)))
        with ThreadPoolExecutor(self.parallel) as pool:
            libraries = pool.submit(self.run_command, "build_clib")
            for done in [libraries, *(pool.submit(self.build_behind, libraries, each) for each in order)]:
                done.result()

    def build_behind(self, libraries, extension):
        if extension.libraries:
            libraries.result()
        self.build_extension(extension)


def quick_glue(compile_one):
    """What Cython writes only calls the C++ files, and is compiled in half the time with -O1."""

    def compiled(obj, src, ext, cc_args, extra, pp_opts):
        return compile_one(obj, src, ext, cc_args, [*extra, *["-O1"] * src.startswith(CYTHON)], pp_opts)

    return compiled


library = {"include_dirs": ["csrc"], "cflags": COMPILE, "obj_deps": {"": HEADERS}}
setup(
    cmdclass={"build_ext": BuildExt},
    libraries=[(name, library | {"sources": sources}) for name, sources in LIBRARIES.items()],
    ext_modules=cythonize(
        [extension(module) for module in modules],
        build_dir=CYTHON,
        nthreads=CORES,
        compiler_directives={"language_level": 3, "boundscheck": False, "wraparound": False, "binding": False},
    ),
)
