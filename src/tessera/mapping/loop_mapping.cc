// Loop mappings: comparison, checks and the nest as text.
#include "tessera/mapping.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

Error BadMapping(int level, std::string message) {
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("level {}: {}", level, std::move(message))};
}

Result<void> CheckOrder(const LoopProblem& problem, int level, std::string_view what,
                        std::span<const uint8_t> order) {
  uint32_t seen = 0;
  for (int i = 0; i < problem.num_dimensions; ++i) {
    const uint8_t dim = order[static_cast<size_t>(i)];
    if (dim < problem.num_dimensions && (seen >> dim & 1) == 0) {
      seen |= 1u << dim;
      continue;
    }
    return BadMapping(level, fmt::format("the {} order is not a permutation", what));
  }
  return {};
}

Result<void> CheckFactors(const LoopProblem& problem, int level, std::string_view what,
                          std::span<const int32_t> factors) {
  for (int d = 0; d < problem.num_dimensions; ++d) {
    if (factors[static_cast<size_t>(d)] >= 0) continue;
    return BadMapping(level, fmt::format("the {} factor of {} is {}, but must not be negative",
                                         what, problem.dims()[static_cast<size_t>(d)].name.view(),
                                         factors[static_cast<size_t>(d)]));
  }
  return {};
}

// One loop of the printed nest, deeper than the one before. Factors are shown as they were given; 0
// as the bound it stands for.
void AppendLoop(std::string& text, size_t& depth, std::string_view suffix, const LoopDimension& dim,
                int32_t factor) {
  const int64_t count = factor == 0 ? dim.bound : factor;
  if (count == 1) return;
  text +=
      fmt::format("| {:{}}for {} in [0:{}){}\n", "", 2 * depth++, dim.name.view(), count, suffix);
}

// "DRAM [ Weights:36 Inputs:100 ]" and a line under it.
std::string Heading(const LoopLevel& level, const LoopProblem& problem, const std::string& name,
                    const TileWords* words) {
  std::string line = fmt::format("{} [", name);
  for (int t = 0; t < problem.num_tensors; ++t) {
    if (!level.Keeps(t)) continue;
    line += fmt::format(" {}", problem.tensors[static_cast<size_t>(t)].name.view());
    if (words != nullptr) line += fmt::format(":{}", (*words)[static_cast<size_t>(t)]);
  }
  line += " ]";
  return fmt::format("{}\n{:->{}}\n", line, "", line.size());
}

}  // namespace

bool operator==(const LoopMapping& a, const LoopMapping& b) {
  return std::ranges::equal(a.view(), b.view());
}

size_t LoopMappingHash::operator()(const LoopMapping& mapping) const {
  uint64_t hash = 0xcbf29ce484222325u;
  const auto add = [&hash](uint64_t value) {
    hash = (hash ^ value) * 0x100000001b3u;
    hash ^= hash >> 29;
  };
  for (const LoopLevel& level : mapping.view()) {
    for (const int32_t factor : level.temporal) add(static_cast<uint64_t>(factor));
    for (const int32_t factor : level.spatial) add(static_cast<uint64_t>(factor));
    for (const uint8_t dim : level.temporal_order) add(dim);
    for (const uint8_t dim : level.spatial_order) add(dim);
    add(level.split);
    add(level.keep);
  }
  return static_cast<size_t>(hash);
}

Result<void> Validate(const LoopMapping& mapping, const LoopProblem& problem) {
  if (mapping.num_levels < 1 || mapping.num_levels > static_cast<int>(LoopMapping::kMaxLevels)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the mapping has {} levels, but must have 1..{}",
                                        mapping.num_levels, LoopMapping::kMaxLevels)};
  }
  for (int i = 0; i < mapping.num_levels; ++i) {
    const LoopLevel& level = mapping.levels[static_cast<size_t>(i)];
    const struct {
      std::string_view what;
      std::span<const int32_t> factors;
      std::span<const uint8_t> order;
    } kinds[] = {{"temporal", level.temporal, level.temporal_order},
                 {"spatial", level.spatial, level.spatial_order}};
    for (const auto& [what, factors, order] : kinds) {
      if (Result<void> ok = CheckFactors(problem, i, what, factors); !ok) return ok;
      if (Result<void> ok = CheckOrder(problem, i, what, order); !ok) return ok;
    }
  }
  return {};
}

Result<std::array<uint8_t, LoopProblem::kMaxDimensions>> CompleteOrder(
    const LoopProblem& problem, std::span<const std::string> names) {
  std::array<uint8_t, LoopProblem::kMaxDimensions> order{};
  size_t size = 0;
  uint32_t seen = 0;
  const auto add = [&](int dim) {
    order[size++] = static_cast<uint8_t>(dim);
    seen |= 1u << dim;
  };
  for (const std::string& name : names) {
    const std::optional<int> dim = FindDimension(problem, name);
    if (!dim) {
      std::vector<std::string_view> known;
      for (const LoopDimension& candidate : problem.dims()) known.push_back(candidate.name.view());
      return Error{.kind = ErrorKind::kUnknownName,
                   .message = fmt::format("unknown dimension {}", Quoted(name)),
                   .hint = DidYouMean(name, known)};
    }
    if ((seen >> *dim & 1) != 0) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("dimension {} occurs twice in the permutation", name)};
    }
    add(*dim);
  }
  for (int dim = 0; dim < problem.num_dimensions; ++dim) {
    if ((seen >> dim & 1) == 0) add(dim);
  }
  for (; size < order.size(); ++size) order[size] = static_cast<uint8_t>(size);
  return order;
}

std::string PrintLoopNest(const LoopMapping& mapping, const LoopProblem& problem,
                          std::span<const std::string> level_names,
                          std::span<const TileWords> tile_words) {
  std::string text;
  size_t depth = 0;
  for (size_t i = mapping.view().size(); i-- > 0;) {
    const LoopLevel& level = mapping.levels[i];
    if (!text.empty()) text += "\n";
    text += Heading(level, problem, level_names[i], tile_words.empty() ? nullptr : &tile_words[i]);
    for (int k = problem.num_dimensions - 1; k >= 0; --k) {
      const uint8_t dim = level.temporal_order[static_cast<size_t>(k)];
      AppendLoop(text, depth, "", problem.dimensions[dim], level.temporal[dim]);
    }
    for (int k = problem.num_dimensions - 1; k >= 0; --k) {
      const uint8_t dim = level.spatial_order[static_cast<size_t>(k)];
      AppendLoop(text, depth, k < level.split ? " (Spatial-X)" : " (Spatial-Y)",
                 problem.dimensions[dim], level.spatial[dim]);
    }
  }
  return text;
}

}  // namespace tessera
