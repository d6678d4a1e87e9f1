// A program with everything it needs to run: the DRAM image it works on, its instructions inside
// that image, and the region that holds the result. Also its binary file format.
#ifndef TESSERA_VTA_PROGRAM_H_
#define TESSERA_VTA_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/vta/config.h"
#include "tessera/vta/isa/encoding.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// A range of byte addresses.
struct Region {
  uint64_t address = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

struct Program {
  Config config = {};
  uint64_t dram_base = 0;          // address of dram[0]
  std::vector<uint8_t> dram = {};  // all memory that the program may touch
  uint64_t insn_addr = 0;
  int64_t insn_count = 0;
  Region out = {};

  friend bool operator==(const Program&, const Program&) = default;
};

// Whether [address, address + bytes) lies in the image.
bool InImage(const Program& program, uint64_t address, uint64_t bytes);

// The bytes of a region of the image; the region must lie in it.
std::span<const uint8_t> Bytes(const Program& program, const Region& region);
std::span<uint8_t> Bytes(Program& program, const Region& region);

// Refuses an invalid configuration and regions outside the image.
Result<void> Validate(const Program& program);

// The instructions of a valid program.
std::vector<Instruction> DecodeInstructions(const Program& program);

// Encodes `instructions` to insn_addr and sets insn_count; the image must have room.
Result<void> PlaceInstructions(std::span<const Instruction> instructions, Program& program);

// Binary form (docs/vta.md): a header of 80 bytes, then the image. Reading accepts exactly what
// writing produces: every length and reserved byte is checked.
std::string WriteContainer(const Program& program);
Result<Program> ParseContainer(std::string_view bytes, const std::string& file);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_PROGRAM_H_
