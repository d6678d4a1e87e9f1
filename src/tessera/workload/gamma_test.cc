// GAMMA's layer tables, both ways.
#include <gtest/gtest.h>

#include "tessera/network.h"
#include "tessera/workload/builder.h"
#include "tessera/workload/conformance.h"

namespace tessera {
namespace {

const NetworkFormat& Gamma() { return **FindNetworkFormat("gamma"); }

Result<Network> Read(const std::string& text) { return Gamma().read(text, "folder/net.csv", {}); }

TEST(Gamma, ReadsItsFourTypes) {
  const Result<Network> network = Read(
      "K,C,Y,X,R,S,T\n"
      "64,3,224,112,7,5,1\n"
      "1,32,112,112,3,3,2\n"
      "\n"
      " 32 , 32 , 112 , 112 , 3 , 3 , 2 \r\n"
      "10,20,1,1,1,1,0\n"
      "512,768,64,1,1,1,3");
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->name, "net");
  EXPECT_EQ(network->variant, "gamma");
  EXPECT_EQ(network->batch, 1);
  ASSERT_EQ(network->layers.size(), 4u);
  EXPECT_EQ(network->layers[0].layer, (Layer{.k = 64, .c = 3, .y = 224, .x = 112, .r = 7, .s = 5}));
  EXPECT_EQ(network->layers[1].layer,
            (Layer{.k = 32, .c = 32, .y = 112, .x = 112, .r = 3, .s = 3, .groups = 32}));
  EXPECT_EQ(network->layers[1].also, std::vector<std::string>{"l3"});
  EXPECT_EQ(network->layers[2].layer,
            (Layer{.type = LayerType::kFullyConnected, .k = 10, .c = 20}));
  EXPECT_EQ(network->layers[3].layer,
            (Layer{.type = LayerType::kMatmul, .m = 512, .n = 768, .k = 64}));
  EXPECT_EQ(network->layers[3].name, "l5");
}

TEST(Gamma, TheHeaderMayBeMissing) {
  EXPECT_EQ(Read("64,3,224,224,7,7,1\n")->layers[0].layer.k, 64);
  EXPECT_EQ(Read("k,c,y,x,r,s,t\n64,3,224,224,7,7,1\n")->layers[0].layer.k, 64);
}

TEST(Gamma, SaysWhatIsWrongAndWhere) {
  const std::pair<const char*, const char*> cases[] = {
      {"", "folder/net.csv: the file is empty"},
      {"K,C,Y,X,R,S,T\n", "folder/net.csv:1:1: the table has no layers"},
      {"K,C,Y,X,R,S\n1,1,1,1,1,1\n",
       "folder/net.csv:1:1: 6 columns instead of 7; a row is K,C,Y,X,R,S,T"},
      {"K,C,Y,Z,R,S,T\n",
       "folder/net.csv:1:7: column 4 is called 'Z'; the columns are K,C,Y,X,R,S,T"},
      {"K,C,Y,X,R,S,T\n1,2,3\n",
       "folder/net.csv:2:1: 3 columns instead of 7; a row is K,C,Y,X,R,S,T"},
      {"1,1,1,1,1,1,4",
       "folder/net.csv:1:13: T is 4, but must be in 0..3; 0 is FC, 1 CONV, 2 "
       "DSCONV, 3 GEMM"},
      {"1,0,1,1,1,1,1", "folder/net.csv:1:3: C is 0, but must be in 1..2147483647"},
      {"1,-2,1,1,1,1,1", "folder/net.csv:1:3: C is -2, but must be in 1..2147483647"},
      {"1,1.5,1,1,1,1,1", "folder/net.csv:1:3: C: '1.5' is not an integer"},
      {"1,,1,1,1,1,1", "folder/net.csv:1:3: C: '' is not an integer"},
      {"1,nan,1,1,1,1,1", "folder/net.csv:1:3: C: 'nan' is not an integer"},
      {"1,3000000000,1,1,1,1,1",
       "folder/net.csv:1:3: C is 3000000000, but must be in 1..2147483647"},
      {"4,8,9,9,3,3,2", "folder/net.csv:1:1: a DSCONV row with K = 4: K must be 1 or C = 8"},
      {"4,8,9,1,1,1,0", "folder/net.csv:1:5: Y is 9, but must be 1: an FC row uses K and C"},
      {"4,8,9,2,1,1,3", "folder/net.csv:1:7: X is 2, but must be 1: a GEMM row is M,N,K"},
      {"4,8,2,9,3,3,1",
       "folder/net.csv:1:1: layer 'l1': kernel R = 3 is larger than the padded input Y = 2; raise "
       "Y or the padding"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Network> network = Read(text);
    ASSERT_FALSE(network) << text;
    EXPECT_EQ(ToString(network.error()), message);
  }
}

// Two hundred thousand rows are read in a moment.
TEST(Gamma, LongTablesStayCheap) {
  std::string text = "K,C,Y,X,R,S,T\n";
  for (int i = 0; i < 200'000; ++i) text += "64,3,224,224,7,7,1\n";
  const Result<Network> network = Read(text);
  ASSERT_TRUE(network) << network.error();
  EXPECT_EQ(network->layers[0].count, 200'000);
}

TEST(Gamma, WritesTheStrideFreeVariantAtInputSize) {
  NetworkBuilder builder(Network{.name = "n"});
  Layer conv{.bias = true, .k = 64, .c = 3, .y = 224, .x = 224, .r = 7, .s = 7, .stride = {2, 2}};
  conv.pad = {3, 3, 3, 3};
  ASSERT_TRUE(builder.Add("stem", conv, 2));
  ASSERT_TRUE(builder.Add("dw", {.k = 8, .c = 8, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 8}));
  ASSERT_TRUE(
      builder.Add("grouped", {.k = 8, .c = 8, .y = 9, .x = 9, .r = 3, .s = 3, .groups = 2}));
  Layer rim{.k = 8, .c = 8, .y = 1, .x = 1, .r = 3, .s = 3};
  rim.pad = {1, 1, 1, 1};
  ASSERT_TRUE(builder.Add("rim", rim));
  ASSERT_TRUE(builder.Add("fc", {.type = LayerType::kFullyConnected, .k = 10, .c = 20}));
  ASSERT_TRUE(builder.Add("rows", {.type = LayerType::kFullyConnected, .n = 5, .k = 10, .c = 20}));
  ASSERT_TRUE(builder.Add("heads", {.type = LayerType::kMatmul, .h = 2, .m = 3, .n = 4, .k = 5}));
  const Result<Export> exported = Gamma().write(builder.Take());
  ASSERT_TRUE(exported) << exported.error();
  EXPECT_EQ(exported->files[0].name, "n.csv");
  EXPECT_EQ(exported->files[0].contents,
            "K,C,Y,X,R,S,T\n"
            "64,3,224,224,7,7,1\n"
            "64,3,224,224,7,7,1\n"
            "1,8,9,9,3,3,2\n"
            "8,4,9,9,3,3,1\n"
            "8,8,3,3,3,3,1\n"
            "10,20,1,1,1,1,0\n"
            "5,10,20,1,1,1,3\n"
            "6,4,5,1,1,1,3\n");
  EXPECT_EQ(exported->lost,
            (std::vector<std::string>{
                "layer names: rows have none",
                "the network's variant: this one is 'gamma'",
                "bias: stem",
                "stride, so output size and MACs: stem",
                "padding, so output size and MACs: stem, rim",
                "groups: C is that of one group: grouped",
                "input sizes below the kernel, which are raised to it: rim",
                "the type of fully connected layers with several rows, which become GEMM: rows",
                "the batch H of a product, which is folded into M: heads",
            }));
}

// The zoo's copies of GAMMA's own tables go through unchanged.
TEST(Gamma, ItsOwnTablesSurviveWhole) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    if (network->variant != "gamma") continue;
    const Result<Export> exported = Gamma().write(*network);
    ASSERT_TRUE(exported) << exported.error();
    EXPECT_EQ(exported->lost,
              (std::vector<std::string>{"the network's source", "layer names: rows have none"}));
    const Result<Network> again = ReadExport(Gamma(), *exported);
    ASSERT_TRUE(again) << again.error();
    ASSERT_EQ(again->layers.size(), network->layers.size());
    for (size_t i = 0; i < again->layers.size(); ++i) {
      EXPECT_EQ(again->layers[i].layer, network->layers[i].layer) << file.name;
      EXPECT_EQ(again->layers[i].count, network->layers[i].count) << file.name;
    }
  }
}

bool Mentions(const std::vector<std::string>& lost, std::string_view word) {
  for (const std::string& line : lost) {
    if (line.find(word) != std::string::npos) return true;
  }
  return false;
}

// Real networks: every difference is announced.
TEST(Gamma, WhatTheZooLosesIsListed) {
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    const Result<Export> exported = Gamma().write(*network);
    ASSERT_TRUE(exported) << exported.error();
    const Result<Network> again = ReadExport(Gamma(), *exported);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(TotalLayers(*again), TotalLayers(*network)) << file.name;
    if (TotalMacs(*again) != TotalMacs(*network)) {
      EXPECT_TRUE(Mentions(exported->lost, "MACs") || Mentions(exported->lost, "transposed"))
          << file.name;
    }
  }
}

}  // namespace
}  // namespace tessera
