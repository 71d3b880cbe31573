// SPDX-License-Identifier: BSD-3-Clause
//
// Arrays that grow without a copy and without touching pages before they are needed.
//
// Large ones are mappings of their own where the system can move mappings, on huge pages where it
// has them: the faults of 4 KiB pages cost about as much as reading the numbers that fill them.
#ifndef SVMCUT_GROWING_H
#define SVMCUT_GROWING_H

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "include/text.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

namespace svmcut {

constexpr int64_t page = 4096, huge_page = 2 << 20, smallest_mapping = 8 << 20;

inline int64_t round_up(int64_t bytes, int64_t unit) { return (bytes + unit - 1) / unit * unit; }

#if defined(__linux__)
// A mapping on a boundary of huge pages, or null.
inline void* map_pages(int64_t bytes) {
    const auto wanted = static_cast<size_t>(bytes), spare = static_cast<size_t>(huge_page);
    void* got =
        mmap(nullptr, wanted + spare, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (got == MAP_FAILED) return nullptr;
    char* start = static_cast<char*>(got);
    const auto over = reinterpret_cast<uintptr_t>(start) % spare;
    const size_t before = over ? spare - over : 0;
    if (before) munmap(start, before);
    if (spare > before) munmap(start + before + wanted, spare - before);
    return start + before;
}
#endif

// Moves an allocation of `mapped` bytes (0: from malloc), of which `used` matter, to one of at
// least `bytes`.
inline bool resize(void*& data, int64_t& mapped, int64_t used, int64_t bytes) {
#if defined(__linux__)
    if (mapped && bytes < mapped) {
        const int64_t kept = round_up(bytes ? bytes : 1, page);
        if (kept < mapped)
            munmap(static_cast<char*>(data) + kept, static_cast<size_t>(mapped - kept));
        mapped = kept < mapped ? kept : mapped;
        return true;
    }
    if (bytes >= smallest_mapping || mapped) {
        const int64_t size = round_up(bytes, page);
        void* moved = nullptr;
        if (mapped) {
            moved = mremap(data, static_cast<size_t>(mapped), static_cast<size_t>(size), 0);
            if (moved == MAP_FAILED) {
                moved = map_pages(size);
                if (!moved) return false;
                const auto whole = static_cast<size_t>(mapped);
                if (mremap(data, whole, whole, MREMAP_MAYMOVE | MREMAP_FIXED, moved) ==
                    MAP_FAILED) {
                    munmap(moved, static_cast<size_t>(size));
                    return false;
                }
            }
        } else {
            moved = map_pages(size);
            if (!moved) return false;
            if (used) std::memcpy(moved, data, static_cast<size_t>(used));
            std::free(data);
        }
        data = moved;
        mapped = size;
#if defined(MADV_HUGEPAGE)
        madvise(data, static_cast<size_t>(size / huge_page * huge_page), MADV_HUGEPAGE);
#endif
        return true;
    }
#endif
    void* moved = std::realloc(data, static_cast<size_t>(bytes ? bytes : 1));
    if (!moved) return false;
    data = moved;
    return true;
}

inline void release(void* data, int64_t mapped) {
#if defined(__linux__)
    if (mapped) {
        munmap(data, static_cast<size_t>(mapped));
        return;
    }
#endif
    (void)mapped;
    std::free(data);
}

template <class T>
class Growing {
  public:
    Growing() = default;
    Growing(const Growing&) = delete;
    Growing& operator=(const Growing&) = delete;
    ~Growing() { release(memory, mapped); }

    T* data() const { return static_cast<T*>(memory); }
    int64_t size() const { return length; }

    // Room for `wanted` in all. When there is none yet, `expected` is asked for if it is more.
    bool reserve(int64_t wanted, int64_t expected) {
        if (wanted <= capacity) return true;
        int64_t room = expected > wanted ? expected : wanted;
        if (room < capacity + capacity / 2) room = capacity + capacity / 2;
        const auto item = static_cast<int64_t>(sizeof(T));
        if (room > INT64_MAX / 2 / item) return false;
        if (!resize(memory, mapped, length * item, room * item)) {
            room = wanted;
            if (!resize(memory, mapped, length * item, room * item)) return false;
        }
        capacity = room;
        return true;
    }

    void set_size(int64_t size) { length = size; }  // within capacity

    void move_out(svmcut_array& array) {
        const auto bytes = length * static_cast<int64_t>(sizeof(T));
        if (memory && length) resize(memory, mapped, bytes, bytes);
        if (memory && !length) {
            release(memory, mapped);
            memory = nullptr;
            mapped = 0;
        }
        array = svmcut_array{memory, length, mapped};
        memory = nullptr;
        mapped = length = capacity = 0;
    }

  private:
    void* memory = nullptr;
    int64_t mapped = 0, length = 0, capacity = 0;
};

}  // namespace svmcut
#endif
