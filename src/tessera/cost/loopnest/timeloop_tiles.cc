#include "tessera/cost/loopnest/timeloop_tiles.h"

#include <algorithm>

#include "tessera/cost/loopnest/hops.h"

namespace tessera::loopnest {
namespace {

// The spatial loops of one level as one tensor sees them. Offsets of children are packed into one
// number, so that differences of offsets are differences of numbers.
class Fan {
 public:
  Fan(const ProblemData& data, const Machine& machine, const Nest& nest, int tensor, int level)
      : tensor_(data.problem.tensors[static_cast<size_t>(tensor)]),
        dims_(data.tensors[tensor].dims) {
    grid_ = {.width = std::max(machine.levels[level].fan_x, nest.fanout_x[level]),
             .height = std::max(machine.levels[level].fan_y, nest.fanout_y[level])};
    const Loop* loops = nest.spatial + nest.first_spatial[level];
    num_loops_ = nest.first_spatial[level + 1] - nest.first_spatial[level];
    spatial_ = {loops, static_cast<size_t>(num_loops_)};
    packed_ = nest.fanout_x[level] < grid_.width && nest.fanout_y[level] > 1;
    for (int r = 0; r < tensor_.num_ranks; ++r) {
      reach_[r] = 0;
      int moved_by = 0;
      for (int k = 0; k < num_loops_; ++k) {
        steps_[k][r] = data.tensors[tensor].coefficients[loops[k].dim][r] * loops[k].step;
        reach_[r] += (loops[k].count - 1) * steps_[k][r];
        moved_by += steps_[k][r] != 0;
      }
      // Different indices can give equal offsets only where two loops move the same rank.
      collides_ = collides_ || moved_by > 1;
    }
    for (int k = 0; k < num_loops_; ++k) loops_[k] = {loops[k].count, KeyOf(steps_[k])};
  }

  std::span<const FanLoop> loops() const { return {loops_, static_cast<size_t>(num_loops_)}; }
  const FanGrid& grid() const { return grid_; }
  bool collides() const { return collides_; }

  // Whether rows are packed because X is not filled (quirk Q8); otherwise X and Y are apart.
  bool is_packed() const { return packed_; }

  // The groups of a fan that neither collides nor is packed.
  GroupClass GroupByPlace(std::vector<int64_t>& places) const {
    GroupClass result{
        .size = 1, .groups = 1, .half_hops = SumHalfHops(spatial_, dims_, grid_.height, places)};
    for (const Loop& loop : spatial_) {
      ((dims_ >> loop.dim & 1) != 0 ? result.groups : result.size) *= loop.count;
    }
    return result;
  }

  // Whether some two children can be `displacement` apart.
  bool Reaches(const int64_t* displacement) const {
    for (int r = 0; r < tensor_.num_ranks; ++r) {
      if (displacement[r] > reach_[r] || displacement[r] < -reach_[r]) return false;
    }
    return true;
  }

  // The packed form of an offset or of a difference of two offsets.
  int64_t KeyOf(const int64_t* offset) const {
    int64_t key = 0, weight = 1;
    for (int r = 0; r < tensor_.num_ranks; ++r) {
      key += offset[r] * weight;
      weight *= 2 * reach_[r] + 1;
    }
    return key;
  }

 private:
  const LoopTensor& tensor_;
  const uint32_t dims_;
  FanGrid grid_;
  std::span<const Loop> spatial_;
  bool packed_ = false;
  int num_loops_ = 0;
  bool collides_ = false;
  int64_t reach_[kMaxRanks];
  int64_t steps_[kMaxDims][kMaxRanks];
  FanLoop loops_[kMaxDims];
};

// Adds `words` for each group to the ingresses of one tile, which are sorted by multicast and
// scatter.
void AddIngresses(std::span<const GroupClass> classes, int64_t words, TimeloopTile& tile,
                  std::vector<Ingress>& ingresses) {
  for (const GroupClass& group : classes) {
    auto place = ingresses.begin() + tile.first_ingress;
    while (place != ingresses.end() &&
           (place->multicast < group.size ||
            (place->multicast == group.size && place->scatter < group.groups))) {
      ++place;
    }
    if (place == ingresses.end() || place->multicast != group.size ||
        place->scatter != group.groups) {
      place = ingresses.insert(place, {.multicast = group.size, .scatter = group.groups});
      ++tile.num_ingresses;
    }
    place->words += static_cast<double>(group.groups * words);
    place->hops += static_cast<double>(group.half_hops * words) / 2;
  }
}

// Words that go through the network below a level with spatial loops; links included.
void DistributeOverFan(const Fan& fan, const TileWalk& walk, TimeloopScratch& scratch,
                       TimeloopTile& tile, std::vector<Ingress>& ingresses) {
  const std::span<const FanLoop> loops = fan.loops();
  std::vector<GroupClass>& classes = scratch.classes;
  classes.clear();
  bool has_keys = fan.collides();
  if (has_keys) SetKeys(loops, scratch.fan);
  int64_t groups = 0;
  if (fan.collides()) {
    groups = GroupByKey(fan.grid(), /*skip_linked=*/false, scratch.fan, classes);
  } else {
    classes.push_back(fan.is_packed() ? GroupByRelevance(loops, fan.grid(), scratch.fan)
                                      : fan.GroupByPlace(scratch.places));
    groups = classes[0].groups;
  }
  const size_t num_plain = classes.size();
  int64_t plain_words = walk.plain_words;
  for (int j = 0; j < walk.num_loops; ++j) {
    const int64_t words = walk.linkable_words[j];
    if (words == 0) continue;
    int64_t linked = 0;
    classes.resize(num_plain);
    if (fan.Reaches(walk.displacement[j])) {
      if (!has_keys) SetKeys(loops, scratch.fan);
      has_keys = true;
      linked = MarkLinked(fan.grid(), fan.KeyOf(walk.displacement[j]), scratch.fan);
    }
    // Links are used only where they leave fewer groups to serve.
    if (linked == 0 ||
        GroupByKey(fan.grid(), /*skip_linked=*/true, scratch.fan, classes) >= groups) {
      plain_words += words;
      continue;
    }
    tile.links += static_cast<double>(linked * words);
    AddIngresses(std::span(classes).subspan(num_plain), words, tile, ingresses);
  }
  AddIngresses(std::span(classes).first(num_plain), plain_words, tile, ingresses);
}

void AddContent(TimeloopTile& tile, const std::vector<Ingress>& ingresses) {
  tile.content = 0;
  for (int k = 0; k < tile.num_ingresses; ++k) {
    tile.content += ingresses[static_cast<size_t>(tile.first_ingress + k)].words;
  }
}

// Words for all children together: sum of multicast * words.
double Delivered(const TimeloopTile& tile, const std::vector<Ingress>& ingresses) {
  double words = 0;
  for (int k = 0; k < tile.num_ingresses; ++k) {
    const Ingress& ingress = ingresses[static_cast<size_t>(tile.first_ingress + k)];
    words += ingress.words * static_cast<double>(ingress.multicast);
  }
  return words;
}

// The average number of words that one child receives.
double ShareOf(const TimeloopTile& parent, const std::vector<Ingress>& ingresses) {
  double share = 0;
  for (int k = 0; k < parent.num_ingresses; ++k) {
    const Ingress& ingress = ingresses[static_cast<size_t>(parent.first_ingress + k)];
    share +=
        ingress.words * static_cast<double>(ingress.multicast) / static_cast<double>(parent.fanout);
  }
  return share;
}

// A bypassed level passes on what its children ask for: the next level's words are scaled to that.
// Hops are not (quirk Q6).
void Bypass(TimeloopTile& tile, TimeloopTile* parent, std::vector<Ingress>& ingresses) {
  if (parent != nullptr) {
    const double scale =
        tile.content * static_cast<double>(parent->fanout) / Delivered(*parent, ingresses);
    for (int k = 0; k < parent->num_ingresses; ++k) {
      ingresses[static_cast<size_t>(parent->first_ingress + k)].words *= scale;
    }
    parent->links = 0;
    AddContent(*parent, ingresses);
  }
  tile.size = tile.partition = 0;
  tile.content = tile.share = 0;
}

void ApplyBypasses(const LoopMapping& mapping, const Nest& nest, int tensor, TimeloopTile* tiles,
                   std::vector<Ingress>& ingresses) {
  const auto keeps = [&](int level) {
    return mapping.levels[static_cast<size_t>(level)].Keeps(tensor);
  };
  for (int i = 0; i < nest.num_levels; ++i) {
    if (keeps(i)) continue;
    Bypass(tiles[i], i + 1 < nest.num_levels ? &tiles[i + 1] : nullptr, ingresses);
  }
  int outermost = nest.num_levels - 1;
  for (; !keeps(outermost); --outermost) {
    TimeloopTile& tile = tiles[outermost];
    tile = {.peer = tile.peer, .first_ingress = tile.first_ingress};
  }
  tiles[outermost].share = 0;
}

void SetPartitions(const LoopTensor& tensor, const Nest& nest, TimeloopTile* tiles) {
  int64_t partition = tiles[nest.num_levels - 1].size;
  tiles[nest.num_levels - 1].partition = partition;
  for (int i = nest.num_levels - 2; i >= 0; --i) {
    if (nest.HasSpatial(i + 1)) {
      // The product can leave 64 bits for the largest problems.
      __extension__ using Wide = unsigned __int128;
      partition =
          static_cast<int64_t>(static_cast<Wide>(partition) * static_cast<Wide>(tiles[i].size) /
                               static_cast<Wide>(BoxWords(tensor, nest.spatial_extent[i + 1])));
    }
    tiles[i].partition = partition;
  }
}

// Words that the child tile below `level` receives in all visits.
void WalkTile(const ProblemData& data, const Nest& nest, const WalkRules& rules, int tensor_index,
              int level, TileWalk& walk) {
  const LoopTensor& tensor = data.problem.tensors[static_cast<size_t>(tensor_index)];
  const TensorData& known = data.tensors[tensor_index];
  if (level == 0) {
    SetLoops(nest, level, known, tensor.num_ranks, rules, walk);
    SumOperandVisits(walk);
    return;
  }
  const int64_t* extents = nest.extent[level - 1];
  if (known.simple) {
    walk.num_loops = 0;
    walk.plain_words = SumSimpleVisits(nest, level, known.dims, BoxWords(tensor, extents));
    return;
  }
  SetLoops(nest, level, known, tensor.num_ranks, rules, walk);
  for (int r = 0; r < tensor.num_ranks; ++r) {
    walk.extents[r] = BoxExtent(tensor.ranks[static_cast<size_t>(r)], extents);
  }
  SumVisits(rules, walk);
}

}  // namespace

void AnalyseTiles(const ProblemData& data, const Machine& machine, const LoopMapping& mapping,
                  const Nest& nest, const WalkRules& rules, int tensor_index,
                  TimeloopScratch& scratch, std::vector<Ingress>& ingresses, TimeloopTile* tiles) {
  const LoopTensor& tensor = data.problem.tensors[static_cast<size_t>(tensor_index)];
  TileWalk& walk = scratch.walk;
  int64_t steps = 1;
  for (int j = 0; j < nest.num_temporal(); ++j) steps *= nest.temporal[j].count;
  for (int i = 0; i < nest.num_levels; ++i) {
    TimeloopTile& tile = tiles[i];
    tile = {.size = BoxWords(tensor, nest.extent[i]),
            .fanout = nest.fanout[i],
            .first_ingress = static_cast<int32_t>(ingresses.size())};
    if (i == 0 && !nest.HasSpatial(0)) {
      // One operand per operation, nothing held.
      ingresses.push_back({.words = static_cast<double>(steps)});
      tile.num_ingresses = 1;
      tile.content = static_cast<double>(steps);
      continue;
    }
    WalkTile(data, nest, rules, tensor_index, i, walk);
    if (nest.HasSpatial(i)) {
      const Fan fan(data, machine, nest, tensor_index, i);
      DistributeOverFan(fan, walk, scratch, tile, ingresses);
    } else {
      int64_t words = walk.plain_words;
      for (int j = 0; j < walk.num_loops; ++j) words += walk.linkable_words[j];
      ingresses.push_back({.words = static_cast<double>(words)});
      tile.num_ingresses = 1;
    }
    AddContent(tile, ingresses);
  }
  SetPartitions(tensor, nest, tiles);
  for (int i = 0; i + 1 < nest.num_levels; ++i) tiles[i].share = ShareOf(tiles[i + 1], ingresses);
  ApplyBypasses(mapping, nest, tensor_index, tiles, ingresses);
  for (int i = nest.num_levels - 1; i > 0; --i) {
    // Divided by all instances of the level below, not by the fan-out (quirk Q5).
    if (tiles[i].links != 0) {
      tiles[i - 1].peer += tiles[i].links / static_cast<double>(nest.used[i - 1]);
    }
  }
}

}  // namespace tessera::loopnest
