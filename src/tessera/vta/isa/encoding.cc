#include "tessera/vta/isa/encoding.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera::vta {
namespace {

static_assert(std::endian::native == std::endian::little, "words are stored as they lie");

constexpr int kImmBits = 16;

struct Width {
  std::string_view name;
  int width;
  uint32_t Instruction::*member;
};

std::vector<FieldPlace> Pack(std::initializer_list<std::span<const Width>> parts) {
  std::vector<FieldPlace> places;
  int bit = 0;
  for (const std::span<const Width> part : parts) {
    for (const Width& field : part) {
      if (bit < 64 && bit + field.width > 64) bit = 64;
      places.push_back({field.name, bit, field.width, field.member});
      bit += field.width;
    }
  }
  TESSERA_CHECK(bit <= 128);
  return places;
}

uint64_t Mask(int width) { return (uint64_t{1} << width) - 1; }

uint64_t ExtractBits(const Word128& word, int low_bit, int width) {
  const uint64_t half = low_bit < 64 ? word.low : word.high;
  return (half >> (low_bit % 64)) & Mask(width);
}

void InsertBits(Word128& word, int low_bit, uint64_t value) {
  (low_bit < 64 ? word.low : word.high) |= value << (low_bit % 64);
}

Error DoesNotFit(std::string_view field, int64_t value, int width, bool is_signed) {
  const int64_t least = is_signed ? -(int64_t{1} << (width - 1)) : 0;
  const int64_t most = is_signed ? (int64_t{1} << (width - 1)) - 1 : (int64_t{1} << width) - 1;
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("{} = {} does not fit in {} bits ({}..{})", field, value,
                                      width, least, most)};
}

}  // namespace

std::string ToHex(const Word128& word) {
  return fmt::format("{:016x}{:016x}", word.high, word.low);
}

Result<Word128> ParseWord(std::string_view hex) {
  const Error bad = {.kind = ErrorKind::kSyntax,
                     .message = fmt::format("{} is not an instruction word", Quoted(hex)),
                     .hint = "32 hexadecimal digits, most significant first"};
  if (hex.size() != 32) return bad;
  Word128 word;
  for (size_t i = 0; i < hex.size(); ++i) {
    const char c = hex[i];
    uint64_t digit = 0;
    if (c >= '0' && c <= '9') {
      digit = static_cast<uint64_t>(c - '0');
    } else if (c >= 'a' && c <= 'f') {
      digit = static_cast<uint64_t>(c - 'a' + 10);
    } else if (c >= 'A' && c <= 'F') {
      digit = static_cast<uint64_t>(c - 'A' + 10);
    } else {
      return bad;
    }
    uint64_t& half = i < 16 ? word.high : word.low;
    half = half << 4 | digit;
  }
  return word;
}

void StoreWord(const Word128& word, uint8_t* bytes) {
  std::memcpy(bytes, &word.low, 8);
  std::memcpy(bytes + 8, &word.high, 8);
}

Word128 LoadWord(const uint8_t* bytes) {
  Word128 word;
  std::memcpy(&word.low, bytes, 8);
  std::memcpy(&word.high, bytes + 8, 8);
  return word;
}

Format FormatOf(uint32_t opcode) {
  switch (static_cast<Opcode>(opcode)) {
    case Opcode::kLoad:
    case Opcode::kStore: return Format::kMemory;
    case Opcode::kGemm: return Format::kGemm;
    case Opcode::kAlu: return Format::kAlu;
    case Opcode::kFinish: return Format::kFinish;
  }
  return Format::kFinish;
}

Encoding::Encoding(const Config& config) {
  using I = Instruction;
  const int uop = config.log_uop_depth(), inp = config.log_inp_depth(),
            wgt = config.log_wgt_depth(), acc = config.log_acc_depth();
  const Width head[] = {{"opcode", 3, &I::opcode},
                        {"pop_prev", 1, &I::pop_prev},
                        {"pop_next", 1, &I::pop_next},
                        {"push_prev", 1, &I::push_prev},
                        {"push_next", 1, &I::push_next}};
  const Width memory[] = {{"memory_type", 3, &I::memory_type}, {"sram_base", 16, &I::sram_base},
                          {"dram_base", 32, &I::dram_base},    {"y_size", 16, &I::y_size},
                          {"x_size", 16, &I::x_size},          {"x_stride", 16, &I::x_stride},
                          {"y_pad_0", 4, &I::y_pad_0},         {"y_pad_1", 4, &I::y_pad_1},
                          {"x_pad_0", 4, &I::x_pad_0},         {"x_pad_1", 4, &I::x_pad_1}};
  const Width loops[] = {{"reset", 1, &I::reset},
                         {"uop_bgn", uop, &I::uop_bgn},
                         {"uop_end", uop + 1, &I::uop_end},
                         {"iter_out", 14, &I::iter_out},
                         {"iter_in", 14, &I::iter_in},
                         {"dst_factor_out", acc, &I::dst_factor_out},
                         {"dst_factor_in", acc, &I::dst_factor_in}};
  const Width gemm[] = {{"src_factor_out", inp, &I::src_factor_out},
                        {"src_factor_in", inp, &I::src_factor_in},
                        {"wgt_factor_out", wgt, &I::wgt_factor_out},
                        {"wgt_factor_in", wgt, &I::wgt_factor_in}};
  const Width alu[] = {{"src_factor_out", acc, &I::src_factor_out},
                       {"src_factor_in", acc, &I::src_factor_in},
                       {"alu_opcode", 3, &I::alu_opcode},
                       {"use_imm", 1, &I::use_imm},
                       {"imm", kImmBits, nullptr}};
  formats_[static_cast<size_t>(Format::kMemory)] = Pack({head, memory});
  formats_[static_cast<size_t>(Format::kGemm)] = Pack({head, loops, gemm});
  formats_[static_cast<size_t>(Format::kAlu)] = Pack({head, loops, alu});
  formats_[static_cast<size_t>(Format::kFinish)] = Pack({head});
  const int src = std::max(acc, inp);
  uop_ = {
      {"dst", 0, acc, &Uop::dst}, {"src", acc, src, &Uop::src}, {"wgt", acc + src, wgt, &Uop::wgt}};
}

std::span<const FieldPlace> Encoding::Fields(Format format) const {
  return formats_[static_cast<size_t>(format)];
}

Result<Word128> Encoding::Encode(const Instruction& instruction) const {
  Word128 word;
  for (const FieldPlace& field : Fields(FormatOf(instruction.opcode))) {
    if (field.member == nullptr) {
      const int64_t imm = instruction.imm;
      if (imm < -(1 << (kImmBits - 1)) || imm >= 1 << (kImmBits - 1)) {
        return DoesNotFit(field.name, imm, field.width, /*is_signed=*/true);
      }
      InsertBits(word, field.low_bit, static_cast<uint64_t>(imm) & Mask(field.width));
      continue;
    }
    const uint64_t value = instruction.*field.member;
    if (value > Mask(field.width)) {
      return DoesNotFit(field.name, static_cast<int64_t>(value), field.width,
                        /*is_signed=*/false);
    }
    InsertBits(word, field.low_bit, value);
  }
  return word;
}

Result<uint32_t> Encoding::Encode(const Uop& uop) const {
  uint64_t word = 0;
  for (const UopPlace& field : uop_) {
    const uint64_t value = uop.*field.member;
    if (value > Mask(field.width)) {
      return DoesNotFit(field.name, static_cast<int64_t>(value), field.width,
                        /*is_signed=*/false);
    }
    word |= value << field.low_bit;
  }
  return static_cast<uint32_t>(word);
}

Instruction Encoding::Decode(const Word128& word) const {
  Instruction instruction;
  const Format format = FormatOf(static_cast<uint32_t>(ExtractBits(word, 0, 3)));
  for (const FieldPlace& field : Fields(format)) {
    const uint64_t bits = ExtractBits(word, field.low_bit, field.width);
    if (field.member != nullptr) {
      instruction.*field.member = static_cast<uint32_t>(bits);
    } else {
      instruction.imm = static_cast<int16_t>(bits);
    }
  }
  return instruction;
}

Uop Encoding::DecodeUop(uint32_t word) const {
  Uop uop;
  for (const UopPlace& field : uop_) {
    uop.*field.member =
        static_cast<uint32_t>((uint64_t{word} >> field.low_bit) & Mask(field.width));
  }
  return uop;
}

}  // namespace tessera::vta
