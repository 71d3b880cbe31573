# SPDX-License-Identifier: BSD-3-Clause
"""Compiled extensions only; all metadata stands in pyproject.toml."""

import os
import re
import runpy
import shutil
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import count
from pathlib import Path
from threading import Semaphore

from Cython.Build import cythonize
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.modified import newer_group

SANITIZE = os.environ.get("SVMCUT_SANITIZE")
COMPILE = [
    "-std=c++17",
    "-O3",
    "-fvisibility=hidden",
    "-Wall",
    "-Wno-psabi",
    "-ffp-contract=off",
    "-pthread",
]
LINK = ["-pthread"]
CORES, CYTHON, DECLARED = min(8, os.cpu_count() or 1), "build/cython", "build/pxd"
SHARED = "svmcut._native._shared"
"""What typed views need; Cython writes it once and not into every extension."""
LIMITED = {"Py_LIMITED_API": "0x030b0000"}
"""One binary for CPython 3.11 and all later ones; free-threaded Python and PyPy have no stable
interface."""
if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
    LIMITED = {}
if "CFLAGS" not in os.environ:
    COMPILE += ["-g0"]  # Python's own flags ask for -g
if SANITIZE:
    sanitize = [f"-fsanitize={SANITIZE}", "-fno-omit-frame-pointer", "-g", "-O1"]
    COMPILE += sanitize
    LINK += sanitize


COMPILERS = (
    "svmcut needs a C++17 compiler (g++ 9 or clang++ 10 and later); none was found. Install one:\n"
    "  Debian, Ubuntu   apt-get install g++\n"
    "  Fedora, RHEL     dnf install gcc-c++\n"
    "  Alpine           apk add g++\n"
    "  macOS            xcode-select --install\n"
    "  conda            conda install cxx-compiler\n"
    "or name yours: CXX=/path/to/c++ pip install ."
)


def fail(message):
    """Ends the build: an installation that lacks extensions would succeed and could not train."""
    sys.exit(
        f"setup.py: error: {message}; unpack the whole source distribution or clone the repository"
    )


# A C++ file is compiled once: by the extension whose .pyx names it in a "# sources:" line at its
# head, or into a static library that several name in a "# libraries:" line.
LIBRARIES = {
    "svmcut_kernel_rows": ["csrc/kernels/kernel_rows.cc"],
    "svmcut_linear": [
        "csrc/linear/dual_cd.cc",
        "csrc/linear/hinge.cc",
        "csrc/linear/losses.cc",
        "csrc/linear/simplex_qp.cc",
    ],
    "svmcut_rows": ["csrc/text/scan.cc", "csrc/text/text.cc", "csrc/linear/sparse.cc"],
}

modules = sorted(Path("svmcut/_native").glob("*.pyx"))
if not modules:
    fail("svmcut/_native holds no .pyx file, so there is nothing to compile")


def named(module, what):
    """The words of these lines of a .pyx."""
    lines = re.findall(rf"^# {what}: (.*)", module.read_text(encoding="utf-8"), re.MULTILINE)
    return " ".join(lines).split()


def checked(module):
    """The C++ files of libraries that a .pyx links; all it needs is there."""
    linked = [source for library in named(module, "libraries") for source in LIBRARIES[library]]
    for source in named(module, "sources") + linked:
        if not Path(source).is_file():
            fail(f"{module} needs {source}, which is missing")
    return linked


@cache
def headers(file):
    """What a C++ or Cython file includes, at any depth; also by the declarations it cimports."""
    if not file.is_file():
        return set()
    text = file.read_text(encoding="utf-8")
    if file.suffix.startswith(".p"):
        names = re.findall(r"^from svmcut\._native\.(\w+) cimport", text, re.MULTILINE)
        direct = [Path(f"svmcut/_native/{name}.pxd") for name in [file.stem, *names]]
        names = re.findall(r"^from abi\.(\w+) cimport", text, re.MULTILINE)
        direct += [Path(f"csrc/include/{name}.h") for name in names]
        direct += [file.parent / name for name in re.findall(r'^include "([^"]+)"', text, re.M)]
    else:
        # csrc/core/instructions.h includes what a macro names
        named_so = r'#(?:include|define SVMCUT_LOOPS) "([^"]+)"'
        direct = [Path("csrc", name) for name in re.findall(named_so, text)]
    direct = {each for each in direct if each.is_file() and each != file}
    return direct.union(*map(headers, direct))


def depends(module, linked):
    """The headers whose change compiles a .pyx again, and the C++ files of its libraries."""
    files = [module, *map(Path, named(module, "sources") + linked)]
    return sorted({str(each) for each in set().union(*map(headers, files))}) + linked


def extension(name, sources, depends=(), language=None, libraries=()):
    return Extension(
        name,
        sources,
        libraries=list(libraries),
        include_dirs=["csrc"],
        depends=list(depends),
        language=language,
        extra_compile_args=COMPILE if language else COMPILE[1:],
        extra_link_args=LINK,
        define_macros=list(LIMITED.items()),
        py_limited_api=bool(LIMITED),
    )


class BuildExt(build_ext):
    """All files are compiled side by side, those of the largest extensions first, and named as they
    are."""

    def run(self):
        places = list(self._get_output_mapping())
        for made, in_place in places:
            if (
                self.editable_mode and Path(in_place).is_file()
            ):  # an installation compiles only what changed
                Path(made).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(in_place, made)
        super().run()
        for made in map(Path, sum(places, ()) or self.get_outputs()):
            for other in made.parent.glob(made.name.split(".")[0] + ".*.so"):
                if (
                    other.name != made.name
                ):  # for one version of Python, which would be imported first
                    other.unlink()

    def build_extensions(self):
        self.compiler.set_libraries([])  # each names its own
        stale = [each for each in self.extensions if self.is_stale(each)]
        files = sum(len(each.sources) for each in stale) + sum(map(len, LIBRARIES.values())) * bool(
            stale
        )
        self.compiler._compile = in_turns(self.compiler._compile, self.parallel or CORES, files)
        if not stale:
            return
        if not shutil.which(self.compiler.compiler_cxx[0]):
            sys.exit(COMPILERS)
        stale.sort(key=lambda each: -len(each.sources))
        with ThreadPoolExecutor(1 + len(stale)) as pool:
            libraries = pool.submit(self.run_command, "build_clib")
            for done in [
                libraries,
                *(pool.submit(self.build_behind, libraries, each) for each in stale),
            ]:
                done.result()

    def is_stale(self, extension):
        made = self.get_ext_fullpath(extension.name)
        return self.force or newer_group(extension.sources + extension.depends, made, "newer")

    def build_behind(self, libraries, extension):
        if extension.libraries:
            libraries.result()
        self.build_extension(extension)


def in_turns(compile_one, cores, files):
    """As many compilers at once as there are cores. What Cython writes only calls the C++ files:
    -O1 will do there; for the limited API it looks at a header of ours first."""
    written = ["-O1", "-Wno-unused-function"]
    written += ["-include", "csrc/python/limited.h"] if LIMITED else []
    turns, numbers = Semaphore(cores), count(1)

    def compiled(obj, src, ext, cc_args, extra, pp_opts):
        with turns:
            print(f"[{next(numbers)}/{files}] {src}", flush=True)
            return compile_one(
                obj, src, ext, cc_args, [*extra, *written * src.startswith(CYTHON)], pp_opts
            )

    return compiled


extensions = [
    extension(
        f"svmcut._native.{each.stem}",
        [str(each), *named(each, "sources")],
        depends(each, checked(each)),
        "c++",
        named(each, "libraries"),
    )
    for each in modules
]
runpy.run_path("csrc/python/make_pxd.py")["write_declarations"]("csrc/include", DECLARED)
library = {"include_dirs": ["csrc"], "cflags": COMPILE}
library_headers = {
    name: {source: sorted(map(str, headers(Path(source)))) for source in sources}
    for name, sources in LIBRARIES.items()
}
setup(
    cmdclass={"build_ext": BuildExt},
    libraries=[
        (name, library | {"sources": sources, "obj_deps": library_headers[name]})
        for name, sources in LIBRARIES.items()
    ],
    ext_modules=cythonize(
        [*extensions, extension(SHARED, [SHARED.replace(".", "/") + ".c"])],
        build_dir=CYTHON,
        include_path=[DECLARED],
        nthreads=CORES,
        shared_utility_qualified_name=SHARED,
        compiler_directives={
            "language_level": 3,
            "boundscheck": False,
            "wraparound": False,
            "binding": False,
        },
    ),
    options={"bdist_wheel": {"py_limited_api": "cp311"}} if LIMITED else {},
)
