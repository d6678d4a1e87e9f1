// The random streams of NumPy that the particle environments draw their starts from. Only for
// starts that must equal theirs; everything else draws from tessera/part.h.
#ifndef TESSERA_ENV_MPE_NUMPY_RANDOM_H_
#define TESSERA_ENV_MPE_NUMPY_RANDOM_H_

#include <array>
#include <cstdint>

namespace tessera {

// numpy.random.seed(seed) and numpy.random.uniform: MT19937 with 53-bit doubles.
class NumpyMt19937 {
 public:
  static constexpr int kStateWords = 624;

  explicit NumpyMt19937(uint32_t seed);
  double Uniform(double low, double high);

  // State words and the number of those used up, for checkpoints.
  std::array<uint32_t, kStateWords + 1>& state() { return state_; }
  const std::array<uint32_t, kStateWords + 1>& state() const { return state_; }

 private:
  uint32_t Bits32();
  void Twist();

  std::array<uint32_t, kStateWords + 1> state_;
};

// numpy.random.Generator(PCG64(SeedSequence(seed))).uniform.
class NumpyPcg64 {
 public:
  explicit NumpyPcg64(uint64_t seed);
  double Uniform(double low, double high);

  // State and increment, low words first, for checkpoints.
  std::array<uint64_t, 4> state() const;
  void set_state(const std::array<uint64_t, 4>& words);

 private:
  __extension__ using Wide = unsigned __int128;
  uint64_t Bits64();

  Wide state_ = 0, increment_ = 0;
};

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_NUMPY_RANDOM_H_
