// SPDX-License-Identifier: BSD-3-Clause
//
// Rows as LIBSVM and LIBLINEAR read them: numbers in double, every line a row, strictly ascending
// indices; a word without a colon ends a row where no colon follows on its line.
//
// (I1) What stands in front of the first fault is read, and no more.
#include <cstdlib>
#include <string>

#include "include/text.h"
#include "text/decimal.h"

using namespace svmcut;

namespace {

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }

const char* past_blanks(const char* p, const char* end) {
    while (p < end && is_blank(*p)) ++p;
    return p;
}

const char* word_end(const char* p, const char* end) {
    while (p < end && !is_blank(*p)) ++p;
    return p;
}

// The whole word as a number: decimal, hexadecimal, nan or inf; false where it is none, or too
// large for a double.
bool read_real(const char* p, const char* end, double* value) {
    Decimal number;
    if (read_decimal(p, end, number) == end) {
        *value = to_double(number);
        return std::isfinite(*value);
    }
    const std::string word(p, end);
    char* stop = nullptr;
    *value = std::strtod(word.c_str(), &stop);
    const bool whole = !word.empty() && stop == word.c_str() + word.size();
    const bool named = word.find_first_of("nN") != std::string::npos;  // inf, infinity, nan
    return whole && (named || std::isfinite(*value));
}

// [+-]digits from p; null where there are none, or too many.
const char* read_index(const char* p, const char* end, int64_t* index) {
    const bool negative = p < end && *p == '-';
    if (p < end && (*p == '-' || *p == '+')) ++p;
    if (p == end || !is_digit(*p)) return nullptr;
    int64_t value = 0;
    for (; p < end && is_digit(*p); ++p) {
        value = value * 10 + (*p - '0');
        if (value > INT32_MAX - 1) return nullptr;
    }
    *index = negative ? -value : value;
    return p;
}

// Reads one line without its end; false at a fault.
bool read_line(const char* p, const char* end, int64_t first, double* label, int32_t* indices,
               double* values, int64_t* entries) {
    p = past_blanks(p, end);
    const char* stop = word_end(p, end);
    if (p == stop || !read_real(p, stop, label)) return false;
    int64_t last = first - 1;
    for (p = past_blanks(stop, end); p < end; p = past_blanks(p, end)) {
        if (!std::memchr(p, ':', static_cast<size_t>(end - p))) return true;
        int64_t index = 0;
        p = read_index(p, end, &index);
        if (!p || p == end || *p != ':' || index <= last) return false;
        p = past_blanks(p + 1, end);
        stop = word_end(p, end);
        double value = 0;
        if (!read_real(p, stop, &value)) return false;
        indices[*entries] = static_cast<int32_t>(index);
        values[(*entries)++] = value;
        last = index;
        p = stop;
    }
    return true;
}

}  // namespace

extern "C" {

int64_t svmcut_strict_rows(const char* text, int64_t bytes, int64_t first, double* labels,
                           int64_t* indptr, int32_t* indices, double* values, int64_t* rows) {
    const char *p = text, *stop = text + bytes;
    int64_t entries = 0, row = 0;
    indptr[0] = 0;
    for (; p < stop; ++row) {
        const void* newline = std::memchr(p, '\n', static_cast<size_t>(stop - p));
        const char* end = newline ? static_cast<const char*>(newline) : stop;
        if (!read_line(p, end, first, labels + row, indices, values, &entries)) {
            *rows = row;
            return row + 1;
        }
        indptr[row + 1] = entries;
        p = end + 1;
    }
    *rows = row;
    return 0;
}

}  // extern "C"
