// Average pooling and concatenation on the host.
#include "tessera/vta/network/host.h"

namespace tessera::vta {

std::vector<int8_t> AveragePool(const ConvShape& s, std::span<const int8_t> input) {
  const int64_t window = s.kh * s.kw;
  std::vector<int8_t> means;
  for (int64_t plane = 0; plane < s.n * s.ci; ++plane) {
    for (int64_t y = 0; y < s.oh(); ++y) {
      for (int64_t x = 0; x < s.ow(); ++x) {
        int64_t sum = 0;
        for (int64_t tap = 0; tap < window; ++tap) {
          const int64_t row = y * s.stride_h + tap / s.kw, column = x * s.stride_w + tap % s.kw;
          sum += input[static_cast<size_t>((plane * s.h + row) * s.w + column)];
        }
        means.push_back(
            static_cast<int8_t>(sum >= 0 ? sum / window : -((window - 1 - sum) / window)));
      }
    }
  }
  return means;
}

std::vector<int8_t> JoinChannels(int64_t n, std::span<const std::span<const int8_t>> parts) {
  std::vector<int8_t> joined;
  for (int64_t image = 0; image < n; ++image) {
    for (const std::span<const int8_t>& part : parts) {
      const size_t size = part.size() / static_cast<size_t>(n);
      const auto mine = part.subspan(static_cast<size_t>(image) * size, size);
      joined.insert(joined.end(), mine.begin(), mine.end());
    }
  }
  return joined;
}

}  // namespace tessera::vta
