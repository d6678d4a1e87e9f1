#include "tessera/vta/network/graph.h"

#include <bit>
#include <utility>

#include <fmt/format.h>

namespace tessera::vta {

int32_t ShiftFor(const ConvShape& shape) {
  const auto length = static_cast<uint64_t>(shape.ci * shape.kh * shape.kw);
  return static_cast<int32_t>(std::bit_width(length) + 1) / 2 + 6;
}

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

}  // namespace

std::string_view StepKindName(StepKind kind) {
  switch (kind) {
    case StepKind::kConv: return "conv";
    case StepKind::kAdd: return "add";
    case StepKind::kMaxPool: return "max_pool";
    case StepKind::kRelu: return "relu";
    case StepKind::kConcat: return "concat";
    case StepKind::kAveragePool: return "average_pool";
    case StepKind::kClassifier: return "classifier";
  }
  return "?";
}

bool RunsOnVta(StepKind kind) {
  return kind == StepKind::kConv || kind == StepKind::kAdd || kind == StepKind::kMaxPool ||
         kind == StepKind::kRelu;
}

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

}  // namespace tessera::vta
