#include "tessera/vta/isa/instruction.h"

#include <array>
#include <span>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera::vta {
namespace {

constexpr std::array<std::string_view, 5> kOpcodes = {"LOAD", "STORE", "GEMM", "FINISH", "ALU"};
constexpr std::array<std::string_view, 6> kMemories = {"UOP", "WGT", "INP",
                                                       "ACC", "OUT", "ACC_8BIT"};
constexpr std::array<std::string_view, 5> kAluOps = {"MIN", "MAX", "ADD", "SHR", "MUL"};
constexpr int64_t kMaxCode = 7;  // all three fields have three bits

std::string NameOf(uint32_t code, std::span<const std::string_view> names) {
  return code < names.size() ? std::string(names[code]) : fmt::format("?{}", code);
}

Result<uint32_t> CodeOf(std::string_view name, std::span<const std::string_view> names,
                        std::string_view what) {
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return static_cast<uint32_t>(i);
  }
  if (name.starts_with('?')) {
    const Result<int64_t> code = ParseInt(name.substr(1));
    if (code && *code >= 0 && *code <= kMaxCode) return static_cast<uint32_t>(*code);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown {} {}", what, Quoted(name)),
               .hint = DidYouMean(name, names)};
}

}  // namespace

Stage StageOf(const Instruction& instruction) {
  if (instruction.Is(Opcode::kStore)) return Stage::kStore;
  const bool operand = instruction.memory() == Memory::kInp || instruction.memory() == Memory::kWgt;
  return instruction.Is(Opcode::kLoad) && operand ? Stage::kLoad : Stage::kCompute;
}

std::string OpcodeName(uint32_t opcode) { return NameOf(opcode, kOpcodes); }
std::string MemoryName(uint32_t memory_type) { return NameOf(memory_type, kMemories); }
std::string AluOpName(uint32_t alu_opcode) { return NameOf(alu_opcode, kAluOps); }

std::string_view StageName(Stage stage) {
  constexpr std::array<std::string_view, kNumStages> kStages = {"LOAD", "COMPUTE", "STORE"};
  return kStages[static_cast<size_t>(stage)];
}

Result<uint32_t> FindOpcode(std::string_view name) { return CodeOf(name, kOpcodes, "opcode"); }
Result<uint32_t> FindMemory(std::string_view name) {
  return CodeOf(name, kMemories, "memory type");
}
Result<uint32_t> FindAluOp(std::string_view name) { return CodeOf(name, kAluOps, "ALU opcode"); }

}  // namespace tessera::vta
