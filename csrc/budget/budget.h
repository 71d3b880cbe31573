// SPDX-License-Identifier: BSD-3-Clause
//
// The state of budgeted training. Inside the C++ side only.
#ifndef SVMCUT_BUDGET_H
#define SVMCUT_BUDGET_H

#include <memory>
#include <vector>

#include "core/random.h"
#include "include/budget.h"
#include "kernels/kernel_points.h"

namespace svmcut {

struct BudgetCode {
    double (*dot)(const float* K, const double* beta, int64_t count);
    int64_t (*smallest)(const double* beta, const double* root, int64_t count);
    int64_t (*partner)(const float* kappa, const double* beta, double own, int64_t count,
                       const float* table);
};
const BudgetCode& budget_code(int instructions);

// A point that is compared with all centres.
struct Probe {
    Query query{};
    std::vector<float> dense, values;
    std::vector<int32_t> columns;
};

// Weighted points in tiles. (I1) Places at and above `count` hold zeros, beta 0 and an infinite
// root.
struct Centres {
    Points points;  // tiles and norms alone; n is the number of places
    int64_t count = 0;
    std::vector<double> beta, root;  // root: sqrt(K(z, z))
    std::vector<int32_t> owner;

    bool open(const svmcut_kernel& kernel, int64_t d, double largest_norm, int64_t n);
    int64_t places() const { return points.n; }
    bool append(const Probe& probe, double weight, int32_t from);
    void put(int64_t k, const float* values);  // as row k; its norm and root follow
    void get(int64_t k, float* values) const;
    void remove(int64_t k);  // the last centre takes its place

    // The probe keeps what it points to.
    void aim(Probe& probe, const svmcut_csr& X, int64_t row) const;
    void aim(Probe& probe, int64_t k) const;

  private:
    bool reserve(int64_t tiles);
    void settle(Probe& probe) const;
    double squared_norm(int64_t k) const;
};

// Cholesky factor of the centres' Gram matrix, in an order of its own.
struct Factor {
    std::vector<double> rows;   // row r holds r + 1 numbers
    std::vector<int32_t> rank;  // the place of the r-th centre
    // K: values against all places; the new centre is the last place.
    void append(const float* K, double diagonal, int32_t place);
    // The centre at `place` goes, and the one at `last` takes its place.
    void remove(int32_t place, int32_t last);
    // x = Gram^-1 b, by rank; b holds b by rank before.
    void solve(std::vector<double>& x) const;

  private:
    double* row(int64_t r) { return rows.data() + r * (r + 1) / 2; }
    const double* row(int64_t r) const { return rows.data() + r * (r + 1) / 2; }
};

}  // namespace svmcut

struct svmcut_budget {
    svmcut_csr X;
    const double *y, *weights;  // weights: null for 1 each
    svmcut_budget_options options;
    const svmcut::KernelCode* rows_code;
    const svmcut::BudgetCode* code;
    svmcut_budget_state state;
    svmcut::Centres centres;
    svmcut::Factor factor;
    svmcut::Probe probe, other;
    svmcut::Lines<float> K,
        kappa;  // of the example and of the centre that goes, against all places
    int64_t room = 0;
    std::vector<float> table, alpha, preference, credit, first, second;
    // of the weights, where they say how often an example is visited; else empty
    std::vector<double> sums;
    std::vector<int32_t> schedule, place;  // place: of the example among the centres, -1

    double most(int64_t i) const { return weights ? options.C * weights[i] : options.C; }  // C_i
    bool open(int threads);
    bool make_room();
    void evaluate(const svmcut::Probe& of, float* out);
    int64_t visit(int64_t position) const;
    void begin_epoch();
    void fetch(int64_t position) const;
    int step();
    int move(int64_t i, double change);  // beta of the example rises by it
    int maintain();
    void merge(int64_t a, const float* row);
    void project(int64_t a, const float* row);
    void remove(int64_t k);
    void prefer(int64_t i, double gain);
};
#endif
