// SPDX-License-Identifier: BSD-3-Clause
//
// The state of block-coordinate ascent on chains, and the moves that read no tokens but those of
// changed labellings.
#ifndef SVMCUT_CHAIN_BCFW_H
#define SVMCUT_CHAIN_BCFW_H

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "chain/chain.h"
#include "core/random.h"

namespace svmcut {

// of w; Python asks for the sum of the labellings in double, from which the run then goes on
using Real = float;

constexpr int64_t kIdle = 2;         // visits a labelling of weight 0 is kept
constexpr int32_t kLongestRest = 8;  // passes a sequence without a gap is left out at most
constexpr double kSmallGap = 0.1;    // of the mean: a sequence below it rests
constexpr int kSteps = 20;           // of the inner problem, for each of its labellings

struct Labelling {
    double weight = 0, value = 0, moved = 0;
    double loss = 0;
    int64_t idle = 0;
    std::vector<Entry> emissions, transitions;
    std::vector<int32_t> tags;  // of all tokens
};

struct Block {
    std::vector<Labelling> labellings;
    std::vector<double> gram;  // row-major, as many as labellings
    double gap = std::numeric_limits<double>::infinity();
    int32_t rest = 0, due = 0;  // passes
};

}  // namespace svmcut

using svmcut::Block;
using svmcut::ChainLayout;
using svmcut::Entry;
using svmcut::Labelling;
using svmcut::Lattice;
using svmcut::Real;

struct svmcut_bcfw {
    const svmcut_chain* chain;
    ChainLayout at;
    double C;
    const double* v;  // of the sequences, or null for 1 each
    svmcut::Random random;
    std::vector<Real> w;
    std::vector<double> scratch;
    std::vector<Block> blocks;
    std::vector<int32_t> order;
    int64_t place = 0, visits = 0, pass = 0;
    double gaps = 0, counted = 0;  // of the running pass
    double mean_gap = 0;
    svmcut::ChainRoom<Real> room;
    svmcut::SparseTransitions few;
    std::vector<double> change;  // zeros between moves
    std::vector<int64_t> changed;

    svmcut_bcfw(const svmcut_chain* chain_, double C_, const double* weights, uint64_t seed)
        : chain(chain_),
          at(chain_),
          C(C_),
          v(weights),
          random{seed},
          w(at.dim()),
          scratch(at.dim()),
          blocks(chain_->n_sequences),
          order(chain_->n_sequences) {
        for (size_t n = 0; n < order.size(); ++n) order[n] = static_cast<int32_t>(n);
    }

    double most(int64_t n) const { return v ? C * v[n] : C; }  // C_n

    template <class Number>
    void add(int64_t begin, const Labelling& y, double factor, Number* out) const {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        for (const Entry& e : y.emissions) {
            const int64_t i = begin + e.token;
            const double weight = factor * e.sign;
            for (int64_t k = chain->X.indptr[i];
                 k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                out[chain->X.indices[k] * row + e.column] +=
                    static_cast<Number>(weight * chain->X.data[k]);
        }
        for (const Entry& e : y.transitions)
            out[base + e.column] += static_cast<Number>(factor * e.sign);
    }

    double dot_scratch(int64_t begin, const Labelling& y) const {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        double sum = 0;
        for (const Entry& e : y.emissions) {
            const int64_t i = begin + e.token;
            double part = 0;
            for (int64_t k = chain->X.indptr[i];
                 k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                part += scratch[chain->X.indices[k] * row + e.column] * chain->X.data[k];
            sum += e.sign * part;
        }
        for (const Entry& e : y.transitions) sum += e.sign * scratch[base + e.column];
        return sum;
    }

    void clear_scratch(int64_t begin, const Labelling& y) {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        for (const Entry& e : y.emissions)
            for (int64_t i = begin + e.token, k = chain->X.indptr[i]; k < chain->X.indptr[i + 1];
                 ++k)
                if (chain->X.indices[k] < at.D) scratch[chain->X.indices[k] * row + e.column] = 0;
        for (const Entry& e : y.transitions) scratch[base + e.column] = 0;
    }

    Labelling labelling(int64_t begin, int64_t T, const int32_t* y) const {
        Labelling out;
        out.loss =
            svmcut::difference(at, chain->tags + begin, y, T, out.emissions, out.transitions);
        out.tags.assign(y, y + T);
        return out;
    }

    void join(int64_t begin, Block& block, Labelling&& y) {
        const int64_t k = static_cast<int64_t>(block.labellings.size());
        add(begin, y, 1.0, scratch.data());
        std::vector<double> gram((k + 1) * (k + 1));
        for (int64_t a = 0; a < k; ++a) {
            for (int64_t b = 0; b < k; ++b) gram[a * (k + 1) + b] = block.gram[a * k + b];
            gram[a * (k + 1) + k] = gram[k * (k + 1) + a] = dot_scratch(begin, block.labellings[a]);
        }
        gram[k * (k + 1) + k] = dot_scratch(begin, y);
        clear_scratch(begin, y);
        block.gram.swap(gram);
        block.labellings.push_back(std::move(y));
    }

    svmcut_bcfw_state state() const {
        svmcut_bcfw_state now{0, 0, visits, 0, 0};
        for (size_t n = 0; n < blocks.size(); ++n) {
            const Block& block = blocks[n];
            const double C_n = most(static_cast<int64_t>(n));
            now.gap += block.gap;
            for (const Labelling& y : block.labellings) {
                now.loss += C_n * y.weight * y.loss;
                now.support += y.weight > 0;
            }
            now.cached += static_cast<int64_t>(block.labellings.size());
        }
        return now;
    }

    void drop_idle(Block& block) {
        auto& all = block.labellings;
        const int64_t k = static_cast<int64_t>(all.size());
        std::vector<int64_t> kept;
        for (int64_t j = 0; j < k; ++j) {
            all[j].idle = all[j].weight > 0 ? 0 : all[j].idle + 1;
            if (all[j].idle < svmcut::kIdle) kept.push_back(j);
        }
        const int64_t m = static_cast<int64_t>(kept.size());
        if (m == k) return;
        for (int64_t a = 0; a < m; ++a) {
            for (int64_t b = 0; b < m; ++b)
                block.gram[a * m + b] = block.gram[kept[a] * k + kept[b]];
            if (kept[a] != a) all[a] = std::move(all[kept[a]]);
        }
        all.resize(m);
        block.gram.resize(m * m);
    }

    // The gap of a block among its labellings, whose values are known, and the steps that close it.
    double settle(int64_t n, double most, double mean) {
        Block& block = blocks[n];
        const double C_n = this->most(n), gap = C_n * std::max(0.0, most - mean);
        if (gap > 0) {
            balance(block, C_n, 0.01 * (most - mean));
            move(n, block);
        }
        return gap;
    }

    // w follows the weights of the labellings; where several err at one token, its features are
    // read once a tag.
    void move(int64_t n, const Block& block) {
        const double C_n = most(n);
        const int64_t begin = chain->sequences[n], row = at.blocks * at.S, base = at.emissions();
        const int64_t room_needed = (chain->sequences[n + 1] - begin) * row;
        if (static_cast<int64_t>(change.size()) < room_needed) change.resize(room_needed);
        changed.clear();
        for (const Labelling& y : block.labellings) {
            if (y.moved == 0) continue;
            for (const Entry& e : y.emissions) {
                double& sum = change[e.token * row + e.column];
                if (sum == 0) changed.push_back(e.token * row + e.column);
                sum += C_n * y.moved * e.sign;
            }
            for (const Entry& e : y.transitions) {
                w[base + e.column] += static_cast<Real>(C_n * y.moved * e.sign);
                few.enter(e.column);
            }
        }
        for (const int64_t place : changed) {
            const Real weight = static_cast<Real>(change[place]);
            change[place] = 0;
            if (weight == 0) continue;
            const int64_t i = begin + place / row, column = place % row;
            for (int64_t k = chain->X.indptr[i];
                 k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                w[chain->X.indices[k] * row + column] += weight * chain->X.data[k];
        }
    }

    // Steps between two labellings of the block until none gains much; index -1 is the right one.
    void balance(Block& block, double C_n, double tol) {
        auto& all = block.labellings;
        const int64_t k = static_cast<int64_t>(all.size());
        double right = 1;
        for (auto& y : all) right -= y.weight, y.moved = 0;
        right = std::max(0.0, right);
        for (int64_t step = 0; step < svmcut::kSteps * k; ++step) {
            int64_t up = -1, down = right > 0 ? -1 : -2;
            double most = 0, least = right > 0 ? 0 : std::numeric_limits<double>::infinity();
            for (int64_t j = 0; j < k; ++j) {
                if (all[j].value > most) most = all[j].value, up = j;
                if (all[j].weight > 0 && all[j].value < least) least = all[j].value, down = j;
            }
            if (down == -2 || up == down || most - least <= tol) break;
            const double* gu = up >= 0 ? block.gram.data() + up * k : nullptr;
            const double* gd = down >= 0 ? block.gram.data() + down * k : nullptr;
            double curvature =
                (gu ? gu[up] : 0) + (gd ? gd[down] : 0) - (gu && gd ? 2 * gu[down] : 0);
            const double room = down >= 0 ? all[down].weight : right;
            double delta =
                curvature > 0 ? std::min(room, (most - least) / (C_n * curvature)) : room;
            if (up >= 0) all[up].weight += delta, all[up].moved += delta;
            if (down >= 0) {
                all[down].weight = delta == room ? 0 : all[down].weight - delta;
                all[down].moved -= delta;
            }
            if (up < 0) right += delta;
            if (down < 0) right = delta == room ? 0 : right - delta;
            for (int64_t j = 0; j < k; ++j)
                all[j].value -= C_n * delta * ((gu ? gu[j] : 0) - (gd ? gd[j] : 0));
        }
    }
};

#endif
