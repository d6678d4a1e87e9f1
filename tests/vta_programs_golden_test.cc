// Results and defects of programs against the published functional simulator and the RTL.
#include "tessera/vta.h"
#include "tessera/vta/batch/record.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

using Json = nlohmann::json;

struct Checked {
  Json row;
  Program program;
  CheckReport report;
};

std::vector<Checked> CheckAll(const std::string& file) {
  std::vector<Checked> results;
  for (const std::string& line : GoldenLines(file)) {
    Result<Record> record = ParseRecord(line, PresetTable(), {});
    EXPECT_TRUE(record) << record.error();
    const Result<CheckReport> report = CheckAndRun(record->program);
    EXPECT_TRUE(report) << record->id << report.error();
    results.push_back({Json::parse(line), std::move(record->program), *report});
  }
  return results;
}

std::string OutHex(const Program& program) { return BytesToHex(Bytes(program, program.out)); }

void ExpectStats(const Json& row, const ExecutionCounts& counts) {
  const Json& stats = row["stats"];
  for (const auto& [name, bytes] : stats["load_bytes"].items()) {
    EXPECT_EQ(counts.load_bytes[*FindMemory(name)], bytes) << row["id"] << " " << name;
  }
  EXPECT_EQ(counts.store_bytes, stats["store_bytes"]) << row["id"];
  EXPECT_EQ(counts.gemm_tile_ops, stats["gemm_tile_ops"]) << row["id"];
  EXPECT_EQ(counts.reset_tile_ops, stats["reset_tile_ops"]) << row["id"];
  EXPECT_EQ(counts.alu_tile_ops, stats["alu_tile_ops"]) << row["id"];
}

TEST(VtaGolden, ProgramsGiveTheSameBytes) {
  for (const char* file :
       {"programs-default/programs.jsonl.gz", "programs-default/fsim_only.jsonl.gz",
        "programs-configs/programs.jsonl.gz"}) {
    for (const Checked& checked : CheckAll(file)) {
      EXPECT_EQ(OutHex(checked.program), checked.row["out"]["hex"].get<std::string>())
          << checked.row["id"];
      ExpectStats(checked.row, checked.report.counts);
      for (const Diagnostic& diagnostic : checked.report.diagnostics) {
        ADD_FAILURE() << checked.row["id"] << " " << ToString(diagnostic);
      }
    }
  }
}

// On these programs the published simulator and the RTL agree, so nothing may be flagged.
TEST(VtaGolden, ProgramsThatTheRtlConfirmedArePortable) {
  for (const Checked& checked : CheckAll("programs-default/programs.jsonl.gz")) {
    for (const std::string& reason : checked.report.not_portable) {
      ADD_FAILURE() << checked.row["id"] << " " << reason;
    }
  }
}

TEST(VtaGolden, DefectsAreFoundAtTheirInstruction) {
  for (const Checked& checked : CheckAll("programs-default/illformed.jsonl.gz")) {
    const Json& error = checked.row["error"];
    ASSERT_FALSE(checked.report.diagnostics.empty()) << checked.row["id"];
    const Diagnostic& found = checked.report.diagnostics.front();
    EXPECT_EQ(std::string(DefectName(found.defect)), error["class"].get<std::string>())
        << checked.row["id"];
    EXPECT_EQ(found.severity == Severity::kError ? "error" : "warning", error["severity"])
        << checked.row["id"];
    EXPECT_EQ(found.insn, error["insn"]) << checked.row["id"];
    EXPECT_EQ(found.with_insn, error.value("with_insn", -1)) << checked.row["id"];
  }
}

TEST(VtaGolden, DivergentProgramsFollowTheSimulatorAndSaySo) {
  for (const Checked& checked : CheckAll("programs-default/divergent.jsonl.gz")) {
    EXPECT_EQ(OutHex(checked.program), checked.row["fsim_out_hex"].get<std::string>())
        << checked.row["id"];
    EXPECT_TRUE(checked.report.ok()) << checked.row["id"];
    EXPECT_FALSE(checked.report.not_portable.empty()) << checked.row["id"];
  }
}

}  // namespace
}  // namespace tessera::vta
