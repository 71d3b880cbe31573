// SPDX-License-Identifier: BSD-3-Clause
//
// Runs of plain features with vector instructions, and the choice among them at run time.
//
// Two steps (Langdale & Lemire, Parsing gigabytes of JSON per second, 2019, on other text): the
// places of all separators in a window of text are written down first, without a branch that
// depends on the text; then a feature is two known spans, and no feature waits for the length of
// the one before. Both numbers of a feature share one register: the value is in the low lane, its
// point squeezed out, the index in the high one.
#ifndef SVMCUT_SCAN_SIMD_H
#define SVMCUT_SCAN_SIMD_H

#include "text/scan_piece.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // GCC bug 105593, in its own intrinsics
#endif

namespace svmcut {

inline void scan_portable(Piece& piece) { Lines<NoRun>(piece).scan(); }

}  // namespace svmcut

#if defined(__x86_64__)
#include <immintrin.h>

namespace svmcut {

#define SVMCUT_AVX2 __attribute__((target("avx2,bmi,bmi2,lzcnt")))
#define SVMCUT_AVX512                                                      \
    __attribute__((                                                        \
        target("avx2,bmi,bmi2,lzcnt,avx512f,avx512bw,avx512vl,avx512vbmi," \
               "avx512vbmi2")))

constexpr int64_t kMarked = 64;  // bytes that are looked at together: a bit each

// Writes the places of separators (bytes up to the blank, and colons) in p[0, bytes) to out, which
// has room for bytes + 80, and returns how many there are.
struct Avx2Marks {
    SVMCUT_AVX2 static uint64_t separators(const char* p) {
        uint64_t bits = 0;
        for (int half = 0; half < 2; ++half) {
            const __m256i text =
                _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 32 * half));
            const __m256i low =
                _mm256_cmpeq_epi8(_mm256_min_epu8(text, _mm256_set1_epi8(' ')), text);
            const __m256i colon = _mm256_cmpeq_epi8(text, _mm256_set1_epi8(':'));
            const auto found =
                static_cast<uint32_t>(_mm256_movemask_epi8(_mm256_or_si256(low, colon)));
            bits |= static_cast<uint64_t>(found) << (32 * half);
        }
        return bits;
    }
    SVMCUT_AVX2 static int places(const char* p, int64_t bytes, uint32_t* out) {
        int count = 0;
        for (int64_t at = 0; at < bytes; at += kMarked) {
            char tail[kMarked];
            uint64_t bits = separators(whole(p + at, bytes - at, tail));
            const int here = static_cast<int>(_mm_popcnt_u64(bits));
            for (int done = 0; done < here; done += 8)
                for (int i = 0; i < 8; ++i) {
                    out[count + done + i] =
                        static_cast<uint32_t>(at + static_cast<int64_t>(_tzcnt_u64(bits)));
                    bits = _blsr_u64(bits);
                }
            count += here;
        }
        return count;
    }
    // kMarked readable bytes that start with those at p.
    static const char* whole(const char* p, int64_t bytes, char* tail) {
        if (bytes >= kMarked) return p;
        std::memset(tail, 'x', kMarked);
        std::memcpy(tail, p, static_cast<size_t>(bytes));
        return tail;
    }
};

alignas(64) inline constexpr uint8_t count_up[64] = {
    0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
    22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43,
    44, 45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63};

struct Avx512Marks {
    SVMCUT_AVX512 static int places(const char* p, int64_t bytes, uint32_t* out) {
        const __m512i order = _mm512_load_si512(count_up);
        int count = 0;
        for (int64_t at = 0; at < bytes; at += 64) {
            const uint64_t inside =
                bytes - at >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << (bytes - at)) - 1;
            const __m512i text = _mm512_maskz_loadu_epi8(inside, p + at);
            const uint64_t bits = inside & (_mm512_cmple_epu8_mask(text, _mm512_set1_epi8(' ')) |
                                            _mm512_cmpeq_epi8_mask(text, _mm512_set1_epi8(':')));
            const __m512i found = _mm512_maskz_compress_epi8(bits, order);
            const __m512i base = _mm512_set1_epi32(static_cast<int>(at));
            const int here = static_cast<int>(_mm_popcnt_u64(bits));
            put(out + count, base, _mm512_castsi512_si128(found));
            if (here > 16) {
                put(out + count + 16, base, _mm512_extracti32x4_epi32(found, 1));
                put(out + count + 32, base, _mm512_extracti32x4_epi32(found, 2));
                put(out + count + 48, base, _mm512_extracti32x4_epi32(found, 3));
            }
            count += here;
        }
        return count;
    }
    SVMCUT_AVX512 static void put(uint32_t* out, __m512i base, __m128i sixteen) {
        _mm512_storeu_si512(out, _mm512_add_epi32(base, _mm512_cvtepu8_epi32(sixteen)));
    }
};

// By the place of the point in sixteen bytes, 16 for none: how to close the gap, and the factor it
// stands for.
struct PointTable {
    uint8_t shuffle[17][16];
    double scale[17];
    constexpr PointTable() : shuffle(), scale() {
        double power = 1;
        for (int point = 15; point >= 0; --point, power *= 10) {
            scale[point] = 1 / power;
            for (int i = 0; i < 16; ++i)
                shuffle[point][i] = static_cast<uint8_t>(i > point ? i : (i ? i - 1 : 0x80));
        }
        scale[16] = 1;
        for (int i = 0; i < 16; ++i) shuffle[16][i] = static_cast<uint8_t>(i);
    }
};
alignas(64) inline constexpr PointTable point_table;

// keep_last + n, as sixteen bytes: all ones in the last n.
alignas(64) inline constexpr uint8_t keep_last[32] = {
    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,    0,
    0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

// A run in the sense of Lines: reads "INDEX:VALUE" of up to 16 bytes a number, VALUE without
// exponent and of up to 15 digits, followed by a blank or line end. 15 digits times the rounded
// power of ten are within two units in the last place of double, so only results beside the
// midpoint of two floats are left to Lines.
template <class Marks>
class VectorRun {
  public:
    VectorRun(const char* begin, const char* end)
        : begin(begin), end(end), window(begin), window_end(begin) {}

    SVMCUT_AVX2 const char* features(const char* p, int32_t& last, Piece& piece) {
        if (end - p < 64 || p - begin < 16) return p;
        for (;;) {
            if (p >= window_end) look_ahead(p);
            while (next < count && window + marks[next] < p) ++next;
            const char* q = read(p, last, piece);
            const bool starved = next + 1 >= count && window_end < end && window < q &&
                                 window_end - q < window_bytes / 2;
            p = q;
            if (!starved || *p == '\n') return p;
            look_ahead(p);
        }
    }

  private:
    static constexpr int64_t window_bytes = 8 << 10;
    const char *const begin, *const end;
    const char *window, *window_end;
    int next = 0, count = 0;
    uint32_t marks[window_bytes + 80];

    void look_ahead(const char* p) {
        window = p;
        window_end = end - p < window_bytes ? end : p + window_bytes;
        count = Marks::places(p, window_end - p, marks);
        next = 0;
    }

    SVMCUT_AVX2 static __m256i pair(const void* low, const void* high) {
        return _mm256_inserti128_si256(
            _mm256_castsi128_si256(_mm_loadu_si128(static_cast<const __m128i*>(low))),
            _mm_loadu_si128(static_cast<const __m128i*>(high)), 1);
    }

    SVMCUT_AVX2 const char* read(const char* p, int32_t& last_index, Piece& piece) {
        const __m256i tens = _mm256_set1_epi16(0x010a), hundreds = _mm256_set1_epi32(0x00010064),
                      myriads = _mm256_set1_epi32(0x00012710);
        int32_t* const indices = piece.indices;
        float* const values = piece.values;
        int64_t entries = piece.entries;
        int32_t last = last_index;
        const char* const base = window;
        const uint32_t *mark = marks + next, *const marks_end = marks + count;
        for (; mark + 1 < marks_end; mark += 2) {
            const char *colon = base + mark[0], *stop = base + mark[1];
            const char after = *stop;
            if (*colon != ':' || (after != ' ' && !(after >= '\t' && after <= '\r'))) break;
            const int64_t negative = colon[1] == '-';
            const int64_t index_bytes = colon - p, value_bytes = stop - colon - 1 - negative;
            if (static_cast<uint64_t>((index_bytes - 1) | (value_bytes - 1)) >= 16) break;

            const __m256i text = pair(stop - 16, colon - 16);
            const __m256i keep = pair(keep_last + value_bytes, keep_last + index_bytes);
            const __m256i points =
                _mm256_and_si256(_mm256_cmpeq_epi8(text, _mm256_set1_epi8('.')), keep);
            const auto point = _tzcnt_u32(
                (static_cast<uint32_t>(_mm256_movemask_epi8(points)) & 0xffff) | 0x10000);
            const __m256i squeeze = pair(point_table.shuffle[point], point_table.shuffle[16]);
            __m256i digits = _mm256_and_si256(_mm256_sub_epi8(text, _mm256_set1_epi8('0')), keep);
            digits = _mm256_shuffle_epi8(digits, squeeze);
            const __m256i excess = _mm256_subs_epu8(digits, _mm256_set1_epi8(9));
            if (!_mm256_testz_si256(excess, excess)) break;
            if (static_cast<uint64_t>(value_bytes - (point < 16) - 1) >= 15) break;

            const __m256i twos = _mm256_maddubs_epi16(digits, tens);
            const __m256i fours = _mm256_madd_epi16(twos, hundreds);
            const __m256i eights = _mm256_madd_epi16(_mm256_packus_epi32(fours, fours), myriads);
            const auto value_halves =
                static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_castsi256_si128(eights)));
            const auto index_halves =
                static_cast<uint64_t>(_mm_cvtsi128_si64(_mm256_extracti128_si256(eights, 1)));
            const auto index = static_cast<int32_t>(index_halves >> 32);
            if (static_cast<uint32_t>(index_halves) || index <= last) break;

            const uint64_t mantissa =
                (value_halves & 0xffffffff) * 100000000 + (value_halves >> 32);
            const double x =
                static_cast<double>(static_cast<int64_t>(mantissa)) * point_table.scale[point];
            if (beside_midpoint(x)) break;
            const float value = static_cast<float>(x);
            uint32_t bits;
            std::memcpy(&bits, &value, sizeof bits);
            bits |= static_cast<uint32_t>(negative) << 31;
            std::memcpy(values + entries, &bits, sizeof bits);
            indices[entries++] = index - 1;
            last = index;
            p = stop + 1;
            if (after != ' ') {
                p = stop;
                ++mark;
                break;
            }
        }
        next = static_cast<int>(mark - marks);
        piece.entries = entries;
        last_index = last;
        return p;
    }
};

inline void scan_avx2(Piece& piece) { Lines<VectorRun<Avx2Marks>>(piece).scan(); }
inline void scan_avx512(Piece& piece) { Lines<VectorRun<Avx512Marks>>(piece).scan(); }

inline void (*fastest_scan())(Piece&) {
    __builtin_cpu_init();
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("bmi") ||
        !__builtin_cpu_supports("bmi2"))
        return scan_portable;
    return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
                   __builtin_cpu_supports("avx512vbmi2")
               ? scan_avx512
               : scan_avx2;
}

}  // namespace svmcut

#else
namespace svmcut {
inline void (*fastest_scan())(Piece&) { return scan_portable; }
}  // namespace svmcut
#endif
#endif
