// What defects are called.
#include <array>

#include <fmt/format.h>

#include "tessera/vta.h"

namespace tessera::vta {

std::string_view DefectName(Defect defect) {
  constexpr std::array<std::string_view, 19> kNames = {
      "missing_finish",     "bad_opcode",   "bad_memory_type",   "bad_alu_opcode",
      "illegal_dependence", "zero_rows",    "store_padding",     "sram_range",
      "dram_range",         "uop_range",    "finish_flags",      "finish_not_last",
      "empty_iteration",    "finish_early", "token_deadlock",    "tokens_left_over",
      "tile_index_range",   "race",         "uninitialised_read"};
  return kNames[static_cast<size_t>(defect)];
}

std::string ToString(const Diagnostic& diagnostic) {
  const std::string_view severity = diagnostic.severity == Severity::kError ? "error" : "warning";
  return fmt::format("{}: instruction {}: {}: {}", severity, diagnostic.insn,
                     DefectName(diagnostic.defect), diagnostic.message);
}

}  // namespace tessera::vta
