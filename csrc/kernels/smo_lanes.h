// SPDX-License-Identifier: BSD-3-Clause
//
// The loops of SMO over the active points, on vectors of SVMCUT_LANE_BYTES, in namespace
// SVMCUT_LANES; smo_code.cc includes this once for every set of instructions. Among equals the
// lowest position wins, whatever the width.
#include "core/lanes.h"
#include "core/widened.h"

namespace svmcut {
namespace SVMCUT_LANES {

typedef int32_t Ints __attribute__((vector_size(SVMCUT_LANE_BYTES / 2)));

inline Doubles wide(const float* p) { return widened<Doubles>(p); }
inline Doubles wide(const double* p) { return load<Doubles>(p); }
inline Floats narrow(const float* p) { return load<Floats>(p); }
inline Floats narrow(const double* p) { return __builtin_convertvector(load<Doubles>(p), Floats); }
inline Longs mask(const int8_t* p) { return widened<Longs>(p); }

struct Best {
    Doubles value;
    Longs block;
    void offer(Doubles x, int64_t k) {
        const Longs above = x > value;
        value = above ? x : value;
        block = above ? Longs{} + k : block;
    }
    Candidate result() const {
        Candidate best{-kInfinity, -1};
        for (int r = 0; r < kWidth; ++r) {
            const int64_t at = block[r] + r;
            if (block[r] >= 0 &&
                (value[r] > best.value || (value[r] == best.value && at < best.at)))
                best = {value[r], at};
        }
        return best;
    }
};

// v where the tube is added as `way` says.
template <bool Tube>
Doubles within(Doubles x, const int8_t* way, double tube) {
    if constexpr (!Tube) return x;
    const Longs ways = mask(way);
    const Doubles none{}, up = none + tube;
    return x + (ways > 0 ? up : ways < 0 ? -up : none);
}

// v -= step (row_i - row_j), then the highest v that may rise and the lowest that may fall.
template <class Row, bool Tube>
Extremes update(double* v, const Row* row_i, const Row* row_j, double step, double tube,
                const int8_t* up, const int8_t* low, int64_t begin, int64_t end) {
    const Doubles none = Doubles{} - kInfinity;
    Best best{none, Longs{} - 1};
    Doubles lowest = -none;
    for (int64_t k = begin; k < end; k += kWidth) {
        const Doubles x = load<Doubles>(v + k) - step * (wide(row_i + k) - wide(row_j + k));
        __builtin_memcpy(v + k, &x, sizeof x);
        best.offer(mask(up + k) ? within<Tube>(x, up + k, tube) : none, k);
        const Doubles falling = mask(low + k) ? within<Tube>(x, low + k, tube) : -none;
        lowest = falling < lowest ? falling : lowest;
    }
    Extremes result{best.result(), kInfinity};
    for (int r = 0; r < kWidth; ++r)
        result.lowest = lowest[r] < result.lowest ? lowest[r] : result.lowest;
    return result;
}

// As update, of either side by itself: of marks -1 and of marks 1.
template <class Row>
Sides update_sides(double* v, const Row* row_i, const Row* row_j, double step, const int8_t* up,
                   const int8_t* low, int64_t begin, int64_t end) {
    const Doubles none = Doubles{} - kInfinity;
    Best best[2] = {{none, Longs{} - 1}, {none, Longs{} - 1}};
    Doubles lowest[2] = {-none, -none};
    for (int64_t k = begin; k < end; k += kWidth) {
        const Doubles x = load<Doubles>(v + k) - step * (wide(row_i + k) - wide(row_j + k));
        __builtin_memcpy(v + k, &x, sizeof x);
        const Longs rises = mask(up + k), falls = mask(low + k);
        best[0].offer(rises < 0 ? x : none, k);
        best[1].offer(rises > 0 ? x : none, k);
        const Doubles first = falls < 0 ? x : -none, second = falls > 0 ? x : -none;
        lowest[0] = first < lowest[0] ? first : lowest[0];
        lowest[1] = second < lowest[1] ? second : lowest[1];
    }
    Sides result{{{best[0].result(), kInfinity}, {best[1].result(), kInfinity}}};
    for (int side = 0; side < 2; ++side)
        for (int r = 0; r < kWidth; ++r)
            if (lowest[side][r] < result.of[side].lowest) result.of[side].lowest = lowest[side][r];
    return result;
}

// The partner of i: largest (v_i - v_k)^2 / (K_ii + K_kk - 2 K_ik) over those that may fall with
// v_k < v_i; with kSides over those of that side.
template <class Row, Marks Kind>
Candidate partner(const double* v, const Row* row_i, const float* diagonal, double v_i, double tube,
                  float own, const int8_t* low, int8_t side, int64_t begin, int64_t end) {
    Best best{Doubles{}, Longs{} - 1};
    const Floats least = Floats{} + 1e-12f;
    for (int64_t k = begin; k < end; k += kWidth) {
        const Doubles gap = v_i - within<Kind == kTube>(load<Doubles>(v + k), low + k, tube);
        Longs falls = mask(low + k);
        if constexpr (Kind == kSides) falls = falls == side;
        const Floats b = __builtin_convertvector((falls & (gap > 0)) ? gap : Doubles{}, Floats);
        const Floats K = narrow(row_i + k);
        const Floats a = (load<Floats>(diagonal + k) + own) - (K + K);
        best.offer(widened<Doubles>(b * b / (a > least ? a : least)), k);
    }
    return best.result();
}

// Without bias, the partner of i: largest gain of beta_i and beta_k moving freely together, over
// those whose share of the move is allowed.
template <class Row, bool Tube>
Candidate companion(const double* v, const Row* row_i, const float* diagonal, double v_i,
                    double tube, float own, const int8_t* up, const int8_t* low, int64_t begin,
                    int64_t end) {
    Best best{Doubles{}, Longs{} - 1};
    const double a = own;
    for (int64_t k = begin; k < end; k += kWidth) {
        Doubles x = load<Doubles>(v + k);
        const Doubles K = wide(row_i + k), c = wide(diagonal + k);
        const Doubles least = 1e-6 * a * c + 1e-30, area = a * c - K * K;
        Longs allowed = mask(up + k);
        if constexpr (Tube) {  // what may rise rises where that pays, else it may fall
            const Doubles rising = within<true>(x, up + k, tube);
            allowed = (rising * a - v_i * K > 0) & (allowed != 0);
            x = allowed ? rising : within<true>(x, low + k, tube);
        }
        const Doubles move_i = v_i * c - x * K, move_k = x * a - v_i * K;
        allowed = ((move_k > 0) & allowed) | ((move_k < 0) & mask(low + k));
        const Doubles gain = (allowed & (move_i * v_i > 0)) ? v_i * move_i + x * move_k : Doubles{};
        const Floats share = __builtin_convertvector(gain, Floats) /
                             __builtin_convertvector(area > least ? area : least, Floats);
        best.offer(widened<Doubles>(share), k);
    }
    return best.result();
}

// Without bias: v -= step_i row_i + step_j row_j, then the largest gain v_k^2 / K_kk of one
// coordinate, and the largest violation.
template <class Row, bool Tube>
Extremes update_two(double* v, const Row* row_i, const Row* row_j, double step_i, double step_j,
                    double tube, const float* diagonal, const int8_t* up, const int8_t* low,
                    int64_t begin, int64_t end) {
    Best best{Doubles{}, Longs{} - 1};
    const Floats least = Floats{} + 1e-12f;
    Doubles largest{};
    for (int64_t k = begin; k < end; k += kWidth) {
        const Doubles x =
            load<Doubles>(v + k) - (step_i * wide(row_i + k) + step_j * wide(row_j + k));
        __builtin_memcpy(v + k, &x, sizeof x);
        const Doubles rising = within<Tube>(x, up + k, tube),
                      falling = within<Tube>(x, low + k, tube);
        const Longs rises = mask(up + k) & (rising > 0);
        const Doubles size =
            (rises | (mask(low + k) & (falling < 0))) ? (rises ? rising : -falling) : Doubles{};
        largest = size > largest ? size : largest;
        const Floats b = __builtin_convertvector(size, Floats), a = load<Floats>(diagonal + k);
        best.offer(widened<Doubles>(b * b / (a > least ? a : least)), k);
    }
    Extremes result{best.result(), 0.0};
    for (int r = 0; r < kWidth; ++r)
        result.lowest = -largest[r] < result.lowest ? -largest[r] : result.lowest;
    return result;
}

template <class Row, Marks Kind>
constexpr SmoLoops<Row> loops = {update<Row, Kind == kTube>, update_sides<Row>, partner<Row, Kind>,
                                 companion<Row, Kind == kTube>, update_two<Row, Kind == kTube>};
const SmoCode code = {{loops<float, kPlain>, loops<float, kTube>, loops<float, kSides>},
                      {loops<double, kPlain>, loops<double, kTube>, loops<double, kSides>}};

}  // namespace SVMCUT_LANES
}  // namespace svmcut
