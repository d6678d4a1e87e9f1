// Every registered format against the contract of format.h, on a small network and on the zoo.
#include "tessera/workload/conformance.h"

#include <gtest/gtest.h>

#include <map>
#include <tuple>

#include "tessera/network.h"

namespace tessera {
namespace {

class FormatConformance : public testing::TestWithParam<const NetworkFormat*> {};

void ExpectConforms(const Result<void>& result) {
  EXPECT_TRUE(result) << (result ? Error{} : result.error());
}

TEST_P(FormatConformance, IsDescribed) {
  const NetworkFormat& format = *GetParam();
  EXPECT_FALSE(format.name.empty());
  EXPECT_FALSE(format.summary.empty());
  EXPECT_FALSE(format.extensions.empty());
  for (const std::string_view extension : format.extensions) EXPECT_EQ(extension[0], '.');
  EXPECT_TRUE(format.read != nullptr || format.write != nullptr);
}

TEST_P(FormatConformance, RefusesGarbage) {
  if (GetParam()->read == nullptr) GTEST_SKIP() << "not an input format";
  ExpectConforms(CheckGarbage(*GetParam()));
}

TEST_P(FormatConformance, SurvivesDamage) {
  if (GetParam()->read == nullptr || GetParam()->write == nullptr) GTEST_SKIP() << "one direction";
  ExpectConforms(CheckDamage(*GetParam(), ConformanceNetwork()));
}

TEST_P(FormatConformance, RefusesUnknownBindings) {
  if (GetParam()->read == nullptr || GetParam()->write == nullptr) GTEST_SKIP() << "one direction";
  ExpectConforms(CheckBindings(*GetParam(), ConformanceNetwork()));
}

TEST_P(FormatConformance, ReadsWhatItWrites) {
  if (GetParam()->read == nullptr || GetParam()->write == nullptr) GTEST_SKIP() << "one direction";
  ExpectConforms(CheckRoundTrip(*GetParam(), ConformanceNetwork()));
  for (const ZooFile& file : Zoo()) {
    const Result<Network> network = LoadZooNetwork(file.name);
    ASSERT_TRUE(network) << network.error();
    ExpectConforms(CheckRoundTrip(*GetParam(), *network));
  }
}

INSTANTIATE_TEST_SUITE_P(, FormatConformance, testing::ValuesIn(NetworkFormats()),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(Conformance, TheSampleHasEveryTypeOfLayer) {
  std::map<std::string_view, int> types;
  for (const NetworkLayer& entry : ConformanceNetwork().layers) ++types[TypeName(entry.layer)];
  EXPECT_EQ(types.size(), kLayerTypeNames.size());
  EXPECT_EQ(TotalLayers(ConformanceNetwork()), 13);
}

// A broken format is noticed.
TEST(Conformance, FindsViolations) {
  const NetworkFormat nameless = {
      .name = "nameless",
      .summary = "",
      .extensions = {},
      .recognises = nullptr,
      .read = [](std::string_view, const std::string&, const Bindings&) -> Result<Network> {
        return Error{.kind = ErrorKind::kSyntax, .message = "no"};
      },
      .write = nullptr};
  EXPECT_EQ(ToString(CheckGarbage(nameless).error()),
            "format 'nameless' violates 'errors name the file': no");
  NetworkFormat trusting = nameless;
  trusting.name = "trusting";
  trusting.read = [](std::string_view, const std::string&, const Bindings&) -> Result<Network> {
    return Network{};
  };
  EXPECT_EQ(ToString(CheckGarbage(trusting).error()),
            "format 'trusting' violates 'garbage is refused': ''");
}

}  // namespace
}  // namespace tessera
