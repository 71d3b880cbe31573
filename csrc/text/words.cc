// SPDX-License-Identifier: BSD-3-Clause
#include "include/words.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "text/decimal.h"

namespace {

using svmcut::Decimal;

constexpr int PAGES = 0x110000 >> 8;
constexpr int64_t MOST_WORDS = INT64_C(0x7ffffffe);
constexpr int MOST_BITS = 30;

struct Page {
    uint8_t kind[256];
    uint32_t lower[256];
};

// murmurhash3_x86_32 with seed 0.
uint32_t murmur(const char* text, int64_t length) {
    uint32_t h = 0;
    const int64_t blocks = length / 4;
    auto mixed = [](uint32_t k) {
        k *= 0xcc9e2d51u;
        k = (k << 15) | (k >> 17);
        return k * 0x1b873593u;
    };
    for (int64_t i = 0; i < blocks; ++i) {
        const auto* at = reinterpret_cast<const unsigned char*>(text + 4 * i);
        const uint32_t k = at[0] | at[1] << 8 | at[2] << 16 | static_cast<uint32_t>(at[3]) << 24;
        h ^= mixed(k);
        h = (h << 13) | (h >> 19);
        h = h * 5 + 0xe6546b64u;
    }
    const auto* tail = reinterpret_cast<const unsigned char*>(text + 4 * blocks);
    uint32_t k = 0;
    for (int64_t i = (length & 3) - 1; i >= 0; --i) k = k << 8 | tail[i];
    if (length & 3) h ^= mixed(k);
    h ^= static_cast<uint32_t>(length);
    h ^= h >> 16;
    h *= 0x85ebca6bu;
    h ^= h >> 13;
    h *= 0xc2b2ae35u;
    return h ^ h >> 16;
}

// The code point at p, which moves behind it; -1 and p as it was where there is none.
int32_t decoded(const char*& p, const char* end) {
    const auto* at = reinterpret_cast<const unsigned char*>(p);
    const uint32_t first = *at;
    const int more = first < 0x80                    ? 0
                     : first >= 0xc2 && first < 0xe0 ? 1
                     : (first & 0xf0) == 0xe0        ? 2
                     : first >= 0xf0 && first < 0xf5 ? 3
                                                     : -1;
    if (more < 0 || end - p <= more) return -1;
    uint32_t point = more == 0 ? first : first & (0x3fu >> more);
    for (int k = 1; k <= more; ++k) {
        if ((at[k] & 0xc0) != 0x80) return -1;
        point = point << 6 | (at[k] & 0x3f);
    }
    static constexpr uint32_t least[] = {0, 0x80, 0x800, 0x10000};
    if (point < least[more] || point > 0x10ffff || (point >= 0xd800 && point < 0xe000)) return -1;
    p += more + 1;
    return static_cast<int32_t>(point);
}

void append(std::vector<char>& text, uint32_t point) {
    if (point < 0x80) {
        text.push_back(static_cast<char>(point));
        return;
    }
    const int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    text.push_back(static_cast<char>(((0xff00u >> (more + 1)) & 0xff) | point >> (6 * more)));
    for (int k = more - 1; k >= 0; --k)
        text.push_back(static_cast<char>(0x80 | ((point >> (6 * k)) & 0x3f)));
}

// Whether offsets i and i + 1 are those of a cell of so many bytes of text.
bool is_within(const int64_t* offsets, int64_t i, int64_t bytes) {
    return offsets[i] >= 0 && offsets[i] <= offsets[i + 1] && offsets[i + 1] <= bytes;
}

struct Entry {
    int32_t id;
    double value;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

void trim(const char*& p, const char*& end) {
    while (p < end && is_blank(*p)) ++p;
    while (p < end && is_blank(end[-1])) --end;
}

// What stands for no value among numbers.
bool stands_for_nothing(const char* p, const char* end) {
    static constexpr const char* names[] = {"na",   "n/a",  "nan", "-nan",
                                            "null", "none", "?",   "#n/a"};
    if (end - p > 5) return false;
    char lowered[6] = {0};
    for (int k = 0; p < end; ++p, ++k)
        lowered[k] = *p >= 'A' && *p <= 'Z' ? static_cast<char>(*p + 32) : *p;
    return std::any_of(std::begin(names), std::end(names),
                       [&](const char* name) { return !std::strcmp(name, lowered); });
}

int32_t placed(const svmcut_column& column, int32_t id) {
    if (id < 0 || id >= column.n_places) return -1;
    const int32_t place = column.places == nullptr ? id : column.places[id];
    return place < column.width ? place : -1;
}

// Whether a column has rows begin to end - 1, and their entries.
bool has_rows(const svmcut_column& column, int64_t begin, int64_t end) {
    if (begin < 0 || end > column.n) return false;
    if (column.kind != 2) return true;
    for (int64_t row = begin; row < end; ++row)
        if (!is_within(column.ends, row, column.entries)) return false;
    return true;
}

// The features of a row in one column, to `give`.
template <class Give>
void put(const svmcut_column& column, int64_t row, std::vector<Entry>& found, Give give) {
    if (column.kind == 0) {
        const double value = column.values[row];
        const bool missing = std::isnan(value);
        const auto encoded =
            static_cast<float>(((missing ? column.fill : value) - column.mean) * column.scale);
        if (encoded != 0) give(column.first, encoded);
        if (missing && column.missing >= 0) give(column.missing, 1.0f);
    } else if (column.kind == 1) {
        const int32_t id = column.ids[row], place = placed(column, id);
        if (place >= 0) give(column.first + place, 1.0f);
        if (id == -1 && column.missing >= 0) give(column.missing, 1.0f);
    } else {
        found.clear();
        double squares = 0;
        for (int64_t k = column.ends[row]; k < column.ends[row + 1]; ++k) {
            const int32_t place = placed(column, column.ids[k]);
            if (place < 0 || column.counts[k] == 0) continue;
            double value = column.counts[k];
            if (column.log) value = 1 + std::log(value);
            if (column.weights != nullptr) value *= column.weights[place];
            squares += value * value;
            found.push_back({place, value});
        }
        std::sort(found.begin(), found.end(),
                  [](const Entry& a, const Entry& b) { return a.id < b.id; });
        const double length = column.normed && squares > 0 ? std::sqrt(squares) : 1;
        for (const Entry& entry : found)
            give(column.first + entry.id, static_cast<float>(entry.value / length));
    }
}

}  // namespace

struct svmcut_words {
    int hash_bits;
    std::vector<std::unique_ptr<Page>> pages;
    std::vector<char> text;       // of the different words
    std::vector<int64_t> starts;  // one more than there are words
    std::vector<uint32_t> hashes;
    std::vector<int32_t> slots;  // words by hash, -1 where empty; a power of two
    std::vector<char> cell;      // lowered words of a cell, a blank between
    std::vector<int64_t> begins, stops;
    std::vector<Entry> found;
    std::vector<int64_t> last, place;  // of words: the cell they were counted in last, and where
    std::vector<int64_t> ends;
    std::vector<int32_t> ids;
    std::vector<float> counts;
    int64_t cells = 0;

    explicit svmcut_words(int bits) : hash_bits(bits), pages(PAGES), starts(1, 0), slots(1024, -1) {
        auto page = std::make_unique<Page>();
        for (uint32_t c = 0; c < 256; ++c) {
            const bool upper = c >= 'A' && c <= 'Z';
            page->lower[c] = upper ? c + 32 : c;
            page->kind[c] = upper || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
        }
        ascii = *page;
    }

    Page ascii;

    int64_t size() const { return static_cast<int64_t>(hashes.size()); }

    // The number of a word; -2 for none, -3 where there are too many.
    int32_t number(const char* word, int64_t length, bool grow) {
        const uint32_t hash = murmur(word, length);
        size_t mask = slots.size() - 1, slot = hash & mask;
        for (; slots[slot] >= 0; slot = (slot + 1) & mask) {
            const int32_t id = slots[slot];
            if (hashes[id] == hash && starts[id + 1] - starts[id] == length &&
                !std::memcmp(text.data() + starts[id], word, static_cast<size_t>(length)))
                return id;
        }
        if (!grow) return -2;
        if (size() >= MOST_WORDS) return -3;
        const auto id = static_cast<int32_t>(size());
        text.insert(text.end(), word, word + length);
        starts.push_back(static_cast<int64_t>(text.size()));
        hashes.push_back(hash);
        slots[slot] = id;
        if (2 * hashes.size() > slots.size()) {
            slots.assign(2 * slots.size(), -1);
            mask = slots.size() - 1;
            for (size_t k = 0; k < hashes.size(); ++k) {
                for (slot = hashes[k] & mask; slots[slot] >= 0;) slot = (slot + 1) & mask;
                slots[slot] = static_cast<int32_t>(k);
            }
        }
        return id;
    }

    // Cuts a cell into lowered words.
    int cut(const char* p, const char* end, int64_t* what) {
        const char* const begin = p;
        cell.clear();
        begins.clear();
        stops.clear();
        size_t start = 0;
        int64_t points = 0;
        auto close = [&] {
            if (points >= 2) {
                begins.push_back(static_cast<int64_t>(start));
                stops.push_back(static_cast<int64_t>(cell.size()));
                cell.push_back(' ');
            } else {
                cell.resize(start);
            }
            start = cell.size();
            points = 0;
        };
        while (p < end) {
            const auto byte = static_cast<unsigned char>(*p);
            if (byte < 0x80) {
                ++p;
                if (ascii.kind[byte]) {
                    cell.push_back(static_cast<char>(ascii.lower[byte]));
                    ++points;
                } else if (points) {
                    close();
                }
                continue;
            }
            const int32_t point = decoded(p, end);
            if (point < 0) {
                *what = p - begin;
                return SVMCUT_WORDS_ENCODING;
            }
            const Page* page = pages[static_cast<size_t>(point >> 8)].get();
            if (page == nullptr) {
                *what = point >> 8;
                return SVMCUT_WORDS_PAGE;
            }
            const uint8_t kind = page->kind[point & 255];
            if (kind == SVMCUT_SPECIAL) return SVMCUT_WORDS_SPECIAL;
            if (kind == SVMCUT_WORD) {
                append(cell, page->lower[point & 255]);
                ++points;
            } else if (points) {
                close();
            }
        }
        if (points) close();
        return SVMCUT_OK;
    }

    // Counts the words that were cut.
    int count(int low, int high, bool grow) {
        const auto n = static_cast<int64_t>(begins.size());
        const size_t before = ids.size();
        found.clear();
        for (int length = low; length <= high && length <= n; ++length)
            for (int64_t i = 0; i + length <= n; ++i) {
                const char* word = cell.data() + begins[static_cast<size_t>(i)];
                const int64_t bytes =
                    stops[static_cast<size_t>(i + length - 1)] - begins[static_cast<size_t>(i)];
                if (hash_bits >= 0) {
                    const uint32_t hash = murmur(word, bytes);
                    const uint32_t size =
                        hash >> 31 ? 0u - hash : hash;  // |hash| as a signed number
                    const auto mask = (UINT64_C(1) << hash_bits) - 1;
                    found.push_back({static_cast<int32_t>(size & mask), hash >> 31 ? -1.0 : 1.0});
                    continue;
                }
                const int32_t id = number(word, bytes, grow);
                if (id == -3) return SVMCUT_WORDS_FULL;
                if (id < 0) continue;
                if (last.size() < hashes.size()) {
                    last.resize(2 * hashes.size(), -1);
                    place.resize(last.size());
                }
                if (last[static_cast<size_t>(id)] == cells) {
                    counts[static_cast<size_t>(place[static_cast<size_t>(id)])] += 1;
                } else {
                    last[static_cast<size_t>(id)] = cells;
                    place[static_cast<size_t>(id)] = static_cast<int64_t>(ids.size());
                    ids.push_back(id);
                    counts.push_back(1);
                }
            }
        if (hash_bits >= 0) {
            std::sort(found.begin(), found.end(),
                      [](const Entry& a, const Entry& b) { return a.id < b.id; });
            for (const Entry& entry : found) {
                if (ids.size() == before || ids.back() != entry.id) {
                    ids.push_back(entry.id);
                    counts.push_back(0);
                }
                counts.back() += static_cast<float>(entry.value);
            }
        }
        ends.push_back(static_cast<int64_t>(ids.size()));
        ++cells;
        return SVMCUT_OK;
    }
};

extern "C" {

svmcut_words* svmcut_words_new(int hash_bits) {
    if (hash_bits > MOST_BITS) return nullptr;
    try {
        return new svmcut_words(hash_bits);
    } catch (const std::bad_alloc&) {
        return nullptr;
    }
}

void svmcut_words_delete(svmcut_words* words) { delete words; }

int svmcut_words_page(svmcut_words* words, int page, const uint8_t* kind, const uint32_t* lower) {
    if (page < 0 || page >= PAGES) return SVMCUT_BAD_INPUT;
    try {
        auto made = std::make_unique<Page>();
        std::memcpy(made->kind, kind, sizeof made->kind);
        std::memcpy(made->lower, lower, sizeof made->lower);
        words->pages[static_cast<size_t>(page)] = std::move(made);
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_words_count(svmcut_words* words, const char* text, int64_t bytes, const int64_t* offsets,
                       int64_t first, int64_t n, int low, int high, int grow, int64_t* where,
                       int64_t* what) {
    if (first < 0 || low < 1) return SVMCUT_BAD_INPUT;
    try {
        for (int64_t i = first; i < n; ++i) {
            *where = i;
            if (!is_within(offsets, i, bytes)) return SVMCUT_WORDS_OFFSETS;
            int status = words->cut(text + offsets[i], text + offsets[i + 1], what);
            if (status == SVMCUT_OK) status = words->count(low, high, grow);
            if (status != SVMCUT_OK) return status;
        }
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

void svmcut_words_sizes(const svmcut_words* words, int64_t* n_words, int64_t* bytes, int64_t* cells,
                        int64_t* entries) {
    *n_words = words->size();
    *bytes = static_cast<int64_t>(words->text.size());
    *cells = static_cast<int64_t>(words->ends.size());
    *entries = static_cast<int64_t>(words->ids.size());
}

void svmcut_words_take(svmcut_words* words, int64_t* ends, int32_t* ids, float* counts) {
    std::copy(words->ends.begin(), words->ends.end(), ends);
    std::copy(words->ids.begin(), words->ids.end(), ids);
    std::copy(words->counts.begin(), words->counts.end(), counts);
    words->ends.clear();
    words->ids.clear();
    words->counts.clear();
}

void svmcut_words_list(const svmcut_words* words, int64_t* offsets, char* text) {
    std::copy(words->starts.begin(), words->starts.end(), offsets);
    std::copy(words->text.begin(), words->text.end(), text);
}

int svmcut_words_cells(svmcut_words* words, const char* text, int64_t bytes, const int64_t* offsets,
                       const uint8_t* missing, int64_t n, int grow, int32_t* ids, int64_t* where,
                       int64_t* what) {
    try {
        for (int64_t i = 0; i < n; ++i) {
            *where = i;
            if (!is_within(offsets, i, bytes)) return SVMCUT_WORDS_OFFSETS;
            const char *p = text + offsets[i], *end = text + offsets[i + 1];
            trim(p, end);
            if (p == end || (missing != nullptr && missing[i])) {
                ids[i] = -1;
                continue;
            }
            ids[i] = words->number(p, end - p, false);
            if (ids[i] >= 0 || !grow) continue;
            for (const char* q = p; q < end;)
                if (decoded(q, end) < 0) {
                    *what = q - (text + offsets[i]);
                    return SVMCUT_WORDS_ENCODING;
                }
            ids[i] = words->number(p, end - p, true);
            if (ids[i] < 0) return SVMCUT_WORDS_FULL;
        }
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

int svmcut_words_numbers(const char* text, int64_t bytes, const int64_t* offsets,
                         const uint8_t* missing, int64_t n, double* values, int64_t* where) {
    for (int64_t i = 0; i < n; ++i) {
        *where = i;
        if (!is_within(offsets, i, bytes)) return SVMCUT_WORDS_OFFSETS;
        const char *p = text + offsets[i], *end = text + offsets[i + 1];
        trim(p, end);
        if (p == end || (missing != nullptr && missing[i]) || stands_for_nothing(p, end)) {
            values[i] = NAN;
            continue;
        }
        Decimal number;
        if (svmcut::read_decimal(p, end, number) != end) return SVMCUT_WORDS_TEXT;
        if (end - number.begin > 1 && number.begin[0] == '0' && svmcut::is_digit(number.begin[1]))
            return SVMCUT_WORDS_TEXT;
        values[i] = svmcut::to_double(number);
        if (!std::isfinite(values[i])) return SVMCUT_WORDS_OVERFLOW;
    }
    return SVMCUT_OK;
}

int svmcut_words_sized(const svmcut_column* columns, int n_columns, int64_t begin, int64_t end,
                       int64_t* counts) {
    for (int k = 0; k < n_columns; ++k)
        if (!has_rows(columns[k], begin, end)) return SVMCUT_BAD_INPUT;
    std::vector<Entry> found;
    for (int64_t row = begin; row < end; ++row) {
        int64_t count = 0;
        for (int k = 0; k < n_columns; ++k) {
            const svmcut_column& column = columns[k];
            if (column.kind == 2)
                for (int64_t i = column.ends[row]; i < column.ends[row + 1]; ++i)
                    count += column.counts[i] != 0 && placed(column, column.ids[i]) >= 0;
            else put(column, row, found, [&](int32_t, float) { ++count; });
        }
        counts[row - begin] = count;
    }
    return SVMCUT_OK;
}

int svmcut_words_rows(const svmcut_column* columns, int n_columns, int64_t begin, int64_t end,
                      const int64_t* starts, int32_t* indices, float* data) {
    try {
        std::vector<Entry> found;
        for (int64_t row = begin; row < end; ++row) {
            int64_t at = starts[row - begin];
            for (int k = 0; k < n_columns; ++k)
                put(columns[k], row, found, [&](int32_t feature, float value) {
                    indices[at] = feature;
                    data[at++] = value;
                });
        }
        return SVMCUT_OK;
    } catch (const std::bad_alloc&) {
        return SVMCUT_NO_MEMORY;
    }
}

}  // extern "C"
