// SPDX-License-Identifier: BSD-3-Clause
//
// The local-polytope relaxation of  max_y sum_i theta_i y_i + sum_{i<j} v_ij y_i y_j,  y in {0,
// 1}^m,  whose corners have p in {0, 1/2, 1}: a minimum cut in the graph with a vertex for every
// variable and one for its complement (Hammer, Hansen and Simeone 1984; Boros and Hammer 2002,
// section 5.1). With v >= 0 no variable is at 1/2 and the cut is the exact maximiser.
#ifndef SVMCUT_ROOF_DUAL_H
#define SVMCUT_ROOF_DUAL_H

#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

namespace svmcut {

// Dinic's maximum flow on real capacities; residues below a rounding of the largest capacity count
// as 0.
class Flow {
  public:
    void reset(int32_t vertices) {
        heads.assign(static_cast<size_t>(vertices), -1);
        edges.clear();
        largest = 0;
    }

    void add(int32_t from, int32_t to, double capacity, double back = 0) {
        edges.push_back({to, heads[from], capacity});
        heads[from] = static_cast<int32_t>(edges.size()) - 1;
        edges.push_back({from, heads[to], back});
        heads[to] = static_cast<int32_t>(edges.size()) - 1;
        largest = std::max({largest, capacity, back});
    }

    // level[u] >= 0 afterwards on the smallest source side of a minimum cut.
    void run(int32_t source, int32_t sink) {
        tiny = 1e-13 * largest;
        while (find_levels(source, sink)) {
            at = heads;
            while (push(source, sink, std::numeric_limits<double>::infinity()) > 0) {
            }
        }
    }

    std::vector<int32_t> level;

  private:
    struct Edge {
        int32_t to, next;
        double room;
    };
    std::vector<int32_t> heads, at, queue;
    std::vector<Edge> edges;
    double largest = 0, tiny = 0;

    bool find_levels(int32_t source, int32_t sink) {
        level.assign(heads.size(), -1);
        queue.assign(1, source);
        level[source] = 0;
        for (size_t k = 0; k < queue.size(); ++k)
            for (int32_t e = heads[queue[k]]; e >= 0; e = edges[e].next)
                if (edges[e].room > tiny && level[edges[e].to] < 0) {
                    level[edges[e].to] = level[queue[k]] + 1;
                    queue.push_back(edges[e].to);
                }
        return level[sink] >= 0;
    }

    double push(int32_t u, int32_t sink, double limit) {
        if (u == sink) return limit;
        for (int32_t& e = at[u]; e >= 0; e = edges[e].next) {
            Edge& edge = edges[e];
            if (edge.room <= tiny || level[edge.to] != level[u] + 1) continue;
            const double pushed = push(edge.to, sink, std::min(limit, edge.room));
            if (pushed > 0) {
                edge.room -= pushed;
                edges[e ^ 1].room += pushed;
                return pushed;
            }
        }
        return 0;
    }
};

// Works on the labels that bounds do not settle.
class RoofDual {
  public:
    // doubled[k] = 2 p_k for all K labels. theta is used up. v: (K, K) or null; rise, fall: (K,)
    // sums of the positive and of the negative entries of each row of v.
    void solve(int64_t K, double* theta, const double* v, const double* rise, const double* fall,
               int8_t* doubled) {
        open.clear();
        on.clear();
        for (int64_t k = 0; k < K; ++k) {
            doubled[k] = 0;
            if (theta[k] + (v ? rise[k] : 0.0) <= 0) continue;
            if (!v || (rise[k] == 0 && fall[k] == 0)) doubled[k] = 2;
            else open.push_back(static_cast<int32_t>(k));
        }
        if (open.empty()) return;
        settle(K, theta, v, doubled);
        if (!open.empty()) cut(K, theta, v, doubled);
    }

  private:
    std::vector<int32_t> open, on;
    std::vector<double> above, below;
    Flow flow;

    // Off in every maximiser where even the best company gives no gain, on where the worst leaves
    // one.
    void settle(int64_t K, double* theta, const double* v, int8_t* doubled) {
        const size_t m = open.size();
        above.assign(m, 0);
        below.assign(m, 0);
        for (size_t a = 0; a < m; ++a)
            for (size_t b = 0; b < m; ++b) {
                const double x = v[open[a] * K + open[b]];
                (x > 0 ? above[a] : below[a]) += x;
            }
        for (bool moved = true; moved;) {
            moved = false;
            for (size_t a = 0; a < open.size(); ++a) {
                const int32_t k = open[a];
                const bool off = theta[k] + above[a] <= 0, certain = theta[k] + below[a] > 0;
                if (!off && !certain) continue;
                doubled[k] = certain ? 2 : 0;
                open.erase(open.begin() + static_cast<int64_t>(a));
                above.erase(above.begin() + static_cast<int64_t>(a));
                below.erase(below.begin() + static_cast<int64_t>(a));
                for (size_t b = 0; b < open.size(); ++b) {
                    const double x = v[k * K + open[b]];
                    (x > 0 ? above[b] : below[b]) -= x;
                    if (certain) theta[open[b]] += x;
                }
                moved = true;
                --a;
            }
        }
    }

    void cut(int64_t K, const double* theta, const double* v, int8_t* doubled) {
        const auto m = static_cast<int32_t>(open.size());
        // variable a is vertex a, its complement vertex m + a
        const int32_t source = 2 * m, sink = 2 * m + 1;
        flow.reset(2 * m + 2);
        above.assign(open.size(), 0);
        for (int32_t a = 0; a < m; ++a)
            for (int32_t b = a + 1; b < m; ++b) {
                const double x = v[open[a] * K + open[b]];
                if (x > 0) {
                    flow.add(a, b, 0.25 * x, 0.25 * x);
                    flow.add(m + a, m + b, 0.25 * x, 0.25 * x);
                    above[a] += 0.5 * x;
                    above[b] += 0.5 * x;
                } else if (x < 0) {
                    flow.add(a, m + b, -0.5 * x);
                    flow.add(b, m + a, -0.5 * x);
                }
            }
        for (int32_t a = 0; a < m; ++a) {
            const double gain = 0.5 * (theta[open[a]] + above[a]);
            if (gain > 0) {
                flow.add(source, a, gain);
                flow.add(m + a, sink, gain);
            } else if (gain < 0) {
                flow.add(a, sink, -gain);
                flow.add(source, m + a, -gain);
            }
        }
        flow.run(source, sink);
        for (int32_t a = 0; a < m; ++a)
            doubled[open[a]] =
                static_cast<int8_t>((flow.level[a] >= 0) + 1 - (flow.level[m + a] >= 0));
    }
};

}  // namespace svmcut
#endif
