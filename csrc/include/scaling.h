// SPDX-License-Identifier: BSD-3-Clause
//
// Scaling of example files: the range of every feature, and the text of the scaled rows. Numbers
// are doubles throughout.
#ifndef SVMCUT_SCALING_H
#define SVMCUT_SCALING_H

#include "include/text.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- scaling.cc

typedef struct {
    int64_t rows;
    int64_t entries;  // features that the rows name, zeros among them
    int64_t written;  // features that the scaled rows name
    int64_t missing;  // features that rows name and that have no range
    int64_t zeros;    // entries at index 0, in the pass that writes
    double lowest_label, highest_label;
    int64_t bytes;  // of tables and text
} svmcut_scaling_counts;

typedef struct svmcut_scaling svmcut_scaling;
// libsvm: index 0 is a feature, and comments are left out.
svmcut_scaling* svmcut_scaling_new(int libsvm);
void svmcut_scaling_delete(svmcut_scaling* scaling);
void svmcut_scaling_count(const svmcut_scaling* scaling, svmcut_scaling_counts* counts);

// Takes the ranges of the whole lines of a text, all of it where it is the last; *used says how
// many bytes that was. On BAD_INPUT *fault names the first fault of the file.
int svmcut_scaling_measure(svmcut_scaling* scaling, const char* text, int64_t bytes, int last,
                           int64_t* used, svmcut_scan_fault* fault);

// Features that are not the same in all rows, a feature a row does not name being 0 there: how
// many, and their 1-based indices, which increase, and ranges.
int64_t svmcut_scaling_varying(svmcut_scaling* scaling);
void svmcut_scaling_ranges(const svmcut_scaling* scaling, int32_t* indices, double* low,
                           double* high);

typedef struct {
    double lower, upper;  // where low and high go
    double low, high;
} svmcut_scaling_range;

// From here on rows are written, with these features and no others. `label` is null where labels
// stay as they are. `checked`: svmcut_scaling_measure took the same text before. Returns BAD_INPUT
// with a feature's number in *where when its zeros cannot be scaled.
int svmcut_scaling_start(svmcut_scaling* scaling, double lower, double upper,
                         const int32_t* indices, const double* low, const double* high, int64_t n,
                         const svmcut_scaling_range* label, int checked, int64_t* where);

// Writes scaled rows of the text to *out until it holds about `enough` bytes; the next call goes on
// behind *used.
int svmcut_scaling_write(svmcut_scaling* scaling, const char* text, int64_t bytes, int last,
                         int64_t enough, int64_t* used, const char** out, int64_t* out_bytes,
                         svmcut_scan_fault* fault);

// The first of the missing features, in the order of the file, at most `room`. Returns how many.
int64_t svmcut_scaling_missing(const svmcut_scaling* scaling, int32_t* indices, int64_t room);

enum { SVMCUT_GENERAL_WIDTH = 32 };

// "%.6g" and "%.17g" of finite numbers in the C locale; the bytes written, at most
// SVMCUT_GENERAL_WIDTH.
int64_t svmcut_scaling_format(double value, int digits, char* out);

#ifdef __cplusplus
}
#endif
#endif
