// SPDX-License-Identifier: BSD-3-Clause
//
// The loops over responses on vectors of eight, in namespace SVMCUT_LANES; expansion_code.cc
// includes this once for every set of instructions. Sums have eight lanes whatever the
// instructions.
#include "core/widened.h"

namespace svmcut {
namespace SVMCUT_LANES {

constexpr int kWidth = 8;
typedef double Doubles __attribute__((vector_size(64)));
typedef int64_t Longs __attribute__((vector_size(64)));
typedef float Floats __attribute__((vector_size(32)));

template <class V, class T>
inline V load(const T* p) {
    V x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}
inline void store(double* p, Doubles x) { __builtin_memcpy(p, &x, sizeof x); }
inline double total(const Doubles& x) {
    double sum = 0;
    for (int r = 0; r < kWidth; ++r) sum += x[r];
    return sum;
}

// c += step row; returns the sum of the row.
double add(double* c, const float* row, double step, int64_t count) {
    Doubles sum{};
    int64_t k = 0;
    for (; k + kWidth <= count; k += kWidth) {
        const Doubles K = widened<Doubles>(row + k);
        store(c + k, load<Doubles>(c + k) + step * K);
        sum += K;
    }
    double rest = 0;
    for (; k < count; ++k) {
        c[k] += step * static_cast<double>(row[k]);
        rest += static_cast<double>(row[k]);
    }
    return total(sum) + rest;
}

// As add, and correction += weight row.
double add_two(double* c, double* correction, const float* row, double step, double weight,
               int64_t count) {
    Doubles sum{};
    int64_t k = 0;
    for (; k + kWidth <= count; k += kWidth) {
        const Doubles K = widened<Doubles>(row + k);
        store(c + k, load<Doubles>(c + k) + step * K);
        store(correction + k, load<Doubles>(correction + k) + weight * K);
        sum += K;
    }
    double rest = 0;
    for (; k < count; ++k) {
        const double K = row[k];
        c[k] += step * K;
        correction[k] += weight * K;
        rest += K;
    }
    return total(sum) + rest;
}

// Number and sum of the responses below the threshold.
Below below(const double* c, double threshold, int64_t count) {
    Doubles sum{};
    Longs found{};
    int64_t k = 0;
    for (; k + kWidth <= count; k += kWidth) {
        const Doubles x = load<Doubles>(c + k);
        const Longs under = x < threshold;
        sum += under ? x : Doubles{};
        found -= under;
    }
    Below result{0, total(sum), 0.0};
    for (int r = 0; r < kWidth; ++r) result.count += found[r];
    for (; k < count; ++k)
        if (c[k] < threshold) {
            ++result.count;
            result.sum += c[k];
        }
    result.mass = static_cast<double>(result.count);
    return result;
}

Below below_weighted(const double* c, const double* v, double threshold, int64_t count) {
    Doubles sum{}, mass{};
    Longs found{};
    int64_t k = 0;
    for (; k + kWidth <= count; k += kWidth) {
        const Doubles x = load<Doubles>(c + k);
        const Longs under = x < threshold;
        const Doubles weight = under ? load<Doubles>(v + k) : Doubles{};
        sum += under ? x * weight : Doubles{};
        mass += weight;
        found -= under;
    }
    Below result{0, total(sum), total(mass)};
    for (int r = 0; r < kWidth; ++r) result.count += found[r];
    for (; k < count; ++k)
        if (c[k] < threshold) {
            ++result.count;
            result.sum += v[k] * c[k];
            result.mass += v[k];
        }
    return result;
}

// Number and sum of the responses below `low`; those in [low, high) go to out, in order.
template <bool kWeighted>
inline Below collect_any(const double* c, const double* v, double low, double high, int64_t first,
                         int64_t count, Response* out, int64_t* taken) {
    constexpr int64_t kGroup = 64;
    Doubles sum{}, mass{};
    Longs found{};
    Below rest{0, 0.0, 0.0};
    int64_t at = 0, k = 0;
    for (; k + kGroup <= count; k += kGroup) {
        Longs hit{};
        for (int64_t g = 0; g < kGroup; g += kWidth) {
            const Doubles x = load<Doubles>(c + k + g);
            const Longs under = x < low;
            if (kWeighted) {
                const Doubles weight = under ? load<Doubles>(v + k + g) : Doubles{};
                sum += under ? x * weight : Doubles{};
                mass += weight;
            } else {
                sum += under ? x : Doubles{};
            }
            found -= under;
            hit |= ~under & (x < high);
        }
#if defined(__clang__)
        const Longs half = hit | __builtin_shufflevector(hit, hit, 4, 5, 6, 7, 0, 1, 2, 3);
#else
        const Longs half = hit | __builtin_shuffle(hit, Longs{4, 5, 6, 7, 0, 1, 2, 3});
#endif
        if (!(half[0] | half[1] | half[2] | half[3])) continue;
        for (int64_t g = k; g < k + kGroup; ++g) {
            out[at] = {c[g], first + g};
            at += (c[g] >= low) & (c[g] < high);
        }
    }
    for (; k < count; ++k) {
        if (c[k] < low) {
            ++rest.count;
            rest.sum += kWeighted ? v[k] * c[k] : c[k];
            if (kWeighted) rest.mass += v[k];
        } else if (c[k] < high) {
            out[at++] = {c[k], first + k};
        }
    }
    *taken = at;
    for (int r = 0; r < kWidth; ++r) rest.count += found[r];
    rest.sum += total(sum);
    rest.mass = kWeighted ? rest.mass + total(mass) : static_cast<double>(rest.count);
    return rest;
}

Below collect(const double* c, double low, double high, int64_t first, int64_t count, Response* out,
              int64_t* taken) {
    return collect_any<false>(c, nullptr, low, high, first, count, out, taken);
}

Below collect_weighted(const double* c, const double* v, double low, double high, int64_t first,
                       int64_t count, Response* out, int64_t* taken) {
    return collect_any<true>(c, v, low, high, first, count, out, taken);
}

// mass += weight where c <= threshold.
void weigh(const double* c, double threshold, double weight, double* mass, int64_t count) {
    for (int64_t k = 0; k < count; ++k) mass[k] += c[k] <= threshold ? weight : 0.0;
}

void weigh_weighted(const double* c, const double* v, double threshold, double weight, double* mass,
                    int64_t count) {
    for (int64_t k = 0; k < count; ++k) mass[k] += c[k] <= threshold ? weight * v[k] : 0.0;
}

const ExpansionCode code = {
    add, add_two, below, collect, weigh, below_weighted, collect_weighted, weigh_weighted};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
