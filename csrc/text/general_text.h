// SPDX-License-Identifier: BSD-3-Clause
//
// Doubles as printf's %g writes them in the C locale.
#ifndef SVMCUT_GENERAL_TEXT_H
#define SVMCUT_GENERAL_TEXT_H

#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "include/scaling.h"

namespace svmcut {

constexpr int general_width = SVMCUT_GENERAL_WIDTH;  // "-1.2345678901234567e-308" with room

// "%.*g" of a finite value; the first byte behind it.
inline char* put_general(char* out, double value, int digits) {
#if defined(__cpp_lib_to_chars) && !defined(SVMCUT_NO_CHARCONV)
    return std::to_chars(out, out + general_width, value, std::chars_format::general, digits).ptr;
#else
    char* end = out + std::snprintf(out, general_width, "%.*g", digits, value);
    char* to = out;
    bool pointed = false;
    // a locale's decimal point may take several bytes
    for (const char* from = out; from < end; ++from) {
        const bool own = std::strchr("0123456789e+-", *from) != nullptr;
        if (own || !pointed) *to++ = own ? *from : '.';
        pointed = !own;
    }
    return to;
#endif
}

// "%g" of a finite value. Six digits of most numbers come from one product, which has one rounding:
// it decides them unless it falls beside the midpoint of two.
inline char* put_g(char* out, double value) {
    static constexpr double from[] = {1e-4, 1e-3, 1e-2, 1e-1, 1e0, 1e1, 1e2, 1e3, 1e4, 1e5};
    static constexpr double factor[] = {1e9, 1e8, 1e7, 1e6, 1e5, 1e4, 1e3, 1e2, 1e1, 1e0};
    const double size = std::fabs(value);
    if (!(size >= 1e-4 && size < 1e6)) return put_general(out, value, 6);
    int place = size >= 1.0 ? 4 : 0;
    while (place < 9 && size >= from[place + 1]) ++place;
    const double scaled = size * factor[place];
    auto number = static_cast<uint32_t>(scaled);
    const double rest = scaled - number;
    if (std::fabs(rest - 0.5) < 1e-6) return put_general(out, value, 6);
    number += rest > 0.5;
    if (number >= 1000000) return put_general(out, value, 6);
    char digits[6];
    for (int i = 6; i-- > 0; number /= 10) digits[i] = static_cast<char>('0' + number % 10);
    int length = 6;
    while (length > 1 && digits[length - 1] == '0') --length;
    if (value < 0) *out++ = '-';
    const int whole = place - 3;  // digits before the point, where there are any
    if (whole <= 0) {
        *out++ = '0';
        *out++ = '.';
        for (int i = whole; i < 0; ++i) *out++ = '0';
        std::memcpy(out, digits, 6);
        return out + length;
    }
    std::memcpy(out, digits, 6);
    if (length <= whole) return out + whole;
    std::memmove(out + whole + 1, out + whole, static_cast<size_t>(length - whole));
    out[whole] = '.';
    return out + length + 1;
}

}  // namespace svmcut
#endif
