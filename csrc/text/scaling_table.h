// SPDX-License-Identifier: BSD-3-Clause
//
// What scaling keeps: features by index, and text.
#ifndef SVMCUT_SCALING_TABLE_H
#define SVMCUT_SCALING_TABLE_H

#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "text/growing.h"

namespace svmcut {

enum class Known : int32_t { no, yes, told };

struct Feature {
    double low, high;
    // measuring: the last row that names it, from 1; writing: where its text in `fill` would begin
    int64_t place;
    int32_t length;  // of that text
    Known known;
};

constexpr int page_bits = 8;
constexpr int64_t page_size = 1 << page_bits;

// Features by index, in pages that are there where the file has some of theirs.
class Table {
  public:
    Feature* page(int64_t number) const {
        return number < static_cast<int64_t>(pages.size())
                   ? pages[static_cast<size_t>(number)].get()
                   : nullptr;
    }
    int64_t page_count() const { return static_cast<int64_t>(pages.size()); }
    Feature* find(int64_t index) const {
        Feature* found = page(index >> page_bits);
        return found ? found + (index & (page_size - 1)) : nullptr;
    }
    Feature& make(int64_t index) {
        if (Feature* found = find(index)) return *found;
        const auto number = static_cast<size_t>(index >> page_bits);
        if (number >= pages.size()) pages.resize(number + 1);
        pages[number] = std::make_unique<Feature[]>(page_size);
        ++made;
        return *find(index);
    }
    int64_t bytes() const {
        return made * page_size * static_cast<int64_t>(sizeof(Feature)) +
               8 * static_cast<int64_t>(pages.capacity());
    }

  private:
    std::vector<std::unique_ptr<Feature[]>> pages;
    int64_t made = 0;
};

// Text that grows.
class Text {
  public:
    const char* data() const { return text.data(); }
    int64_t size() const { return text.size(); }
    void clear() { text.set_size(0); }
    char* room(int64_t bytes) {
        if (!text.reserve(text.size() + bytes, 0)) throw std::bad_alloc();
        return text.data() + text.size();
    }
    void end_at(const char* end) { text.set_size(end - text.data()); }
    void append(const char* from, int64_t bytes) {
        char* out = room(bytes + 1);
        if (bytes) std::memcpy(out, from, static_cast<size_t>(bytes));
        end_at(out + bytes);
    }
    void append(char c) { append(&c, 1); }

  private:
    Growing<char> text;
};

}  // namespace svmcut
#endif
