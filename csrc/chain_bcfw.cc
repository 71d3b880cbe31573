// SPDX-License-Identifier: BSD-3-Clause
//
// Block-coordinate ascent of the dual of a chain machine, one sequence at a time.
//
//     max over q of  C sum_n sum_j q_nj Delta_nj - 1/2 |w|^2,    w = C sum_n sum_j q_nj psi_nj,    q_n in the simplex
//
// A visit finds the sequence's most violated labelling and joins it to those it has met (psi = Psi(right) - Psi(labelling);
// the right one, psi = 0, is always among them), then moves q_n to the optimum over these by steps between two labellings.
// The first such step is that of block-coordinate Frank-Wolfe (Lacoste-Julien, Jaggi, Schmidt, Pletscher, ICML 2013,
// Algorithm 4) with the pairwise direction of Osokin et al. (ICML 2016); the others read no features: the labellings'
// values follow from their Gram matrix.

#include <atomic>
#include <cmath>
#include <new>

#include "chain.h"
#include "chain_targets.h"

namespace svmcut {
namespace {

using Real = float;  // of w; Python asks for the sum of the labellings in double, from which the run then goes on

constexpr int64_t kIdle = 2;        // visits a labelling of weight 0 is kept
constexpr int32_t kLongestRest = 8; // passes a sequence without a gap is left out at most
constexpr double kSmallGap = 0.1;   // of the mean: a sequence below it rests
constexpr int kSteps = 20;          // of the inner problem, for each of its labellings

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

uint64_t next_random(uint64_t& state) {
    uint64_t z = (state += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

}  // namespace
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
    uint64_t random;
    std::vector<Real> w;
    std::vector<double> scratch;
    std::vector<Block> blocks;
    std::vector<int32_t> order;
    int64_t place = 0, visits = 0, pass = 0;
    double gaps = 0, counted = 0;  // of the running pass
    double mean_gap = 0;
    svmcut::ChainRoom<Real> room;
    std::vector<double> change;  // zeros between moves
    std::vector<int64_t> changed;

    svmcut_bcfw(const svmcut_chain* chain_, double C_, uint64_t seed)
        : chain(chain_), at(chain_), C(C_), random(seed), w(at.dim()), scratch(at.dim()),
          blocks(chain_->n_sequences), order(chain_->n_sequences) {
        for (size_t n = 0; n < order.size(); ++n) order[n] = static_cast<int32_t>(n);
    }

    template <class Number>
    void add(int64_t begin, const Labelling& y, double factor, Number* out) const {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        for (const Entry& e : y.emissions) {
            const int64_t i = begin + e.token;
            const double weight = factor * e.sign;
            for (int64_t k = chain->X.indptr[i]; k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                out[chain->X.indices[k] * row + e.column] += static_cast<Number>(weight * chain->X.data[k]);
        }
        for (const Entry& e : y.transitions) out[base + e.column] += static_cast<Number>(factor * e.sign);
    }

    double dot_scratch(int64_t begin, const Labelling& y) const {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        double sum = 0;
        for (const Entry& e : y.emissions) {
            const int64_t i = begin + e.token;
            double part = 0;
            for (int64_t k = chain->X.indptr[i]; k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                part += scratch[chain->X.indices[k] * row + e.column] * chain->X.data[k];
            sum += e.sign * part;
        }
        for (const Entry& e : y.transitions) sum += e.sign * scratch[base + e.column];
        return sum;
    }

    void clear_scratch(int64_t begin, const Labelling& y) {
        const int64_t row = at.blocks * at.S, base = at.emissions();
        for (const Entry& e : y.emissions)
            for (int64_t i = begin + e.token, k = chain->X.indptr[i]; k < chain->X.indptr[i + 1]; ++k)
                if (chain->X.indices[k] < at.D) scratch[chain->X.indices[k] * row + e.column] = 0;
        for (const Entry& e : y.transitions) scratch[base + e.column] = 0;
    }

    Labelling labelling(int64_t begin, int64_t T, const int32_t* y) const {
        Labelling out;
        out.loss = svmcut::difference(at, chain->tags + begin, y, T, out.emissions, out.transitions);
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
        for (const Block& block : blocks) {
            now.gap += block.gap;
            for (const Labelling& y : block.labellings) {
                now.loss += C * y.weight * y.loss;
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
            for (int64_t b = 0; b < m; ++b) block.gram[a * m + b] = block.gram[kept[a] * k + kept[b]];
            if (kept[a] != a) all[a] = std::move(all[kept[a]]);
        }
        all.resize(m);
        block.gram.resize(m * m);
    }

    // The gap of a block among its labellings, whose values are known, and the steps that close it.
    double settle(int64_t n, double most, double mean) {
        Block& block = blocks[n];
        const double gap = C * std::max(0.0, most - mean);
        if (gap > 0) {
            balance(block, 0.01 * (most - mean));
            move(n, block);
        }
        return gap;
    }

    // w follows the weights of the labellings; where several err at one token, its features are read once a tag.
    void move(int64_t n, const Block& block) {
        const int64_t begin = chain->sequences[n], row = at.blocks * at.S, base = at.emissions();
        const int64_t room_needed = (chain->sequences[n + 1] - begin) * row;
        if (static_cast<int64_t>(change.size()) < room_needed) change.resize(room_needed);
        changed.clear();
        for (const Labelling& y : block.labellings) {
            if (y.moved == 0) continue;
            for (const Entry& e : y.emissions) {
                double& sum = change[e.token * row + e.column];
                if (sum == 0) changed.push_back(e.token * row + e.column);
                sum += C * y.moved * e.sign;
            }
            for (const Entry& e : y.transitions) w[base + e.column] += static_cast<Real>(C * y.moved * e.sign);
        }
        for (const int64_t place : changed) {
            const Real weight = static_cast<Real>(change[place]);
            change[place] = 0;
            if (weight == 0) continue;
            const int64_t i = begin + place / row, column = place % row;
            for (int64_t k = chain->X.indptr[i]; k < chain->X.indptr[i + 1] && chain->X.indices[k] < at.D; ++k)
                w[chain->X.indices[k] * row + column] += weight * chain->X.data[k];
        }
    }

    // Steps between two labellings of the block until none gains much; index -1 is the right one.
    void balance(Block& block, double tol) {
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
            double curvature = (gu ? gu[up] : 0) + (gd ? gd[down] : 0) - (gu && gd ? 2 * gu[down] : 0);
            const double room = down >= 0 ? all[down].weight : right;
            double delta = curvature > 0 ? std::min(room, (most - least) / (C * curvature)) : room;
            if (up >= 0) all[up].weight += delta, all[up].moved += delta;
            if (down >= 0) {
                all[down].weight = delta == room ? 0 : all[down].weight - delta;
                all[down].moved -= delta;
            }
            if (up < 0) right += delta;
            if (down < 0) right = delta == room ? 0 : right - delta;
            for (int64_t j = 0; j < k; ++j) all[j].value -= C * delta * ((gu ? gu[j] : 0) - (gd ? gd[j] : 0));
        }
    }
};

namespace {

SVMCUT_INLINE void visit_body(svmcut_bcfw& run, int64_t n) {
    const ChainLayout& at = run.at;
    const svmcut_chain* chain = run.chain;
    const int64_t begin = chain->sequences[n], T = chain->sequences[n + 1] - begin, size = at.blocks * at.S;
    auto& room = run.room;
    if (static_cast<int64_t>(room.nodes.size()) < T * size) room.nodes.resize(T * size);
    if (static_cast<int64_t>(room.tags.size()) < T) room.tags.resize(T);
    const int32_t* gold = chain->tags + begin;
    for (int64_t i = 0; i < T; ++i) {
        Real* node = room.nodes.data() + i * size;
        svmcut::score_token<Real>(at, chain->X, begin + i, run.w.data(), Real(1), i == 0, node);
        node[gold[i]] -= Real(1);
    }
    const Real* V = run.w.data() + at.emissions();
    const Lattice<Real> lattice(at, room.nodes.data(), V, 0);
    svmcut::viterbi(lattice, T, room, room.tags.data());

    Block& block = run.blocks[n];
    auto value_of = [&](const Labelling& y) {
        double sum = 0;
        for (const Entry& e : y.emissions) sum -= e.sign * room.nodes[e.token * size + e.column];
        for (const Entry& e : y.transitions) sum -= e.sign * V[e.column];
        return sum;
    };
    double mean = 0, most = 0;
    int64_t found = -1;
    for (size_t j = 0; j < block.labellings.size(); ++j) {
        Labelling& y = block.labellings[j];
        y.value = value_of(y);
        mean += y.weight * y.value;
        most = std::max(most, y.value);
        if (std::equal(y.tags.begin(), y.tags.end(), room.tags.begin())) found = static_cast<int64_t>(j);
    }
    if (found < 0 && !std::equal(gold, gold + T, room.tags.begin())) {
        Labelling y = run.labelling(begin, T, room.tags.data());
        y.value = value_of(y);
        if (y.value > most) {
            most = y.value;
            run.join(begin, block, std::move(y));
        }
    }
    block.gap = run.settle(n, most, mean);
    run.gaps += block.gap;
    run.counted += 1;
    if (block.gap > 0) run.drop_idle(block);
}

void visit_portable(svmcut_bcfw& run, int64_t n) { visit_body(run, n); }
#if defined(SVMCUT_FOR_TARGETS)
SVMCUT_AVX2 void visit_avx2(svmcut_bcfw& run, int64_t n) { visit_body(run, n); }
SVMCUT_AVX512 void visit_avx512(svmcut_bcfw& run, int64_t n) { visit_body(run, n); }
#endif

}  // namespace

extern "C" {

svmcut_bcfw* svmcut_bcfw_new(const svmcut_chain* chain, double C, uint64_t seed) {
    try {
        return new svmcut_bcfw(chain, C, seed);
    } catch (...) {
        return nullptr;
    }
}

void svmcut_bcfw_delete(svmcut_bcfw* run) { delete run; }

int svmcut_bcfw_visit(svmcut_bcfw* run, int64_t count, svmcut_bcfw_state* state, const volatile int* cancel) {
    const int64_t n = run->chain->n_sequences;
    const auto visit = SVMCUT_PICK(visit);
    int status = SVMCUT_OK;
    try {
        for (int64_t done = 0; done < count;) {
            if (cancel && *cancel) {
                status = SVMCUT_CANCELLED;
                break;
            }
            if (run->place == 0) {
                for (int64_t i = n - 1; i > 0; --i)
                    std::swap(run->order[i], run->order[svmcut::next_random(run->random) % (i + 1)]);
                run->mean_gap = run->counted > 0 ? run->gaps / static_cast<double>(n) : 0;
                run->gaps = run->counted = 0;
                ++run->pass;
            }
            const int64_t i = run->order[run->place];
            Block& block = run->blocks[i];
            if (block.due <= run->pass) {
                visit(*run, i);
                ++run->visits;
                ++done;
                const bool quiet = block.gap < svmcut::kSmallGap * run->mean_gap;
                block.rest = quiet ? std::min<int32_t>(2 * block.rest + 1, svmcut::kLongestRest) : 0;
                block.due = static_cast<int32_t>(run->pass) + 1 + block.rest;
            } else {
                run->gaps += block.gap;
            }
            run->place = (run->place + 1) % n;
            if (run->place == 0 && done == 0) continue;
        }
    } catch (...) {
        status = SVMCUT_NO_MEMORY;
    }
    *state = run->state();
    return status;
}

int svmcut_bcfw_weights(svmcut_bcfw* run, int afresh, double* w) {
    const int64_t dim = run->at.dim();
    if (!afresh) {
        std::copy(run->w.begin(), run->w.end(), w);
        return SVMCUT_OK;
    }
    std::fill(w, w + dim, 0.0);
    for (int64_t n = 0; n < run->chain->n_sequences; ++n)
        for (const Labelling& y : run->blocks[n].labellings)
            if (y.weight > 0) run->add(run->chain->sequences[n], y, run->C * y.weight, w);
    for (int64_t k = 0; k < dim; ++k) run->w[k] = static_cast<Real>(w[k]);
    return SVMCUT_OK;
}

}  // extern "C"
