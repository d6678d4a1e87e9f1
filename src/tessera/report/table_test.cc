// The three forms of a table.
#include "tessera/report/table.h"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace tessera {
namespace {

Table Example() {
  Table table({"layer", "macs", "gap", "ok"});
  table.Add("conv1", 118013952, 0.125, true);
  table.Add("a,\"b\"", int64_t{9}, 1.0 / 3, Cell());
  return table;
}

TEST(Table, AlignsNumbersRightAndTextLeft) {
  EXPECT_EQ(ToText(Example()),
            "layer         macs       gap  ok\n"
            "conv1  118,013,952     0.125  yes\n"
            "a,\"b\"            9  0.333333  -\n");
}

TEST(Table, AlignsTextThatIsNotAscii) {
  Table table({"name", "x"});
  table.Add("\u00e9t\u00e9", "a");
  table.Add("summer", "b");
  EXPECT_EQ(ToText(table), "name    x\n\u00e9t\u00e9     a\nsummer  b\n");
}

TEST(Table, CsvKeepsAllDigitsAndQuotes) {
  EXPECT_EQ(ToCsv(Example()),
            "layer,macs,gap,ok\n"
            "conv1,118013952,0.125,true\n"
            "\"a,\"\"b\"\"\",9,0.3333333333333333,\n");
}

TEST(Table, JsonIsOneObjectPerRow) {
  EXPECT_EQ(ToJson(Example()).dump(),
            R"([{"layer":"conv1","macs":118013952,"gap":0.125,"ok":true},)"
            R"({"layer":"a,\"b\"","macs":9,"gap":0.3333333333333333,"ok":null}])");
}

TEST(Table, WithoutRowsShowsItsColumns) {
  EXPECT_EQ(ToText(Table({"name", "macs"})), "name  macs\n");
  EXPECT_EQ(ToJson(Table({"name", "macs"})).dump(), "[]");
}

}  // namespace
}  // namespace tessera
