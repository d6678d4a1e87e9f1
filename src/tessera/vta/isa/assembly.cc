// Instructions as text: one table per format says which words it has, for both directions.
#include "tessera/vta/isa/assembly.h"

#include <array>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera::vta {
namespace {

using I = Instruction;
using Member = uint32_t Instruction::*;

constexpr std::array<std::pair<std::string_view, Member>, 4> kFlags = {
    {{"pop_prev", &I::pop_prev},
     {"pop_next", &I::pop_next},
     {"push_prev", &I::push_prev},
     {"push_next", &I::push_next}}};

// "key=a,b": up to four numbers between separators.
struct Word {
  std::string_view key;
  std::string_view separator;
  std::array<Member, 4> members;
  size_t count;
};
constexpr std::array<Word, 5> kMemoryWords = {
    {{"sram", "", {&I::sram_base}, 1},
     {"dram", "", {&I::dram_base}, 1},
     {"size", "x", {&I::x_size, &I::y_size}, 2},
     {"stride", "", {&I::x_stride}, 1},
     {"pad", ",", {&I::y_pad_0, &I::y_pad_1, &I::x_pad_0, &I::x_pad_1}, 4}}};
constexpr std::array<Word, 5> kGemmWords = {
    {{"uop", "..", {&I::uop_bgn, &I::uop_end}, 2},
     {"iter", "x", {&I::iter_out, &I::iter_in}, 2},
     {"dst", ",", {&I::dst_factor_out, &I::dst_factor_in}, 2},
     {"src", ",", {&I::src_factor_out, &I::src_factor_in}, 2},
     {"wgt", ",", {&I::wgt_factor_out, &I::wgt_factor_in}, 2}}};

std::span<const Word> WordsOf(const Instruction& instruction) {
  if (instruction.IsMemory()) return kMemoryWords;
  if (instruction.Is(Opcode::kGemm)) return kGemmWords;
  if (instruction.Is(Opcode::kAlu)) return std::span(kGemmWords).first(4);
  return {};
}

// The instruction that a NOP of a stage stands for: all fields 0 except tokens.
Instruction NopOf(Stage stage) {
  Instruction nop;
  nop.opcode = static_cast<uint32_t>(stage == Stage::kStore ? Opcode::kStore : Opcode::kLoad);
  nop.memory_type = static_cast<uint32_t>(stage == Stage::kLoad      ? Memory::kInp
                                          : stage == Stage::kCompute ? Memory::kUop
                                                                     : Memory::kOut);
  return nop;
}

std::string Mnemonic(const Instruction& instruction) {
  if (instruction.IsMemory()) {
    return OpcodeName(instruction.opcode) + "." + MemoryName(instruction.memory_type);
  }
  if (instruction.Is(Opcode::kAlu)) {
    return fmt::format("ALU.{}{}", AluOpName(instruction.alu_opcode),
                       instruction.reset != 0 ? ".RESET" : "");
  }
  if (instruction.Is(Opcode::kGemm) && instruction.reset != 0) return "GEMM.RESET";
  return OpcodeName(instruction.opcode);
}

Result<Instruction> ParseMnemonic(std::string_view mnemonic) {
  Instruction instruction;
  std::vector<std::string_view> parts = Split(mnemonic, '.');
  if (parts[0] == "NOP" && parts.size() == 2) {
    for (const Stage stage : {Stage::kLoad, Stage::kCompute, Stage::kStore}) {
      if (StageName(stage) == parts[1]) return NopOf(stage);
    }
  }
  const Result<uint32_t> opcode = FindOpcode(parts[0]);
  if (!opcode) return opcode.error();
  instruction.opcode = *opcode;
  if (instruction.IsKernel() && parts.size() > 1 && parts.back() == "RESET") {
    instruction.reset = 1;
    parts.pop_back();
  }
  const bool qualified = instruction.IsMemory() || instruction.Is(Opcode::kAlu);
  if (parts.size() != (qualified ? 2u : 1u)) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("unknown instruction {}", Quoted(mnemonic)),
                 .hint = "as LOAD.INP, STORE.OUT, GEMM, GEMM.RESET, ALU.ADD, NOP.COMPUTE, FINISH"};
  }
  if (!qualified) return instruction;
  const Result<uint32_t> code = instruction.IsMemory() ? FindMemory(parts[1]) : FindAluOp(parts[1]);
  if (!code) return code.error();
  (instruction.IsMemory() ? instruction.memory_type : instruction.alu_opcode) = *code;
  return instruction;
}

Result<uint32_t> ParseField(std::string_view key, std::string_view text) {
  const Result<int64_t> value = ParseInt(text);
  if (!value || *value < 0 || *value > int64_t{UINT32_MAX}) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("{}: {} is not a number from 0 to 4294967295", key, Quoted(text))};
  }
  return static_cast<uint32_t>(*value);
}

Result<void> ParseNumbers(const Word& word, std::string_view text, Instruction& instruction) {
  for (size_t i = 0; i < word.count; ++i) {
    const bool last = i + 1 == word.count;
    const size_t end = last ? text.size() : text.find(word.separator);
    if (end == std::string_view::npos) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = fmt::format("{} needs {} numbers separated by '{}'", word.key,
                                          word.count, word.separator)};
    }
    const Result<uint32_t> value = ParseField(word.key, text.substr(0, end));
    if (!value) return value.error();
    instruction.*word.members[i] = *value;
    if (!last) text.remove_prefix(end + word.separator.size());
  }
  return {};
}

Result<void> ParseImm(std::string_view key, std::string_view text, Instruction& instruction) {
  const Result<int64_t> value = ParseInt(text);
  if (!value || *value < INT16_MIN || *value > INT16_MAX) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("{}: {} is not a number from -32768 to 32767", key, Quoted(text))};
  }
  instruction.imm = static_cast<int32_t>(*value);
  instruction.use_imm = key == "imm" ? 1 : 0;
  return {};
}

Result<void> ParseOperand(std::string_view operand, Instruction& instruction) {
  for (const auto& [name, member] : kFlags) {
    if (operand == name) {
      instruction.*member = 1;
      return {};
    }
  }
  const size_t equals = operand.find('=');
  const std::string_view key = operand.substr(0, equals);
  if (equals != std::string_view::npos) {
    const std::string_view text = operand.substr(equals + 1);
    for (const Word& word : WordsOf(instruction)) {
      if (word.key == key) return ParseNumbers(word, text, instruction);
    }
    if (instruction.Is(Opcode::kAlu) && (key == "imm" || key == "unused_imm")) {
      return ParseImm(key, text, instruction);
    }
  }
  std::vector<std::string> names;
  for (const Word& word : WordsOf(instruction)) names.push_back(std::string(word.key) + "=");
  if (instruction.Is(Opcode::kAlu)) names.push_back("imm=");
  for (const auto& [name, member] : kFlags) names.emplace_back(name);
  return Error{
      .kind = ErrorKind::kUnknownName,
      .message = fmt::format("{} has no operand {}", Mnemonic(instruction), Quoted(operand)),
      .hint = DidYouMean(key, names)};
}

bool IsPlainNop(const Instruction& instruction) {
  Instruction nop = NopOf(StageOf(instruction));
  for (const auto& [name, member] : kFlags) nop.*member = instruction.*member;
  return nop == instruction;
}

}  // namespace

std::string ToText(const Instruction& instruction) {
  std::string text;
  if (IsPlainNop(instruction)) {
    text = fmt::format("NOP.{}", StageName(StageOf(instruction)));
  } else {
    text = Mnemonic(instruction);
    for (const Word& word : WordsOf(instruction)) {
      text += fmt::format(" {}=", word.key);
      for (size_t i = 0; i < word.count; ++i) {
        text += fmt::format("{}{}", i == 0 ? "" : word.separator, instruction.*word.members[i]);
      }
    }
    if (instruction.Is(Opcode::kAlu) && instruction.use_imm != 0) {
      text += fmt::format(" imm={}", instruction.imm);
    } else if (instruction.Is(Opcode::kAlu) && instruction.imm != 0) {
      text += fmt::format(" unused_imm={}", instruction.imm);
    }
  }
  for (const auto& [name, member] : kFlags) {
    if (instruction.*member != 0) text += fmt::format(" {}", name);
  }
  return text;
}

Result<Instruction> ParseInstruction(std::string_view text, const Where& where) {
  const auto at = [&](Error error, std::string_view word) {
    error.where = where;
    error.where.column += word.data() - text.data();
    return error;
  };
  Instruction instruction;
  bool first = true;
  for (const std::string_view word : Split(text, ' ')) {
    if (Trim(word).empty()) continue;
    if (first) {
      Result<Instruction> parsed = ParseMnemonic(word);
      if (!parsed) return at(parsed.error(), word);
      instruction = *parsed;
      first = false;
    } else if (Result<void> parsed = ParseOperand(word, instruction); !parsed) {
      return at(parsed.error(), word);
    }
  }
  if (first) {
    return at({.kind = ErrorKind::kSyntax, .message = "no instruction on this line"}, text);
  }
  return instruction;
}

}  // namespace tessera::vta
