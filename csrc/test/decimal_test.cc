// SPDX-License-Identifier: BSD-3-Clause
//
// Every road from decimal text to float and double against the C library's, on text that is hard to
// round.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>

#include "text/decimal.h"

using namespace svmcut;

static int failures = 0;

template <class Real>
static void expect(const char* road, const std::string& text, Real found, Real wanted) {
    if (found == wanted && std::signbit(found) == std::signbit(wanted)) return;
    if (++failures < 20)
        std::printf("%s of %s: %a, expected %a\n", road, text.c_str(), double(found),
                    double(wanted));
}

static void check(const std::string& text) {
    Decimal number;
    const char* stop = text.c_str() + text.size();
    if (read_decimal(text.c_str(), stop, number) != stop) {
        ++failures;
        std::printf("%s is not read\n", text.c_str());
        return;
    }
    const float narrow = std::strtof(text.c_str(), nullptr);
    const double wide = std::strtod(text.c_str(), nullptr);
    expect("to_float", text, to_float(number), narrow);
    expect("to_double", text, to_double(number), wide);
    const int64_t magnitude = number.exponent + number.digits;
    if (number.mantissa == 0 || magnitude < -400 || magnitude > 400) return;
    expect("round_exactly<float>", text, round_exactly<float>(number), std::fabs(narrow));
    expect("round_exactly<double>", text, round_exactly<double>(number), std::fabs(wide));
}

int main() {
    std::mt19937_64 random(20060820);
    char text[1400];
    for (int i = 0; i < 8000; ++i) {
        const uint64_t bits = random();
        double x;
        float y;
        std::memcpy(&x, &bits, sizeof x);
        std::memcpy(&y, &bits, sizeof y);
        if (std::isfinite(x)) {
            std::snprintf(text, sizeof text, "%.*e", static_cast<int>(bits % 25), x);
            check(text);
        }
        if (!std::isfinite(y)) continue;
        const float next = std::nextafterf(y, HUGE_VALF);
        const double middle = (static_cast<double>(y) + static_cast<double>(next)) / 2;
        std::snprintf(text, sizeof text, "%.*e", static_cast<int>(bits % 40), middle);
        check(text);
        std::snprintf(text, sizeof text, "%.*g", static_cast<int>(bits % 17) + 1,
                      static_cast<double>(y));
        check(text);
        std::snprintf(text, sizeof text, "%.*f", static_cast<int>(bits % 12),
                      static_cast<double>(bits % 4000000007) / 65536);
        check(text);
        // a midpoint to its last digit, and one digit past it
        if (i % 100 == 0 && std::fabs(middle) < 1e30) {
            std::snprintf(text, sizeof text, "%.1100f", middle);
            check(text);
            check(std::string(text) + "1");
        }
    }
    for (const char* edge : {"0",
                             "-0",
                             "+0.0",
                             "5.",
                             ".5",
                             "1e-400",
                             "1e400",
                             "-1e39",
                             "3.4028235e38",
                             "3.4028236e38",
                             "3.40282356779733661637539395458142568448e38",
                             "1.401298464324817e-45",
                             "7.006492321624085e-46",
                             "7.006492321624086e-46",
                             "4.9406564584124654e-324",
                             "2.4703282292062327e-324",
                             "1.7976931348623159e308",
                             "2.2250738585072011e-308",
                             "9007199254740993",
                             "0.00000000000000000000000000000000000000000000001e47",
                             "1e99999999999999999999",
                             "1e-99999999999999999999",
                             "100000000000000000000000000000000000000000000000e-47"})
        check(edge);
    std::printf(failures ? "%d failures\n" : "ok\n", failures);
    return failures != 0;
}
