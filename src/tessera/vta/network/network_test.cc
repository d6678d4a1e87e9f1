// Whole quantised networks on the simulators against plain arithmetic.
#include <array>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/network.h"
#include "tessera/vta/network/run.h"

namespace tessera::vta {
namespace {

class Builder {
 public:
  explicit Builder(Graph& graph) : graph_(graph) {}

  size_t Conv(std::string name, size_t input, const ConvShape& shape, bool relu) {
    return Add({.name = std::move(name),
                .kind = StepKind::kConv,
                .inputs = {input},
                .shape = shape,
                .epilogue = {.shift = ShiftFor(shape), .low = relu ? 0 : -128}});
  }

  size_t Add(Step step) {
    graph_.steps.push_back(std::move(step));
    return graph_.steps.size();
  }

 private:
  Graph& graph_;
};

// A basic block: its output is the tensor returned.
size_t AddBlock(Builder& build, const std::string& name, size_t input, int64_t ci, int64_t co,
                int64_t size, int64_t stride) {
  const ConvShape first = SquareConv(ci, co, size, 3, stride, 1);
  const ConvShape second = SquareConv(co, co, first.oh(), 3, 1, 1);
  const size_t inner = build.Conv(name + ".conv1", input, first, /*relu=*/true);
  const size_t main = build.Conv(name + ".conv2", inner, second, /*relu=*/false);
  size_t shortcut = input;
  if (stride != 1 || ci != co) {
    shortcut = build.Conv(name + ".downsample.0", input, SquareConv(ci, co, size, 1, stride, 0),
                          /*relu=*/false);
  }
  return build.Add({.name = name + ".add",
                    .kind = StepKind::kAdd,
                    .inputs = {main, shortcut},
                    .shape = SquareConv(co, co, first.oh(), 1, 1, 0)});
}

// A residual network of basic blocks (two 3 x 3 convolutions each) in four stages.
struct ResidualSizes {
  std::array<int64_t, 4> blocks = {2, 2, 2, 2};
  int64_t image = 224;  // height and width
  int64_t width = 64;   // channels of the first stage; each later one has twice as many
  int64_t classes = 1000;
};

Graph MakeResidualGraph(std::string name, const ResidualSizes& sizes) {
  Graph graph = {.name = std::move(name), .image = SquareConv(3, 3, sizes.image, 1, 1, 0)};
  Builder build(graph);
  const ConvShape stem = SquareConv(3, sizes.width, sizes.image, 7, 2, 3);
  const ConvShape pool = SquareConv(sizes.width, sizes.width, stem.oh(), 3, 2, 1);
  size_t tensor = build.Conv("conv1", 0, stem, /*relu=*/true);
  tensor =
      build.Add({.name = "maxpool", .kind = StepKind::kMaxPool, .inputs = {tensor}, .shape = pool});
  int64_t channels = sizes.width, size = pool.oh();
  for (size_t stage = 0; stage < sizes.blocks.size(); ++stage) {
    const int64_t co = sizes.width << stage;
    for (int64_t block = 0; block < sizes.blocks[stage]; ++block) {
      const int64_t stride = stage > 0 && block == 0 ? 2 : 1;
      tensor = AddBlock(build, fmt::format("layer{}.{}", stage + 1, block), tensor, channels, co,
                        size, stride);
      channels = co;
      size = (size + stride - 1) / stride;
    }
  }
  tensor = build.Add({.name = "avgpool",
                      .kind = StepKind::kAveragePool,
                      .inputs = {tensor},
                      .shape = SquareConv(channels, channels, size, size, 1, 0)});
  build.Add({.name = "fc",
             .kind = StepKind::kClassifier,
             .inputs = {tensor},
             .shape = SquareConv(channels, sizes.classes, 1, 1, 1, 0)});
  return graph;
}

Graph SmallGraph() {
  return MakeResidualGraph("small",
                           {.blocks = {1, 1, 2, 1}, .image = 40, .width = 12, .classes = 10});
}

TEST(Graph, ResNet18HasTheConvolutionsOfTheZoo) {
  const Result<Network> zoo = LoadZooNetwork("resnet18");
  ASSERT_TRUE(zoo) << zoo.error();
  const Result<Graph> graph = GraphOf(*zoo);
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
  for (const char* const name : {"alexnet", "vgg11", "vgg19", "resnet34", "resnet50", "resnet152",
                                 "squeezenet1.0", "squeezenet1.1", "googlenet"}) {
    const Result<Network> network = LoadZooNetwork(name);
    ASSERT_TRUE(network) << network.error();
    const Result<Graph> graph = GraphOf(*network);
    ASSERT_TRUE(graph) << graph.error();
    for (size_t i = 0; i < graph->steps.size(); ++i) {
      for (const size_t input : graph->steps[i].inputs) {
        ASSERT_LE(input, i);
        const ConvShape& from = input == 0 ? graph->image : graph->steps[input - 1].shape;
        const ConvShape& to = graph->steps[i].shape;
        if (graph->steps[i].kind == StepKind::kConcat) {
          EXPECT_EQ(from.oh() * from.ow(), to.h * to.w) << graph->steps[i].name;
          continue;
        }
        // A flattened image has its pixels as channels.
        EXPECT_EQ(from.co * from.oh() * from.ow(), to.ci * to.h * to.w) << graph->steps[i].name;
        if (to.h * to.w > 1) {
          EXPECT_EQ(from.co, to.ci) << graph->steps[i].name;
        }
      }
    }
  }
}

// The zoo's graph against steps that are written by hand.
TEST(Graph, OfResNet18IsTheOneThatIsBuilt) {
  const Result<Network> zoo = LoadZooNetwork("resnet18");
  ASSERT_TRUE(zoo) << zoo.error();
  const Result<Graph> graph = GraphOf(*zoo);
  ASSERT_TRUE(graph) << graph.error();
  const Graph built = MakeResidualGraph("resnet18", {});
  ASSERT_EQ(graph->steps.size(), built.steps.size());
  EXPECT_EQ(graph->image, built.image);
  for (size_t i = 0; i < built.steps.size(); ++i) {
    const Step &got = graph->steps[i], &wanted = built.steps[i];
    EXPECT_EQ(got.name, wanted.name);
    EXPECT_EQ(got.kind, wanted.kind) << got.name;
    EXPECT_EQ(got.inputs, wanted.inputs) << got.name;
    EXPECT_EQ(got.epilogue, wanted.epilogue) << got.name;
    EXPECT_EQ(got.shape.co * got.shape.oh(), wanted.shape.co * wanted.shape.oh()) << got.name;
  }
}

TEST(Graph, NodesWithoutCodeAreNamed) {
  const Result<Network> network = LoadZooNetwork("mobilenet-v2");
  ASSERT_TRUE(network) << network.error();
  const Result<Graph> graph = GraphOf(*network);
  ASSERT_FALSE(graph);
  EXPECT_TRUE(graph.error().message.starts_with(
      "VTA has no code for features.0.0.relu6 (relu6) and 34 more: a view that changes values or "
      "their order; features.1.conv.0.0 (dwconv): a convolution with 32 groups: only dense ones; "
      "features.2.conv.1.0 (dwconv): a convolution with 96 groups"))
      << graph.error();
}

// Branches, a ReLU of its own, pooling that rounds up, a concatenation, a flattened image.
constexpr char kBranches[] = R"(format: tessera-network-1
name: branches
layers:
- {name: a, type: conv, K: 20, C: 3, Y: 12, X: 12, R: 3, S: 3, pad: 1, bias: true}
- {name: b, type: conv, K: 5, C: 20, Y: 6, X: 6, R: 1, S: 1, bias: true}
- {name: c, type: fc, K: 30, C: 900, bias: true}
- {name: d, type: fc, K: 7, C: 30, bias: true}
graph:
  inputs: [{name: x, shape: [1, 3, 12, 12]}]
  nodes:
  - {name: a, in: x}
  - {name: p, type: maxpool, in: a, kernel: 3, stride: 2, shape: [1, 20, 6, 6]}
  - {name: r, type: relu, in: p}
  - {name: b, in: p}
  - {name: br, type: relu, in: b}
  - {name: j, type: concat, in: [r, br]}
  - {name: s, type: add, in: [j, j]}
  - {name: f, type: flatten, in: s, shape: [1, 900]}
  - {name: c, in: f}
  - {name: d, in: c}
  outputs: [d]
)";

TEST(NetworkRun, BranchesAndConcatenationsEqualPlainArithmetic) {
  const Result<Network> network = ParseNetwork(kBranches, "branches.yaml");
  ASSERT_TRUE(network) << network.error();
  for (const char* name : {"default_1x16", "b1_in32_out8", "pynq_4x8"}) {
    const Result<Config> config = LoadConfig(name);
    ASSERT_TRUE(config) << config.error();
    const Result<Graph> graph = GraphOf(*network);
    ASSERT_TRUE(graph) << graph.error();
    const Result<NetworkRun> run = RunNetwork(*graph, {.compile = {.config = *config}});
    ASSERT_TRUE(run) << run.error();
    ASSERT_EQ(run->steps.size(), 8u);
    EXPECT_EQ(run->steps[2].kind, StepKind::kRelu);
    EXPECT_EQ(run->steps[4].kind, StepKind::kConcat);
    EXPECT_EQ(run->steps[4].values, 900);
    for (const StepRun& step : run->steps) EXPECT_GT(step.distinct_values, 5) << step.name;
    EXPECT_EQ(run->scores.size(), 7u);
  }
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
