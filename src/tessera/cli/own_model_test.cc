// The price of a cost model: a descriptor that is put on the list. Everything else that the program
// does with models (flags, lists, spaces, searches, comparisons, runs, verification, evaluation)
// works with it.
#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json_text.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/cli/run.h"
#include "tessera/cost.h"

namespace tessera {
namespace {

struct ToyOptions {
  int64_t factor = 3;
};

// A mapping costs `factor` cycles per iteration of its outermost loops, and as much energy.
class ToyModel final : public CostModel {
 public:
  explicit ToyModel(int64_t factor, int64_t macs) : factor_(factor), macs_(macs) {}
  std::unique_ptr<Workspace> MakeWorkspace() const override {
    return std::make_unique<Workspace>();
  }
  Cost Evaluate(const Mapping& mapping, Workspace& /*workspace*/) const override {
    const auto& loops = std::get<LoopMapping>(mapping);
    Cost cost{.cycles = factor_, .macs = macs_};
    for (const int32_t iterations : loops.view().back().temporal) {
      cost.cycles *= std::max(1, iterations);
    }
    cost.energy_pj = static_cast<double>(cost.cycles);
    return cost;
  }
  Error Describe(const Violation& /*violation*/) const override { return {}; }

 private:
  const int64_t factor_, macs_;
};

class ConfiguredToy final : public ConfiguredModel {
 public:
  explicit ConfiguredToy(const ToyOptions& options) : options_(options) {}
  Result<std::unique_ptr<CostModel>> Make(const Layer& layer, const Accelerator&) const override {
    return std::unique_ptr<CostModel>(std::make_unique<ToyModel>(options_.factor, Macs(layer)));
  }
  Result<CostBounds> BoundsFor(const Layer&, const Accelerator&, bool) const override {
    return CostBounds{.cycles = static_cast<double>(options_.factor)};
  }
  static ParameterList<ToyOptions> Parameters() {
    return {{"toy-factor", &ToyOptions::factor, Range{1, 100}, "cycles of an iteration"}};
  }

 private:
  const ToyOptions options_;
};

constinit const CostModelInfo kToyModel = {
    .name = "toy",
    .summary = "iterations of the outermost loops",
    .form = MappingForm::kLoops,
    .parameters = DescribeSettings<ConfiguredToy>,
    .configure = Configure<ConfiguredToy>,
};

class OwnModel : public testing::Test {
 protected:
  static void SetUpTestSuite() { ASSERT_TRUE(RegisterCostModel(kToyModel)); }

  std::string Tessera(std::vector<std::string> words) {
    std::ostringstream out, err;
    code_ = RunTessera(words, out, err);
    EXPECT_EQ(code_, 0) << err.str();
    return out.str();
  }
  Json TesseraJson(std::vector<std::string> words) {
    words.push_back("--json");
    return Json::parse(Tessera(std::move(words)), nullptr, /*allow_exceptions=*/false);
  }

  int code_ = 0;
  TemporaryFolder folder_;
};

TEST_F(OwnModel, IsListedWithItsSettings) {
  EXPECT_NE(Tessera({"list", "models", "toy"}).find("toy-factor"), std::string::npos);
  EXPECT_NE(Tessera({"map", "--help"}).find("--toy-factor"), std::string::npos);
  EXPECT_FALSE(RegisterCostModel(kToyModel));
}

TEST_F(OwnModel, MapsVerifiesAndEvaluates) {
  const std::string run = folder_.File("run");
  Tessera({"map", "alexnet", "--layer", "3", "--accelerator", "eyeriss-256", "--model", "toy",
           "--toy-factor", "7", "--method", "random", "--samples", "300", "--out", run});
  const Json result = Json::parse(*ReadTextFile(run + "/result.json"));
  EXPECT_EQ(result["model"], "toy");
  const Json& layer = result["layers"][0];
  EXPECT_EQ(layer["cycles"].get<int64_t>() % 7, 0);
  EXPECT_EQ(layer["bound"], 7);
  Tessera({"verify", run});
  const std::string mapping = folder_.File("mapping.json");
  ASSERT_TRUE(WriteFileAtomically(mapping, layer["mapping"].dump()));
  const Json again =
      TesseraJson({"evaluate", "alexnet", "--layer", "3", "--accelerator", "eyeriss-256", "--model",
                   "toy", "--toy-factor", "7", "--mapping", mapping});
  EXPECT_EQ(again["layers"][0]["cycles"], layer["cycles"]);
}

TEST_F(OwnModel, IsCompared) {
  const Json compared =
      TesseraJson({"compare", "alexnet", "--layer", "3", "--accelerator", "eyeriss-256", "--model",
                   "toy", "--methods", "random,ga", "--seeds", "1", "--samples", "100"});
  EXPECT_EQ(compared["model"], "toy");
  EXPECT_EQ(compared["summary"].size(), 2u);
}

// What only models with known rules can promise is refused in words, not attempted.
TEST_F(OwnModel, IsNotProved) {
  std::ostringstream out, err;
  EXPECT_EQ(RunTessera({"map", "alexnet", "--layer", "3", "--accelerator", "eyeriss-256", "--model",
                        "toy", "--method", "exact"},
                       out, err),
            2);
  EXPECT_EQ(err.str(), "tessera: method exact needs model loopnest; choose another --method\n");
}

}  // namespace
}  // namespace tessera
