// SPDX-License-Identifier: BSD-3-Clause
//
// A vector, or numbers in memory, as a vector of wider numbers, in namespace SVMCUT_LANES: included
// once for every set of instructions, by the loops that are. Without a guard for that reason. GCC
// makes one instruction of a list of elements, and many of __builtin_convertvector.
namespace svmcut {
namespace SVMCUT_LANES {

template <class V, class From, size_t... I>
inline V widened(const From& x, std::index_sequence<I...>) {
    return V{static_cast<std::decay_t<decltype(V{}[0])>>(x[I])...};
}
template <class V, class From>
inline V widened(const From& x) {
    return widened<V>(x, std::make_index_sequence<sizeof(V) / sizeof(V{}[0])>{});
}

}  // namespace SVMCUT_LANES
}  // namespace svmcut
