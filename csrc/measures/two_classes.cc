// SPDX-License-Identifier: BSD-3-Clause
//
// What scores are worth against two classes. Rows are visited by falling scores, all rows of one
// score at once; ties are pessimistic: negatives stand first among them. nan is the lowest score of
// all. O(n) but for the sort.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "include/measures.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

struct Room {
    Item* items;
    Item* scratch;
    double* falling;  // -score, so that nan comes last
    double* sorted;
};

int64_t deal(int64_t n, void* memory, Room* out) {
    Regions region(memory);
    Room room;
    room.items = static_cast<Item*>(region(n * 8));
    room.scratch = static_cast<Item*>(region(n * 8));
    room.falling = static_cast<double*>(region(n * 8));
    room.sorted = static_cast<double*>(region(n * 8));
    if (out) *out = room;
    return region.bytes();
}

// A sum whose error does not grow with its length (Neumaier 1974).
class Sum {
  public:
    void add(double value) {
        const double next = sum + value;
        rest += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
        sum = next;
    }
    double value() const { return sum + rest; }

  private:
    double sum = 0.0, rest = 0.0;
};

bool tied(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

}  // namespace
}  // namespace svmcut

using svmcut::Item;

extern "C" int64_t svmcut_two_classes_room(int64_t n) { return svmcut::deal(n, nullptr, nullptr); }

extern "C" void svmcut_two_classes(const double* s, const uint8_t* positive, int64_t n,
                                   const svmcut_two_classes_aims* aims,
                                   svmcut_two_classes_worth* out, void* room, int threads) {
    svmcut::Room at;
    svmcut::deal(n, room, &at);
    *out = {};
    int64_t P = 0;
    for (int64_t i = 0; i < n; ++i) {
        at.falling[i] = std::isnan(s[i]) ? std::abs(s[i]) : -s[i];
        P += positive[i];
        out->hits += positive[i] && s[i] > 0;
        out->predicted += s[i] > 0;
    }
    out->positives = P;
    if (n == 0) return;
    svmcut::sort_rows(at.falling, n, at.items, at.scratch, at.sorted, threads);
    svmcut::Sum average;
    int64_t hits = 0;
    for (int64_t begin = 0, end; begin < n; begin = end) {
        int64_t p = 0;
        for (end = begin; end < n && svmcut::tied(at.sorted[end], at.sorted[begin]); ++end)
            p += positive[at.items[end].row];
        const int64_t above = end - hits - p;  // negatives that stand before these positives
        for (int64_t k = 1; k <= p; ++k)
            average.add(static_cast<double>(hits + k) / static_cast<double>(above + hits + k));
        out->swapped += p * above;
        out->lost += p * std::clamp<int64_t>(above - aims->first, 0, aims->last - aims->first);
        out->top += std::clamp<int64_t>(P - above - hits, 0, p);
        hits += p;
        const double precision = static_cast<double>(hits) / static_cast<double>(end);
        const double recall = static_cast<double>(hits) / static_cast<double>(P);
        if (precision >= aims->precision) out->recall = std::max(out->recall, recall);
        if (recall >= aims->recall) out->precision = std::max(out->precision, precision);
    }
    out->average = average.value() / static_cast<double>(P);
}
