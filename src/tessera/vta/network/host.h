// What the host does between programs of VTA.
#ifndef TESSERA_VTA_NETWORK_HOST_H_
#define TESSERA_VTA_NETWORK_HOST_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/vta.h"

namespace tessera::vta {

// Means of the windows of a convolution's shape without padding, rounded down.
std::vector<int8_t> AveragePool(const ConvShape& shape, std::span<const int8_t> input);

// Tensors of n images each, with the channels of all of them one after another.
std::vector<int8_t> JoinChannels(int64_t n, std::span<const std::span<const int8_t>> parts);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_HOST_H_
