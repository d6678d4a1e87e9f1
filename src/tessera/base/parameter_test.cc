// Parameters: what a declaration says is what users can set, and nothing else.
#include "tessera/part.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

struct Settings {
  int64_t size = 64;
  double rate = 0.5;
  bool walk = false;
  std::string linkage = "ward";
  std::string file;
};

const ParameterList<Settings> kSettings = {
    {"size", &Settings::size, Range{0, 10'000}, "how many"},
    {"rate", &Settings::rate, Range{0.0, 1.0}, "how fast"},
    {"walk", &Settings::walk, "whether it walks"},
    {"linkage", &Settings::linkage, Choices{"single", "ward"}, "which"},
    {"file", &Settings::file, Choices{}, "any text"}};

Result<Settings> ReadSettings(const Assignments& assignments) {
  return ReadOptions("method test", kSettings, assignments);
}

std::string MessageOf(const Assignments& assignments) {
  const Result<Settings> settings = ReadSettings(assignments);
  return settings ? "no error" : ToString(settings.error());
}

TEST(Parameter, DescribesTypeDefaultAndRange) {
  const std::vector<ParameterInfo> infos = Describe(kSettings);
  ASSERT_EQ(infos.size(), 5u);
  EXPECT_EQ(TypeName(infos[0]), "int");
  EXPECT_EQ(ToString(infos[0].fallback), "64");
  EXPECT_EQ(RangeText(infos[0]), "0..10000");
  EXPECT_EQ(RangeText(infos[1]), "0..1");
  EXPECT_EQ(ToString(infos[2].fallback), "false");
  EXPECT_EQ(RangeText(infos[3]), "single|ward");
  EXPECT_EQ(RangeText(infos[4]), "");
}

TEST(Parameter, KeepsDefaultsAndTakesValues) {
  const Result<Settings> settings =
      ReadSettings({{"size", "9"}, {"linkage", "single"}, {"walk", "true"}});
  ASSERT_TRUE(settings) << settings.error();
  EXPECT_EQ(settings->size, 9);
  EXPECT_EQ(settings->rate, 0.5);
  EXPECT_TRUE(settings->walk);
  EXPECT_EQ(settings->linkage, "single");
}

TEST(Parameter, EveryDefaultReadsBack) {
  for (const ParameterInfo& info : Describe(kSettings)) {
    const Result<ParameterValue> value = ParseValue(info, ToString(info.fallback));
    ASSERT_TRUE(value) << value.error();
    EXPECT_EQ(*value, info.fallback);
  }
}

TEST(Parameter, RefusesWhatTheDeclarationDoesNotAllow) {
  EXPECT_EQ(MessageOf({{"sise", "9"}}),
            "method test has no parameter 'sise'; did you mean 'size'?");
  EXPECT_EQ(MessageOf({{"size", "-1"}}), "parameter 'size' is '-1', but must be in 0..10000");
  EXPECT_EQ(MessageOf({{"size", "1.5"}}), "parameter 'size' is '1.5', but must be an integer");
  EXPECT_EQ(MessageOf({{"rate", "2"}}), "parameter 'rate' is '2', but must be in 0..1");
  EXPECT_EQ(MessageOf({{"rate", "nan"}}), "parameter 'rate' is 'nan', but must be a number");
  EXPECT_EQ(MessageOf({{"walk", "yes"}}), "parameter 'walk' is 'yes', but must be true or false");
  EXPECT_EQ(MessageOf({{"linkage", "wards"}}),
            "parameter 'linkage' is 'wards', but must be one of single, ward; did you mean "
            "'ward'?");
  EXPECT_EQ(MessageOf({{"size", "1"}, {"size", "2"}}),
            "method test: parameter 'size' is given twice");
}

}  // namespace
}  // namespace tessera
