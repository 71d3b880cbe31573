// SPDX-License-Identifier: BSD-3-Clause
//
// What each kernel is: a function of a product x.z, or of gamma |x - z|^2. No guard: included once
// in each namespace that has numbers V (lanes of float32 or float64, or one double) with of<V>,
// exp_of for x <= 0, power_of and tanh_of.

template <class V>
struct Parameters {
    V gamma, scale, offset;
    int32_t degree;
    explicit Parameters(const svmcut_kernel& K)
        : gamma(of<V>(K.gamma)), scale(of<V>(K.scale)), offset(of<V>(K.offset)), degree(K.degree) {}
};

// kNumber: that of its row in svmcut/spec/catalog.py. kOfDistance: whether V is a squared distance
// D rather than a product. Such a kernel is k(gamma D) with k(0) = 1, |k'(t)| <= k(t),
// t |k'(t)| <= 0.4 and 2 sqrt(t) |k'(t)| <= 0.86, from which errors of D are judged. The others say
// themselves how far `terms` roundings of a product, a part u of it each, take a value of points of
// no |x|^2 above `largest`.
struct Linear {
    static constexpr int32_t kNumber = 0;
    static constexpr bool kOfDistance = false;

    template <class V>
    static V value(const Parameters<V>&, V product) {
        return product;
    }
    static double error(const svmcut_kernel&, double largest, double terms, double u) {
        return (terms + 2) * largest * u;
    }
};

struct Polynomial {
    static constexpr int32_t kNumber = 1;
    static constexpr bool kOfDistance = false;

    template <class V>
    static V value(const Parameters<V>& K, V product) {
        return power_of(K.scale * product + K.offset, K.degree);
    }
    static double error(const svmcut_kernel& K, double largest, double terms, double u) {
        const double reach = std::abs(K.scale) * largest + std::abs(K.offset);
        return 2 * K.degree * (terms + 3) * u * std::pow(reach, K.degree);
    }
};

struct Rbf {
    static constexpr int32_t kNumber = 2;
    static constexpr bool kOfDistance = true;

    template <class V>
    static V value(const Parameters<V>& K, V distance) {
        return exp_of(-K.gamma * distance);
    }
};

struct Sigmoid {
    static constexpr int32_t kNumber = 3;
    static constexpr bool kOfDistance = false;

    template <class V>
    static V value(const Parameters<V>& K, V product) {
        return tanh_of(K.scale * product + K.offset);
    }
    static double error(const svmcut_kernel& K, double largest, double terms, double u) {
        const double reach = std::abs(K.scale) * largest + std::abs(K.offset);
        return ((terms + 3) * reach + 8) * u;
    }
};

// Calls work(form) with the form of a kernel.
template <class Work>
inline void with_form(const svmcut_kernel& K, Work&& work) {
    switch (K.number) {
        case Linear::kNumber:
            return work(Linear{});
        case Polynomial::kNumber:
            return work(Polynomial{});
        case Rbf::kNumber:
            return work(Rbf{});
        case Sigmoid::kNumber:
            return work(Sigmoid{});
    }
}
