// Where every instruction field lies, and the two directions between fields and bits. Field widths
// follow the buffer depths, so a layout belongs to one configuration.
#ifndef TESSERA_VTA_ISA_ENCODING_H_
#define TESSERA_VTA_ISA_ENCODING_H_

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/isa/instruction.h"

namespace tessera::vta {

// One instruction as it lies in memory, little endian: bits 63..0 in `low`.
struct Word128 {
  uint64_t low = 0, high = 0;
  friend bool operator==(const Word128&, const Word128&) = default;
};
inline constexpr int64_t kInstructionBytes = 16;

// 32 hexadecimal digits, most significant first.
std::string ToHex(const Word128& word);
Result<Word128> ParseWord(std::string_view hex);

void StoreWord(const Word128& word, uint8_t* bytes);
Word128 LoadWord(const uint8_t* bytes);

enum class Format : uint8_t { kMemory, kGemm, kAlu, kFinish };

struct FieldPlace {
  std::string_view name;
  int low_bit = 0;
  int width = 0;
  // The field of Instruction; null for imm, the only signed one.
  uint32_t Instruction::*member = nullptr;
};

struct UopPlace {
  std::string_view name;
  int low_bit = 0;
  int width = 0;
  uint32_t Uop::*member = nullptr;
};

// Contract:
//   Threads      immutable after construction.
//   Round trip   Decode(Encode(x)) is x for every x that Encode accepts; Encode(Decode(w)) is w for
//                every word whose unused bits are 0.
class Encoding {
 public:
  explicit Encoding(const Config& config);  // a valid one

  // Fields from bit 0 up: packed without gaps, except that a field which would cross bit 64 starts
  // there (the C bit-field rule).
  std::span<const FieldPlace> Fields(Format format) const;
  std::span<const UopPlace> UopFields() const { return uop_; }

  // The error names a field whose value does not fit.
  Result<Word128> Encode(const Instruction& instruction) const;
  Result<uint32_t> Encode(const Uop& uop) const;

  // Any bits decode: an unknown opcode gives its number and the four token flags.
  Instruction Decode(const Word128& word) const;
  Uop DecodeUop(uint32_t word) const;

 private:
  std::array<std::vector<FieldPlace>, 4> formats_;
  std::vector<UopPlace> uop_;
};

// The format of an opcode; unknown ones have only the common head, as FINISH.
Format FormatOf(uint32_t opcode);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_ISA_ENCODING_H_
