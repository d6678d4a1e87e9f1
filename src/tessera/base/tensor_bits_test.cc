// Widths of tensors as text and in files.
#include "tessera/base/tensor_bits.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tessera/base/document.h"

namespace tessera {
namespace {

bool Has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

Result<TensorBits> Read(const std::string& text) {
  const Result<Node> node = ParseDocument(text, "f.yaml");
  EXPECT_TRUE(node);
  return ReadTensorBits(*node);
}

TEST(TensorBits, TextGoesBothWays) {
  const TensorBits bits{.weights = 4, .inputs = 8, .partial_sums = 24};
  EXPECT_EQ(ToString(bits), "weights=4,inputs=8,partial_sums=24");
  EXPECT_EQ(*ParseTensorBits(ToString(bits)), bits);
  EXPECT_EQ(*ParseTensorBits("8"), (TensorBits{.weights = 8, .inputs = 8, .outputs = 8}));
  EXPECT_EQ(*ParseTensorBits("8,outputs=16"),
            (TensorBits{.weights = 8, .inputs = 8, .outputs = 16}));
}

TEST(TensorBits, BadTextIsRefused) {
  for (const std::string bad :
       {"", "0", "-4", "1025", "weights", "weights=", "weights=4,", "weights=x", "weight=4",
        "weights=4.5", "weights=0", "outputs=99999999999999999999", "=4", "weights=4;inputs=8"}) {
    EXPECT_FALSE(ParseTensorBits(bad)) << bad;
  }
  EXPECT_TRUE(Has(ParseTensorBits("weigths=4").error().hint, "weights"))
      << ParseTensorBits("weigths=4").error().hint;
}

TEST(TensorBits, FilesGoBothWays) {
  const TensorBits bits{.weights = 4, .inputs = 8, .outputs = 16, .partial_sums = 24};
  EXPECT_EQ(*Read(TensorBitsYaml(bits)), bits);
  EXPECT_EQ(*Read("8"), (TensorBits{.weights = 8, .inputs = 8, .outputs = 8}));
}

TEST(TensorBits, BadFilesAreErrorsWithAPlace) {
  const Result<TensorBits> bad = Read("{weights: 4,\n inputs: 0}");
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().where.line, 2);
  EXPECT_EQ(bad.error().where.column, 10);
  for (const std::string text :
       {"{}", "[4, 8]", "{weights: [4]}", "{weights: four}", "{weights: 4, bias: 8}",
        "{weights: -1}", "{weights: 2000}", "{weights: 3.5}", "word", "0"}) {
    const Result<TensorBits> read = Read(text);
    ASSERT_FALSE(read) << text;
    EXPECT_EQ(read.error().where.line, 1) << text;
  }
}

TEST(TensorBits, TheFirstWins) {
  const TensorBits both = Either({.weights = 4}, {.weights = 8, .inputs = 8});
  EXPECT_EQ(both, (TensorBits{.weights = 4, .inputs = 8}));
}

}  // namespace
}  // namespace tessera
