// Convolution rows: validity, cycles and traffic of schedules.
#include <map>

#include <fmt/format.h>

#include "tessera/base/json_text.h"
#include "tessera/vta/batch/json_row.h"
#include "tessera/vta/batch/rows.h"

namespace tessera::vta {
namespace {

ConvShape ReadShape(JsonRow& reader) {
  ConvShape shape;
  const Json* layer = reader.Find(reader.row(), "layer");
  if (layer == nullptr) return shape;
  const auto size = [&](const char* key) {
    return static_cast<int64_t>(reader.Unsigned(*layer, key, static_cast<uint64_t>(kMaxSize)));
  };
  shape.h = size("h");
  shape.w = size("w");
  shape.ci = size("ci");
  shape.co = size("co");
  shape.kh = shape.kw = size("k");
  shape.stride_h = shape.stride_w = size("stride");
  shape.pad_top = shape.pad_left = shape.pad_bottom = shape.pad_right = size("pad");
  return shape;
}

Knobs ReadKnobs(JsonRow& reader, const Json& json) {
  const auto knob = [&](const char* key) {
    return static_cast<int64_t>(reader.Unsigned(json, key, static_cast<uint64_t>(kMaxSize)));
  };
  return {knob("tile_h"),  knob("tile_w"),     knob("tile_ci"),
          knob("tile_co"), knob("oc_nthread"), knob("h_nthread")};
}

// "GEMM_RESET", "LOAD_INP", "NOP" and so on, with how many there are.
std::map<std::string, int64_t> CountKinds(const Kernel& kernel) {
  std::map<std::string, int64_t> kinds;
  for (const Instruction& x : kernel.instructions) {
    std::string kind = OpcodeName(x.opcode);
    if (x.IsNop()) {
      kind = "NOP";
    } else if (x.Is(Opcode::kLoad)) {
      kind += "_" + MemoryName(x.memory_type);
    } else if (x.Is(Opcode::kGemm) && x.reset != 0) {
      kind += "_RESET";
    }
    ++kinds[kind];
  }
  return kinds;
}

void AddKernel(const ConvShape& shape, const Kernel& kernel, const CycleReport& report,
               Json& answer) {
  const Traffic traffic = CountTraffic(kernel);
  const int64_t floor = GemmFloor(shape, kernel.config);
  answer["gemm_floor"] = floor;
  answer["extrapolated"] = !kernel.config.IsDefaultSize();
  answer["exact_cycles"] = report.cycles;
  answer["insns"] = kernel.instructions.size();
  answer["insns_by_kind"] = CountKinds(kernel);
  answer["uops"] = kernel.uops.size();
  answer["dram_read_bytes"] = {{"uop", traffic.uop},   {"inp", traffic.inp},
                               {"wgt", traffic.wgt},   {"acc", traffic.acc},
                               {"insn", traffic.insn}, {"total", traffic.read()}};
  answer["dram_write_bytes"] = traffic.written;
  answer["gemm_utilisation"] = static_cast<double>(floor) / static_cast<double>(report.cycles);
}

Json Invalid(const std::string& id, std::string_view reason, const std::string& explanation) {
  return {{"id", id},
          {"valid", false},
          {"reason", reason},
          {"explanation", explanation},
          {"exact_cycles", nullptr},
          {"insns", nullptr},
          {"uops", nullptr},
          {"dram_read_bytes", nullptr},
          {"dram_write_bytes", nullptr}};
}

}  // namespace

Result<std::string> AnswerConv(std::string_view row, RowGenerator generator, BestTable& best_table,
                               const ConfigTable& configs, const TimingParameters& timing,
                               const Where& where) {
  JsonRow reader(row, where);
  if (!reader.ok()) return reader.error();
  const std::string id = reader.String(reader.row(), "id");
  const Config config = reader.ConfigOf(configs);
  const ConvShape shape = ReadShape(reader);
  const bool has_knobs = reader.row().contains("knobs") || generator == RowGenerator::kReference;
  const Json* json = has_knobs ? reader.Find(reader.row(), "knobs") : nullptr;
  const Knobs knobs = json != nullptr ? ReadKnobs(reader, *json) : Knobs{};
  if (!reader.ok()) return reader.error();
  if (Result<void> valid = Validate(shape, config); !valid) {
    return ToLine(Invalid(id, "shape", valid.error().message));
  }
  if (has_knobs) {
    const Verdict verdict = CheckKnobs(shape, knobs, config);
    if (!verdict.valid()) return ToLine(Invalid(id, verdict.reason, verdict.explanation));
  }
  Json answer = {{"id", id}, {"valid", true}, {"reason", nullptr}};
  if (generator == RowGenerator::kBest || !has_knobs) {
    const Result<BestConv>& best = best_table.Get(shape, config);
    if (!best) return ToLine(Invalid(id, "no_schedule", best.error().message));
    AddKernel(shape, best->kernel, best->report, answer);
    answer["schedule"] = DescribeSchedule(*best);
    return ToLine(answer);
  }
  const Kernel kernel = GenerateReference(shape, knobs, config);
  CycleSimulator simulator(config, timing);
  const Result<CycleReport> report = simulator.Run(kernel.instructions);
  if (!report) return report.error();
  AddKernel(shape, kernel, *report, answer);
  answer["schedule"] = "reference:" + ToString(knobs);
  return ToLine(answer);
}

}  // namespace tessera::vta
