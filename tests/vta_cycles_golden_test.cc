// Cycle counts against the published RTL: whole programs with their per-instruction times and other
// memory parameters, convolution schedules, and the knob spaces of ResNet-18 layers.
#include "tessera/vta/batch/record.h"
#include "tessera/vta/codegen/reference.h"
#include "tessera/vta/sim/cycles.h"
#include "tessera/vta/sim/step.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

using Json = nlohmann::json;

TEST(VtaGolden, ProgramsTakeTheCyclesOfTheRtl) {
  for (const std::string& line : GoldenLines("programs-default/programs.jsonl.gz")) {
    const Json row = Json::parse(line);
    const Result<Record> record = ParseRecord(line, PresetTable(), {});
    ASSERT_TRUE(record) << record.error();
    const std::vector<Instruction> instructions = DecodeInstructions(record->program);
    CycleSimulator simulator(record->program.config);
    const Result<CycleReport> report = simulator.Run(instructions);
    ASSERT_TRUE(report) << row["id"] << report.error();
    const Json& rtl = row["rtl"];
    EXPECT_EQ(report->cycles, rtl["cycles"]) << row["id"];
    EXPECT_EQ(report->acc_writes, rtl["acc_writes"]) << row["id"];
    EXPECT_EQ(report->read_bursts, rtl["rd_bursts"]) << row["id"];
    EXPECT_EQ(report->read_beats, rtl["rd_beats"]) << row["id"];
    EXPECT_EQ(report->write_bursts, rtl["wr_bursts"]) << row["id"];
    EXPECT_EQ(report->write_beats, rtl["wr_beats"]) << row["id"];
    Json timeline = Json::array();
    for (const InstructionTime& time : simulator.timeline()) {
      timeline.push_back({time.start, time.done});
    }
    EXPECT_EQ(timeline, row["timeline"]) << row["id"];
    std::vector<InstructionTime> times;
    const Result<CycleReport> slow =
        StepThrough(instructions, record->program.config, TimingParameters{}, &times);
    ASSERT_TRUE(slow) << slow.error();
    EXPECT_EQ(*slow, *report) << row["id"];
    for (size_t i = 0; i < record->alternatives.size(); ++i) {
      CycleSimulator other(record->program.config, record->alternatives[i]);
      const Result<CycleReport> alternative = other.Run(instructions);
      ASSERT_TRUE(alternative) << alternative.error();
      EXPECT_EQ(alternative->cycles, row["rtl_alt"][i]["cycles"]) << row["id"] << " " << i;
    }
  }
}

ConvShape ShapeOf(const Json& layer) {
  const int64_t k = layer["k"], stride = layer["stride"], pad = layer["pad"];
  return {.ci = layer["ci"],
          .co = layer["co"],
          .h = layer["h"],
          .w = layer["w"],
          .kh = k,
          .kw = k,
          .stride_h = stride,
          .stride_w = stride,
          .pad_top = pad,
          .pad_left = pad,
          .pad_bottom = pad,
          .pad_right = pad};
}

void CheckConvRow(const Json& row, CycleSimulator& simulator) {
  const ConvShape shape = ShapeOf(row["layer"]);
  const Json& k = row["knobs"];
  const Knobs knobs = {k["tile_h"],  k["tile_w"],     k["tile_ci"],
                       k["tile_co"], k["oc_nthread"], k["h_nthread"]};
  const Config config;
  EXPECT_EQ(shape.oh(), row["layer"]["oh"]);
  EXPECT_EQ(shape.ow(), row["layer"]["ow"]);
  EXPECT_TRUE(Validate(shape, config)) << row["id"];
  const Verdict verdict = CheckKnobs(shape, knobs, config);
  EXPECT_EQ(verdict.valid(), row["valid"]) << row["id"];
  if (!verdict.valid()) {
    EXPECT_EQ(std::string(verdict.reason), row["reason"].get<std::string>()) << row["id"];
    return;
  }
  EXPECT_EQ(GemmFloor(shape, config), row["gemm_floor"]);
  const Kernel kernel = GenerateReference(shape, knobs, config);
  const Result<CycleReport> report = simulator.Run(kernel.instructions);
  ASSERT_TRUE(report) << report.error();
  EXPECT_EQ(report->cycles, row["exact_cycles"]) << row["id"];
  EXPECT_EQ(kernel.instructions.size(), row["insns"]) << row["id"];
  EXPECT_EQ(kernel.uops.size(), row["uops"]) << row["id"];
  const Traffic traffic = CountTraffic(kernel);
  const Json read = {{"uop", traffic.uop}, {"inp", traffic.inp},   {"wgt", traffic.wgt},
                     {"acc", traffic.acc}, {"insn", traffic.insn}, {"total", traffic.read()}};
  EXPECT_EQ(read, row["dram_read_bytes"]) << row["id"];
  EXPECT_EQ(traffic.written, row["dram_write_bytes"]) << row["id"];
}

TEST(VtaGolden, ConvolutionSchedulesTakeTheCyclesOfTheRtl) {
  CycleSimulator simulator{Config{}};
  for (const char* file : {"conv-default/conv.jsonl", "conv-default/tophub.jsonl"}) {
    for (const std::string& line : GoldenLines(file)) CheckConvRow(Json::parse(line), simulator);
  }
}

struct Landscape {
  const char* name;
  int64_t size, ci, co, k, stride;
};

class VtaLandscape : public testing::TestWithParam<Landscape> {};

// Verdicts of the whole knob space; cycles of every valid point with up to 4,000 instructions and
// of every tenth of the longer ones, which take most of the time.
TEST_P(VtaLandscape, AgreesEverywhere) {
  const Landscape& p = GetParam();
  const ConvShape shape = SquareConv(p.ci, p.co, p.size, p.k, p.stride, p.k / 2);
  const std::vector<Knobs> space = KnobSpace(shape, Config{});
  const std::vector<std::string> lines =
      GoldenLines(std::string("conv-default/landscape_") + p.name + ".csv.gz");
  ASSERT_EQ(lines.size(), space.size() + 1);
  CycleSimulator simulator{Config{}};
  for (size_t i = 0; i < space.size(); ++i) {
    const std::vector<std::string_view> row = Split(lines[i + 1], ',');
    const Verdict verdict = CheckKnobs(shape, space[i], Config{});
    ASSERT_EQ(verdict.valid() ? "ok" : verdict.reason, row[6]) << lines[i + 1];
    if (!verdict.valid() || (*ParseInt(row[8]) > 4000 && i % 10 != 0)) continue;
    const Kernel kernel = GenerateReference(shape, space[i], Config{});
    const Result<CycleReport> report = simulator.Run(kernel.instructions);
    ASSERT_TRUE(report) << report.error();
    EXPECT_EQ(report->cycles, *ParseInt(row[7])) << lines[i + 1];
    EXPECT_EQ(std::ssize(kernel.instructions), *ParseInt(row[8]));
    EXPECT_EQ(std::ssize(kernel.uops), *ParseInt(row[9]));
    EXPECT_EQ(CountTraffic(kernel).read(), *ParseInt(row[10]));
  }
}

INSTANTIATE_TEST_SUITE_P(
    ResNet18, VtaLandscape,
    testing::Values(Landscape{"C2", 56, 64, 64, 3, 1}, Landscape{"C4", 56, 64, 128, 1, 2},
                    Landscape{"C6", 28, 128, 256, 3, 2}, Landscape{"C7", 28, 128, 256, 1, 2},
                    Landscape{"C9", 14, 256, 512, 3, 2}, Landscape{"C11", 7, 512, 512, 3, 1}),
    [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tessera::vta
