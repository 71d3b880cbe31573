// SPDX-License-Identifier: BSD-3-Clause
//
// Included before all that Cython writes for the limited API, which lacks the flags of code objects:
// Cython would look them up in the module inspect, whose import takes as long as scoring a small
// file. They are the same in every Python that has this API.
#ifndef SVMCUT_LIMITED_H
#define SVMCUT_LIMITED_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

#define CO_OPTIMIZED 0x1
#define CO_NEWLOCALS 0x2
#define CO_VARARGS 0x4
#define CO_VARKEYWORDS 0x8
#define CO_GENERATOR 0x20
#define CO_COROUTINE 0x80
#define CO_ASYNC_GENERATOR 0x200

static inline PyObject* svmcut_import(const char* name) {
    return PyImport_ImportModule(strcmp(name, "inspect") ? name : "sys");
}
#define PyImport_ImportModule svmcut_import

#endif
