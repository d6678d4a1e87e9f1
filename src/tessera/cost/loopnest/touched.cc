// Counting without listing. For two terms a*i + b*j with b <= a, indices i that agree modulo b
// give sums that agree modulo b, and each such class is a comb: teeth of equal width at a fixed
// distance. Combs of two boxes overlap tooth by tooth, which is a formula. Three and more terms are
// listed.
#include "tessera/cost/loopnest/touched.h"

#include <algorithm>
#include <numeric>

namespace tessera::loopnest {
namespace {

// The numbers period*u + w for 0 <= u < teeth and 0 <= w < width, all moved by start.
struct Comb {
  int64_t start = 0;
  int64_t period = 1;
  int64_t teeth = 1;
  int64_t width = 1;

  // Teeth that touch are one tooth.
  void Merge() {
    if (teeth == 1 || width < period) return;
    width += (teeth - 1) * period;
    teeth = 1;
  }
};

int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

// Numbers of the comb that are below `end`.
int64_t CountBelow(const Comb& comb, int64_t end) {
  const int64_t reach = end - comb.start;
  if (reach <= 0) return 0;
  const int64_t tooth = std::min(reach / comb.period, comb.teeth - 1);
  return tooth * comb.width + std::min(comb.width, reach - tooth * comb.period);
}

// How many indices of [0, n) shifted by q lie in [0, m).
int64_t CountShifted(int64_t n, int64_t m, int64_t q) {
  return std::max<int64_t>(0, std::min(n + q, m) - std::max<int64_t>(q, 0));
}

// Numbers in both combs; their periods are equal unless one of them is a single tooth.
int64_t CountCommon(Comb a, Comb b) {
  a.Merge();
  b.Merge();
  if (a.teeth == 1) return CountBelow(b, a.start + a.width) - CountBelow(b, a.start);
  if (b.teeth == 1) return CountBelow(a, b.start + b.width) - CountBelow(a, b.start);
  // Tooth u of b begins `rest` after tooth u + q of a, and may reach into tooth u + q + 1.
  const int64_t q = FloorDiv(b.start - a.start, a.period);
  const int64_t rest = b.start - a.start - q * a.period;
  const int64_t same = std::max<int64_t>(0, std::min(a.width, rest + b.width) - rest);
  const int64_t next = std::max<int64_t>(0, std::min(a.width, rest + b.width - a.period));
  return CountShifted(b.teeth, a.teeth, q) * same + CountShifted(b.teeth, a.teeth, q + 1) * next;
}

// Number of i with 0 <= i < count and i = residue modulo modulus.
int64_t CountResidue(int64_t count, int64_t residue, int64_t modulus) {
  return residue >= count ? 0 : (count - 1 - residue) / modulus + 1;
}

int64_t CountCommonOfTwo(const RankShape& shape, const TouchedBox& a, const TouchedBox& b,
                         int64_t shift) {
  const int64_t major = shape.coefficients[0], minor = shape.coefficients[1];
  int64_t common = 0;
  for (int64_t i = 0; i < minor && i < a.widths[0]; ++i) {
    // The class of b, moved by `shift`, that agrees with the one of i modulo `minor`.
    for (int64_t k = 0; k < minor && k < b.widths[0]; ++k) {
      const int64_t distance = major * (k - i) + shift;
      if (distance % minor != 0) continue;
      const Comb comb_a{
          .period = major, .teeth = CountResidue(a.widths[0], i, minor), .width = a.widths[1]};
      const Comb comb_b{.start = distance / minor,
                        .period = major,
                        .teeth = CountResidue(b.widths[0], k, minor),
                        .width = b.widths[1]};
      common += CountCommon(comb_a, comb_b);
      break;  // the coefficients have no common divisor, so there is only one
    }
  }
  return common;
}

}  // namespace

RankShape MakeRankShape(const TensorRank& rank) {
  RankShape shape{.num_terms = rank.num_terms};
  std::vector<RankTerm> terms(rank.view().begin(), rank.view().end());
  std::ranges::stable_sort(terms, std::greater(), &RankTerm::coefficient);
  int64_t divisor = 0;
  for (const RankTerm& term : terms) divisor = std::gcd(divisor, term.coefficient);
  for (int k = 0; k < shape.num_terms; ++k) {
    shape.dims[k] = terms[static_cast<size_t>(k)].dimension;
    shape.coefficients[k] = terms[static_cast<size_t>(k)].coefficient / divisor;
  }
  return shape;
}

int64_t CountTouched(const RankShape& shape, const TouchedBox& box, TouchedScratch& scratch) {
  if (shape.num_terms == 1) return box.widths[0];
  if (shape.num_terms == 2) {
    // (i, j) and (i - minor, j + major) give the same sum, and only such pairs do.
    return box.widths[0] * box.widths[1] -
           std::max<int64_t>(0, box.widths[0] - shape.coefficients[1]) *
               std::max<int64_t>(0, box.widths[1] - shape.coefficients[0]);
  }
  ListTouched(shape, box, scratch.a);
  return std::ssize(scratch.a);
}

int64_t CountCommon(const RankShape& shape, const TouchedBox& a, const TouchedBox& b, int64_t shift,
                    TouchedScratch& scratch) {
  if (shape.num_terms == 1) {
    return std::max<int64_t>(
        0, std::min(a.widths[0], b.widths[0] + shift) - std::max<int64_t>(0, shift));
  }
  if (shape.num_terms == 2) return CountCommonOfTwo(shape, a, b, shift);
  ListTouched(shape, a, scratch.a);
  ListTouched(shape, b, scratch.b);
  int64_t common = 0;
  for (const int64_t element : scratch.b) {
    common += std::ranges::binary_search(scratch.a, element + shift) ? 1 : 0;
  }
  return common;
}

void ListTouched(const RankShape& shape, const TouchedBox& box, std::vector<int64_t>& elements) {
  elements.assign(1, 0);
  for (int k = 0; k < shape.num_terms; ++k) {
    const size_t inner = elements.size();
    for (int64_t i = 1; i < box.widths[k]; ++i) {
      for (size_t e = 0; e < inner; ++e) {
        elements.push_back(elements[e] + i * shape.coefficients[k]);
      }
    }
    std::ranges::sort(elements);
    const auto repeated = std::ranges::unique(elements);
    elements.erase(repeated.begin(), repeated.end());
  }
}

}  // namespace tessera::loopnest
