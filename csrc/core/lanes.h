// SPDX-License-Identifier: BSD-3-Clause
//
// Vectors of SVMCUT_LANE_BYTES of doubles, in namespace SVMCUT_LANES: included once for every set
// of instructions, by the loops that are. Without a guard for that reason.
namespace svmcut {
namespace SVMCUT_LANES {

constexpr int kWidth = SVMCUT_LANE_BYTES / 8;
typedef double Doubles __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef int64_t Longs __attribute__((vector_size(SVMCUT_LANE_BYTES)));
typedef float Floats __attribute__((vector_size(SVMCUT_LANE_BYTES / 2)));

template <class V, class T>
inline V load(const T* p) {
    V x;
    __builtin_memcpy(&x, p, sizeof x);
    return x;
}

}  // namespace SVMCUT_LANES
}  // namespace svmcut
