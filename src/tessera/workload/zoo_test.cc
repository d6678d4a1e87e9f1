// The zoo's totals against published ones.
#include "tessera/network.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct Totals {
  const char* name;
  Bindings bindings;
  int64_t macs;
  int64_t parameters;  // weights and biases, normalisation apart
};

// MACs of convolutions, fully connected layers and attention products at batch 1, 224 x 224
// (Inception-v3: 299 x 299).
TEST(Zoo, TotalsAreThePublishedOnes) {
  const Totals expected[] = {
      {"alexnet", {}, 714'188'480, 61'100'840},
      {"vgg11", {}, 7'609'090'048, 132'863'336},
      {"vgg13", {}, 11'308'466'176, 133'047'848},
      {"vgg16", {}, 15'470'264'320, 138'357'544},
      {"vgg19", {}, 19'632'062'464, 143'667'240},
      {"resnet18", {}, 1'814'073'344, 11'679'912},
      {"resnet34", {}, 3'663'761'408, 21'780'648},
      {"resnet50", {}, 4'089'184'256, 25'503'912},
      {"resnet101", {}, 7'801'405'440, 44'443'816},
      {"resnet152", {}, 11'513'626'624, 60'041'384},
      {"mobilenet-v2", {}, 300'774'272, 3'470'760},
      {"efficientnet-b0", {}, 385'814'752, 5'246'532},
      {"mnasnet", {}, 314'415'872, 4'345'392},
      {"squeezenet1.0", {}, 818'924'576, 1'248'424},
      {"squeezenet1.1", {}, 349'151'936, 1'235'496},
      {"googlenet", {}, 1'498'376'192, 6'610'344},
      {"inception-v3", {}, 5'713'216'096, 23'800'136},
      {"densenet121", {}, 2'834'161'664, 7'895'208},
      {"vit-b-16", {}, 17'563'828'224, 86'377'192},
      {"unet", {}, 150'428'424'448, 31'030'658},
      {"bert-base", {}, 11'173'625'856, 85'017'600},
      {"gpt2", {}, 106'300'440'576, 85'017'600},
      {"gpt2", {{"seq", 1}, {"past", 1023}}, 103'809'024, 85'017'600},
  };
  for (const Totals& totals : expected) {
    const Result<Network> network = LoadZooNetwork(totals.name, totals.bindings);
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(TotalMacs(*network), totals.macs) << totals.name;
    EXPECT_EQ(TotalParameters(*network), totals.parameters) << totals.name;
    EXPECT_EQ(network->batch, 1) << totals.name;
    EXPECT_EQ(network->variant, "") << totals.name;
  }
}

TEST(Zoo, EveryFileReadsUnderItsOwnNameAndNamesItsSource) {
  std::string_view before;
  for (const ZooFile& file : Zoo()) {
    EXPECT_LT(before, file.name);
    before = file.name;
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(network->name, file.name);
    EXPECT_NE(network->source, "") << file.name;
  }
}

TEST(Zoo, MacsGrowWithTheBatchAndParametersDoNot) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> one = LoadZooNetwork(file.name);
    const Result<Network> three = LoadZooNetwork(file.name, {{"batch", 3}});
    ASSERT_TRUE(one && three) << file.name;
    EXPECT_EQ(three->batch, 3);
    EXPECT_EQ(TotalMacs(*three), 3 * TotalMacs(*one)) << file.name;
    EXPECT_EQ(TotalParameters(*three), TotalParameters(*one)) << file.name;
  }
}

// The layer tables of GAMMA have no strides and no padding: every layer is modelled at input size.
TEST(Zoo, GammaVariantsAreMarkedAndHaveNoStrides) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    EXPECT_EQ(network->variant == "gamma", file.name.ends_with("-gamma")) << file.name;
    if (network->variant != "gamma") continue;
    for (const NetworkLayer& entry : network->layers) {
      EXPECT_EQ(entry.layer.stride, (Pair{1, 1})) << file.name << " " << entry.name;
      EXPECT_EQ(entry.layer.pad, Padding{}) << file.name << " " << entry.name;
    }
  }
}

TEST(Zoo, UnknownNamesGetAHint) {
  EXPECT_EQ(ToString(LoadZooNetwork("resnet19").error()),
            "the zoo has no network 'resnet19'; did you mean 'resnet18'?");
  EXPECT_EQ(ToString(LoadZooNetwork("transformer-xxl").error()),
            "the zoo has no network 'transformer-xxl'; 'tessera zoo' lists the names");
  EXPECT_EQ(ToString(LoadZooNetwork("bert-base", {{"sq", 384}}).error()),
            "bert-base: network 'bert-base' has no parameter 'sq'; did you mean 'seq'?");
}

}  // namespace
}  // namespace tessera
