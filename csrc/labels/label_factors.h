// SPDX-License-Identifier: BSD-3-Clause
//
// The state of the trainers that move label sets factor by factor, gdmm_labels.cc. Inside the C++
// side only.
#ifndef SVMCUT_LABEL_FACTORS_H
#define SVMCUT_LABEL_FACTORS_H

#include <vector>

#include "core/random.h"
#include "include/labels.h"

namespace svmcut {

struct LabelPair {
    int32_t k, l;
    int32_t gold;      // state of the gold labels: 2 y_k + y_l
    double alpha[4];   // states 00, 01, 10, 11
    double lambda[2];  // of k and of l
    double marginal(int side) const { return (side ? alpha[1] : alpha[2]) + alpha[3]; }
};

}  // namespace svmcut

struct svmcut_gdmm_labels {
    svmcut_csr X;
    svmcut_label_sets sets;
    int64_t K;
    double bias, unit, unit_rho;  // the last two of an example of weight 1
    // of the example visited: C = unit v_n, rho = unit_rho / v_n, as of v_n together
    double C, rho;
    const double* weights;  // v of the examples, or null for 1 each
    svmcut::Random random;
    std::vector<double> a, squared;                     // (n, K), (n,)
    std::vector<std::vector<svmcut::LabelPair>> pairs;  // in use, per example
    std::vector<std::vector<int32_t>> friends;  // labels with a positive weight, as the pass began
    std::vector<double> rise;
    std::vector<int32_t> order, open, in_use_elsewhere;
    std::vector<double> theta, base, message, degree;
    std::vector<char> gold;
    // bit k K + l: the pair is in use for the example marked; clear in between
    mutable std::vector<uint64_t> used;

    bool soft = false;

    double most(int64_t n) const { return weights ? unit * weights[n] : unit; }
    int run(double* W, double* v, bool with_pairs, int sweeps, int parts,
            const volatile int* cancel);
    void visit(int64_t n, double* W, double* v, bool with_pairs, int sweeps, int part, int parts);
    void admit(int64_t n, double* v);
    void leave(int64_t n, const double* v);
    void enter(int64_t n, int32_t k, int32_t l, double* v);
    void soften(int64_t n, double* row, double* v, bool with_pairs);
    void move_node(int64_t k, double* row, double norm);
    void move_pair(svmcut::LabelPair& f, double* row, double* v);
    double on(const double* row, int64_t k) const { return gold[k] ? 1 - row[k] / C : -row[k] / C; }
    bool in_use(int32_t k, int32_t l) const { return used[bit(k, l) / 64] >> (bit(k, l) % 64) & 1; }
    size_t bit(int32_t k, int32_t l) const { return static_cast<size_t>(k * K + l); }
    void mark(const svmcut::LabelPair& f) const {
        used[bit(f.k, f.l) / 64] |= uint64_t{1} << (bit(f.k, f.l) % 64);
    }
    // Between mark_all and unmark_all of an example, in_use is about its pairs.
    void mark_all(int64_t n) const {
        if (used.empty()) used.assign(static_cast<size_t>(K * K) / 64 + 1, 0);
        for (const svmcut::LabelPair& f : pairs[n]) mark(f);
    }
    void unmark_all(int64_t n) const {
        for (const svmcut::LabelPair& f : pairs[n]) used[bit(f.k, f.l) / 64] = 0;
    }
};

#endif
