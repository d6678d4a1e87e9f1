// Which tiles and bytes an instruction reads and writes.
#ifndef TESSERA_VTA_CHECK_ACCESS_H_
#define TESSERA_VTA_CHECK_ACCESS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tessera/vta/config.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Half-open ranges in ascending order that neither overlap nor touch.
struct Range {
  int64_t begin = 0, end = 0;
  friend bool operator==(const Range&, const Range&) = default;
};
using Ranges = std::vector<Range>;

bool Overlap(const Ranges& a, const Ranges& b);

// Places that two stages can meet at. OUT is ACC here; UOP belongs to COMPUTE alone.
enum class Space : uint8_t { kInp, kWgt, kAcc, kDram };
inline constexpr size_t kNumSpaces = 4;

struct Access {
  std::array<Ranges, kNumSpaces> reads = {}, writes = {};  // tiles; bytes for DRAM
};

// The transfers of a LOAD or STORE that CheckStatic accepts; nothing for a NOP.
Access TransferAccess(const Instruction& transfer, const Config& config);

// The tiles of a GEMM or ALU instruction with the given micro-op buffer. An immediate ALU
// instruction does not read its source, but its index must be in range all the same. Nothing if
// some index is out of range; then `violation` says which.
std::optional<Access> KernelAccess(const Instruction& kernel, std::span<const Uop> uops,
                                   const Config& config, std::string* violation);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CHECK_ACCESS_H_
