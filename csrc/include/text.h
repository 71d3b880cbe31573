// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI from text to rows and from numbers to text; the rules of svmcut.h hold.
#ifndef SVMCUT_TEXT_ABI_H
#define SVMCUT_TEXT_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- scan.cc: text to rows

// One-dimensional memory of the library's own; svmcut_array_free gives it back.
typedef struct {
    void* data;  // null when empty
    int64_t length;
    int64_t mapped;  // bytes, when it is a mapping of its own
} svmcut_array;

typedef struct {
    svmcut_array values;   // (nnz,) float, correctly rounded
    svmcut_array indices;  // (nnz,) int32_t, 0-based
    svmcut_array indptr;   // (n + 1,) int64_t
    svmcut_array labels;   // (n,) double
    svmcut_array qids;     // (n,) int64_t, 0 where a line has none; empty when no line has one
    svmcut_array costs;    // (n,) double, 1 where a line has none; empty when no line has one
    // (k, 2) int64_t: row, lines of the file before it that hold no row of this set
    svmcut_array skips;
    // int32_t, all labels of multilabel rows, as many a row as `labels` says; else empty
    svmcut_array label_ids;
    int64_t n_features;
} svmcut_rows;

enum { SVMCUT_MESSAGE_BYTES = 200 };

typedef struct {
    int64_t line, column;                // 1-based; columns count bytes
    char message[SVMCUT_MESSAGE_BYTES];  // what svmcut's own commands add follows a newline
} svmcut_scan_fault;

typedef struct svmcut_scan svmcut_scan;

// The rows are the same with any instructions. piece_bytes: text per unit of parallel work, 0 for
// the default. Null when there is no memory.
svmcut_scan* svmcut_scan_new(int instructions, int64_t piece_bytes);
void svmcut_scan_delete(svmcut_scan* scan);

// With multilabel, lines from here on start with LABEL,LABEL,... With zero_based, feature indices
// of the text start at 0; `indices` are then one less than the columns.
void svmcut_scan_format(svmcut_scan* scan, int multilabel, int zero_based);
// From here on any word may stand in front, or none; labels are 0.
void svmcut_scan_unlabelled(svmcut_scan* scan);

// Reads the whole lines of the text; *used says how many bytes that was. The next call goes on
// behind them. With `last` set the text ends here and the last line needs no newline. bytes_left
// estimates what follows (for the size of allocations), -1 if unknown. *cancel may be set by
// another thread; null is allowed.
// On BAD_INPUT *fault names the first fault of the file; on NO_MEMORY svmcut_scan_bytes says how
// much was wanted.
int svmcut_scan_feed(svmcut_scan* scan, const char* text, int64_t bytes, int last,
                     int64_t bytes_left, int threads, const volatile int* cancel, int64_t* used,
                     svmcut_scan_fault* fault);

// The same by threads of the caller's: whole lines are scanned into parts, many at once, and joined
// one after the other in the order of the file. `first` marks the text the file begins with. The
// text need not outlive the scan of its part; faults come with the join.
typedef struct svmcut_scan_part svmcut_scan_part;
svmcut_scan_part* svmcut_scan_part_new(void);
void svmcut_scan_part_delete(svmcut_scan_part* part);
void svmcut_scan_part_scan(svmcut_scan_part* part, const svmcut_scan* scan, const char* text,
                           int64_t bytes, int first);
int svmcut_scan_join(svmcut_scan* scan, const svmcut_scan_part* part, int64_t bytes_left,
                     svmcut_scan_fault* fault);

// Bytes of the rows read since the last take; after NO_MEMORY, of the allocation that failed and
// the rows.
int64_t svmcut_scan_bytes(const svmcut_scan* scan);

// Moves the rows out, which are the caller's from then on; the scan goes on with an empty set.
int svmcut_scan_take(svmcut_scan* scan, svmcut_rows* rows);
void svmcut_array_free(svmcut_array* array);

// ---- strict_rows.cc: text to rows as LIBSVM and LIBLINEAR have them

// Lines `LABEL INDEX:VALUE ...` with ascending indices from `first`, numbers in double. Room is
// needed for as many rows as there are lines, and for as many entries as there are colons. Returns
// the first line, from 1, that is no row, or 0; the *rows before it are there.
int64_t svmcut_strict_rows(const char* text, int64_t bytes, int64_t first, double* labels,
                           int64_t* indptr, int32_t* indices, double* values, int64_t* rows);

// ---- text.cc: numbers to text

enum {
    SVMCUT_SCORE_WIDTH = 328,  // "-", 309 digits, ".", 8 digits, newline, with room
    SVMCUT_PAIR_WIDTH = 32,    // "2147483647:-1.2345678e-308 " with room
    SVMCUT_INTEGER_WIDTH = 24
};

// Each writes n items as printf would in the C locale and returns the bytes written; the caller
// sizes `out` by the widths above. nan has no sign. Columns are 0-based, their text is 1-based.
int64_t svmcut_format_scores(const double* scores, int64_t n, char* out);     // "%.8f\n"
int64_t svmcut_format_integers(const int64_t* values, int64_t n, char* out);  // "%ld\n"
// "%d:%.8g "; where `exact`, "%d:%.9g " for values that eight digits do not read back as the same
// float.
int64_t svmcut_format_pairs(const int32_t* columns, const float* values, int64_t n, int exact,
                            char* out);

// Counts what bounds the arrays svmcut_parse_expansion fills: newline-terminated lines, and ':'
// characters.
void svmcut_count_expansion(const char* text, int64_t size, int64_t* lines, int64_t* colons);

enum svmcut_expansion_fault {
    SVMCUT_EXPANSION_OK = 0,
    SVMCUT_EXPANSION_SHORT,    // the text ends before n_lines lines
    SVMCUT_EXPANSION_UNENDED,  // the last line has no newline
    SVMCUT_EXPANSION_ALPHA,    // the line does not start with a finite number
    SVMCUT_EXPANSION_PAIR,     // neither index:value nor #
    SVMCUT_EXPANSION_INDEX,    // index 0 or above `highest`
    SVMCUT_EXPANSION_ORDER,    // indices do not increase
    SVMCUT_EXPANSION_VALUE,    // value is no number or not finite in float32
    SVMCUT_EXPANSION_TRAILING  // text after the last line
};

// Lines "<alpha> [qid:<n>] <index>:<value> ... [#text]" of a model, numbers correctly rounded to
// their type. Fills alpha (n_lines), indptr (n_lines + 1), columns and values (at most the colons
// counted above). Returns SVMCUT_OK, or SVMCUT_BAD_INPUT with the kind of fault and its byte in
// `text`.
int svmcut_parse_expansion(const char* text, int64_t size, int64_t n_lines, int64_t highest,
                           double* alpha, int64_t* indptr, int32_t* columns, float* values,
                           int32_t* fault, int64_t* where);

#ifdef __cplusplus
}
#endif
#endif
