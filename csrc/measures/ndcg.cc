// SPDX-License-Identifier: BSD-3-Clause
//
// Most violated ranking for NDCG at K, exact, any grades:
//   R = max over rankings of  1 - DCG/Z
//                             - m sum over pairs of unequal grade ranked wrongly (s_hi - s_lo).
//
// Rows of one grade stand in the order of their scores. Behind place K a ranking costs its pairs
// alone, and the order by score is the best for each of them. So what is open is the grades of the
// first K places, d_1 .. d_K. Against the order by score, a row d in place r changes the objective
// by
//
//   - D(r) G(d)/Z - m sum of max(0, s_x - s_d) over the rows x of other grades not yet placed
//
// which depends on how many of each grade stand before it and on nothing else: a longest path over
// these counts, whose states are numbered with the last grade fastest. With ways(g, R) the ways to
// choose counts of the grades from g on that sum to at most R, and A(g, R) their sum over 0..R,
// counts c have the number
//
//   sum over g of A(g + 1, R_g) - A(g + 1, R_g - c_g),     R_g = K - c_0 - .. - c_(g-1)
//
// At most (K + M choose M) states of M grades, M^2 steps each.
#include <algorithm>
#include <atomic>
#include <cstdint>

#include "include/measures.h"
#include "measures/workspace.h"

namespace svmcut {
namespace {

constexpr int64_t kFewRows = 4096;  // below: threads cost more than they bring

struct Room {
    double* best;    // states: longest path
    uint16_t* last;  // states: grade of its last step
    double* step;    // steps: pairs lost as row a of grade g is placed behind b rows of grade h
    int64_t* sums;   // (grades + 1) (places + 2): A
    // grades + 1: number of the counts of the later grades, where one more place is left
    int64_t* after;
    int64_t* left;     // grades + 1: R
    int32_t* begin;    // grades + 1: first row of a grade, in the order of grades
    int32_t* column;   // grades + 1: first column of a grade in a row of steps
    int32_t* count;    // grades
    int32_t* end;      // grades
    int32_t* seen;     // grades
    int32_t* here;     // grades
    double* gain;      // grades
    uint16_t* prefix;  // places
};

int64_t lay_out_room(const svmcut_ndcg_size& most, void* memory, Room* out) {
    const int64_t M = most.grades + 1;
    Regions region(memory);
    Room room;
    room.best = static_cast<double*>(region(most.states * 8));
    room.last = static_cast<uint16_t*>(region(most.states * 2));
    room.step = static_cast<double*>(region(most.steps * 8));
    room.sums = static_cast<int64_t*>(region(M * (most.places + 2) * 8));
    room.after = static_cast<int64_t*>(region(M * 8));
    room.left = static_cast<int64_t*>(region(M * 8));
    for (int32_t** part :
         {&room.begin, &room.column, &room.count, &room.end, &room.seen, &room.here})
        *part = static_cast<int32_t*>(region(M * 4));
    room.gain = static_cast<double*>(region(M * 8));
    room.prefix = static_cast<uint16_t*>(region(most.places * 2));
    if (out) *out = room;
    return region.bytes();
}

struct Query {
    int64_t n, M, K;
    double m, over;  // weight of a pair, 1/Z
    const double* discount;
    const double* score;  // grade by grade, descending
    Room r;

    int64_t size(int64_t g) const { return r.begin[g + 1] - r.begin[g]; }
    int64_t top(int64_t g) const { return std::min(size(g), K); }
    // A(g, R), 0 for R = -1.
    int64_t sum(int64_t g, int64_t R) const { return r.sums[g * (K + 2) + R + 1]; }
    int64_t skipped(int64_t g, int64_t R, int64_t c) const {
        return sum(g + 1, R) - sum(g + 1, R - c);
    }

    void count_states() const {
        for (int64_t g = M; g >= 0; --g) {
            int64_t* sums = r.sums + g * (K + 2);
            sums[0] = 0;
            for (int64_t R = 0; R <= K; ++R)
                sums[R + 1] = sums[R] + (g == M ? 1 : skipped(g, R, std::min(top(g), R) + 1));
        }
    }

    int64_t number(const int32_t* count) const {
        int64_t found = 0, R = K;
        for (int64_t g = 0; g < M; R -= count[g++]) found += skipped(g, R, count[g]);
        return found;
    }

    // step[(rows of earlier grades + a) columns + column[h] + b] = m sum over i >= b of max(0, s_i
    // of h - s_a of g)
    void price_steps() const {
        const int64_t columns = r.column[M];
        double* row = r.step;
        for (int64_t g = 0; g < M; ++g) {
            for (int64_t a = 0; a < top(g); ++a, row += columns) {
                const double x = score[r.begin[g] + a];
                std::fill(row, row + columns, 0.0);
                for (int64_t h = 0; h < M; ++h) {
                    if (h == g) continue;
                    const double* other = score + r.begin[h];
                    const int64_t open = top(h);
                    int64_t i = std::lower_bound(other, other + size(h), x,
                                                 [](double y, double limit) { return y > limit; }) -
                                other;
                    double lost = 0.0;
                    while (--i >= 0) {
                        lost += other[i] - x;
                        if (i <= open) row[r.column[h] + i] = m * lost;
                    }
                }
            }
        }
    }

    // The next counts of all grades but the last; false behind the last of them.
    bool advance() const {
        for (int64_t g = M - 2; g >= 0; --g) {
            if (r.count[g] < top(g) && r.left[M - 1] > 0) {
                ++r.count[g];
                for (int64_t h = g; h < M - 1; ++h) r.left[h + 1] = r.left[h] - r.count[h];
                return true;
            }
            r.left[M - 1] += r.count[g];
            r.count[g] = 0;
        }
        return false;
    }

    // Longest paths to all counts; r.end: those of the best full prefix. Counts that differ in the
    // last grade alone have numbers in a row, and so have those they are reached from by a step of
    // one other grade.
    void search() const {
        const int64_t columns = r.column[M], z = M - 1;
        bool found = false;
        double best_end = 0.0;
        std::fill(r.count, r.count + M, 0);
        std::fill(r.left, r.left + M + 1, K);
        r.best[0] = 0.0;
        int64_t state = 0;
        do {
            double* best = r.best + state;
            uint16_t* last = r.last + state;
            const int64_t open = r.left[z], run = std::min(top(z), open);
            const double* discounted = discount + (K - open);  // of the next place
            r.after[z] = 0;
            for (int64_t h = z - 1; h > 0; --h)
                r.after[h] =
                    r.left[h] < K ? r.after[h + 1] + skipped(h, r.left[h] + 1, r.count[h]) : 0;
            int64_t before = 0, rows = 0;
            bool reached = false;
            for (int64_t g = 0; g < z; rows += top(g++)) {
                if (r.count[g] == 0) continue;
                const double* from =
                    r.best + before + skipped(g, r.left[g], r.count[g] - 1) + r.after[g + 1];
                const double* step = r.step + (rows + r.count[g] - 1) * columns;
                const double gained = over * r.gain[g];
                double lost = 0.0;
                for (int64_t h = 0; h < z; ++h) lost += step[r.column[h] + r.count[h]];
                step += r.column[z];
                for (int64_t c = 0; c <= run; ++c) {
                    const double value = from[c] - gained * discounted[c - 1] - (lost + step[c]);
                    if (!reached || value > best[c]) {
                        best[c] = value;
                        last[c] = static_cast<uint16_t>(g);
                    }
                }
                reached = true;
                before += skipped(g, r.left[g], r.count[g]);
            }
            const double gained = over * r.gain[z];
            for (int64_t c = 1; c <= run; ++c) {
                const double* step = r.step + (rows + c - 1) * columns;
                double lost = 0.0;
                for (int64_t h = 0; h < z; ++h) lost += step[r.column[h] + r.count[h]];
                const double value = best[c - 1] - gained * discounted[c - 1] - lost;
                if (!reached || value > best[c]) {
                    best[c] = value;
                    last[c] = static_cast<uint16_t>(z);
                }
            }
            if (run == open && (!found || best[run] > best_end)) {
                found = true;
                best_end = best[run];
                std::copy(r.count, r.count + z, r.end);
                r.end[z] = static_cast<int32_t>(run);
            }
            state += run + 1;
        } while (advance());
        for (int64_t place = K - 1; place >= 0; --place) {
            r.prefix[place] = r.last[number(r.end)];
            --r.end[r.prefix[place]];
        }
    }
};

struct Job {
    const double* s;
    const int64_t* start;
    const int32_t* grade;
    const int32_t* n_grades;
    const double* gain;
    const double* discount;
    int64_t places;
    const double* weight;
    double* coef;
    double* value;
    double* offset;
    Workspace work;
};

void cut_query(const Job& job, int64_t query, const Room& r) {
    const int64_t first = job.start[query], n = job.start[query + 1] - first,
                  M = job.n_grades[query];
    double* coef = job.coef + first;
    job.value[query] = job.offset[query] = 0.0;
    if (M < 2) {
        std::fill(coef, coef + n, 0.0);
        return;
    }
    const Workspace w = from_row(job.work, first);
    const int32_t* grade = job.grade + first;
    const int64_t K = std::min(job.places, n);
    for (int64_t k = 0; k < n; ++k) w.extra[k] = -job.s[first + k];
    sort_rows(w.extra, n, w.items, w.scratch, w.sorted, 1);
    for (int64_t k = 0; k < n; ++k) w.sorted[k] = -w.sorted[k];

    std::fill(r.begin, r.begin + M + 1, 0);
    for (int64_t k = 0; k < n; ++k) {
        ++r.begin[grade[k] + 1];
        r.gain[grade[k]] = job.gain[first + k];
    }
    double same = 0.0;
    r.column[0] = 0;
    for (int64_t g = 0; g < M; ++g) {
        const double size = r.begin[g + 1];
        same += size * size;
        r.column[g + 1] =
            r.column[g] + static_cast<int32_t>(std::min<int64_t>(r.begin[g + 1], K)) + 1;
        r.begin[g + 1] += r.begin[g];
        r.seen[g] = r.begin[g];
    }
    int32_t* member = w.nodes;  // place by score, grade by grade
    for (int64_t k = 0; k < n; ++k) {
        const int32_t at = r.seen[grade[w.items[k].row]]++;
        w.extra[at] = w.sorted[k];
        member[at] = static_cast<int32_t>(k);
    }
    double ideal = 0.0;
    for (int64_t g = M - 1, place = 0; place < K; --g)
        for (int64_t end = std::min<int64_t>(K, place + r.begin[g + 1] - r.begin[g]); place < end;
             ++place)
            ideal += job.discount[place] * r.gain[g];
    const double pairs = 0.5 * (static_cast<double>(n) * static_cast<double>(n) - same);
    const Query q{n, M, K, 2.0 / pairs, 1.0 / ideal, job.discount, w.extra, r};
    q.count_states();
    q.price_steps();
    q.search();

    std::fill(r.seen, r.seen + M, 0);
    std::fill(r.here, r.here + M, 0);
    // by score: pairs ranked wrongly in which a row is the lower, less those where the higher
    int32_t* net = w.nodes + n;
    // behind the rows in `seen`, and those of lower grade in `here`
    auto rank = [&](int64_t place, int64_t g) {
        int64_t wrong = 0;
        for (int64_t h = 0; h < g; ++h) wrong -= r.seen[h] + r.here[h];
        for (int64_t h = g + 1; h < M; ++h) wrong += q.size(h) - r.seen[h];
        net[place] = static_cast<int32_t>(wrong);
    };
    double reached = 0.0;
    for (int64_t place = 0; place < K; ++place) {
        const int64_t g = r.prefix[place];
        reached += job.discount[place] * r.gain[g];
        rank(member[r.begin[g] + r.seen[g]], g);
        ++r.seen[g];
    }
    int32_t* placed = r.end;  // the search is over
    std::copy(r.seen, r.seen + M, placed);
    auto behind = [&](int64_t k) {  // whether row k by score stands behind the prefix
        const int64_t g = grade[w.items[k].row];
        return placed[g] == 0 || k > member[r.begin[g] + placed[g] - 1];
    };
    // of equal scores the lower grade first: a pair that costs nothing
    for (int64_t k = 0, end; k < n; k = end) {
        for (end = k; end < n && w.sorted[end] == w.sorted[k]; ++end)
            if (behind(end)) ++r.here[grade[w.items[end].row]];
        if (end == k) end = k + 1;  // nan
        for (int64_t i = k; i < end; ++i)
            if (behind(i)) rank(i, grade[w.items[i].row]);
        for (int64_t i = k; i < end; ++i) {
            const int64_t g = grade[w.items[i].row];
            if (!behind(i)) continue;
            ++r.seen[g];
            r.here[g] = 0;
        }
    }

    // coef.s from gaps of the scores times exact sums of counts: no cancellation between large
    // scores.
    const double price = job.weight[query] * q.m;
    int64_t before = 0;
    double wrong = 0.0, block = 0.0;
    for (int64_t k = 0; k < n; ++k) {
        coef[w.items[k].row] = price * static_cast<double>(net[k]);
        if (before != 0) block += (w.sorted[k - 1] - w.sorted[k]) * static_cast<double>(before);
        before += net[k];
        if (k % 512 == 511) {
            wrong += block;
            block = 0.0;
        }
    }
    job.offset[query] = 1.0 - reached / ideal;
    const double value = job.offset[query] + q.m * (wrong + block);
    job.value[query] = value < 0.0 ? 0.0 : value;  // by rounding alone; nan stays
}

}  // namespace
}  // namespace svmcut

using namespace svmcut;

extern "C" int64_t svmcut_ndcg_room(const svmcut_ndcg_size* most) {
    return lay_out_room(*most, nullptr, nullptr);
}

extern "C" int svmcut_ndcg_cut(const double* s, const int64_t* start, int64_t n_queries,
                               const int32_t* grade, const int32_t* n_grades, const double* gain,
                               const double* discount, int64_t places, const double* weight,
                               double* coef, double* value, double* offset, void* workspace,
                               const svmcut_ndcg_size* most, void* rooms, int n_rooms) {
    if (start[n_queries] >= INT32_MAX || most->grades > UINT16_MAX) return SVMCUT_BAD_INPUT;
    Job job{s, start, grade, n_grades, gain, discount, places, weight, coef, value, offset, {}};
    lay_out(start[n_queries], workspace, &job.work);
    if (start[n_queries] < kFewRows) n_rooms = 1;
    const int64_t bytes = lay_out_room(*most, nullptr, nullptr);
    std::atomic<int64_t> next{0};
    for_pieces(n_rooms, n_rooms, [&](int64_t piece) {
        Room room;
        lay_out_room(*most, static_cast<char*>(rooms) + piece * bytes, &room);
        for (int64_t query; (query = next.fetch_add(1, std::memory_order_relaxed)) < n_queries;)
            cut_query(job, query, room);
    });
    return SVMCUT_OK;
}
