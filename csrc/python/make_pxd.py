# SPDX-License-Identifier: BSD-3-Clause
"""Writes what the headers of csrc/include declare as Cython declarations, one .pxd for each."""

import re
from pathlib import Path

#: Everything that these headers may declare.
STATEMENT = re.compile(
    r"""enum \s+ \w* \s* \{ (?P<constants> [^}]*) \} \s* ;
    | typedef \s+ struct \s* \{ (?P<fields> [^}]*) \} \s* (?P<struct> \w+) ;
    | typedef \s+ struct \s+ \w+ \s+ (?P<opaque> \w+) ;
    | (?P<result> \w [\w\s*]*) \b (?P<function> \w+) \( (?P<parameters> [^)]*) \) ;""",
    re.VERBOSE,
)


def indented(lines):
    return [f"    {line}" for line in lines]


def parameter_type(parameter):
    """The type of one parameter; its name, which might be a word of Cython, is left out."""
    words, array = re.fullmatch(r"(.*?)\w+(\[\w+\])?", parameter).groups()
    return words.strip() + "*" * bool(array)


def declarations(statement):
    """The lines that declare the same in Cython."""
    part = statement.groupdict()
    if part["constants"]:
        names = re.findall(r"(\w+)(?: = [^,]*)?(?:,|$)", part["constants"].strip())
        return ["enum:", *indented(names)]
    if part["struct"]:
        fields = [field.strip() for field in part["fields"].split(";")[:-1]]
        return [f"ctypedef struct {part['struct']}:", *indented(fields)]
    if part["opaque"]:
        return [f"ctypedef struct {part['opaque']}:", "    pass"]
    parameters = part["parameters"].split(", ")
    types = [] if parameters == ["void"] else map(parameter_type, parameters)
    return [f"{part['result'].strip()} {part['function']}({', '.join(types)})"]


def pxd(header):
    """The text of the .pxd of a header; ValueError where a statement is of no known kind."""
    text = header.read_text(encoding="utf-8")
    lines = ["from libc.stdint cimport int8_t, int32_t, int64_t, uint8_t, uint32_t, uint64_t"]
    for name in re.findall(r'#include "include/(\w+)\.h"', text):
        lines.append(f"from abi.{name} cimport *")
    lines.append(f'cdef extern from "include/{header.name}" nogil:')
    text = re.sub(r"(?s:#ifdef __cplusplus.*?#endif)|//.*|#.*", "", text)
    text = " ".join(re.sub(r"\bvolatile\b", "", text).split())
    at = 0
    while at < len(text):
        statement = STATEMENT.match(text, at)
        if not statement:
            raise ValueError(f"{header}: no declaration that Cython has: {text[at : at + 80]}")
        lines += indented(declarations(statement))
        at = statement.end()
        at += text[at : at + 1] == " "
    return "\n".join([*lines, ""])


def write_declarations(headers, folder):
    """Writes abi/NAME.pxd in a folder for each NAME.h of another, unless it is there already:
    Cython goes by the time of a file."""
    package = Path(folder, "abi")
    package.mkdir(parents=True, exist_ok=True)
    texts = {f"{header.stem}.pxd": pxd(header) for header in Path(headers).glob("*.h")}
    for name, text in (texts | {"__init__.pxd": ""}).items():
        path = package / name
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
