// One statement, two forms; failures of the stream are noticed.
#include "tessera/report/output.h"

#include <fstream>
#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

TEST(Output, TextShowsTablesAndSentencesAsTheyCome) {
  std::ostringstream stream;
  Output output(stream, OutputForm::kText);
  Table table({"a"});
  table.Add(1000);
  ASSERT_TRUE(output.ShowText("hello\n"));
  ASSERT_TRUE(output.Show(table));
  output.Set("ignored", 1);
  ASSERT_TRUE(output.Finish());
  EXPECT_EQ(stream.str(), "hello\n    a\n1,000\n");
}

TEST(Output, JsonIsOneObject) {
  std::ostringstream stream;
  Output output(stream, OutputForm::kJson);
  Table table({"a"});
  table.Add(1000);
  ASSERT_TRUE(output.ShowText("hello\n"));
  output.Set("macs", int64_t{5});
  ASSERT_TRUE(output.Show(table, "layers"));
  EXPECT_EQ(stream.str(), "");
  ASSERT_TRUE(output.Finish());
  EXPECT_EQ(Json::parse(stream.str()).dump(), R"({"macs":5,"layers":[{"a":1000}]})");
}

TEST(Output, AFullDiskIsNoticed) {
  std::ofstream stream("/dev/full");
  Output output(stream, OutputForm::kText);
  const Result<void> shown = output.ShowText("hello\n");
  ASSERT_FALSE(shown);
  EXPECT_EQ(shown.error().kind, ErrorKind::kIo);
  EXPECT_EQ(shown.error().message, "cannot write the output: No space left on device");
  EXPECT_FALSE(output.Finish());
}

}  // namespace
}  // namespace tessera
