// Networks as scripts and people see them.
#include "tessera/report/network_report.h"

#include "tessera/workload/builder.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

Network Example() {
  NetworkBuilder builder(
      {.name = "net", .source = "a paper", .ignored = {{"Add", 1}, {"Relu", 2}}});
  Layer conv{.k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7};
  conv.stride = {2, 2};
  conv.pad = {3, 3, 3, 3};
  EXPECT_TRUE(builder.Add("conv1", conv));
  EXPECT_TRUE(builder.Add("conv2", conv));
  EXPECT_TRUE(
      builder.Add("fc", {.type = LayerType::kFullyConnected, .bias = true, .k = 10, .c = 5}));
  EXPECT_TRUE(builder.Add("qk", {.type = LayerType::kMatmul, .h = 12, .m = 8, .n = 8, .k = 4}));
  return builder.Take();
}

TEST(NetworkReport, JsonFollowsTheContract) {
  const Json json = ToJson(Example());
  EXPECT_EQ(json["name"], "net");
  EXPECT_EQ(json["batch"], 1);
  EXPECT_EQ(json["macs"], 2 * 118013952 + 50 + 12 * 8 * 8 * 4);
  EXPECT_EQ(json["parameters"], 2 * 9408 + 60);
  EXPECT_EQ(json["ignored"].dump(), R"({"Add":1,"Relu":2})");
  EXPECT_EQ(json["unknown"].dump(), "{}");
  EXPECT_EQ(json["layers"][0].dump(),
            R"({"name":"conv1","type":"conv","count":2,"macs":118013952,"parameters":9408,)"
            R"("N":1,"K":64,"C":3,"Y":224,"X":224,"R":7,"S":7,"P":112,"Q":112,)"
            R"("stride":[2,2],"dilation":[1,1],"pad":[3,3,3,3],"groups":1,"bias":false,)"
            R"("also":["conv2"]})");
  EXPECT_EQ(json["layers"][1].dump(),
            R"({"name":"fc","type":"fc","count":1,"macs":50,"parameters":60,)"
            R"("N":1,"K":10,"C":5,"bias":true,"also":[]})");
  EXPECT_EQ(json["layers"][2].dump(),
            R"({"name":"qk","type":"gemm","count":1,"macs":3072,"parameters":0,)"
            R"("H":12,"M":8,"N":8,"K":4,"also":[]})");
}

TEST(NetworkReport, SummaryNamesWhatWasLeftOut) {
  EXPECT_EQ(Summary(Example()),
            "net: 4 layers (3 distinct), 236,031,026 MACs, 18,876 parameters, batch 1\n"
            "source: a paper\n"
            "ignored, because they have no MACs: Relu 2, Add 1\n");
}

}  // namespace
}  // namespace tessera
