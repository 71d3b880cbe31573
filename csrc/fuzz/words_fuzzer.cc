// SPDX-License-Identifier: BSD-3-Clause
//
// libFuzzer target of words and cells: any text and any offsets are counted, numbered and read as
// numbers, or refused; what is counted becomes rows, also where ends and lengths lie.
//
//     make fuzz
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "include/words.h"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

// A page of code points, of which some are words and few are special.
void learn(svmcut_words* words, int64_t page) {
    uint8_t kind[256];
    uint32_t lower[256];
    for (uint32_t k = 0; k < 256; ++k) {
        kind[k] = k % 61 == 0 ? SVMCUT_SPECIAL : k % 3 ? SVMCUT_WORD : SVMCUT_NO_WORD;
        lower[k] = static_cast<uint32_t>(page) * 256 + (k ^ 1);
    }
    require(svmcut_words_page(words, static_cast<int>(page), kind, lower) == SVMCUT_OK);
}

struct Text {
    std::unique_ptr<char[]> bytes;  // an allocation of its own, so that no overrun goes unseen
    int64_t size;
    std::vector<int64_t> offsets;
    int64_t n;
};

void count(const Text& text, int bits, int low, int high, int grow, const uint8_t* lies) {
    svmcut_words* words = svmcut_words_new(bits);
    require(words != nullptr);
    int64_t at = 0, what = 0;
    int status = SVMCUT_OK;
    for (;;) {
        status = svmcut_words_count(words, text.bytes.get(), text.size, text.offsets.data(), at,
                                    text.n, low, high, grow, &at, &what);
        if (status == SVMCUT_WORDS_PAGE) {
            require(what >= 0 && what < 0x1100);
            learn(words, what);
        } else if (status == SVMCUT_WORDS_SPECIAL) {
            if (++at == text.n) break;
        } else {
            break;
        }
    }
    int64_t n_words = 0, bytes = 0, cells = 0, entries = 0;
    svmcut_words_sizes(words, &n_words, &bytes, &cells, &entries);
    require(cells <= text.n && (low >= 1 || status != SVMCUT_OK));
    std::unique_ptr<int64_t[]> ends(new int64_t[cells + 1]);
    std::unique_ptr<int32_t[]> ids(new int32_t[entries]);
    std::unique_ptr<float[]> counts(new float[entries]);
    ends[0] = 0;
    svmcut_words_take(words, ends.get() + 1, ids.get(), counts.get());
    std::unique_ptr<int64_t[]> starts(new int64_t[n_words + 1]);
    std::unique_ptr<char[]> names(new char[bytes]);
    svmcut_words_list(words, starts.get(), names.get());
    svmcut_words_delete(words);
    const int64_t width = bits < 0 ? n_words : int64_t{1} << bits;
    for (int64_t i = 0; i < cells; ++i) require(ends[i] <= ends[i + 1] && ends[i + 1] <= entries);
    for (int64_t k = 0; k < entries; ++k) require(ids[k] >= 0 && ids[k] < width);

    svmcut_column column{};
    column.kind = 2;
    column.n = cells;
    column.entries = entries;
    column.width = static_cast<int32_t>(width) - lies[0] % 3;
    column.missing = -1;
    column.ids = ids.get();
    column.counts = counts.get();
    column.ends = ends.get();
    column.n_places = width;
    column.log = bits < 0;
    column.normed = 1;
    if (lies[1] % 4 == 1) ends[lies[2] % (cells + 1)] = static_cast<int8_t>(lies[3]);
    if (lies[1] % 4 == 2) column.entries -= lies[2] % 3;
    const int64_t end = cells + (lies[1] % 8 == 3);
    std::vector<int64_t> sizes(static_cast<size_t>(end), 0);
    if (svmcut_words_sized(&column, 1, 0, end, sizes.data()) != SVMCUT_OK) return;
    require(end == cells);
    std::vector<int64_t> begins(1, 0);
    for (const int64_t size : sizes) begins.push_back(begins.back() + size);
    std::unique_ptr<int32_t[]> indices(new int32_t[begins.back()]);
    std::unique_ptr<float[]> values(new float[begins.back()]);
    require(svmcut_words_rows(&column, 1, 0, end, begins.data(), indices.get(), values.get()) ==
            SVMCUT_OK);
    for (int64_t k = 0; k < begins.back(); ++k)
        require(indices[k] >= 0 && indices[k] < column.width && std::isfinite(values[k]));
}

void read(const Text& text, const uint8_t* missing, int grow) {
    int64_t at = 0, what = 0;
    std::unique_ptr<int32_t[]> ids(new int32_t[text.n]);
    svmcut_words* words = svmcut_words_new(-1);
    require(words != nullptr);
    if (svmcut_words_cells(words, text.bytes.get(), text.size, text.offsets.data(), missing, text.n,
                           grow, ids.get(), &at, &what) == SVMCUT_OK) {
        int64_t n_words = 0, bytes = 0, cells = 0, entries = 0;
        svmcut_words_sizes(words, &n_words, &bytes, &cells, &entries);
        for (int64_t i = 0; i < text.n; ++i) require(ids[i] >= -2 && ids[i] < n_words);
    }
    svmcut_words_delete(words);
    std::unique_ptr<double[]> values(new double[text.n]);
    if (svmcut_words_numbers(text.bytes.get(), text.size, text.offsets.data(), missing, text.n,
                             values.get(), &at) == SVMCUT_OK)
        for (int64_t i = 0; i < text.n; ++i) require(!std::isinf(values[i]));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    // Eight bytes of choices, two for every offset, then the text.
    constexpr size_t kHead = 8;
    if (size < kHead) return 0;
    Text text;
    text.n = data[0] % 24;
    const auto offsets = static_cast<size_t>(text.n) + 1;
    if (size < kHead + 2 * offsets) return 0;
    const uint8_t* const rest = data + kHead + 2 * offsets;
    text.size = static_cast<int64_t>(data + size - rest);
    text.bytes.reset(new char[static_cast<size_t>(text.size)]);
    if (text.size) std::memcpy(text.bytes.get(), rest, static_cast<size_t>(text.size));
    for (size_t i = 0; i < offsets; ++i) {
        const uint8_t* pair = data + kHead + 2 * i;
        // those of even files rise within the text
        const auto told = static_cast<int64_t>(static_cast<int16_t>(pair[0] | pair[1] << 8));
        const int64_t before = i ? text.offsets.back() : 0;
        const int64_t step = text.size > before ? pair[0] % (text.size - before + 1) : 0;
        text.offsets.push_back(data[1] % 2 ? told : before + step);
    }
    const int low = data[2] % 4, high = low + data[2] / 4 % 3, grow = data[3] % 2;
    count(text, data[3] % 3 ? -1 : data[3] % 7, low, high, grow, data + 4);
    std::vector<uint8_t> missing(static_cast<size_t>(text.n));
    for (size_t i = 0; i < missing.size(); ++i) missing[i] = data[7] >> (i % 8) & 1;
    read(text, data[1] % 4 > 1 ? missing.data() : nullptr, grow);
    return 0;
}
