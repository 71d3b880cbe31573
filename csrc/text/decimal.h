// SPDX-License-Identifier: BSD-3-Clause
//
// Decimal text to the nearest float or double, ties to even, in no locale.
//
// The text is read as mantissa * 10^exponent with up to 19 digits. Double arithmetic then decides
// nearly every case: for double, two exact operands and one rounding (Clinger 1990); for float, a
// quotient good to a few units in the last place of double, which settles the float unless it falls
// beside the midpoint of two floats. What is left goes to round_slowly.
#ifndef SVMCUT_DECIMAL_H
#define SVMCUT_DECIMAL_H

#include <cfloat>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

namespace svmcut {

struct Decimal {
    uint64_t mantissa;  // the first 19 significant digits
    int64_t exponent;   // of ten, for the mantissa
    int digits;         // in the mantissa, without leading zeros
    bool negative;
    bool cut;           // nonzero digits follow the mantissa's
    const char* begin;  // past the sign
    const char* end;
};

inline bool is_digit(char c) { return static_cast<unsigned char>(c - '0') <= 9; }

// [+-] digits [. digits] [(e|E) [+-] digits], with a digit before or after the point.
// Returns the first byte after it, or null when there is no such number at p.
inline const char* read_decimal(const char* p, const char* end, Decimal& number) {
    number.negative = false;
    if (p < end && (*p == '-' || *p == '+')) number.negative = *p++ == '-';
    number.begin = p;
    uint64_t mantissa = 0;
    int64_t exponent = 0;
    int digits = 0;
    bool cut = false, any = false;
    auto take = [&](char c) {
        any = true;
        if (digits < 19) {
            mantissa = mantissa * 10 + static_cast<uint64_t>(c - '0');
            digits += mantissa != 0;
            return true;
        }
        cut |= c != '0';
        return false;
    };
    for (; p < end && is_digit(*p); ++p) exponent += !take(*p);
    if (p < end && *p == '.')
        for (++p; p < end && is_digit(*p); ++p) exponent -= take(*p);
    if (!any) return nullptr;
    if (p < end && (*p == 'e' || *p == 'E')) {
        const char* q = p + 1;
        bool down = false;
        if (q < end && (*q == '-' || *q == '+')) down = *q++ == '-';
        if (q == end || !is_digit(*q)) return nullptr;
        int64_t power = 0;
        for (; q < end && is_digit(*q); ++q)
            if (power < INT64_C(1000000000000000)) power = power * 10 + (*q - '0');
        exponent += down ? -power : power;
        p = q;
    }
    number.mantissa = mantissa;
    number.exponent = exponent;
    number.digits = digits;
    number.cut = cut;
    number.end = p;
    return p;
}

// Natural numbers of any size, just enough of them for round_slowly.
struct Natural {
    std::vector<uint32_t> words;  // least significant first, no leading zeros

    void multiply_add(uint32_t factor, uint32_t term) {
        uint64_t carry = term;
        for (auto& word : words) {
            carry += static_cast<uint64_t>(word) * factor;
            word = static_cast<uint32_t>(carry);
            carry >>= 32;
        }
        if (carry) words.push_back(static_cast<uint32_t>(carry));
    }
    void multiply_power_of_ten(int64_t power) {
        for (; power >= 9; power -= 9) multiply_add(1000000000u, 0);
        for (; power > 0; --power) multiply_add(10u, 0);
    }
    int64_t bits() const {
        if (words.empty()) return 0;
        int64_t count = 32 * static_cast<int64_t>(words.size() - 1);
        for (uint32_t top = words.back(); top; top >>= 1) ++count;
        return count;
    }
    void shift_left(int64_t count) {
        if (words.empty()) return;
        for (int64_t i = count % 32; i > 0; --i) multiply_add(2u, 0);
        words.insert(words.begin(), static_cast<size_t>(count / 32), 0u);
    }
    bool less(const Natural& other) const {
        if (words.size() != other.words.size()) return words.size() < other.words.size();
        for (size_t i = words.size(); i-- > 0;)
            if (words[i] != other.words[i]) return words[i] < other.words[i];
        return false;
    }
    void subtract(const Natural& other) {  // other <= this
        int64_t borrow = 0;
        for (size_t i = 0; i < words.size(); ++i) {
            borrow +=
                static_cast<int64_t>(words[i]) - (i < other.words.size() ? other.words[i] : 0);
            words[i] = static_cast<uint32_t>(borrow);
            borrow = borrow < 0 ? -1 : 0;
        }
        while (!words.empty() && !words.back()) words.pop_back();
    }
};

template <class Real>
struct Format;
template <>
struct Format<float> {
    static constexpr int precision = 24, lowest = -149, highest = 128, tiny = -46, huge = 39;
};
template <>
struct Format<double> {
    static constexpr int precision = 53, lowest = -1074, highest = 1024, tiny = -324, huge = 309;
};

// |number| rounded by exact integers; infinity when it overflows. For libraries without
// std::from_chars, and for tests.
template <class Real>
Real round_exactly(const Decimal& number) {
    using F = Format<Real>;
    // No midpoint of two doubles has more than 768 digits, so digits after that only break ties.
    constexpr int enough = 800;
    Natural numerator, denominator;
    int kept = 0;
    bool rest = false;
    int64_t exponent = number.exponent + number.digits;
    for (const char* p = number.begin; p < number.end && *p != 'e' && *p != 'E'; ++p) {
        if (*p == '.' || (kept == 0 && *p == '0')) continue;
        if (kept < enough) {
            const auto digit = static_cast<uint32_t>(*p - '0');
            numerator.multiply_add(10u, digit);
            ++kept;
        } else {
            rest |= *p != '0';
        }
    }
    if (rest) {
        numerator.multiply_add(10u, 1u);
        ++kept;
    }
    exponent -= kept;
    denominator.words.push_back(1u);
    (exponent < 0 ? denominator : numerator)
        .multiply_power_of_ten(exponent < 0 ? -exponent : exponent);
    // quotient = numerator * 2^scale / denominator with two bits more than the result keeps.
    int64_t scale = F::precision + 2 - (numerator.bits() - denominator.bits());
    if (scale > 2 - F::lowest) scale = 2 - F::lowest;
    (scale < 0 ? denominator : numerator).shift_left(scale < 0 ? -scale : scale);
    uint64_t quotient = 0;
    for (int bit = F::precision + 3; bit >= 0; --bit) {
        Natural part = denominator;
        part.shift_left(bit);
        if (numerator.less(part)) continue;
        numerator.subtract(part);
        quotient |= UINT64_C(1) << bit;
    }
    int64_t length = 0;
    while (length < 64 && quotient >> length) ++length;
    int64_t unit = length - scale - F::precision;
    if (unit < F::lowest) unit = F::lowest;
    const auto shift = static_cast<int>(unit + scale);
    const uint64_t low = quotient & ((UINT64_C(1) << shift) - 1), half = UINT64_C(1) << (shift - 1);
    uint64_t result = quotient >> shift;
    if (low > half || (low == half && (!numerator.words.empty() || (result & 1)))) ++result;
    const double value = std::ldexp(static_cast<double>(result), static_cast<int>(unit));
    return value >= std::ldexp(1.0, F::highest - 1) * 2 ? static_cast<Real>(HUGE_VAL)
                                                        : static_cast<Real>(value);
}

template <class Real>
Real round_slowly(const Decimal& number) {
#if defined(__cpp_lib_to_chars) && !defined(SVMCUT_NO_FROM_CHARS)
    Real value = 0;
    const auto answer = std::from_chars(number.begin, number.end, value);
    if (answer.ec == std::errc()) return value;
#endif
    return round_exactly<Real>(number);
}

// 10^0 to 10^66, each correctly rounded; exact up to 10^22.
inline double power_of_ten(int64_t n) {
    static constexpr double powers[] = {
        1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11, 1e12, 1e13,
        1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22, 1e23, 1e24, 1e25, 1e26, 1e27,
        1e28, 1e29, 1e30, 1e31, 1e32, 1e33, 1e34, 1e35, 1e36, 1e37, 1e38, 1e39, 1e40, 1e41,
        1e42, 1e43, 1e44, 1e45, 1e46, 1e47, 1e48, 1e49, 1e50, 1e51, 1e52, 1e53, 1e54, 1e55,
        1e56, 1e57, 1e58, 1e59, 1e60, 1e61, 1e62, 1e63, 1e64, 1e65, 1e66};
    return powers[n];
}

// Whether a double within 8 units of x in the last place could round to another float than x.
inline bool beside_midpoint(double x) {
    uint64_t bits;
    std::memcpy(&bits, &x, sizeof bits);
    return ((bits + 8) & UINT64_C(0x1fffffff)) - UINT64_C(0x10000000) <= 16;
}

// The nearest float or double; infinity when that overflows, signed zero when it underflows.
inline float to_float(const Decimal& number) {
    float value = 0;
    const int64_t magnitude = number.exponent + number.digits;
    if (number.mantissa == 0 || magnitude < Format<float>::tiny) {
        value = 0;
    } else if (magnitude > Format<float>::huge) {
        value = HUGE_VALF;
    } else {
        double x = static_cast<double>(number.mantissa);
        x = number.exponent < 0 ? x / power_of_ten(-number.exponent)
                                : x * power_of_ten(number.exponent);
        const bool sure = x > 2e-38 && x < 3e38 && !beside_midpoint(x);
        value = sure ? static_cast<float>(x) : round_slowly<float>(number);
    }
    return number.negative ? -value : value;
}

inline double to_double(const Decimal& number) {
    double value = 0;
    const int64_t magnitude = number.exponent + number.digits;
    if (number.mantissa == 0 || magnitude < Format<double>::tiny) {
        value = 0;
    } else if (magnitude > Format<double>::huge) {
        value = HUGE_VAL;
    } else if (FLT_EVAL_METHOD == 0 && !number.cut && number.mantissa <= UINT64_C(1) << 53 &&
               number.exponent >= -22 && number.exponent <= 22) {
        value = static_cast<double>(number.mantissa);
        value = number.exponent < 0 ? value / power_of_ten(-number.exponent)
                                    : value * power_of_ten(number.exponent);
    } else {
        value = round_slowly<double>(number);
    }
    return number.negative ? -value : value;
}

}  // namespace svmcut
#endif
