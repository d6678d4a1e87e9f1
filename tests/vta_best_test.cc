// The improved generator on the convolutions of ResNet-18: fewer cycles than the published schedule
// choices and than the template at its best knobs, and the right results.
#include "tessera/vta/check/check.h"
#include "tessera/vta/codegen/best.h"
#include "tessera/vta/codegen/data.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

struct ResNetLayer {
  const char* name;
  int64_t size, ci, co, k, stride, count;

  ConvShape Shape() const {
    const int64_t pad = k / 2;
    return {.ci = ci,
            .co = co,
            .h = size,
            .w = size,
            .kh = k,
            .kw = k,
            .stride_h = stride,
            .stride_w = stride,
            .pad_top = pad,
            .pad_left = pad,
            .pad_bottom = pad,
            .pad_right = pad};
  }
};

constexpr ResNetLayer kLayers[] = {{"C2", 56, 64, 64, 3, 1, 4},    {"C3", 56, 64, 128, 3, 2, 1},
                                   {"C4", 56, 64, 128, 1, 2, 1},   {"C5", 28, 128, 128, 3, 1, 3},
                                   {"C6", 28, 128, 256, 3, 2, 1},  {"C7", 28, 128, 256, 1, 2, 1},
                                   {"C8", 14, 256, 256, 3, 1, 3},  {"C9", 14, 256, 512, 3, 2, 1},
                                   {"C10", 14, 256, 512, 1, 2, 1}, {"C11", 7, 512, 512, 3, 1, 3}};

// The best of a layer's whole knob space, where the golden data has it.
int64_t BestReferenceCycles(const std::string& layer) {
  int64_t best = std::numeric_limits<int64_t>::max();
  for (const std::string& line : GoldenLines("conv-default/landscape_" + layer + ".csv.gz")) {
    const std::vector<std::string_view> row = Split(line, ',');
    if (row[6] == "ok") best = std::min(best, *ParseInt(row[7]));
  }
  return best;
}

TEST(VtaBest, ResNet18TakesFewerCyclesThanAnyKnownSchedule) {
  int64_t total = 0;
  for (const ResNetLayer& layer : kLayers) {
    const ConvShape shape = layer.Shape();
    const Result<BestConv> best = FindBest(shape, Config{});
    ASSERT_TRUE(best) << best.error();
    total += layer.count * best->report.cycles;
    const std::string name = layer.name;
    if (name == "C2" || name == "C4" || name == "C6" || name == "C7" || name == "C9" ||
        name == "C11") {
      EXPECT_LE(best->report.cycles, BestReferenceCycles(name)) << name;
    }
    const ConvData data = RandomConvData(shape, /*bias=*/true, /*seed=*/1);
    Result<Program> program = LinkConv(best->kernel, shape, data);
    ASSERT_TRUE(program) << program.error();
    const Result<CheckReport> report = CheckAndRun(*program);
    ASSERT_TRUE(report) << report.error();
    EXPECT_TRUE(report->diagnostics.empty()) << name;
    EXPECT_TRUE(report->not_portable.empty()) << name;
    EXPECT_EQ(UnpackConvOutput(*program, shape), ReferenceConv(shape, data, {})) << name;
  }
  // Published TopHub choices 7,453,740; the template at its best knobs 7,357,673.
  EXPECT_LE(total, 6'800'000);
}

}  // namespace
}  // namespace tessera::vta
