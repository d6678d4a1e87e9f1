#include "tessera/vta/check/static.h"

#include <algorithm>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

constexpr uint32_t kMaxAluOpcode = 4;

class Checker {
 public:
  Checker(std::span<const Instruction> instructions, const Program& program)
      : instructions_(instructions), program_(program) {}

  std::vector<Diagnostic> Check() {
    for (insn_ = 0; insn_ < std::ssize(instructions_); ++insn_) {
      CheckOne(instructions_[static_cast<size_t>(insn_)]);
    }
    CheckFinish();
    return std::move(diagnostics_);
  }

 private:
  void Report(Defect defect, std::string message, Severity severity = Severity::kError) {
    diagnostics_.push_back(
        {.defect = defect, .severity = severity, .insn = insn_, .message = std::move(message)});
  }

  void CheckOne(const Instruction& x) {
    if (x.opcode > static_cast<uint32_t>(Opcode::kAlu)) {
      return Report(Defect::kBadOpcode, fmt::format("opcode {} does not exist", x.opcode));
    }
    if (x.IsMemory() && !ReachesMemory(x)) {
      return Report(Defect::kBadMemoryType,
                    fmt::format("{} cannot reach memory {}", OpcodeName(x.opcode),
                                MemoryName(x.memory_type)));
    }
    CheckTokens(x);
    if (x.IsMemory() && !x.IsNop()) CheckTransfer(x);
    if (x.IsKernel()) CheckKernel(x);
  }

  static bool ReachesMemory(const Instruction& x) {
    if (x.Is(Opcode::kStore)) return x.memory() == Memory::kOut;
    return x.memory_type <= static_cast<uint32_t>(Memory::kAcc8Bit) && x.memory() != Memory::kOut;
  }

  void CheckTokens(const Instruction& x) {
    const Stage stage = StageOf(x);
    if (stage == Stage::kLoad && (x.pop_prev != 0 || x.push_prev != 0)) {
      Report(Defect::kIllegalDependence, "the LOAD stage has no stage before it");
    }
    if (stage == Stage::kStore && (x.pop_next != 0 || x.push_next != 0)) {
      Report(Defect::kIllegalDependence, "the STORE stage has no stage after it");
    }
  }

  void CheckTransfer(const Instruction& x) {
    const int64_t depth = program_.config.Depth(x.memory());
    const int64_t tile_bytes = program_.config.TileBytes(x.memory());
    if (x.y_size == 0) {
      return Report(Defect::kZeroRows,
                    fmt::format("x_size {} but y_size 0: hardware never ends it", x.x_size));
    }
    if (x.Is(Opcode::kStore) && (x.y_pad_0 | x.y_pad_1 | x.x_pad_0 | x.x_pad_1) != 0) {
      Report(Defect::kStorePadding, "STORE has no padding");
    }
    if (x.sram_base + x.SramTiles() > depth) {
      Report(Defect::kSramRange,
             fmt::format("tiles {} to {} of {} > depth {}", x.sram_base,
                         x.sram_base + x.SramTiles() - 1, MemoryName(x.memory_type), depth));
    }
    const uint64_t first = uint64_t{x.dram_base} * static_cast<uint64_t>(tile_bytes);
    const int64_t tiles = (int64_t{x.y_size} - 1) * x.x_stride + x.x_size;
    const uint64_t bytes = static_cast<uint64_t>(tiles * tile_bytes);
    if (!InImage(program_, first, bytes)) {
      Report(Defect::kDramRange,
             fmt::format("bytes {:#x} to {:#x} lie outside the image of {} bytes at {:#x}", first,
                         first + bytes - 1, program_.dram.size(), program_.dram_base));
    }
  }

  void CheckKernel(const Instruction& x) {
    const int64_t depth = program_.config.Depth(Memory::kUop);
    if (x.Is(Opcode::kAlu) && x.alu_opcode > kMaxAluOpcode) {
      Report(Defect::kBadAluOpcode, fmt::format("ALU opcode {} does not exist", x.alu_opcode));
    }
    if (x.uop_end > x.uop_bgn && x.uop_end > depth) {
      Report(Defect::kUopRange,
             fmt::format("micro-ops {} to {} > depth {}", x.uop_bgn, x.uop_end - 1, depth));
    }
    if (x.Rounds() == 0) {
      Report(
          Defect::kEmptyIteration,
          fmt::format("iter {}x{} over {} micro-ops does nothing, but hardware takes 0 for "
                      "16384",
                      x.iter_out, x.iter_in, std::max(int64_t{x.uop_end} - x.uop_bgn, int64_t{0})),
          Severity::kWarning);
    }
  }

  void CheckFinish() {
    const int64_t last = std::ssize(instructions_) - 1;
    int64_t finishes = 0;
    for (const Instruction& x : instructions_) finishes += x.Is(Opcode::kFinish) ? 1 : 0;
    insn_ = last;
    if (finishes == 0) {
      Report(Defect::kMissingFinish, "the program has no FINISH instruction");
    } else if (!instructions_.back().Is(Opcode::kFinish)) {
      Report(Defect::kMissingFinish, "the last instruction is not FINISH");
    }
    for (insn_ = 0; insn_ <= last; ++insn_) {
      const Instruction& x = instructions_[static_cast<size_t>(insn_)];
      if (!x.Is(Opcode::kFinish)) continue;
      if ((x.pop_prev | x.pop_next | x.push_prev | x.push_next) != 0) {
        Report(Defect::kFinishFlags, "FINISH with tokens: put them on a NOP before it",
               Severity::kWarning);
      }
      if (insn_ != last || finishes > 1) {
        Report(Defect::kFinishNotLast,
               insn_ != last ? "instructions follow FINISH" : "another FINISH comes before",
               Severity::kWarning);
      }
    }
  }

  const std::span<const Instruction> instructions_;
  const Program& program_;
  int64_t insn_ = 0;
  std::vector<Diagnostic> diagnostics_;
};

}  // namespace

std::vector<Diagnostic> CheckStatic(std::span<const Instruction> instructions,
                                    const Program& program) {
  return Checker(instructions, program).Check();
}

bool HasErrors(std::span<const Diagnostic> diagnostics) {
  return std::any_of(diagnostics.begin(), diagnostics.end(),
                     [](const Diagnostic& d) { return d.severity == Severity::kError; });
}

}  // namespace tessera::vta
