// SPDX-License-Identifier: BSD-3-Clause
//
// Convex losses of one score f: label or target y, C_i the weight of the row in the objective.
//
//     loss                  l(f)                     h(g)
//     hinge                 max(0, 1 - y f)          y g                             y g in [0, 1]
//     squared hinge         max(0, 1 - y f)^2        y g - g^2 / 4                   y g >= 0
//     logistic              log(1 + exp(-y f))       -u log u - (1 - u) log(1 - u)   u = y g, [0,
//                           1]
//     epsilon-insensitive   max(0, |y - f| - tube)   g y - tube |g|                  g in [-1, 1]
//     its square            max(0, |y - f| - tube)^2 g y - tube |g| - g^2 / 4        any g
//
//     l(f) >= h(g) - g f for every g of its domain, the last column
//
// Dual coordinate descent maximises sum_i C_i h(alpha_i / C_i) - 1/2 |w|^2, w = sum_i alpha_i y_i
// x_i, where alpha_i y_i / C_i = g (of targets: alpha_i / C_i = g, w = sum_i alpha_i x_i).
// Each loss knows
//
//     of(y, f, tube, delta)   value, tangent g, h(g) and curvature of the loss at f; of a loss with
//                             corners, g and curvature are those of the loss smoothed over a width
//                             of delta, as newton.cc smooths hinges
//     of(y, f, steep, centre) the same of the hinge less (u - centre)^2 / (2 steep), u = y g: the
//                             greatest of u (1 - y f) less that over u in [0, 1]
//     visit(...)              what one coordinate lacks to its optimum
//     better(...)             its optimum with the others as they are
#ifndef SVMCUT_LOSSES_H
#define SVMCUT_LOSSES_H

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace svmcut {

// One loss at one score.
struct Tangent {
    double value, g, h, curvature;
};

// One coordinate as a descent meets it: y, f = w.x, C_i, |x|^2, alpha, and where the loss has one,
// its logit.
struct Coordinate {
    double y, f, C, norm, alpha, tube;
    double* logit;
};

// Its gap, its projected gradient, and whether it is left out until it is woken.
struct Visit {
    double gap, projected;
    bool shrunk;
};

struct Hinge {
    static constexpr bool kSigned = false;  // whether alpha has the sign of the row's part of w

    static Visit visit(const Coordinate& at, double above, double below) {
        const double G = at.y * at.f - 1.0, gap = at.C * std::max(0.0, -G) + at.alpha * G;
        if (at.alpha == 0.0) return {gap, std::min(G, 0.0), G > above};
        if (at.alpha == at.C) return {gap, std::max(G, 0.0), G < below};
        return {gap, G, false};
    }

    static double better(const Coordinate& at) {
        const double G = at.y * at.f - 1.0, wanted = at.norm > 0 ? at.alpha - G / at.norm : at.C;
        return std::min(std::max(wanted, 0.0), at.C);
    }

    static Tangent of(double y, double f, double steep, double centre) {
        const double z = 1.0 - y * f, wanted = centre + steep * z,
                     u = std::min(std::max(wanted, 0.0), 1.0),
                     away = (u - centre) * (u - centre) / (2 * steep);
        return {u * z - away, y * u, u - away, wanted == u ? steep : 0.0};
    }
};

struct SquaredHinge {
    static constexpr bool kSigned = false;

    static Tangent of(double y, double f, double, double) {
        const double z = std::max(0.0, 1.0 - y * f), a = 2.0 * z;
        return {z * z, y * a, a - 0.25 * a * a, z > 0.0 ? 2.0 : 0.0};
    }

    static Visit visit(const Coordinate& at, double above, double) {
        const double half = 0.5 * at.alpha / at.C, z = 1.0 - at.y * at.f, G = half - z;
        const double lack = std::max(0.0, z) - half,
                     gap = at.C * lack * lack + at.alpha * std::max(0.0, -z);
        if (at.alpha == 0.0) return {gap, std::min(G, 0.0), G > above};
        return {gap, G, false};
    }

    static double better(const Coordinate& at) {
        const double G = at.y * at.f - 1.0 + 0.5 * at.alpha / at.C;
        return std::max(at.alpha - G / (at.norm + 0.5 / at.C), 0.0);
    }
};

// alpha = C s(logit), s(t) = 1 / (1 + exp(-t)): with the logit both alpha and C - alpha are known
// to the last digit.
struct Logistic {
    static constexpr bool kSigned = false;
    static constexpr int kMostSteps = 50;
    static constexpr double kClose = 0.1;  // of its gradient a visit may leave

    static double share(double t) {
        const double e = std::exp(-std::fabs(t));
        return t < 0.0 ? e / (1.0 + e) : 1.0 / (1.0 + e);
    }

    static Tangent of(double y, double f, double, double) {
        const double m = y * f, e = std::exp(-std::fabs(m)), less = e / (1.0 + e),
                     log = std::log1p(e);
        return {log + std::max(0.0, -m), y * (m > 0.0 ? less : 1.0 / (1.0 + e)),
                log + less * std::fabs(m), less / (1.0 + e)};
    }

    static Visit visit(const Coordinate& at, double, double) {
        const double m = at.y * at.f, G = *at.logit + m, u = at.alpha / at.C,
                     e = std::exp(-std::fabs(m));
        const double curvature = std::max(u * (1.0 - u), e / ((1.0 + e) * (1.0 + e)));
        return {at.C * std::min(0.5 * curvature * G * G, std::fabs(G)), G, false};
    }

    // The root of t + m + |x|^2 (C s(t) - alpha), which rises in t. Mirrored so that it is at most
    // 0, where s is convex and Newton's steps from above come down to it.
    static double better(const Coordinate& at) {
        const double m = at.y * at.f, A = at.norm * at.C, G = *at.logit + m, u = at.alpha / at.C;
        double k = m - at.norm * at.alpha, t = *at.logit;
        const bool mirrored = k + 0.5 * A < 0.0;
        if (mirrored) {
            k = -k - A;
            t = -t;
        }
        const double enough = kClose * std::fabs(G);
        t = std::min(0.0, t - (mirrored ? -G : G) / (1.0 + A * u * (1.0 - u)));
        double s = 0.5;
        for (int step = 0;; ++step) {
            const double e = std::exp(t), g = t + k + A * (s = e / (1.0 + e));
            if (std::fabs(g) <= enough || step == kMostSteps) break;
            t = std::min(0.0, t - g / (1.0 + A * s / (1.0 + e)));
        }
        *at.logit = mirrored ? -t : t;
        return mirrored ? at.C / (1.0 + std::exp(t)) : at.C * s;
    }
};

struct EpsilonInsensitive {
    static constexpr bool kSigned = true;

    static Tangent of(double y, double f, double tube, double delta) {
        const double r = y - f, value = std::max(0.0, std::fabs(r) - tube);
        double g = value > 0.0 ? (r > 0.0 ? 1.0 : -1.0) : 0.0, curvature = 0.0;
        if (delta > 0.0) {
            const double up = share((r - tube) / delta), down = share((-r - tube) / delta);
            g = up - down;
            curvature = ((up > 0.0 && up < 1.0) + (down > 0.0 && down < 1.0)) / delta;
        }
        return {value, g, g * y - tube * std::fabs(g), curvature};
    }

    static double share(double z) { return std::min(1.0, std::max(0.0, z + 0.5)); }

    static Visit visit(const Coordinate& at, double above, double) {
        const double r = at.y - at.f, beyond = std::fabs(r) - at.tube;
        const double gap =
            at.C * std::max(0.0, beyond) + at.tube * std::fabs(at.alpha) - at.alpha * r;
        if (at.alpha == 0.0) return {gap, std::max(0.0, beyond), beyond < -above};
        // above 0: |alpha| is to rise
        const double rest = at.alpha > 0.0 ? r - at.tube : -r - at.tube;
        if (std::fabs(at.alpha) == at.C) return {gap, std::max(0.0, -rest), rest > above};
        return {gap, std::fabs(rest), false};
    }

    static double better(const Coordinate& at) {
        const double r = at.y - at.f;
        if (!(at.norm > 0)) return std::fabs(r) <= at.tube ? 0.0 : r > 0 ? at.C : -at.C;
        const double u = at.alpha + r / at.norm,
                     size = std::max(0.0, std::fabs(u) - at.tube / at.norm);
        return std::copysign(std::min(size, at.C), u);
    }
};

struct SquaredEpsilonInsensitive {
    static constexpr bool kSigned = true;

    static Tangent of(double y, double f, double tube, double) {
        const double r = y - f, z = std::max(0.0, std::fabs(r) - tube),
                     g = std::copysign(2.0 * z, r);
        return {z * z, g, g * y - tube * std::fabs(g) - 0.25 * g * g, z > 0.0 ? 2.0 : 0.0};
    }

    static Visit visit(const Coordinate& at, double above, double) {
        const double r = at.y - at.f, beyond = std::fabs(r) - at.tube;
        const double half = 0.5 * std::fabs(at.alpha) / at.C;
        // what is beyond the tube on alpha's side
        const double z = at.alpha == 0.0 ? beyond : std::copysign(r, r * at.alpha) - at.tube;
        const double lack = std::max(0.0, beyond) - half;
        const double gap = at.C * lack * lack + std::fabs(at.alpha) * (std::max(0.0, beyond) - z);
        if (at.alpha == 0.0) return {gap, std::max(0.0, beyond), beyond < -above};
        return {gap, std::fabs(z - half), false};
    }

    static double better(const Coordinate& at) {
        const double u = at.norm * at.alpha + at.y - at.f;
        return std::copysign(std::max(0.0, std::fabs(u) - at.tube) / (at.norm + 0.5 / at.C), u);
    }
};

}  // namespace svmcut
#endif
