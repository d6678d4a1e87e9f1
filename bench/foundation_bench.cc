// Speed of what everything else stands on: random numbers, documents, import of networks.
#include <random>
#include <string>

#include "harness.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/network.h"
#include "tessera/part.h"

namespace tessera::bench {
namespace {

void RandomNumbers(Harness& harness) {
  constexpr int kDraws = 10'000;
  std::mt19937_64 twister(1);
  CounterRng counter(1, StreamId("bench"));
  harness.Measure("std::mt19937_64", "draws", kDraws, [&] {
    for (int i = 0; i < kDraws; ++i) Keep(twister());
  });
  harness.Measure(
      "CounterRng", "draws", kDraws,
      [&] {
        for (int i = 0; i < kDraws; ++i) Keep(counter());
      },
      "std::mt19937_64");
}

void Networks(Harness& harness) {
  const ZooFile* densenet = nullptr;
  for (const ZooFile& file : Zoo()) {
    if (file.name == "densenet121") densenet = &file;
  }
  harness.Measure("densenet121: YAML tree only", "networks", 1,
                  [&] { Keep(ParseDocument(densenet->contents, "densenet121")); });
  harness.Measure(
      "densenet121: whole import", "networks", 1, [] { Keep(LoadZooNetwork("densenet121")); },
      "densenet121: YAML tree only");

  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/onnx/";
  for (const std::string name : {"resnet18.classic.onnx", "vit_b_16.dynamo.onnx"}) {
    harness.Measure(name + ": reading the bytes", "networks", 1,
                    [&] { Keep(ReadFile(path + name)); });
    harness.Measure(
        name + ": whole import", "networks", 1, [&] { Keep(ReadNetwork(path + name)); },
        name + ": reading the bytes");
  }
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  tessera::bench::Harness harness(argc, argv);
  tessera::bench::RandomNumbers(harness);
  tessera::bench::Networks(harness);
  return harness.Finish();
}
