#include "tessera/vta/network/graph.h"

#include <bit>

namespace tessera::vta {

int32_t ShiftFor(const ConvShape& shape) {
  const auto length = static_cast<uint64_t>(shape.ci * shape.kh * shape.kw);
  return static_cast<int32_t>(std::bit_width(length) + 1) / 2 + 6;
}

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

}  // namespace tessera::vta
