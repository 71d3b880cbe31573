// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer target of the scanner: any bytes, every road to the rows, the same rows or the same
// fault.
//
//     make fuzz
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#include "include/text.h"

namespace {

void append(std::string& result, svmcut_array& array, size_t item) {
    const auto length = static_cast<uint64_t>(array.length);
    result.append(reinterpret_cast<const char*>(&length), sizeof length);
    if (length) result.append(static_cast<const char*>(array.data), length * item);
    svmcut_array_free(&array);
}

// Rows or fault as bytes. The text is copied to the end of its own allocation, so that no overrun
// goes unseen.
std::string scan(const uint8_t* data, size_t size, int portable, int64_t piece_bytes, int threads,
                 size_t cut, int labels) {
    svmcut_scan* scanner = svmcut_scan_new(portable, piece_bytes);
    svmcut_scan_format(scanner, labels != 0, labels == 2);
    std::string result;
    svmcut_scan_fault fault{};
    int64_t used = 0;
    size_t from = 0;
    int status = SVMCUT_OK;
    for (int last = cut >= size; status == SVMCUT_OK; last = 1) {
        const size_t bytes = (last ? size : cut) - from;
        char* text = static_cast<char*>(std::malloc(bytes ? bytes : 1));
        if (bytes) std::memcpy(text, data + from, bytes);
        status = svmcut_scan_feed(scanner, text, static_cast<int64_t>(bytes), last, -1, threads,
                                  nullptr, &used, &fault);
        std::free(text);
        from += static_cast<size_t>(used);
        if (last) break;
    }
    if (status == SVMCUT_OK) {
        svmcut_rows rows;
        svmcut_scan_take(scanner, &rows);
        append(result, rows.values, 4);
        append(result, rows.indices, 4);
        append(result, rows.indptr, 8);
        append(result, rows.labels, 8);
        append(result, rows.qids, 8);
        append(result, rows.costs, 8);
        append(result, rows.skips, 8);
        append(result, rows.label_ids, 4);
        result += std::to_string(rows.n_features);
    } else {
        result =
            std::to_string(fault.line) + ":" + std::to_string(fault.column) + ":" + fault.message;
    }
    svmcut_scan_delete(scanner);
    return result;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // The first byte says what lines start with: a label, or labels with features counted from 1 or
    // from 0.
    const int labels = size ? data[0] % 3 : 0;
    const std::string expected = scan(data, size, 1, 0, 1, size, labels);
    const int64_t piece_bytes = size ? 1 + data[size / 2] : 1;
    const size_t cut = size ? data[0] * size / 256 : 0;
    if (scan(data, size, 0, 0, 1, size, labels) != expected ||
        scan(data, size, 0, piece_bytes, 1, cut, labels) != expected ||
        scan(data, size, 0, piece_bytes, 2, size, labels) != expected)
        std::abort();
    return 0;
}
