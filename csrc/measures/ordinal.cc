// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated constraint of the ordinal risk: sum over pairs y_i > y_j of one query of max(0, 1 -
// (s_i - s_j)). Joachims (2006), "Training linear SVMs in linear time", section 3.2 and Algorithm
// 2, without its factor R.
//
// With t_j = fl(s_j + 1), one walk merges s and t in ascending order. Pair (i, j) is in the cut iff
// s_i comes before t_j: one comparison decides for both rows, so the counts agree whatever the
// rounding. A query may have another margin than 1.
//
//   at t_j: c-_j = rows i passed, of higher grade;  then j joins the rows passed in t
//   at s_i: c+_i = rows j not yet passed in t, of lower grade;  then i joins the rows passed in s
//   coef = c- - c+,  offset = sum c+ = sum c-
//
// Rows passed are counted per grade in trees of fan-out 16 that hold counts of smaller siblings:
// one cache line to add to and one number to read per level. O(n log n) time for any number of
// grades; no allocation.
#include <algorithm>
#include <cstdint>
#include <cstring>

#include "include/measures.h"
#include "measures/queries.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

constexpr int kFan = 16, kMostLevels = 8;  // 16^8 grades are more than rows
constexpr int64_t kStackNodes = 320;       // ints of one tree up to 240 grades

struct Larger {
    alignas(64) int32_t than[kFan][kFan];
    constexpr Larger() : than() {
        for (int digit = 0; digit < kFan; ++digit)
            for (int k = 0; k < kFan; ++k) than[digit][k] = k > digit;
    }
};
constexpr Larger kLarger;

// node += line. Compilers left the plain loop scalar.
inline void add_line(int32_t* node, const int32_t* line) {
    typedef int32_t Four __attribute__((vector_size(16), may_alias));
    auto* to = reinterpret_cast<Four*>(node);
    const auto* from = reinterpret_cast<const Four*>(line);
    for (int k = 0; k < kFan / 4; ++k) to[k] += from[k];
}

// Shape of a tree over grades 0 to `top`: offset of each level, leaves first.
struct Shape {
    int levels = 0;
    int64_t offset[kMostLevels];
    int64_t ints = 0;
    explicit Shape(int64_t top) {
        int64_t width = top + 1;
        do {
            width = (width + kFan - 1) / kFan;
            offset[levels++] = ints;
            ints += width * kFan;
        } while (width > 1);
    }
};

template <int L>
inline int32_t below(const int32_t* tree, const int64_t* offset, int64_t grade) {
    int32_t sum = 0;
    for (int level = 0; level < L; ++level, grade >>= 4) sum += tree[offset[level] + grade];
    return sum;
}

template <int L>
inline void add(int32_t* tree, const int64_t* offset, int64_t grade) {
    for (int level = 0; level < L; ++level, grade >>= 4) {
        add_line(tree + offset[level] + (grade & ~int64_t{kFan - 1}),
                 kLarger.than[grade & (kFan - 1)]);
    }
}

struct Query {
    const double* sorted;  // scores, ascending
    const int32_t* grade;  // in that order
    int64_t n;
    int32_t* passed_t;  // at s_i: rows of lower grade passed in t (c+ is all of them minus these)
    int32_t* c_minus;
    uint32_t* events;  // 2 n
    double margin;
};

// Rows passed in s after `event` steps of the merged walk (the rest are passed in t).
int64_t walk_split(const Query& q, int64_t event) {
    int64_t low = std::max<int64_t>(0, event - q.n), high = std::min(event, q.n);
    while (low < high) {  // smallest i with s_i not before t_(event - i - 1)
        const int64_t i = (low + high) / 2;
        if (q.sorted[event - i - 1] + q.margin > q.sorted[i]) low = i + 1;
        else high = i;
    }
    return low;
}

// Order of the merged walk from `event` to `end`: row, and whether it is met in s, as 2 row + 1 or
// 2 row.
void merge(const Query& q, int64_t event, int64_t end) {
    int64_t i = walk_split(q, event), j = event - i;
    const int64_t stop = walk_split(q, end), n_t = end - stop;
    uint32_t* out = q.events + event;
    while (i < stop && j < n_t) {
        if (q.sorted[j] + q.margin > q.sorted[i]) *out++ = static_cast<uint32_t>(2 * i++ + 1);
        else *out++ = static_cast<uint32_t>(2 * j++);
    }
    while (i < stop) *out++ = static_cast<uint32_t>(2 * i++ + 1);
    while (j < n_t) *out++ = static_cast<uint32_t>(2 * j++);
}

// The order is known by now, so that nothing waits for a comparison and no branch is guessed.
template <int L>
void walk(const Query& q, const int64_t* offset, int64_t event, int64_t end, int32_t* tree_s,
          int32_t* tree_t) {
    int32_t* const trees[2] = {tree_s, tree_t};
    int32_t* const out[2] = {q.c_minus, q.passed_t};
    auto passed_s = static_cast<int32_t>(walk_split(q, event));
    for (int64_t e = event; e < end; ++e) {
        if (L > 3 && e + kAhead < end) {  // trees that outgrow the inner caches
            const uint32_t later = q.events[e + kAhead];
            const int64_t grade = q.grade[later >> 1];
            for (int level = 0; level < 2; ++level) {
                SVMCUT_PREFETCH(trees[later & 1] + offset[level] + (grade >> (4 * level)));
                SVMCUT_PREFETCH_WRITE(trees[~later & 1] + offset[level] + (grade >> (4 * level)));
            }
        }
        const uint32_t row = q.events[e] >> 1, at_s = q.events[e] & 1;
        const int64_t grade = q.grade[row];
        const int32_t count = below<L>(trees[at_s], offset, grade + 1 - at_s);
        out[at_s][row] = at_s ? count : passed_s - count;
        add<L>(trees[1 - at_s], offset, grade);
        passed_s += static_cast<int32_t>(at_s);
    }
}

// The tree of the first `count` rows.
void plant(const int32_t* grade, int64_t count, const Shape& shape, int32_t* tree) {
    std::fill(tree, tree + shape.ints, 0);
    for (int64_t k = 0; k < count; ++k) ++tree[grade[k]];
    for (int level = 0; level < shape.levels; ++level) {
        const int64_t end = level + 1 < shape.levels ? shape.offset[level + 1] : shape.ints;
        for (int64_t node = shape.offset[level]; node < end; node += kFan) {
            int32_t sum = 0;
            for (int k = 0; k < kFan; ++k) {
                const int32_t own = tree[node + k];
                tree[node + k] = sum;
                sum += own;
            }
            if (end < shape.ints) tree[end + (node - shape.offset[level]) / kFan] = sum;
        }
    }
}

void walk_any(const Query& q, const Shape& shape, int64_t event, int64_t end, int32_t* tree_s,
              int32_t* tree_t) {
    switch (shape.levels) {
        case 1:
            return walk<1>(q, shape.offset, event, end, tree_s, tree_t);
        case 2:
            return walk<2>(q, shape.offset, event, end, tree_s, tree_t);
        case 3:
            return walk<3>(q, shape.offset, event, end, tree_s, tree_t);
        case 4:
            return walk<4>(q, shape.offset, event, end, tree_s, tree_t);
        case 5:
            return walk<5>(q, shape.offset, event, end, tree_s, tree_t);
        case 6:
            return walk<6>(q, shape.offset, event, end, tree_s, tree_t);
        case 7:
            return walk<7>(q, shape.offset, event, end, tree_s, tree_t);
        default:
            return walk<8>(q, shape.offset, event, end, tree_s, tree_t);
    }
}

// The walk of two grades: the lower rows by t merged with the higher rows by s; counts are
// positions.
void walk_two(const Query& q, int64_t n_low, double* score, int32_t* place) {
    int64_t next[2] = {0, n_low};
    for (int64_t k = 0; k < q.n; ++k) {
        const int64_t at = next[q.grade[k]]++;
        score[at] = q.sorted[k];
        place[at] = static_cast<int32_t>(k);
    }
    int64_t i = n_low, j = 0;
    auto at_s = [&] {
        q.passed_t[place[i]] = static_cast<int32_t>(j);
        q.c_minus[place[i++]] = 0;
    };
    auto at_t = [&] {
        q.c_minus[place[j]] = static_cast<int32_t>(i - n_low);
        q.passed_t[place[j++]] = 0;
    };
    while (i < q.n && j < n_low) {
        if (score[j] + q.margin > score[i]) at_s();
        else at_t();
    }
    while (i < q.n) at_s();
    while (j < n_low) at_t();
}

struct Job {
    const double* s;
    const int64_t* start;
    const int32_t* grade;
    const int32_t* n_grades;
    const double* weight;
    const double* margin;
    double* coef;
    int64_t* cut_pairs;
    double* value;
    Workspace work;
};

void cut_query(const Job& job, int64_t query, int threads) {
    const int64_t first = job.start[query], n = job.start[query + 1] - first;
    double* coef = job.coef + first;
    job.cut_pairs[query] = 0;
    job.value[query] = 0.0;
    if (job.n_grades[query] < 2) {
        std::fill(coef, coef + n, 0.0);
        return;
    }
    Item* items = job.work.items + first;
    double* sorted = job.work.sorted + first;
    int32_t* grade = job.work.grade + first;
    auto* counts = reinterpret_cast<int32_t*>(job.work.scratch + first);  // free after the sort
    sort_rows(job.s + first, n, items, job.work.scratch + first, sorted, threads);
    const int64_t blocks = (n + kBlock - 1) / kBlock;
    for_pieces(blocks, threads, [&](int64_t block) {
        for (int64_t k = block * kBlock, end = std::min(n, k + kBlock); k < end; ++k)
            grade[k] = job.grade[first + items[k].row];
    });

    const Query q{sorted,           grade,      n,
                  counts,           counts + n, reinterpret_cast<uint32_t*>(job.work.extra + first),
                  job.margin[query]};
    const Shape shape(job.n_grades[query]);
    alignas(64) int32_t stack[2 * kStackNodes];
    const bool small = shape.ints <= kStackNodes && threads <= 1;
    int32_t* trees = small ? stack : job.work.nodes + 4 * first;
    // Parts of the walk start from trees of what was passed before them; integers, so their number
    // leaves no trace.
    const bool two = job.n_grades[query] == 2;
    const int64_t parts =
        small || two ? 1
                     : std::max<int64_t>(1, std::min<int64_t>(threads, 4 * n / (2 * shape.ints)));
    if (two) {
        int64_t n_high = 0;
        for (int64_t k = 0; k < n; ++k) n_high += grade[k];
        trees[0] = 0;
        trees[1] = static_cast<int32_t>(n - n_high);
        walk_two(q, n - n_high, job.work.extra + first, job.work.nodes + 4 * first + 2 * n);
    } else {
        for_pieces(parts, threads, [&](int64_t part) {
            const int64_t event = 2 * n * part / parts, end = 2 * n * (part + 1) / parts;
            int32_t* tree_s = trees + 2 * part * shape.ints;
            int32_t* tree_t = tree_s + shape.ints;
            const int64_t i = walk_split(q, event);
            plant(grade, i, shape, tree_s);
            plant(grade, event - i, shape, tree_t);
            merge(q, event, end);
            walk_any(q, shape, event, end, tree_s, tree_t);
        });
    }

    // coef.s = -sum of gaps s_k - s_(k-1) times the coefficients before them: no cancellation
    // between large scores.
    const int32_t* all = trees + 2 * (parts - 1) * shape.ints;
    auto smaller = [&](int64_t g) {
        int64_t sum = 0;
        for (int level = 0; level < shape.levels; ++level, g >>= 4)
            sum += all[shape.offset[level] + g];
        return sum;
    };
    const double weight = job.weight[query];
    struct Sums {
        int64_t coef, pairs;
    };
    // 6 per whole block hold 3 per block of two or more
    double* partial = job.work.blocks + first / kBlock * 6;
    auto* sums = reinterpret_cast<Sums*>(partial + blocks);
    Sums one_sum{0, 0};
    double one_partial = 0.0;
    if (blocks == 1) {
        partial = &one_partial;
        sums = &one_sum;
    }
    for_pieces(blocks, threads, [&](int64_t block) {
        Sums sum{0, 0};
        for (int64_t k = block * kBlock, end = std::min(n, k + kBlock); k < end; ++k) {
            const int64_t c_plus = smaller(grade[k]) - q.passed_t[k];
            const int64_t c = q.c_minus[k] - c_plus;
            q.passed_t[k] = static_cast<int32_t>(c);
            if (k + kAhead < n) SVMCUT_PREFETCH_WRITE(coef + items[k + kAhead].row);
            coef[items[k].row] = weight * static_cast<double>(c);
            sum.coef += c;
            sum.pairs += c_plus;
        }
        sums[block] = sum;
    });
    int64_t before = 0, pairs = 0;
    for (int64_t block = 0; block < blocks; ++block) {
        const int64_t own = sums[block].coef;
        sums[block].coef = before;
        before += own;
        pairs += sums[block].pairs;
    }
    for_pieces(blocks, threads, [&](int64_t block) {
        int64_t run = sums[block].coef;
        double sum = 0.0;
        for (int64_t k = block * kBlock, end = std::min(n, k + kBlock); k < end; ++k) {
            if (k > 0) sum -= (sorted[k] - sorted[k - 1]) * static_cast<double>(run);
            run += q.passed_t[k];
        }
        partial[block] = sum;
    });
    double value = q.margin * static_cast<double>(pairs);
    for (int64_t block = 0; block < blocks; ++block) value += partial[block];
    job.cut_pairs[query] = pairs;
    job.value[query] = value;
}

void grade_query(const double* y, int64_t n, int32_t* grade, int32_t* n_grades, int64_t* pairs,
                 const Workspace& work, int64_t first, int threads) {
    Item* items = work.items + first;
    double* sorted = work.sorted + first;
    sort_rows(y, n, items, work.scratch + first, sorted, threads);
    int32_t rank = 0;
    int64_t lower = 0, total = 0;  // rows of smaller grades; pairs
    for (int64_t k = 0; k < n; ++k) {
        if (k > 0 && sorted[k] > sorted[k - 1]) {
            ++rank;
            lower = k;
        }
        grade[items[k].row] = rank;
        total += lower;
    }
    *n_grades = n > 0 ? rank + 1 : 0;
    *pairs = total;
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int64_t svmcut_risk_workspace(int64_t n) { return lay_out(n, nullptr, nullptr); }

extern "C" int svmcut_ordinal_grades(const double* y, const int64_t* start, int64_t n_queries,
                                     int32_t* grade, int32_t* n_grades, int64_t* pairs,
                                     void* workspace, int threads) {
    if (start[n_queries] >= INT32_MAX) return SVMCUT_BAD_INPUT;
    Workspace work;
    lay_out(start[n_queries], workspace, &work);
    for_queries(start, n_queries, threads, [&](int64_t query, int inner) {
        const int64_t first = start[query];
        grade_query(y + first, start[query + 1] - first, grade + first, n_grades + query,
                    pairs + query, work, first, inner);
    });
    return SVMCUT_OK;
}

extern "C" int svmcut_ordinal_cut(const double* s, const int64_t* start, int64_t n_queries,
                                  const int32_t* grade, const int32_t* n_grades,
                                  const double* weight, const double* margin, double* coef,
                                  int64_t* cut_pairs, double* value, void* workspace, int threads) {
    if (start[n_queries] >= INT32_MAX) return SVMCUT_BAD_INPUT;
    Job job{s, start, grade, n_grades, weight, margin, coef, cut_pairs, value, {}};
    lay_out(start[n_queries], workspace, &job.work);
    for_queries(start, n_queries, threads,
                [&](int64_t query, int inner) { cut_query(job, query, inner); });
    return SVMCUT_OK;
}
