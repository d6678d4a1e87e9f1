// Shapes that users write down: both spellings, round trips, and messages that say what is wrong.
#include "tessera/mapping/loop_shape.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr const char* kConv1d = R"(problem:
  shape:
    name: conv1d
    dimensions: [R, P, Channel]
    coefficients:
      - {name: stride, default: 1}
    data-spaces:
      - name: Inputs
        projection:
          - [[R], [P, stride]]
          - [[Channel]]
      - name: Weights
        projection: [[[R]], [[Channel]]]
      - name: Outputs
        projection: [[[P]]]
        read-write: true
  instance: {R: 3, P: 8, Channel: 4, stride: 2}
)";

Result<LoopProblem> Read(const std::string& text) {
  const Result<Node> root = ParseDocument(text, "p.yaml");
  if (!root) return root.error();
  return ReadLoopProblem(*root);
}

TEST(LoopShape, ReadsAShapeOfItsOwn) {
  const Result<LoopProblem> problem = Read(kConv1d);
  ASSERT_TRUE(problem) << problem.error();
  EXPECT_EQ(ToString(*problem), "conv1d R3 P8 Channel4 stride 2");
  EXPECT_EQ(problem->tensors[0].ranks[0].terms[1].coefficient, 2);
  EXPECT_TRUE(problem->tensors[2].read_write);
  EXPECT_EQ(problem->tensors[1].role, TensorRole::kWeight);
}

TEST(LoopShape, WritesWhatItReads) {
  const LoopProblem problem = *Read(kConv1d);
  EXPECT_EQ(*Read(WriteLoopProblem(problem)), problem);
  const LoopProblem conv =
      *MakeLoopProblem("conv", {{"R", 3}, {"P", 7}}, {{"Wstride", 2}, {"Hdilation", 3}});
  EXPECT_EQ(*Read(WriteLoopProblem(conv)), conv);
  EXPECT_EQ(*Read(WriteLoopProblem(conv, TimeloopVersion::k04)), conv);
}

TEST(LoopShape, ReadsTheSpellingsOfVersion04AndBuiltInNames) {
  std::string text = kConv1d;
  text.replace(text.find("data-spaces"), 11, "data_spaces");
  text.replace(text.find("read-write"), 10, "read_write");
  text.replace(text.find("  shape:"), 0, "  version: 0.4\n");
  ASSERT_TRUE(Read(text)) << Read(text).error();
  EXPECT_EQ(*Read(text), *Read(kConv1d));
  const Result<LoopProblem> conv = Read(
      "problem: {shape: cnn-layer, "
      "instance: {R: 3, S: 1, P: 4, Q: 1, C: 1, K: 1, N: 1, Wstride: 2}}");
  ASSERT_TRUE(conv) << conv.error();
  EXPECT_EQ(ToString(*conv), "cnn-layer R3 S1 P4 Q1 C1 K1 N1 Wstride 2");
}

TEST(LoopShape, SaysWhatIsWrong) {
  const auto message = [](const char* from, const char* to) {
    std::string text = kConv1d;
    text.replace(text.find(from), std::string(from).size(), to);
    const Result<LoopProblem> problem = Read(text);
    return problem ? "accepted" : ToString(problem.error());
  };
  EXPECT_EQ(message("[P, stride]", "[P, strde]"),
            "p.yaml:10:19: unknown coefficient 'strde'; did you mean 'stride'?");
  EXPECT_EQ(message("R: 3,", "R: 0,"), "p.yaml:17:17: 0 is outside 1..2147483647");
  EXPECT_EQ(message("stride: 2", "pad: 2"),
            "p.yaml:17:38: unknown key 'pad' in a problem instance; "
            "known: densities, R, P, Channel, stride");
  EXPECT_EQ(message("read-write: true", "read-write: false"),
            "p.yaml:2:3: no tensor is read-write: nothing is computed");
  EXPECT_EQ(message("stride: 2}", "stride: 2, densities: {Inputs: 0.5}}"),
            "p.yaml:17:60: densities: sparse problems are not modelled; leave them out");
  EXPECT_EQ(message("projection: [[[P]]]", "projection: [[[stride]]]"),
            "p.yaml:15:23: unknown dimension 'stride'; known: R, P, Channel");
  EXPECT_EQ(message("dimensions: [R, P, Channel]", "dimensions: 3"),
            "p.yaml:4:17: expected a list of dimensions");
  EXPECT_EQ(message("name: conv1d", "name: a-name-of-more-than-thirty-one-characters"), "accepted");
  EXPECT_EQ(
      message("name: Inputs", "name: a-name-of-more-than-thirty-one-characters"),
      "p.yaml:2:3: the name 'a-name-of-more-than-thirty-one-character...' of a data space must "
      "have 1 to 31 characters");
}

// Numbers in projections get names, so that the problem can be written again.
TEST(LoopShape, ReadsNumbersInProjections) {
  std::string text = kConv1d;
  text.replace(text.find("[P, stride]"), 11, "[P, 3]");
  const LoopProblem problem = *Read(text);
  EXPECT_EQ(problem.tensors[0].ranks[0].terms[1].coefficient, 3);
  EXPECT_EQ(*Read(WriteLoopProblem(problem)), problem);
}

}  // namespace
}  // namespace tessera
