// What kernels_inl.h needs of vectors, by the compiler's own operators: for instruction sets
// without an instruction for it. Included after Vec, Words and kLanes are defined.

#ifndef TESSERA_NN_KERNELS_PLAIN_INL_H_
#define TESSERA_NN_KERNELS_PLAIN_INL_H_

// Of equal values and with NaN, the second.
inline Vec Max(Vec a, Vec b) { return a > b ? a : b; }
inline Vec Min(Vec a, Vec b) { return a < b ? a : b; }
// Bit l: whether lane l is positive.
inline uint32_t PositiveBits(Vec x) {
  uint32_t bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= (x[l] > 0 ? 1u : 0u) << l;
  return bits;
}
// The low halves of 64-bit lanes with `factor`.
inline Words MultiplyLow32(Words x, uint32_t factor) {
  return (x & 0xffffffffu) * uint64_t{factor};
}

#endif  // TESSERA_NN_KERNELS_PLAIN_INL_H_
