// The inside of a program: its image by address, its instructions, its binary form.
#ifndef TESSERA_VTA_PROGRAM_H_
#define TESSERA_VTA_PROGRAM_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/isa/encoding.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// Whether [address, address + bytes) lies in the image.
bool InImage(const Program& program, uint64_t address, uint64_t bytes);

// The bytes of a region of the image, to be changed; the region must lie in it.
std::span<uint8_t> Bytes(Program& program, const Region& region);

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
