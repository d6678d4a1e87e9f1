// CheckAndRun: the checks in the order of Defect, then one execution in an order that tokens allow.
#include <algorithm>
#include <array>
#include <tuple>

#include <fmt/format.h>

#include "tessera/vta.h"
#include "tessera/vta/check/access.h"
#include "tessera/vta/check/order.h"
#include "tessera/vta/check/portable.h"
#include "tessera/vta/check/races.h"
#include "tessera/vta/check/static.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/machine.h"

namespace tessera::vta {
namespace {

constexpr int64_t kMaxTokens = 255;  // of the hardware's counters
constexpr uint64_t kFetchAlignment = 4096;

std::string Described(const Ranges& ranges, int64_t tile) {
  return ranges.size() == 1 && ranges[0].end == ranges[0].begin + 1
             ? fmt::format("tile {}", tile)
             : fmt::format("tile {} (of {} to {})", tile, ranges.front().begin,
                           ranges.back().end - 1);
}

// One run: executes the order that tokens gave and watches what each instruction touches.
class Run {
 public:
  Run(Program& program, const std::vector<Instruction>& instructions, const CheckOptions& options)
      : program_(program), instructions_(instructions), options_(options), machine_(program) {
    const Config& config = program.config;
    uop_written_.resize(static_cast<size_t>(config.Depth(Memory::kUop)));
    for (const auto& [space, memory] : {std::pair{Space::kInp, Memory::kInp},
                                        {Space::kWgt, Memory::kWgt},
                                        {Space::kAcc, Memory::kAcc}}) {
      written_[static_cast<size_t>(space)].resize(static_cast<size_t>(config.Depth(memory)));
    }
    computed_.resize(static_cast<size_t>(config.Depth(Memory::kAcc)));
  }

  void Execute(const Order& order) {
    std::vector<Access> accesses(options_.memory ? instructions_.size() : 0);
    for (const int32_t insn : order.sequence) {
      const Instruction& x = instructions_[static_cast<size_t>(insn)];
      insn_ = insn;
      Access access;
      if (!CheckAccess(x, access)) return;
      machine_.Execute(x);
      if (machine_.TakeOddShift()) NotPortable("a register shift by an amount outside 0..31");
      if (options_.memory) accesses[static_cast<size_t>(insn)] = std::move(access);
    }
    if (options_.memory) FindRaces(instructions_, order, accesses, diagnostics_);
  }

  void NotPortable(const std::string& reason) {
    not_portable_.push_back(fmt::format("instruction {}: {}", insn_, reason));
  }

  std::vector<Diagnostic> TakeDiagnostics() { return std::move(diagnostics_); }
  std::vector<std::string> TakeNotPortable() { return std::move(not_portable_); }
  const ExecutionCounts& counts() const { return machine_.counts(); }

 private:
  void Report(Defect defect, std::string message) {
    diagnostics_.push_back({.defect = defect, .insn = insn_, .message = std::move(message)});
  }

  // Computes what an instruction touches and books it; false if it must not be executed.
  bool CheckAccess(const Instruction& x, Access& access) {
    if (x.IsKernel()) {
      CheckUops(x);
      std::string violation;
      std::optional<Access> kernel = KernelAccess(x, machine_.uops(), program_.config, &violation);
      if (!kernel) {
        Report(Defect::kTileIndexRange, std::move(violation));
        return false;
      }
      if (const auto reason = KernelPortability(x, machine_.uops())) NotPortable(*reason);
      access = *std::move(kernel);
    } else if (x.IsMemory()) {
      if (const auto reason = TransferPortability(x)) NotPortable(*reason);
      access = TransferAccess(x, program_.config);
    }
    CheckReads(access);
    Book(x, access);
    return true;
  }

  void CheckUops(const Instruction& x) {
    for (uint32_t u = x.uop_bgn; u < x.uop_end; ++u) {
      if (uop_written_[u]) continue;
      return Report(Defect::kUninitialisedRead, fmt::format("micro-op {} was never loaded", u));
    }
  }

  void CheckReads(const Access& access) {
    constexpr std::array<std::string_view, 3> kNames = {"INP", "WGT", "ACC"};
    for (size_t space = 0; space < kNames.size(); ++space) {
      for (const Range& range : access.reads[space]) {
        const auto begin = written_[space].begin();
        const auto missing = std::find(begin + range.begin, begin + range.end, false);
        if (missing == begin + range.end) continue;
        Report(Defect::kUninitialisedRead,
               fmt::format("reads {} {}, which nothing has written before", kNames[space],
                           Described(access.reads[space], missing - begin)));
        break;
      }
    }
  }

  void Book(const Instruction& x, const Access& access) {
    for (size_t space = 0; space < written_.size(); ++space) {
      for (const Range& range : access.writes[space]) {
        std::fill(written_[space].begin() + range.begin, written_[space].begin() + range.end, true);
      }
    }
    const bool computes = x.IsKernel() && !(x.Is(Opcode::kGemm) && x.reset != 0);
    for (const Range& range : access.writes[static_cast<size_t>(Space::kAcc)]) {
      std::fill(computed_.begin() + range.begin, computed_.begin() + range.end, computes);
    }
    if (x.Is(Opcode::kLoad) && x.memory() == Memory::kUop && !x.IsNop()) {
      std::fill_n(uop_written_.begin() + x.sram_base, x.SramTiles(), true);
    }
    if (!x.Is(Opcode::kStore)) return;
    for (const Range& range : access.reads[static_cast<size_t>(Space::kAcc)]) {
      if (std::find(computed_.begin() + range.begin, computed_.begin() + range.end, false) ==
          computed_.begin() + range.end) {
        continue;
      }
      return NotPortable(
          "stores tiles last written by LOAD or reset: hardware stores what it "
          "computed before");
    }
  }

  Program& program_;
  const std::vector<Instruction>& instructions_;
  const CheckOptions& options_;
  Machine machine_;
  int64_t insn_ = 0;
  std::vector<bool> uop_written_;
  std::array<std::vector<bool>, 3> written_;  // by Space
  std::vector<bool> computed_;                // ACC tiles whose copy in OUT is current
  std::vector<Diagnostic> diagnostics_;
  std::vector<std::string> not_portable_;
};

void Sort(std::vector<Diagnostic>& diagnostics) {
  std::stable_sort(diagnostics.begin(), diagnostics.end(),
                   [](const Diagnostic& a, const Diagnostic& b) {
                     return std::tuple(a.severity, a.defect, a.insn, a.with_insn) <
                            std::tuple(b.severity, b.defect, b.insn, b.with_insn);
                   });
}

}  // namespace

Result<CheckReport> CheckAndRun(Program& program, const CheckOptions& options) {
  if (Result<void> valid = Validate(program); !valid) return valid.error();
  const std::vector<Instruction> instructions = DecodeInstructions(program);
  CheckReport report;
  report.diagnostics = CheckStatic(instructions, program);
  const auto finish = [&report]() {
    Sort(report.diagnostics);
    return report;
  };
  if (HasErrors(report.diagnostics)) return finish();
  const Order order = AnalyseOrder(instructions);
  report.diagnostics.insert(report.diagnostics.end(), order.diagnostics.begin(),
                            order.diagnostics.end());
  if (HasErrors(report.diagnostics)) return finish();
  int64_t tile_ops = 0;
  for (const Instruction& x : instructions) {
    if (!x.IsKernel()) continue;
    tile_ops += x.Rounds();
    if (tile_ops > options.max_tile_ops) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("more than {} tile operations", options.max_tile_ops)};
    }
  }
  Run run(program, instructions, options);
  run.Execute(order);
  for (Diagnostic& diagnostic : run.TakeDiagnostics()) {
    report.diagnostics.push_back(std::move(diagnostic));
  }
  report.not_portable = run.TakeNotPortable();
  report.counts = run.counts();
  if (order.most_tokens > kMaxTokens) {
    report.not_portable.push_back(fmt::format(
        "up to {} tokens pile up: hardware loses those beyond {}", order.most_tokens, kMaxTokens));
  }
  if (program.insn_addr % kFetchAlignment != 0) {
    report.not_portable.push_back(
        fmt::format("instructions at {:#x}, which is not a multiple of 4096", program.insn_addr));
  }
  if (program.config.log_batch > 0) {
    report.not_portable.push_back("batch > 1: the published RTL computes row 0 only");
  }
  return finish();
}

}  // namespace tessera::vta
