// SPDX-License-Identifier: BSD-3-Clause
//
// Numbers to text and back, with a point whatever the locale says, and correctly rounded.
// std::to_chars and std::from_chars where the library has them for floating point; else the C
// library, with its decimal point exchanged.
#include "include/text.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <system_error>

#if defined(__cpp_lib_to_chars) && !defined(SVMCUT_NO_CHARCONV)
#define SVMCUT_CHARCONV 1
#else
#include <clocale>
#endif

namespace {

#ifndef SVMCUT_CHARCONV
// The decimal point of the locale is whatever stands between two digits and is none of "0-9eE+-".
char* with_point(char* out, int length) {
    char *to = out, *from = out, *end = out + length;
    bool pointed = false;
    for (; from < end; ++from) {
        const char c = *from;
        if ((c >= '0' && c <= '9') || c == 'e' || c == '+' || c == '-') {
            *to++ = c;
            pointed = false;
        } else if (!pointed) {
            *to++ = '.';
            pointed = true;
        }
    }
    return to;
}
#endif

char* copy(char* out, const char* text) {
    const size_t length = std::strlen(text);
    std::memcpy(out, text, length);
    return out + length;
}

enum class Style { fixed, general };

char* print(char* out, double value, Style style, int digits = 8) {
    if (std::isnan(value)) return copy(out, "nan");
    if (std::isinf(value)) return copy(out, value < 0 ? "-inf" : "inf");
#ifdef SVMCUT_CHARCONV
    const auto format =
        style == Style::fixed ? std::chars_format::fixed : std::chars_format::general;
    return std::to_chars(out, out + SVMCUT_SCORE_WIDTH - 1, value, format, digits).ptr;
#else
    const char* format = style == Style::fixed ? "%.*f" : "%.*g";
    return with_point(out, std::snprintf(out, SVMCUT_SCORE_WIDTH, format, digits, value));
#endif
}

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The end of a decimal number [+-]digits[.digits][e[+-]digits], or nullptr: no hex, no inf, no nan.
const char* decimal_end(const char* p, const char* end) {
    if (p < end && (*p == '+' || *p == '-')) ++p;
    int64_t digits = 0;
    for (; p < end && is_digit(*p); ++p) ++digits;
    if (p < end && *p == '.')
        for (++p; p < end && is_digit(*p); ++p) ++digits;
    if (!digits) return nullptr;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char* e = p + 1;
        if (e < end && (*e == '+' || *e == '-')) ++e;
        if (e == end || !is_digit(*e)) return nullptr;
        while (e < end && is_digit(*e)) ++e;
        p = e;
    }
    return p;
}

#ifdef SVMCUT_CHARCONV
// from_chars does not say whether a number out of range is huge or tiny; the place of its first
// nonzero digit does.
bool is_huge(const char* p, const char* end) {
    int64_t power = 0, exponent = 0;
    bool after = false, nonzero = false;
    for (; p < end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.') after = true;
        if (!is_digit(*p)) continue;
        nonzero = nonzero || *p != '0';
        if (after && !nonzero) --power;
        if (!after && nonzero) ++power;
    }
    if (p < end) {
        const bool negative = *++p == '-';
        if (*p == '-' || *p == '+') ++p;
        for (; p < end; ++p)
            if (exponent < (int64_t{1} << 40)) exponent = exponent * 10 + (*p - '0');
        if (negative) exponent = -exponent;
    }
    return power + exponent > 0;
}
#else
float from_text(const char* text, float) { return std::strtof(text, nullptr); }
double from_text(const char* text, double) { return std::strtod(text, nullptr); }

template <class Real>
Real by_strto(const char* p, const char* end) {
    constexpr size_t width = 2048;
    char token[width];
    const char* point = std::localeconv()->decimal_point;
    const size_t point_length = std::strlen(point);
    if (end - p + point_length >= width) return std::numeric_limits<Real>::infinity();
    char* to = token;
    for (; p < end; ++p) to = *p == '.' ? copy(to, point) : (*to = *p, to + 1);
    *to = 0;
    return from_text(token, Real{});
}
#endif

// Reads a finite number of exactly [p, end); false where it overflows. Tiny numbers become 0 or
// denormal.
template <class Real>
bool parse_real(const char* p, const char* end, Real* value) {
    if (*p == '+') ++p;
#ifdef SVMCUT_CHARCONV
    const auto result = std::from_chars(p, end, *value);
    if (result.ec == std::errc::result_out_of_range)
        *value = is_huge(p, end) ? std::numeric_limits<Real>::infinity() : Real{0};
#else
    *value = by_strto<Real>(p, end);
#endif
    return std::isfinite(*value);
}

// Eight digits where they read back as the same float, else the nine that always do.
char* print_exact(char* out, float value) {
    char* end = print(out, value, Style::general);
    float read = 0;
    if (std::isfinite(value) && (!parse_real(out, end, &read) || read != value))
        end = print(out, value, Style::general, 9);
    return end;
}

struct Fault {
    int32_t kind = SVMCUT_EXPANSION_OK;
    const char* at = nullptr;
};

struct Line {
    const char* p;
    const char* end;
    void skip_blanks() {
        while (p < end && is_blank(*p)) ++p;
    }
    bool at_boundary() const { return p == end || is_blank(*p) || *p == '#'; }
};

Fault parse_alpha(Line& line, double* alpha) {
    line.skip_blanks();
    const char* start = line.p;
    const char* stop = decimal_end(start, line.end);
    if (!stop) return {SVMCUT_EXPANSION_ALPHA, start};
    line.p = stop;
    if (!line.at_boundary() || !parse_real(start, stop, alpha))
        return {SVMCUT_EXPANSION_ALPHA, start};
    return {};
}

// The kernel id that some models carry before the pairs; it has no effect.
Fault skip_kernel_id(Line& line) {
    line.skip_blanks();
    if (line.end - line.p < 4 || std::memcmp(line.p, "qid:", 4) != 0) return {};
    const char* start = line.p;
    line.p += 4;
    if (line.p < line.end && *line.p == '-') ++line.p;
    const char* digits = line.p;
    while (line.p < line.end && is_digit(*line.p)) ++line.p;
    if (line.p == digits || !line.at_boundary()) return {SVMCUT_EXPANSION_PAIR, start};
    return {};
}

Fault parse_pair(Line& line, int64_t highest, int64_t last, int32_t* column, float* value) {
    const char* start = line.p;
    int64_t index = 0;
    if (line.p < line.end && *line.p == '+') ++line.p;
    const char* digits = line.p;
    for (; line.p < line.end && is_digit(*line.p); ++line.p)
        if (index <= highest) index = index * 10 + (*line.p - '0');
    if (line.p == digits || line.p == line.end || *line.p != ':')
        return {SVMCUT_EXPANSION_PAIR, start};
    if (index < 1 || index > highest) return {SVMCUT_EXPANSION_INDEX, start};
    if (index <= last) return {SVMCUT_EXPANSION_ORDER, start};
    const char* number = ++line.p;
    const char* stop = decimal_end(number, line.end);
    if (!stop) return {SVMCUT_EXPANSION_VALUE, number};
    line.p = stop;
    if (!line.at_boundary() || !parse_real(number, stop, value))
        return {SVMCUT_EXPANSION_VALUE, number};
    *column = static_cast<int32_t>(index - 1);
    return {};
}

}  // namespace

extern "C" {

int64_t svmcut_format_scores(const double* scores, int64_t n, char* out) {
    char* p = out;
    for (int64_t i = 0; i < n; ++i) {
        p = print(p, scores[i], Style::fixed);
        *p++ = '\n';
    }
    return p - out;
}

int64_t svmcut_format_pairs(const int32_t* columns, const float* values, int64_t n, int exact,
                            char* out) {
    char* p = out;
    for (int64_t i = 0; i < n; ++i) {
        p = std::to_chars(p, p + SVMCUT_INTEGER_WIDTH, static_cast<int64_t>(columns[i]) + 1).ptr;
        *p++ = ':';
        p = exact ? print_exact(p, values[i])
                  : print(p, static_cast<double>(values[i]), Style::general);
        *p++ = ' ';
    }
    return p - out;
}

int64_t svmcut_format_integers(const int64_t* values, int64_t n, char* out) {
    char* p = out;
    for (int64_t i = 0; i < n; ++i) {
        p = std::to_chars(p, p + SVMCUT_INTEGER_WIDTH, values[i]).ptr;
        *p++ = '\n';
    }
    return p - out;
}

void svmcut_count_expansion(const char* text, int64_t size, int64_t* lines, int64_t* colons) {
    int64_t n_lines = 0, n_colons = 0;
    for (int64_t i = 0; i < size; ++i) {
        n_lines += text[i] == '\n';
        n_colons += text[i] == ':';
    }
    *lines = n_lines;
    *colons = n_colons;
}

int svmcut_parse_expansion(const char* text, int64_t size, int64_t n_lines, int64_t highest,
                           double* alpha, int64_t* indptr, int32_t* columns, float* values,
                           int32_t* fault, int64_t* where) {
    const char* const stop = text + size;
    const char* p = text;
    auto refuse = [&](Fault found) {
        *fault = found.kind;
        *where = found.at - text;
        return SVMCUT_BAD_INPUT;
    };
    int64_t used = 0;
    indptr[0] = 0;
    for (int64_t i = 0; i < n_lines; ++i) {
        if (p == stop) return refuse({SVMCUT_EXPANSION_SHORT, p});
        const char* newline = static_cast<const char*>(std::memchr(p, '\n', stop - p));
        if (!newline) return refuse({SVMCUT_EXPANSION_UNENDED, stop});
        Line line{p, newline};
        Fault found = parse_alpha(line, alpha + i);
        if (!found.kind) found = skip_kernel_id(line);
        int64_t last = 0;
        while (!found.kind) {
            line.skip_blanks();
            if (line.p == line.end || *line.p == '#') break;
            found = parse_pair(line, highest, last, columns + used, values + used);
            if (!found.kind) last = static_cast<int64_t>(columns[used++]) + 1;
        }
        if (found.kind) return refuse(found);
        indptr[i + 1] = used;
        p = newline + 1;
    }
    for (; p < stop; ++p)
        if (!is_blank(*p) && *p != '\n') return refuse({SVMCUT_EXPANSION_TRAILING, p});
    return SVMCUT_OK;
}

}  // extern "C"
