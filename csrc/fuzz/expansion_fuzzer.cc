// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer target of the model lines: any bytes are parsed or refused within the arrays that
// counting allows, and what was parsed is finite and in order.
//
//     make fuzz
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <memory>

#include "include/text.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // Copied to the end of its own allocation, so that no overrun goes unseen.
    std::unique_ptr<char[]> text(new char[size]);
    if (size) std::memcpy(text.get(), data, size);
    int64_t lines = 0, colons = 0;
    svmcut_count_expansion(text.get(), static_cast<int64_t>(size), &lines, &colons);
    for (const int64_t highest : {int64_t{9}, int64_t{2147483647}}) {
        std::unique_ptr<double[]> alpha(new double[lines]);
        std::unique_ptr<int64_t[]> indptr(new int64_t[lines + 1]);
        std::unique_ptr<int32_t[]> columns(new int32_t[colons]);
        std::unique_ptr<float[]> values(new float[colons]);
        int32_t fault = SVMCUT_EXPANSION_OK;
        int64_t where = -1;
        const int status = svmcut_parse_expansion(text.get(), static_cast<int64_t>(size), lines,
                                                  highest, alpha.get(), indptr.get(), columns.get(),
                                                  values.get(), &fault, &where);
        if (status == SVMCUT_BAD_INPUT) {
            if (fault == SVMCUT_EXPANSION_OK || where < 0 || where > static_cast<int64_t>(size))
                std::abort();
            continue;
        }
        for (int64_t i = 0; i < lines; ++i) {
            if (!std::isfinite(alpha[i]) || indptr[i + 1] < indptr[i] || indptr[i + 1] > colons)
                std::abort();
            for (int64_t e = indptr[i]; e < indptr[i + 1]; ++e) {
                if (!std::isfinite(values[e]) || columns[e] < 0 || columns[e] >= highest)
                    std::abort();
                if (e > indptr[i] && columns[e] <= columns[e - 1]) std::abort();
            }
        }
    }
    return 0;
}
