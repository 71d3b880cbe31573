// SPDX-License-Identifier: BSD-3-Clause
//
// The ABI from tables and texts to rows; the rules of svmcut.h hold. Cells of a column of text lie
// one behind the other: cell i is the bytes offsets[i] to offsets[i + 1]. What comes in is never
// trusted: offsets that fall or lie outside of the text, and entries outside of their arrays, are a
// status.
#ifndef SVMCUT_WORDS_ABI_H
#define SVMCUT_WORDS_ABI_H

#include "include/svmcut.h"

#ifdef __cplusplus
extern "C" {
#endif

// What stops the reading of cells; *where is the cell.
enum svmcut_words_status {
    SVMCUT_WORDS_PAGE =
        10,  // a page of 256 code points is not known yet: *what, which svmcut_words_page makes so
    SVMCUT_WORDS_SPECIAL = 11,   // the cell is to be lowered by the caller, and given alone
    SVMCUT_WORDS_ENCODING = 12,  // no UTF-8, from byte *what of the cell on
    SVMCUT_WORDS_TEXT = 13,      // the cell is no number
    SVMCUT_WORDS_OVERFLOW = 14,  // the cell is a number beyond float64
    SVMCUT_WORDS_FULL = 15,      // 2^31 - 2 different words
    SVMCUT_WORDS_OFFSETS = 16    // the cell ends before it begins, or outside of the text
};

// Kinds of code points.
enum { SVMCUT_NO_WORD = 0, SVMCUT_WORD = 1, SVMCUT_SPECIAL = 2 };

// Different words, numbered from 0 as they come, and what was counted of cells and is not taken
// yet.
typedef struct svmcut_words svmcut_words;

// hash_bits: -1 to number words as they come, else the columns are 2^hash_bits, of which the hash
// of a word names one; at most 30. Null when there is no memory, or there are more bits.
svmcut_words* svmcut_words_new(int hash_bits);
void svmcut_words_delete(svmcut_words* words);

// (256,) what code points page * 256 and on are, and their lower-case ones.
int svmcut_words_page(svmcut_words* words, int page, const uint8_t* kind, const uint32_t* lower);

// Counts the words of cells first to n - 1: maximal runs of two code points or more that are words,
// lowered, and all low to high of them that follow each other, joined by a blank. With grow unknown
// words are numbered, else left out. A cell is counted as a whole or not at all; call again with
// *where when its fault is mended.
int svmcut_words_count(svmcut_words* words, const char* text, int64_t bytes, const int64_t* offsets,
                       int64_t first, int64_t n, int low, int high, int grow, int64_t* where,
                       int64_t* what);

// Number and bytes of different words; cells and entries that were counted and not taken yet.
void svmcut_words_sizes(const svmcut_words* words, int64_t* n_words, int64_t* bytes, int64_t* cells,
                        int64_t* entries);
// Moves what was counted out: (cells,) where the entries of each end, (entries,) words and counts.
void svmcut_words_take(svmcut_words* words, int64_t* ends, int32_t* ids, float* counts);
// (n_words + 1,) offsets and (bytes,) text of the different words.
void svmcut_words_list(const svmcut_words* words, int64_t* offsets, char* text);

// (n,) the number of every cell as a whole, without blanks around; -1 of empty cells and where
// missing, -2 unknown. missing may be null.
int svmcut_words_cells(svmcut_words* words, const char* text, int64_t bytes, const int64_t* offsets,
                       const uint8_t* missing, int64_t n, int grow, int32_t* ids, int64_t* where,
                       int64_t* what);

// (n,) the cells as numbers, nan where missing, empty or NA, NaN, null and the like. 00123 is no
// number.
int svmcut_words_numbers(const char* text, int64_t bytes, const int64_t* offsets,
                         const uint8_t* missing, int64_t n, double* values, int64_t* where);

// One column of a table, as it is encoded. `first` is its first feature, and names and words have
// `width` of them but for `missing`; those whose place lies beyond are left out.
typedef struct {
    int kind;         // 0 numbers, 1 categories, 2 words
    int64_t n;        // rows
    int64_t entries;  // words: of all rows
    int32_t first;
    int32_t width;
    int32_t missing;       // the feature that says that a value is missing, -1 for none
    const double* values;  // numbers: (n,), nan where missing
    double mean, scale, fill;
    const int32_t* ids;     // categories: (n,); words: (entries,)
    const float* counts;    // words: (entries,)
    const int64_t* ends;    // words: (n + 1,)
    const int32_t* places;  // of ids, behind `first`; -1 for none; null for the ids themselves
    int64_t n_places;       // ids from there on have none
    const double* weights;  // words: (width,) what each place is multiplied by; null for 1
    int log;                // words: 1 + ln of the count in its place
    int normed;             // words: to a length of 1
} svmcut_column;

// Entries of rows begin to end - 1: (end - begin,) counts. SVMCUT_BAD_INPUT where a column has not
// these rows, or `ends` falls or lies outside of the entries.
int svmcut_words_sized(const svmcut_column* columns, int n_columns, int64_t begin, int64_t end,
                       int64_t* counts);
// The rows themselves, of columns that were sized, from starts[i - begin] on.
int svmcut_words_rows(const svmcut_column* columns, int n_columns, int64_t begin, int64_t end,
                      const int64_t* starts, int32_t* indices, float* data);

#ifdef __cplusplus
}
#endif
#endif
