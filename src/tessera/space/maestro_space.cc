// Decisions of the two-level space, and their mappings.
#include "tessera/space/maestro_space.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <utility>
#include <variant>

#include <fmt/format.h>

#include "tessera/base/divisors.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/result.h"
#include "tessera/space/dataflow_recipes.h"

namespace tessera {
namespace {

using enum DataflowDim;

constexpr std::array<std::string_view, 2> kSuffixes = {"_l2", "_l1"};  // outer level first

// A list of this many is made in a moment and takes 8 MiB.
constexpr int64_t kMostSizes = 1 << 20;

// Divisors and powers of two up to `largest`, in order.
std::vector<int64_t> DivisorsAndPowers(int64_t largest) {
  const std::vector<int64_t> divisors = Divisors(largest);
  std::set<int64_t> values(divisors.begin(), divisors.end());
  for (int64_t size = 1; size <= largest; size *= 2) values.insert(size);
  return {values.begin(), values.end()};
}

std::vector<int64_t> Sizes(int64_t largest, TileSizes sizes) {
  if (sizes != TileSizes::kAll) return DivisorsAndPowers(largest);
  std::vector<int64_t> values(static_cast<size_t>(largest));
  std::iota(values.begin(), values.end(), 1);
  return values;
}

// Every size of every dimension is listed, so there must not be too many.
Result<void> CheckSizes(const maestro::Declaration& layer, const PeArray& array, TileSizes sizes) {
  const auto check = [sizes](std::string_view what, int64_t largest) -> Result<void> {
    if (sizes != TileSizes::kAll || largest <= kMostSizes) return {};
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} is {}, but all tile sizes are listed up to {} only",
                                        what, largest, kMostSizes),
                 .hint = "take divisors and powers of two instead"};
  };
  for (const auto& [dim, size] : layer.dims) {
    if (Result<void> few = check(ToString(dim), size); !few) return few;
  }
  return check("num_pes", array.num_pes);
}

bool OfKernel(DataflowDim dim) { return dim == kR || dim == kS; }

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

// A dimension of the layer as the space sees it.
struct LayerDim {
  DataflowDim dim;
  std::string label;  // "Y", whatever directives call it
  std::vector<int64_t> sizes;
  bool spatial[2];  // may be parallel at L2, at L1
};

int64_t SizeOf(const std::vector<maestro::DimSize>& entries, DataflowDim dim) {
  for (const maestro::DimSize& entry : entries) {
    if (entry.dim == dim) return entry.size;
  }
  return 1;
}

std::vector<LayerDim> LayerDims(const maestro::Declaration& layer,
                                const MaestroSpaceOptions& options) {
  std::vector<LayerDim> dims;
  for (const auto& [dim, size] : layer.dims) {
    LayerDim made{
        .dim = dim, .label = std::string(ToString(dim)), .sizes = {}, .spatial = {true, true}};
    if (OfKernel(dim)) {
      made.spatial[0] = false;
      made.spatial[1] = options.parallel_kernel && size > 1;
      made.sizes = options.kernel_tiles ? Sizes(size, options.sizes) : std::vector{size};
    } else if (dim == kY || dim == kX) {
      const int64_t kernel = SizeOf(layer.dims, dim == kY ? kR : kS);
      const int64_t stride = SizeOf(layer.strides, dim);
      const int64_t output = (size - kernel) / stride + 1;
      made.dim = dim == kY ? kYOut : kXOut;
      made.sizes = Sizes(stride == 1 || options.strided_tiles ? output : 1, options.sizes);
    } else {
      made.sizes = Sizes(size, options.sizes);
    }
    dims.push_back(std::move(made));
  }
  return dims;
}

// Removes outer sizes below every inner one and inner sizes above every outer one, so that each
// remaining value has a partner.
Result<void> KeepPartners(Decision& outer, Decision& inner) {
  const int64_t least_inner = inner.value(0), most_outer = outer.value(outer.size() - 1);
  if (least_inner > most_outer) {
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{} <= {} <= {} <= {}", least_inner, inner.name(),
                                        outer.name(), most_outer)};
  }
  const auto keep = [](Decision& decision, auto allowed) {
    std::vector<bool> kept;
    for (int32_t i = 0; i < decision.size(); ++i) kept.push_back(allowed(decision.value(i)));
    return decision.Keep(kept);
  };
  const bool left = keep(outer, [&](int64_t size) { return size >= least_inner; }) &&
                    keep(inner, [&](int64_t size) { return size <= most_outer; });
  TESSERA_CHECK(left);
  return {};
}

}  // namespace

// What demands may name.
class MaestroSpace::Names final : public SpaceNames {
 public:
  explicit Names(std::span<const Decision> decisions) : decisions_(decisions) {}

  std::string Item(const std::string& name) const override {
    constexpr std::string_view kKnown = "KCRSYXGNM";
    const auto order = std::ranges::find_if(
        decisions_, [](const Decision& decision) { return decision.name() == "order_l2"; });
    const bool has = std::ranges::find(order->labels(), name) != order->labels().end();
    return has || name.size() != 1 || kKnown.find(name) == std::string_view::npos ? name : "";
  }

  Result<std::vector<Constraints::Demand>> Dataflow(std::string_view name) const override {
    return ArrayDataflow(name, decisions_);
  }

 private:
  const std::span<const Decision> decisions_;
};

struct MaestroSpace::Plan {
  std::vector<Dimension> dimensions = {};
  std::vector<size_t> spatial[2] = {};
  size_t order[2] = {}, parallel[2] = {}, cluster = 0, pes = 0;
  bool decide_pes = false;
  size_t num_decisions = 0;

  // Adds order, parallel dimension and tiles of a level; level 0 is L2.
  void AddLevel(const std::vector<LayerDim>& dims, int level, std::vector<Decision>& decisions);

  // Leaves only values that have a partner in a legal point.
  Result<void> MakeConsistent(std::vector<Decision>& decisions) const;
};

void MaestroSpace::Plan::AddLevel(const std::vector<LayerDim>& dims, int level,
                                  std::vector<Decision>& decisions) {
  const std::string_view suffix = kSuffixes[static_cast<size_t>(level)];
  std::vector<std::string> items, parallels;
  for (const LayerDim& dim : dims) {
    if (dim.spatial[level]) {
      spatial[level].push_back(items.size());
      parallels.push_back(dim.label);
    }
    items.push_back(dim.label);
  }
  order[level] = decisions.size();
  decisions.push_back(Decision::Order(fmt::format("order{}", suffix), std::move(items))
                          .About(DecisionRole::kOrder, level));
  parallel[level] = decisions.size();
  decisions.push_back(Decision::Categorical(fmt::format("parallel{}", suffix), std::move(parallels))
                          .About(DecisionRole::kParallel, level));
  dimensions.resize(dims.size());
  for (size_t i = 0; i < dims.size(); ++i) {
    dimensions[i].dim = dims[i].dim;
    (level == 0 ? dimensions[i].outer : dimensions[i].inner) = decisions.size();
    decisions.push_back(
        Decision::Ordinal(fmt::format("{}{}", Lower(dims[i].label), suffix), dims[i].sizes)
            .About(DecisionRole::kTile, level, dims[i].label));
  }
}

Result<void> MaestroSpace::Plan::MakeConsistent(std::vector<Decision>& decisions) const {
  for (const Dimension& dimension : dimensions) {
    Result<void> pair = KeepPartners(decisions[dimension.outer], decisions[dimension.inner]);
    if (!pair) return pair;
  }
  return decide_pes ? KeepPartners(decisions[pes], decisions[cluster]) : Result<void>();
}

Result<std::unique_ptr<MaestroSpace>> MaestroSpace::Make(const Layer& layer, const PeArray& array,
                                                         const MaestroSpaceOptions& options) {
  const Result<maestro::Declaration> declaration = maestro::Declare(layer);
  if (!declaration) return declaration.error();
  if (Result<void> few = CheckSizes(*declaration, array, options.sizes); !few) return few.error();
  const std::vector<LayerDim> dims = LayerDims(*declaration, options);
  Plan plan;
  std::vector<Decision> decisions;
  plan.AddLevel(dims, 0, decisions);
  plan.AddLevel(dims, 1, decisions);
  plan.cluster = decisions.size();
  decisions.push_back(Decision::Ordinal("cluster", Sizes(array.num_pes, options.sizes))
                          .About(DecisionRole::kCount, 1));
  plan.pes = decisions.size();
  if (options.decide_pes) {
    decisions.push_back(Decision::Ordinal("num_pe", Sizes(array.num_pes, options.sizes))
                            .About(DecisionRole::kCount, 0));
  }
  plan.decide_pes = options.decide_pes;
  // Sizes of dimensions that the layer does not have can only be 1.
  std::vector<Decision> vocabulary = decisions;
  for (const char dim : std::string_view("kcrsyxgnm")) {
    for (const std::string_view suffix : kSuffixes) {
      const std::string name = fmt::format("{}{}", dim, suffix);
      const bool known = std::ranges::any_of(
          decisions, [&](const Decision& decision) { return decision.name() == name; });
      if (!known) vocabulary.push_back(Decision::Ordinal(name, {1}));
    }
  }
  const Result<std::vector<ConcreteDemand>> demands =
      MakeConcrete(options.constraints, vocabulary, decisions.size(), Names(decisions));
  if (!demands) return demands.error();
  const size_t count = options.constraints.demands.size();
  plan.num_decisions = decisions.size();
  std::unique_ptr<MaestroSpace> space =
      Restricted(plan, vocabulary, *demands, std::vector<bool>(count, true));
  if (space != nullptr) return space;
  const std::vector<size_t> members = SmallestConflict(count, [&](const std::vector<bool>& active) {
    return Restricted(plan, vocabulary, *demands, active) != nullptr;
  });
  std::vector<bool> active(count, false);
  for (const size_t member : members) active[member] = true;
  std::string why = WhyEmpty(*demands, members, vocabulary);
  std::vector<Decision> left = vocabulary;
  if (why.empty() && Restrict(*demands, active, left)) {
    const Result<void> consistent = plan.MakeConsistent(left);
    if (!consistent) why = consistent.error().message;
  }
  return Conflict(options.constraints, members, why);
}

std::unique_ptr<MaestroSpace> MaestroSpace::Restricted(const Plan& plan,
                                                       const std::vector<Decision>& vocabulary,
                                                       std::span<const ConcreteDemand> demands,
                                                       const std::vector<bool>& active) {
  std::vector<Decision> decisions = vocabulary;
  std::optional<std::vector<Relation>> relations = Restrict(demands, active, decisions);
  if (!relations || !plan.MakeConsistent(decisions)) return nullptr;
  decisions.erase(decisions.begin() + static_cast<std::ptrdiff_t>(plan.num_decisions),
                  decisions.end());
  std::unique_ptr<MaestroSpace> space(new MaestroSpace(std::move(decisions), plan));
  return space->Bind(*std::move(relations)) ? std::move(space) : nullptr;
}

// Whether the relations leave a point, as far as that could be settled.
bool MaestroSpace::Bind(std::vector<Relation> relations) {
  relations_ = std::move(relations);
  if (relations_.empty()) return true;
  const auto position = [&](const std::string& name) {
    const size_t found = Find(name);
    return found < size() ? found : DecisionPair::kOne;
  };
  for (const Relation& relation : relations_) {
    pairs_.push_back({position(relation.over), position(relation.under), relation});
  }
  for (const Dimension& dimension : dimensions_) {
    pairs_.push_back({dimension.outer, dimension.inner, {.min = 1}});
  }
  if (pes_ < size()) pairs_.push_back({pes_, cluster_, {.min = 1}});
  Point point(size());
  return Satisfy(decisions(), pairs_, point) != Found::kNo;
}

MaestroSpace::MaestroSpace(std::vector<Decision> decisions, Plan plan)
    : MappingSpace(std::move(decisions)),
      dimensions_(std::move(plan.dimensions)),
      spatial_{std::move(plan.spatial[0]), std::move(plan.spatial[1])},
      order_{plan.order[0], plan.order[1]},
      parallel_{plan.parallel[0], plan.parallel[1]},
      cluster_(plan.cluster),
      pes_(plan.pes) {}

void MaestroSpace::AddLevel(const Point& point, int level, Dataflow& dataflow) const {
  const Permutation order = decisions()[order_[level]].OrderAt(point[order_[level]]);
  const size_t label =
      static_cast<size_t>(decisions()[parallel_[level]].value(point[parallel_[level]]));
  const size_t spatial = spatial_[level][label];
  for (const uint8_t item : order.order()) {
    const Dimension& dimension = dimensions_[item];
    const size_t decision = level == 0 ? dimension.outer : dimension.inner;
    int32_t tile = static_cast<int32_t>(decisions()[decision].value(point[decision]));
    if (item == spatial && OfKernel(dimension.dim)) tile = 1;
    dataflow.Add(item == spatial ? Spatial(tile, tile, dimension.dim)
                                 : Temporal(tile, tile, dimension.dim));
  }
}

Mapping MaestroSpace::Decode(const Point& point) const {
  Dataflow dataflow;
  AddLevel(point, 0, dataflow);
  dataflow.Add(Cluster(static_cast<int32_t>(decisions()[cluster_].value(point[cluster_]))));
  AddLevel(point, 1, dataflow);
  return dataflow;
}

Result<Point> MaestroSpace::Encode(const Mapping& mapping) const {
  const auto outside = [](std::string message) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the mapping is not in the space: {}", message)};
  };
  const Dataflow* dataflow = std::get_if<Dataflow>(&mapping);
  if (dataflow == nullptr) return outside("it is not a MAESTRO dataflow");
  Point point(size());
  int level = 0;
  std::array<Permutation, 2> orders;
  for (const DataflowDirective& directive : dataflow->directives()) {
    if (directive.kind == DataflowDirective::Kind::kCluster) {
      if (++level == 2) return outside("it has more than two levels");
      point[cluster_] = decisions()[cluster_].Find(directive.size);
      if (point[cluster_] < 0) return outside(fmt::format("cluster {}", directive.size));
      continue;
    }
    const auto found = std::find_if(dimensions_.begin(), dimensions_.end(),
                                    [&](const auto& d) { return d.dim == directive.dim; });
    Permutation& order = orders[static_cast<size_t>(level)];
    const std::string name(ToString(directive.dim));
    if (found == dimensions_.end() || order.size == dimensions_.size()) {
      return outside(fmt::format("it maps {}", name));
    }
    const size_t item = static_cast<size_t>(found - dimensions_.begin());
    order.items[order.size++] = static_cast<uint8_t>(item);
    const size_t decision = level == 0 ? found->outer : found->inner;
    const bool spatial = directive.kind == DataflowDirective::Kind::kSpatial;
    point[decision] = spatial && OfKernel(found->dim) ? 0  // the whole; parallel_l1 says the rest
                                                      : decisions()[decision].Find(directive.size);
    if (point[decision] < 0 || directive.size != directive.offset) {
      return outside(
          fmt::format("tile {} of {} with offset {}", directive.size, name, directive.offset));
    }
    if (!spatial) continue;
    const std::vector<size_t>& allowed = spatial_[level];
    const auto label = std::find(allowed.begin(), allowed.end(), item);
    if (label == allowed.end()) return outside(fmt::format("{} is parallel", name));
    point[parallel_[level]] = decisions()[parallel_[level]].Find(label - allowed.begin());
  }
  for (int i = 0; i < 2; ++i) {
    const Decision& decision = decisions()[order_[i]];
    point[order_[i]] = decision.Find(IndexOf(orders[static_cast<size_t>(i)]));
    if (orders[static_cast<size_t>(i)].size != dimensions_.size() || point[order_[i]] < 0) {
      return outside("a level does not map every dimension once");
    }
  }
  if (pes_ < size()) point[pes_] = decisions()[pes_].size() - 1;
  // What only looks like a point (a dimension twice, no parallel one) does not come back as it was.
  if (const Result<void> legal = Check(point); !legal) return outside(legal.error().message);
  if (Decode(point) != mapping) return outside("a level does not map every dimension once");
  return point;
}

Result<void> MaestroSpace::Check(const Point& point) const {
  if (Result<void> range = CheckRange(point); !range) return range;
  const auto check = [&](size_t outer, size_t inner) -> Result<void> {
    const int64_t most = decisions()[outer].value(point[outer]);
    const int64_t size = decisions()[inner].value(point[inner]);
    if (size <= most) return {};
    return Error{.kind = ErrorKind::kInfeasible,
                 .message = fmt::format("{} = {} <= {} = {}", decisions()[inner].name(), size,
                                        decisions()[outer].name(), most)};
  };
  for (const Dimension& dimension : dimensions_) {
    if (Result<void> nested = check(dimension.outer, dimension.inner); !nested) return nested;
  }
  for (const DecisionPair& pair : pairs_) {
    const auto value = [&](size_t decision) {
      return decision == DecisionPair::kOne
                 ? 1.0
                 : static_cast<double>(decisions()[decision].value(point[decision]));
    };
    if (pair.relation.Holds(value(pair.over), value(pair.under))) continue;
    return Error{
        .kind = ErrorKind::kInfeasible,
        .message = fmt::format("{} / {} = {} / {}, which is not allowed", pair.relation.over,
                               pair.relation.under, value(pair.over), value(pair.under))};
  }
  return pes_ < size() ? check(pes_, cluster_) : Result<void>();
}

void MaestroSpace::Repair(Point& point) const {
  const auto clamp = [&](size_t outer, size_t inner) {
    const Decision& limited = decisions()[inner];
    const int64_t most = decisions()[outer].value(point[outer]);
    if (limited.value(point[inner]) > most) point[inner] = limited.AtMost(most);
  };
  for (const Dimension& dimension : dimensions_) clamp(dimension.outer, dimension.inner);
  if (pes_ < size()) clamp(pes_, cluster_);
  if (!pairs_.empty()) Satisfy(decisions(), pairs_, point);
}

double MaestroSpace::Log10Size() const {
  const auto pairs = [&](size_t outer, size_t inner) {
    double count = 0;
    for (int32_t i = 0; i < decisions()[outer].size(); ++i) {
      count += decisions()[inner].AtMost(decisions()[outer].value(i)) + 1;
    }
    return std::log10(count);
  };
  double sum = 0;
  for (int level = 0; level < 2; ++level) {
    sum += std::log10(decisions()[order_[level]].size()) +
           std::log10(decisions()[parallel_[level]].size());
  }
  for (const Dimension& dimension : dimensions_) sum += pairs(dimension.outer, dimension.inner);
  return sum + (pes_ < size() ? pairs(pes_, cluster_) : std::log10(decisions()[cluster_].size()));
}

double PaperLog10Size(double sizes, int dimensions, int parallel, int levels) {
  const double d = dimensions;
  const double orders = std::lgamma(d + 1) / std::log(10.0);
  const double choices = orders - std::lgamma(d - parallel + 1) / std::log(10.0);
  return levels * (d * std::log10(sizes) + orders + choices);
}

}  // namespace tessera
