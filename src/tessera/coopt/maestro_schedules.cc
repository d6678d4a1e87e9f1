#include "tessera/coopt/maestro_schedules.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/result.h"

namespace tessera::coopt {
namespace {

// Positions of the knobs.
enum : size_t { kOuter = 0, kInner = 4, kParallelOuter = 8, kParallelInner, kLoopOrder, kCluster };
constexpr size_t kKnobs = 12;

// Dimensions of a convolution and of a product of matrices by their place in TiledShape.
constexpr std::array<std::string_view, kTiledDims> kConvDims = {"K", "C", "Y", "X"};
constexpr std::array<std::string_view, kTiledDims> kGemmDims = {"N", "K", "M", ""};

// Candidates, and draws for them.
constexpr size_t kCandidates = 512;
constexpr int kDraws = 16'384;

std::optional<size_t> PlaceOf(std::string_view label, bool gemm) {
  const auto& dims = gemm ? kGemmDims : kConvDims;
  const auto found = std::find(dims.begin(), dims.end(), label);
  if (found == dims.end()) return std::nullopt;
  return static_cast<size_t>(found - dims.begin());
}

bool IsKernel(DataflowDim dim) { return dim == DataflowDim::kR || dim == DataflowDim::kS; }

int64_t SizeOf(const std::vector<maestro::DimSize>& entries, DataflowDim dim) {
  for (const maestro::DimSize& entry : entries) {
    if (entry.dim == dim) return entry.size;
  }
  return 1;
}

// At L2 kernels innermost and Y before X; at L1 the order of the declaration, kernels innermost.
Constraints OrdersOf(const maestro::Declaration& declaration) {
  std::vector<std::string> outer, kernel;
  for (const auto& [dim, size] : declaration.dims) {
    (IsKernel(dim) ? kernel : outer).emplace_back(ToString(dim));
  }
  Constraints constraints;
  const auto demand = [&](std::string decision, std::vector<std::string> values) {
    constraints.demands.push_back({.decision = std::move(decision),
                                   .rule = Constraints::Rule::kOrder,
                                   .values = std::move(values)});
  };
  std::vector<std::string> all = outer;
  all.insert(all.end(), kernel.begin(), kernel.end());
  demand("order_l1", all);
  if (kernel.empty()) return constraints;
  for (const std::string& dim : outer) {
    std::vector<std::string> chain = kernel;
    chain.insert(chain.begin(), dim);
    demand("order_l2", std::move(chain));
  }
  demand("order_l2", {"Y", "X"});
  return constraints;
}

float Log(double value) { return static_cast<float>(std::log2(1 + value)); }

}  // namespace

int64_t TiledShape::macs() const {
  return sizes[0] * sizes[1] * sizes[2] * sizes[3] * kernel_h * kernel_w;
}

Result<TiledShape> TiledShapeOf(const Layer& layer) {
  const Result<maestro::Declaration> declared = maestro::Declare(layer);
  if (!declared) return declared.error();
  const bool gemm = declared->type == MaestroType::kGemm;
  TiledShape shape = {.kernel_h = SizeOf(declared->dims, DataflowDim::kR),
                      .kernel_w = SizeOf(declared->dims, DataflowDim::kS),
                      .stride_h = SizeOf(declared->strides, DataflowDim::kY),
                      .stride_w = SizeOf(declared->strides, DataflowDim::kX),
                      .depthwise = declared->type == MaestroType::kDsconv};
  for (const auto& [dim, size] : declared->dims) {
    if (IsKernel(dim)) continue;
    const std::optional<size_t> place = PlaceOf(ToString(dim), gemm);
    if (!place) {
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("dimension {} of {} has no knob", ToString(dim), TypeName(layer))};
    }
    const bool row = dim == DataflowDim::kY, column = dim == DataflowDim::kX;
    shape.sizes[*place] = row      ? (size - shape.kernel_h) / shape.stride_h + 1
                          : column ? (size - shape.kernel_w) / shape.stride_w + 1
                                   : size;
  }
  return shape;
}

// Which decision of the space each knob is.
void MaestroSchedules::AssignKnobs(bool gemm, Parts& parts) {
  const size_t none = parts.space->size();
  parts.decisions.assign(kKnobs, none);
  for (size_t i = 0; i < none; ++i) {
    const Decision& decision = parts.space->decisions()[i];
    const auto level = static_cast<size_t>(decision.level());
    switch (decision.role()) {
      case DecisionRole::kTile:
        if (const std::optional<size_t> place = PlaceOf(decision.dimension(), gemm)) {
          parts.decisions[(level == 0 ? kOuter : kInner) + *place] = i;
        }
        break;
      case DecisionRole::kParallel:
        parts.decisions[kParallelOuter + level] = i;
        for (const std::string& label : decision.labels()) {
          parts.parallel[level].push_back(*PlaceOf(label, gemm));
        }
        break;
      case DecisionRole::kOrder:
        if (level == 0) parts.decisions[kLoopOrder] = i;
        break;
      default: parts.decisions[kCluster] = i;
    }
  }
}

Result<std::unique_ptr<const ScheduleSpace>> MaestroSchedules::Make(const Layer& layer,
                                                                    const PeArray& array) {
  const Result<TiledShape> shape = TiledShapeOf(layer);
  if (!shape) return shape.error();
  const Result<maestro::Declaration> declared = maestro::Declare(layer);
  TESSERA_CHECK(declared.ok());
  Result<std::unique_ptr<MaestroSpace>> space =
      MaestroSpace::Make(layer, array, {.constraints = OrdersOf(*declared)});
  if (!space) return space.error();
  Result<std::unique_ptr<CostModel>> model =
      MakeMaestroModel(*declared, array, {.energy = MaestroEnergy::kLayer});
  if (!model) return model.error();
  Parts parts = {.space = *std::move(space),
                 .model = *std::move(model),
                 .knobs = {},
                 .decisions = {},
                 .parallel = {}};
  const size_t none = parts.space->size();
  AssignKnobs(declared->type == MaestroType::kGemm, parts);
  for (const size_t i : parts.decisions) {
    if (i == none) {
      const std::string name = fmt::format("none{}", parts.knobs.size());
      parts.knobs.push_back(Decision::Ordinal(name, {1}));
      continue;
    }
    const Decision& decision = parts.space->decisions()[i];
    // A point holds indices of one byte.
    if (decision.size() > 256) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("{} has {} values, more than the 256 of a knob",
                                          decision.name(), decision.size())};
    }
    parts.knobs.push_back(decision);
  }
  return std::unique_ptr<const ScheduleSpace>(
      new MaestroSchedules(*shape, array, std::move(parts)));
}

MaestroSchedules::MaestroSchedules(const TiledShape& shape, const PeArray& array, Parts parts)
    : ScheduleSpace(std::move(parts.knobs), /*mapping_knobs=*/kParallelOuter),
      shape_(shape),
      array_(array),
      space_(std::move(parts.space)),
      model_(std::move(parts.model)),
      decisions_(std::move(parts.decisions)),
      parallel_(std::move(parts.parallel)) {}

MaestroSchedules::Sizes MaestroSchedules::TilesAt(const SchedulePoint& point, size_t first) const {
  Sizes tiles;
  for (size_t i = 0; i < kTiledDims; ++i) tiles[i] = value(point, first + i);
  return tiles;
}

size_t MaestroSchedules::ParallelAt(const SchedulePoint& point, size_t level) const {
  return parallel_[level][static_cast<size_t>(value(point, kParallelOuter + level))];
}

double MaestroSchedules::Elements(const Sizes& tile) const {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const auto& [k, c, y, x] = tile;
  const double kernel = number(shape_.kernel_h * shape_.kernel_w);
  const double window = number((y - 1) * shape_.stride_h + shape_.kernel_h) *
                        number((x - 1) * shape_.stride_w + shape_.kernel_w);
  return number(k * c) * kernel + number(c) * window + number((shape_.depthwise ? c : k) * y * x);
}

MaestroSchedules::Work MaestroSchedules::Count(const SchedulePoint& point) const {
  const Sizes outer = TilesAt(point, kOuter), inner = TilesAt(point, kInner);
  const size_t across = ParallelAt(point, 0), within = ParallelAt(point, 1);
  const int64_t cluster = value(point, kCluster), clusters = array_.num_pes / cluster;
  double steps = 1, rounds = 1, products = 1;  // of clusters, of PEs, of a PE at a time
  Work work;
  for (size_t i = 0; i < kTiledDims; ++i) {
    const int64_t tiles = CeilDiv(shape_.sizes[i], outer[i]), parts = CeilDiv(outer[i], inner[i]);
    steps *= static_cast<double>(i == across ? CeilDiv(tiles, clusters) : tiles);
    rounds *= static_cast<double>(i == within ? CeilDiv(parts, cluster) : parts);
    products *= static_cast<double>(inner[i]);
    if (i == across) work.active_clusters = static_cast<double>(std::min(tiles, clusters));
    if (i == within) work.active_pes = static_cast<double>(std::min(parts, cluster));
  }
  products *= static_cast<double>(shape_.kernel_h * shape_.kernel_w);
  Sizes together = outer;  // what all clusters work on at once
  together[across] =
      std::min(shape_.sizes[across], outer[across] * static_cast<int64_t>(work.active_clusters));
  work.compute = steps * rounds * products;
  work.network = steps * Elements(together) / static_cast<double>(array_.noc_elements_per_cycle);
  work.l1_elements = 2 * Elements(inner);
  work.l2_elements = 2 * Elements(together);
  return work;
}

bool MaestroSchedules::Valid(const SchedulePoint& point) const {
  for (size_t i = 0; i < kTiledDims; ++i) {
    if (value(point, kInner + i) > value(point, kOuter + i)) return false;
  }
  const Work work = Count(point);
  return work.l1_elements <= static_cast<double>(array_.l1_elements) &&
         work.l2_elements <= static_cast<double>(array_.l2_elements);
}

std::string MaestroSchedules::Refusal(const SchedulePoint& point) const {
  if (Valid(point)) return "";
  for (size_t i = 0; i < kTiledDims; ++i) {
    const int64_t outer = value(point, kOuter + i), inner = value(point, kInner + i);
    if (inner <= outer) continue;
    return fmt::format("{} = {} <= {} = {}", decisions()[kInner + i].name(), inner,
                       decisions()[kOuter + i].name(), outer);
  }
  const Work work = Count(point);
  if (work.l1_elements > static_cast<double>(array_.l1_elements)) {
    return fmt::format("elements in L1: {} <= {}", work.l1_elements, array_.l1_elements);
  }
  return fmt::format("elements in L2: {} <= {}", work.l2_elements, array_.l2_elements);
}

std::vector<SchedulePoint> MaestroSchedules::Candidates() const {
  std::vector<SchedulePoint> candidates;
  for (int i = 0; i < kDraws && candidates.size() < kCandidates; ++i) {
    CounterRng rng(/*seed=*/1, StreamId("coopt.maestro"), static_cast<uint64_t>(i));
    SchedulePoint point = {};
    for (size_t knob = 0; knob < kKnobs; ++knob) {
      const Decision& decision = decisions()[knob];
      const bool inner = knob >= kInner && knob < kParallelOuter;
      // An inner tile is drawn among those that the outer one holds.
      const int32_t choices =
          inner ? decision.AtMost(value(point, knob - kInner)) + 1 : decision.size();
      point[knob] = static_cast<uint8_t>(rng.UniformInt(choices));
    }
    if (Valid(point)) candidates.push_back(point);
  }
  return candidates;
}

double MaestroSchedules::EstimateCycles(const SchedulePoint& point) const {
  const Work work = Count(point);
  return std::max(work.compute, work.network);
}

double MaestroSchedules::FloorCycles() const {
  return static_cast<double>(shape_.macs()) / static_cast<double>(array_.num_pes);
}

size_t MaestroSchedules::FillFeatures(FeatureKind kind, const SchedulePoint& point,
                                      FeatureRow& row) const {
  size_t size = 0;
  const auto add = [&](double feature) { row[size++] = Log(feature); };
  for (const int64_t part : {array_.num_pes, array_.l1_elements, array_.l2_elements}) {
    add(static_cast<double>(part));
  }
  for (size_t knob = 0; knob < kKnobs; ++knob) add(static_cast<double>(value(point, knob)));
  if (kind == FeatureKind::kKnob) return size;
  const Work work = Count(point);
  for (size_t i = 0; i < kTiledDims; ++i) {
    add(static_cast<double>(CeilDiv(shape_.sizes[i], value(point, kOuter + i))));
    add(static_cast<double>(CeilDiv(value(point, kOuter + i), value(point, kInner + i))));
  }
  for (const double part : {work.compute, work.network, work.l1_elements, work.l2_elements,
                            work.active_clusters, work.active_pes}) {
    add(part);
  }
  row[size++] = static_cast<float>(ParallelAt(point, 0));
  row[size++] = static_cast<float>(ParallelAt(point, 1));
  return size;
}

size_t MaestroSchedules::AddShares(const SchedulePoint& point, FeatureRow& row, size_t size) const {
  const Work work = Count(point);
  row[size++] = static_cast<float>(work.network / std::max(work.compute, work.network));
  return size;
}

WorkloadRow MaestroSchedules::Workload() const {
  const auto log = [](int64_t value) { return Log(static_cast<double>(value)); };
  return {log(shape_.sizes[2]), log(shape_.sizes[3]), log(shape_.sizes[1]), log(shape_.sizes[0]),
          log(shape_.kernel_h), log(shape_.kernel_w), log(shape_.stride_h)};
}

Point MaestroSchedules::MappingPoint(const SchedulePoint& point) const {
  Point made(space_->size());
  for (size_t knob = 0; knob < kKnobs; ++knob) {
    if (decisions_[knob] < space_->size()) made[decisions_[knob]] = point[knob];
  }
  return made;
}

MeasuredOutcome MaestroSchedules::Measure(const SchedulePoint& point) const {
  const Point made = MappingPoint(point);
  if (const Result<void> legal = space_->Check(made); !legal) return {.why = legal.error().message};
  const Result<Cost> cost = Evaluate(*model_, space_->Decode(made));
  if (!cost) return {.why = cost.error().message};
  return {.valid = true, .cycles = cost->cycles, .energy_pj = cost->energy_pj};
}

std::string MaestroSchedules::Describe(const SchedulePoint& point) const {
  return space_->Describe(MappingPoint(point));
}

}  // namespace tessera::coopt
