// Whole quantised networks on the simulators against plain arithmetic.
#include <map>

#include <gtest/gtest.h>

#include "tessera/network.h"
#include "tessera/vta/network/run.h"

namespace tessera::vta {
namespace {

Graph SmallGraph() {
  return MakeResidualGraph("small",
                           {.blocks = {1, 1, 2, 1}, .image = 40, .width = 12, .classes = 10});
}

TEST(Graph, ResNet18HasTheConvolutionsOfTheZoo) {
  const Result<Network> zoo = LoadZooNetwork("resnet18");
  ASSERT_TRUE(zoo) << zoo.error();
  const Result<Graph> graph = FindGraph("resnet18");
  ASSERT_TRUE(graph) << graph.error();
  size_t convolutions = 0;
  for (const NetworkLayer& entry : zoo->layers) {
    const Result<ConvShape> shape = ConvShapeOf(entry.layer);
    ASSERT_TRUE(shape) << shape.error();
    int64_t count = 0;
    for (const Step& step : graph->steps) {
      count += step.kind == StepKind::kConv && step.shape == *shape;
    }
    if (entry.name == "fc") continue;
    EXPECT_EQ(count, entry.count) << entry.name;
    convolutions += static_cast<size_t>(count);
  }
  EXPECT_EQ(convolutions, 20u);
  // 20 convolutions, 8 additions, two kinds of pooling, the classifier.
  EXPECT_EQ(graph->steps.size(), 31u);
}

TEST(Graph, StepsFitTogether) {
  for (const std::string& name : WholeNetworkNames()) {
    const Result<Graph> graph = FindGraph(name);
    ASSERT_TRUE(graph) << graph.error();
    for (size_t i = 0; i < graph->steps.size(); ++i) {
      for (const size_t input : graph->steps[i].inputs) {
        ASSERT_LE(input, i);
        const ConvShape& from = input == 0 ? graph->image : graph->steps[input - 1].shape;
        const ConvShape& to = graph->steps[i].shape;
        EXPECT_EQ(from.co, to.ci) << graph->steps[i].name;
        EXPECT_EQ(from.oh(), to.h) << graph->steps[i].name;
        EXPECT_EQ(from.ow(), to.w) << graph->steps[i].name;
      }
    }
  }
}

TEST(Graph, UnknownNamesAreListed) {
  const Result<Graph> graph = FindGraph("vgg16");
  ASSERT_FALSE(graph);
  EXPECT_EQ(ToString(graph.error()),
            "the connections of network 'vgg16' are not known; known: resnet18, resnet34");
}

// RunNetwork itself compares every value, so a result is a proof; here, that it proves something.
TEST(NetworkRun, EveryTensorEqualsPlainArithmetic) {
  for (const char* name : {"default_1x16", "b1_16x16_half", "b1_in32_out8", "pynq_4x8"}) {
    const Result<Config> config = LoadConfig(name);
    ASSERT_TRUE(config) << config.error();
    const Graph graph = SmallGraph();
    const Result<NetworkRun> run = RunNetwork(graph, {.compile = {.config = *config}});
    ASSERT_TRUE(run) << name << ": " << run.error();
    ASSERT_EQ(run->steps.size(), graph.steps.size());
    int64_t cycles = 0;
    for (size_t i = 0; i < run->steps.size(); ++i) {
      const StepRun& step = run->steps[i];
      const ConvShape& shape = graph.steps[i].shape;
      EXPECT_EQ(step.values, shape.co * shape.oh() * shape.ow()) << step.name;
      EXPECT_GE(step.distinct_values, std::min<int64_t>(step.values, 10)) << step.name;
      EXPECT_EQ(step.report.cycles > 0, RunsOnVta(step.kind)) << step.name;
      cycles += step.report.cycles;
    }
    EXPECT_EQ(run->cycles, cycles);
    EXPECT_EQ(run->scores.size(), 10u);
  }
}

TEST(NetworkRun, ScoresDoNotDependOnHardwareGeneratorOrThreads) {
  const Graph graph = SmallGraph();
  const Result<NetworkRun> best = RunNetwork(graph, {.seed = 3});
  const Result<NetworkRun> threads = RunNetwork(graph, {.seed = 3, .threads = 3});
  const Result<NetworkRun> reference =
      RunNetwork(graph, {.compile = {.reference_only = true}, .seed = 3});
  const Result<NetworkRun> other = RunNetwork(graph, {.seed = 4});
  ASSERT_TRUE(best && threads && reference && other);
  EXPECT_EQ(threads->scores, best->scores);
  EXPECT_EQ(threads->cycles, best->cycles);
  EXPECT_EQ(reference->scores, best->scores);
  EXPECT_LE(best->cycles, reference->cycles);
  EXPECT_NE(other->scores, best->scores);
}

TEST(NetworkRun, HandsOutEveryProgram) {
  const Graph graph = SmallGraph();
  std::vector<size_t> seen;
  NetworkRunOptions options;
  options.on_program = [&](size_t step, const Kernel& kernel,
                           const Program& program) -> Result<void> {
    seen.push_back(step);
    EXPECT_EQ(program.insn_count, std::ssize(kernel.instructions));
    if (seen.size() < 3) return {};
    return Error{.kind = ErrorKind::kIo, .message = "disk full"};
  };
  const Result<NetworkRun> run = RunNetwork(graph, options);
  ASSERT_FALSE(run);
  EXPECT_EQ(ToString(run.error()), "step layer1.0.conv1: disk full");
  EXPECT_EQ(seen, (std::vector<size_t>{0, 1, 2}));
}

}  // namespace
}  // namespace tessera::vta
