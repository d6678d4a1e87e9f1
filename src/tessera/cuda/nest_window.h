// Elements that tiles touch and share, for ranks of at most two terms: the formulas of
// cost/loopnest/touched.cc, callable on either side.
#ifndef TESSERA_CUDA_NEST_WINDOW_H_
#define TESSERA_CUDA_NEST_WINDOW_H_

#include "tessera/cuda/nest_plan.h"

namespace tessera::cuda {

TESSERA_HOST_DEVICE inline int64_t Least(int64_t a, int64_t b) { return a < b ? a : b; }
TESSERA_HOST_DEVICE inline int64_t Most(int64_t a, int64_t b) { return a > b ? a : b; }

// The numbers period*u + w for 0 <= u < teeth and 0 <= w < width, all moved by start.
struct NestComb {
  int64_t start, period, teeth, width;

  TESSERA_HOST_DEVICE void Merge() {
    if (teeth == 1 || width < period) return;
    width += (teeth - 1) * period;
    teeth = 1;
  }
};

TESSERA_HOST_DEVICE inline int64_t CountBelow(const NestComb& comb, int64_t end) {
  const int64_t reach = end - comb.start;
  if (reach <= 0) return 0;
  const int64_t tooth = comb.teeth == 1 ? 0 : Least(reach / comb.period, comb.teeth - 1);
  return tooth * comb.width + Least(comb.width, reach - tooth * comb.period);
}

TESSERA_HOST_DEVICE inline int64_t CountShifted(int64_t n, int64_t m, int64_t q) {
  return Most(0, Least(n + q, m) - Most(q, 0));
}

// Numbers in both combs; their periods are equal unless one of them is a single tooth.
TESSERA_HOST_DEVICE inline int64_t CountCommonOfCombs(NestComb a, NestComb b) {
  a.Merge();
  b.Merge();
  if (a.teeth == 1) return CountBelow(b, a.start + a.width) - CountBelow(b, a.start);
  if (b.teeth == 1) return CountBelow(a, b.start + b.width) - CountBelow(a, b.start);
  const int64_t distance = b.start - a.start;
  const int64_t q = distance / a.period - (distance % a.period < 0);
  const int64_t rest = distance - q * a.period;
  const int64_t same = Most(0, Least(a.width, rest + b.width) - rest);
  const int64_t next = Most(0, Least(a.width, rest + b.width - a.period));
  return CountShifted(b.teeth, a.teeth, q) * same + CountShifted(b.teeth, a.teeth, q + 1) * next;
}

// Number of i with 0 <= i < count and i = residue modulo modulus.
TESSERA_HOST_DEVICE inline int64_t CountResidue(int64_t count, int64_t residue, int64_t modulus) {
  if (residue >= count) return 0;
  return modulus == 1 ? count : (count - 1 - residue) / modulus + 1;
}

// Different sums of a rank over a box of `widths`.
TESSERA_HOST_DEVICE inline int64_t TouchedBy(const NestRank& rank, const int64_t* widths) {
  if (rank.num_terms == 0) return 1;
  if (rank.num_terms == 1) return widths[0];
  return widths[0] * widths[1] -
         Most(0, widths[0] - rank.coefficients[1]) * Most(0, widths[1] - rank.coefficients[0]);
}

// Those that are also sums of the same box moved by `shift`.
TESSERA_HOST_DEVICE inline int64_t CommonWith(const NestRank& rank, const int64_t* widths,
                                              int64_t shift) {
  if (rank.num_terms == 0) return shift == 0 ? 1 : 0;
  if (rank.num_terms == 1) return Most(0, Least(widths[0], widths[0] + shift) - Most(0, shift));
  const int64_t major = rank.coefficients[0], minor = rank.coefficients[1];
  int64_t common = 0;
  for (int64_t i = 0; i < minor && i < widths[0]; ++i) {
    for (int64_t k = 0; k < minor && k < widths[0]; ++k) {
      const int64_t distance = major * (k - i) + shift;
      if (minor != 1 && distance % minor != 0) continue;
      const NestComb a{0, major, CountResidue(widths[0], i, minor), widths[1]};
      const NestComb b{minor == 1 ? distance : distance / minor, major,
                       CountResidue(widths[0], k, minor), widths[1]};
      common += CountCommonOfCombs(a, b);
      break;
    }
  }
  return common;
}

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_NEST_WINDOW_H_
