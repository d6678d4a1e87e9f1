#include "maestro_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace tessera {
namespace {

using Sizes = std::map<std::string, int64_t>;
using OracleNames = std::vector<std::string>;

// Thrown and caught in this file only.
struct Rejected {};
struct Crashed {};
struct GivenUp {};

struct Loop {
  char kind;  // 'T' or 'S'
  int64_t size, offset;
  std::string dim;
};

struct State {
  char position;  // 'I'nit, 'S'teady, 'E'dge
  int64_t occurrences;
  bool unrolled = false, init_edge = false, edge_edge = false;

  bool IsEdge() const { return position == 'E' || init_edge; }
};
using OracleCase = std::map<std::string, State>;  // by dimension

struct OracleLevel {
  std::vector<Loop> loops = {};
  int64_t units = 1, edge_units = 1;
  Sizes sizes = {};
  Sizes full = {}, unique = {}, edge_full = {}, edge_unique = {};  // with X' and Y'

  const Loop* First(const std::string& dim) const {
    for (const Loop& loop : loops) {
      if (loop.dim == dim) return &loop;
    }
    return nullptr;
  }
};

const std::map<std::string, std::string> kKernelOf = {{"X", "S"}, {"Y", "R"}};

bool In(const std::string& name, const OracleNames& names) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

int64_t Divide(int64_t a, int64_t b) {
  if (b == 0) throw Crashed();
  return a / b;
}

class Oracle {
 public:
  Oracle(const maestro::Declaration& declaration, const PeArray& array, MaestroVersion version,
         int64_t max_cases)
      : array_(array), head_(version == MaestroVersion::kHead), cases_left_(max_cases) {
    convolution_ = declaration.type != MaestroType::kGemm;
    for (const maestro::DimSize& entry : declaration.dims) {
      declared_[std::string(ToString(entry.dim))] = entry.size;
    }
    for (const maestro::DimSize& entry : declaration.strides) {
      stride_[std::string(ToString(entry.dim))] = entry.size;
    }
    sizes_ = declared_;
    std::map<std::string, int64_t> stride;
    for (const auto& [dim, size] : declared_) stride[dim] = StrideOf(dim);
    if (convolution_ && declared_.contains("X'")) {
      sizes_["X"] = declared_["X'"] + declared_["S"] - 1;
      stride["X"] = StrideOf("Y'");  // sic
    }
    if (convolution_ && declared_.contains("Y'")) {
      sizes_["Y"] = declared_["Y'"] + declared_["R"] - 1;
      stride["Y"] = StrideOf("X'");
    }
    stride_ = stride;
    switch (declaration.type) {
      case MaestroType::kConv:
      case MaestroType::kTrconv:
        tensors_ = {{"C", "Y", "X"}, {"K", "C", "R", "S"}, {"K", "Y", "X"}};
        break;
      case MaestroType::kDsconv:
        tensors_ = {{"C", "Y", "X"}, {"C", "R", "S"}, {"C", "Y", "X"}};
        break;
      case MaestroType::kNgconv:
        tensors_ = {{"G", "C", "Y", "X"}, {"G", "K", "C", "R", "S"}, {"G", "K", "C", "Y", "X"}};
        break;
      case MaestroType::kGemm: tensors_ = {{"M", "K"}, {"K", "N"}, {"M", "N"}}; break;
    }
    if (convolution_ && declared_.contains("N")) {
      tensors_[0].insert(tensors_[0].begin(), "N");
      tensors_[2].insert(tensors_[2].begin(), "N");
    }
    std::set<std::string> all(tensors_[0].begin(), tensors_[0].end());
    all.insert(tensors_[1].begin(), tensors_[1].end());
    mapped_.assign(all.begin(), all.end());
  }

  maestro::Analysis Evaluate(const Dataflow& dataflow) {
    BuildLevels(dataflow);
    Result top = Analyse(0, levels_[0].sizes);
    maestro::Analysis& analysis = top.analysis;
    analysis.l1_required = order_.front();
    analysis.single_result = order_.size() == 1;
    return analysis;
  }

 private:
  struct Result {
    maestro::Analysis analysis;  // busy_units is an average already
  };

  int64_t StrideOf(const std::string& dim) const {
    const auto found = stride_.find(dim);
    return found == stride_.end() ? 1 : found->second;
  }

  // c.2
  void BuildLevels(const Dataflow& dataflow) {
    std::vector<std::vector<Loop>> groups(1);
    std::vector<int64_t> clusters;
    for (const DataflowDirective& d : dataflow.directives()) {
      const std::string dim(ToString(d.dim));
      if (d.kind == DataflowDirective::Kind::kCluster) {
        clusters.push_back(d.size);
        groups.emplace_back();
        continue;
      }
      const bool temporal = d.kind == DataflowDirective::Kind::kTemporal;
      if (head_ && temporal && (dim == "R" || dim == "S")) {
        if (d.size != d.offset) throw Rejected();
        if (declared_.contains(dim) && declared_[dim] != d.size) throw Rejected();
      }
      groups.back().push_back({temporal ? 'T' : 'S', d.size, d.offset, dim});
    }
    if (clusters.size() > 4) throw Rejected();
    if (clusters.size() == 4) throw Crashed();
    double per_unit = 1;  // exact as long as it matters
    for (const int64_t cluster : clusters) per_unit *= static_cast<double>(cluster);
    const auto top_units = static_cast<int64_t>(static_cast<double>(array_.num_pes) / per_unit);
    Sizes sizes = sizes_;
    for (size_t i = 0; i < groups.size(); ++i) {
      const std::vector<Loop>* above = i == 0 ? nullptr : &levels_.back().loops;
      OracleLevel level{.loops = Complete(groups[i], above, sizes)};
      level.units = i == 0 ? top_units : clusters[i - 1];
      level.sizes = sizes;
      ComputeConstants(level);
      levels_.push_back(level);
      Sizes below;
      for (const std::string& dim : mapped_) {
        below[dim] = std::min(level.First(dim)->size, sizes[dim]);
      }
      sizes = below;
    }
  }

  std::vector<Loop> Complete(std::vector<Loop> loops, const std::vector<Loop>* above,
                             const Sizes& sizes) {
    const auto has = [&loops](const std::string& dim) {
      return std::any_of(loops.begin(), loops.end(), [&](const Loop& l) { return l.dim == dim; });
    };
    for (const auto& [in, kernel] : kKernelOf) {
      const std::string out = in + "'";
      if (!convolution_ || !has(out) || has(in)) continue;
      if (!has(kernel)) throw Crashed();
      int64_t tile = 0, window = 0;
      for (const Loop& loop : loops) {
        if (loop.dim == out) tile = loop.size;
        if (loop.dim == kernel) window = loop.size;
      }
      Loop& first = *std::find_if(loops.begin(), loops.end(),
                                  [&](const Loop& loop) { return loop.dim == out; });
      first.dim = in;
      first.size = tile + window - 1;
    }
    if (above != nullptr) {
      for (const Loop& loop : *above) {
        if (!has(loop.dim)) loops.insert(loops.begin(), {'T', loop.size, loop.offset, loop.dim});
      }
    }
    for (const std::string& dim : mapped_) {
      if (!has(dim)) loops.push_back({'T', sizes.at(dim), sizes.at(dim), dim});
    }
    for (const Loop& loop : loops) {
      // At the top, output dimensions that the layer does not have are noticed later.
      const bool later = above == nullptr && loop.dim.ends_with('\'');
      if (!sizes.contains(loop.dim) && !later) throw Rejected();
      if (!convolution_ || !kKernelOf.contains(loop.dim)) continue;
      const int64_t s = StrideOf(loop.dim), w = sizes_[kKernelOf.at(loop.dim)], m = loop.size;
      if (s == 1 || m < w) continue;
      const int64_t t = (m + s - w) / s;
      Loop& target = *std::find_if(loops.begin(), loops.end(),
                                   [&](const Loop& l) { return l.dim == loop.dim; });
      target.size = t * std::min(s, w) + std::max<int64_t>(w - s, 0);
      target.offset = above != nullptr && w < s ? t * w : t * s;
    }
    return loops;
  }

  // c.3
  void ComputeConstants(OracleLevel& level) {
    const Loop* spatial = nullptr;
    int num_spatial = 0;
    for (const Loop& loop : level.loops) {
      if (loop.kind != 'S') continue;
      if (spatial == nullptr) spatial = &loop;
      ++num_spatial;
    }
    if (num_spatial == 0 || num_spatial > 2) throw Rejected();
    const int64_t units = level.units;
    if (units == 0) throw Crashed();
    for (const Loop& loop : level.loops) {
      if (!level.sizes.contains(loop.dim)) throw Rejected();
    }
    const int64_t m = spatial->size, o = spatial->offset, d = level.sizes[spatial->dim];
    const int64_t covered = o * (units - 1) + m;
    level.edge_units = 1;
    if (d > covered) {
      const int64_t z = ((d - m) / o + 1) / units - 1, rest = d - (z + 1) * o * units;
      level.edge_units = rest < m ? 1 : (rest - m) / o + 1;
    } else if (d > m) {
      level.edge_units = (d - m) / o + 1;
      if (o * (level.edge_units - 1) + m < d) ++level.edge_units;
    }
    for (const Loop& loop : level.loops) {
      const int64_t size = level.sizes[loop.dim];
      const int64_t steps = std::max<int64_t>(0, (size - loop.size) / loop.offset);
      const bool has_edge = steps * loop.offset + loop.size < size || loop.size > size;
      int64_t g = size - (steps + 1) * loop.offset;
      if (g < 0) g = size;
      level.full[loop.dim] = loop.size;
      level.unique[loop.dim] =
          loop.kind == 'T' && size <= loop.size ? 0 : std::min(loop.size, loop.offset);
      level.edge_full[loop.dim] = has_edge ? g : loop.size;
      level.edge_unique[loop.dim] = std::max<int64_t>(0, loop.offset - (loop.size - g));
    }
    for (const Loop& loop : level.loops) {
      if (!convolution_ || !kKernelOf.contains(loop.dim)) continue;
      const std::string &in = loop.dim, out = in + "'", &kernel = kKernelOf.at(in);
      level.full[out] = level.full[in] - level.full[kernel] + 1;
      level.unique[out] = std::min(loop.offset, loop.size);
      level.edge_full[out] = level.edge_full[in] - level.edge_full[kernel] + 1;
      level.edge_unique[out] = std::min(loop.offset, level.edge_full[out]);
    }
  }

  // c.4
  static std::vector<State> StatesOf(const Loop& loop, int64_t units, int64_t size) {
    const int64_t m = loop.size, o = loop.offset;
    std::vector<State> states;
    if (loop.kind == 'T') {
      states.push_back({'I', 1, size <= m, size < m});
      const int64_t n = (size - m) / o;
      if (m < size && n > 0) states.push_back({'S', n});
      if (size >= m && n * o + m < size) states.push_back({'E', 1});
      return states;
    }
    const int64_t covered = m + o * (units - 1);
    states.push_back({'I', 1, size <= covered, size < covered, size < covered});
    const int64_t n = ((size - m) / o + 1) / units - 1;
    if (covered < size && n > 0) states.push_back({'S', n});
    if (size > covered && (n + 1) * o * units + covered > size && n * o * units + covered != size) {
      const int64_t rest = size - (n + 1) * o * units;
      const int64_t tiles = rest < m ? 1 : (rest - m) / o + 1;
      states.push_back({'E', 1, false, false, (tiles - 1) * o + m < rest});
    }
    return states;
  }

  // c.5
  static int64_t IngressOfUnit(const OracleLevel& level, const OracleCase& c,
                               const OracleNames& tensor, bool first, bool cut) {
    int h = -1;
    for (size_t i = 0; i < level.loops.size(); ++i) {
      if (c.at(level.loops[i].dim).position != 'I') h = static_cast<int>(i);
    }
    bool restarts = false;
    for (size_t i = 0; i < level.loops.size(); ++i) {
      const State& state = c.at(level.loops[i].dim);
      if (static_cast<int>(i) > h && In(level.loops[i].dim, tensor)) {
        restarts |= state.position == 'I' && !state.unrolled;
      }
    }
    if (h >= 0 && !In(level.loops[static_cast<size_t>(h)].dim, tensor)) return 0;
    int64_t volume = 1;
    for (size_t i = 0; i < level.loops.size(); ++i) {
      const Loop& loop = level.loops[i];
      if (!In(loop.dim, tensor)) continue;
      const State& state = c.at(loop.dim);
      const bool here = static_cast<int>(i) == h;
      const int64_t full = level.full.at(loop.dim), edge_full = level.edge_full.at(loop.dim);
      const int64_t unique = level.unique.at(loop.dim);
      if (loop.kind == 'T') {
        if (h < 0 || state.position == 'I') {
          volume *= state.IsEdge() ? edge_full : full;
        } else if (here && !restarts) {
          if (unique == 0) throw Rejected();
          volume *= unique;
        } else {
          volume *= full;
        }
      } else if (h < 0) {
        if (!state.IsEdge()) {
          volume *= full;
        } else if (level.edge_units == 1) {
          volume *= first || cut ? edge_full : 1;
        } else {
          volume *= cut ? edge_full : full;
        }
      } else {
        const bool only_new = state.position == 'I' ? static_cast<int>(i) > h : here && !restarts;
        const int64_t tile = cut ? edge_full : full;
        volume *= first || !only_new ? tile : cut ? level.edge_unique.at(loop.dim) : unique;
      }
    }
    return volume;
  }

  // Edge flag and edge-edge flag of the spatial loops over a tensor's dimensions.
  struct Spread {
    bool any = false, edge = false, cut = false;
  };
  static Spread SpreadOf(const OracleLevel& level, const OracleCase& c, const OracleNames& tensor) {
    Spread spread;
    for (const std::string& dim : tensor) {
      if (level.First(dim)->kind != 'S') continue;
      spread.any = true;
      spread.edge |= c.at(dim).IsEdge();
      spread.cut = c.at(dim).edge_edge;
    }
    return spread;
  }

  template <typename Volume>
  static int64_t SumOfUnits(const OracleLevel& level, const Spread& spread, const Volume& volume) {
    if (!spread.any) return volume(true, false);
    if (!spread.edge) return volume(true, false) + (level.units - 1) * volume(false, false);
    const int64_t e = level.edge_units, x = spread.cut ? 1 : 0;
    int64_t sum = volume(true, e == 1 && spread.cut);
    if (e > 1) {
      sum += std::max<int64_t>(e - 1 - x, 0) * volume(false, false);
      sum += x * volume(false, true);
    }
    return sum;
  }

  // c.6
  int64_t OutputOfUnit(const OracleLevel& level, const OracleCase& c, bool psum, bool first,
                       bool cut, bool reuse) const {
    const auto plain = [&](const std::string& dim) {
      if (first) return level.full.at(dim);
      return level.unique.at(dim) != 0 ? level.unique.at(dim) : 1;
    };
    const OracleNames& output = tensors_[2];
    const int64_t e = level.edge_units;
    int64_t volume = 1;
    for (const Loop& loop : level.loops) {
      if (!psum || In(loop.dim, output)) continue;
      const State& state = c.at(loop.dim);
      const int64_t edge_full = level.edge_full.at(loop.dim);
      if (loop.kind == 'T') {
        volume *= state.IsEdge() ? edge_full : level.full.at(loop.dim);
      } else if (state.position == 'I') {
        volume *= state.init_edge && cut ? edge_full : plain(loop.dim);
      } else if (state.position == 'S') {
        volume *= plain(loop.dim);
      } else if (e == 1) {
        volume *= first || cut ? edge_full : 1;
      } else {
        volume *= cut ? level.edge_unique.at(loop.dim) : plain(loop.dim);
      }
    }
    for (const std::string& dim : output) {
      const State& state = c.at(dim);
      const std::string out = convolution_ && kKernelOf.contains(dim) ? dim + "'" : dim;
      if (level.First(dim)->kind == 'T') {
        volume *= state.IsEdge() ? level.edge_full.at(out) : level.full.at(out);
      } else if (state.position == 'I') {
        if (state.init_edge && cut) {
          volume *= e == 1 || !reuse ? level.edge_full.at(out) : level.edge_unique.at(out);
        } else {
          volume *= plain(out);
        }
      } else if (state.position == 'S') {
        volume *= plain(out);
      } else if (e == 1) {
        volume *= first || cut ? level.edge_full.at(dim) : 1;  // sic: the input's size
      } else {
        volume *= cut ? level.edge_unique.at(out) : plain(out);
      }
    }
    return volume;
  }

  int64_t MacsOf(const OracleLevel& level, const OracleCase& c) const {
    Spread spread;
    for (const Loop& loop : level.loops) {
      if (loop.kind != 'S') continue;
      spread.edge |= c.at(loop.dim).IsEdge();
      spread.cut = c.at(loop.dim).edge_edge;
    }
    const int64_t e = level.edge_units, x = spread.cut ? 1 : 0;
    if (!spread.edge) return level.units * OutputOfUnit(level, c, true, true, false, true);
    int64_t sum = OutputOfUnit(level, c, true, true, e == 1 && spread.cut, true);
    if (e > 1) {
      sum += std::max<int64_t>(e - 1 - x, 0) * OutputOfUnit(level, c, true, true, false, true);
      sum += x * OutputOfUnit(level, c, true, false, true, false);
    }
    return sum;
  }

  int64_t Delay(int64_t n) const {
    const int64_t bandwidth = array_.noc_elements_per_cycle;
    return array_.noc_hops * array_.noc_hop_latency_cycles + n / bandwidth +
           (n % bandwidth != 0 ? 1 : 0) - 1;
  }

  Sizes SizesBelow(const OracleLevel& level, const OracleCase& c, bool cut) const {
    Sizes sizes;
    for (const Loop& loop : level.loops) {
      if (sizes.contains(loop.dim)) continue;
      const bool edge =
          c.at(loop.dim).IsEdge() && (loop.kind == 'T' || level.edge_units == 1 || cut);
      sizes[loop.dim] = edge ? level.edge_full.at(loop.dim) : level.full.at(loop.dim);
    }
    return sizes;
  }

  // c.8
  Result Analyse(size_t index, const Sizes& sizes) {
    const OracleLevel& level = levels_[index];
    const bool top = index == 0, leaf = index + 1 == levels_.size();
    std::vector<std::vector<State>> states;
    int64_t num_cases = 1;
    for (const Loop& loop : level.loops) {
      states.push_back(StatesOf(loop, level.units, sizes.at(loop.dim)));
      num_cases *= static_cast<int64_t>(states.back().size());
    }
    if ((cases_left_ -= num_cases) < 0) throw GivenUp();

    maestro::Analysis a;
    std::array<int64_t, 3> down{};
    int64_t counted = 0;
    double noc_sum = 0;
    std::array<double, 3> delay_sum{};
    std::array<maestro::DelayStatistics*, 3> delays = {&a.ingress, &a.egress, &a.compute};
    for (maestro::DelayStatistics* delay : delays) {
      delay->min_cycles = std::numeric_limits<int64_t>::max();
    }
    for (int64_t number = 0; number < num_cases; ++number) {
      OracleCase c;
      uint32_t occurrence_bits = 1;
      int64_t f = num_cases;
      bool all_init = true;
      for (size_t i = 0; i < level.loops.size(); ++i) {
        const auto s = static_cast<int64_t>(states[i].size());
        f /= s;
        const State& state = states[i][static_cast<size_t>((number + f - 1) / f % s)];
        c[level.loops[i].dim] = state;
        occurrence_bits *= static_cast<uint32_t>(state.occurrences);
      }
      for (const auto& [dim, state] : c) all_init &= state.position == 'I';
      const int64_t occurrences = static_cast<int32_t>(occurrence_bits);
      const auto ingress = [&](const OracleNames& tensor) {
        return SumOfUnits(level, SpreadOf(level, c, tensor), [&](bool first, bool cut) {
          return IngressOfUnit(level, c, tensor, first, cut);
        });
      };
      const int64_t egress = SumOfUnits(
          level, SpreadOf(level, c, tensors_[2]),
          [&](bool first, bool cut) { return OutputOfUnit(level, c, false, first, cut, true); });
      if (counted == 0) {
        for (size_t t = 0; t < 3; ++t) {
          int64_t tile = 2;
          for (const std::string& dim : tensors_[t]) tile *= level.full.at(dim);
          down[t] = t == 2 ? tile : down[t] + tile;
          if (t < 2) a.l2_required[t] += 2 * ingress(tensors_[t]);
        }
        a.l2_required[2] = 2 * egress;
      }
      if (occurrences <= 0) throw Crashed();
      const int64_t macs = MacsOf(level, c);
      a.l2_writes[2] += occurrences * egress;
      a.l1_writes[2] += occurrences * macs;
      a.l1_reads[2] += occurrences * macs;
      const Spread spread = SpreadOf(level, c, tensors_[2]);
      const bool critical_cut = spread.any && spread.edge && level.edge_units == 1 && spread.cut;
      const int64_t critical = OutputOfUnit(level, c, true, true, critical_cut, true);
      if (head_ && critical <= 0) continue;

      int64_t in = 0;
      for (size_t t = 0; t < 2; ++t) {
        const int64_t volume = ingress(tensors_[t]);
        in += volume;
        a.l2_reads[t] += occurrences * volume;
        a.l1_writes[t] = a.l2_reads[t];
        a.l1_reads[t] += occurrences * macs;
      }
      a.arithmetic_intensity = static_cast<double>(macs) / static_cast<double>(in);

      const Loop& spatial = *std::find_if(level.loops.begin(), level.loops.end(),
                                          [](const Loop& loop) { return loop.kind == 'S'; });
      const State& state = c.at(spatial.dim);
      const int64_t active = state.IsEdge() ? level.edge_units : level.units;
      int64_t compute = 0;
      double busy = 0;
      if (leaf) {
        compute = static_cast<int64_t>(
            std::ceil(static_cast<double>(critical) / static_cast<double>(array_.simd_lanes)));
      } else {
        const auto visit = [&](bool cut, int64_t units) {
          const Result below = Analyse(index + 1, SizesBelow(level, c, cut));
          compute = std::max(compute, below.analysis.cycles);
          busy += below.analysis.busy_units * static_cast<double>(units);
        };
        if (state.IsEdge() && state.edge_edge) {
          visit(true, 1);
          if (level.edge_units > 1) visit(false, level.edge_units - 1);
        } else {
          visit(false, active);
        }
      }
      if (busy == 0) busy = static_cast<double>(active);
      const int64_t in_delay = Delay(in), out_delay = Delay(egress);
      int64_t d = all_init ? compute + in_delay : std::max({out_delay, compute, in_delay});
      if (top) {
        const int64_t b_in =
            (a.l2_required[0] + a.l2_required[1]) / array_.offchip_elements_per_cycle;
        const int64_t b_out = a.l2_required[2] / array_.offchip_elements_per_cycle;
        d = std::max({b_in / 2, d, b_out / 2});
        a.offchip_required = std::max({a.offchip_required, Divide(a.l2_required[2], compute),
                                       Divide(a.l2_required[0] + a.l2_required[1], compute)}) /
                             2;
      }
      a.cycles += occurrences * d;
      a.macs += occurrences * macs;
      a.busy_units += busy * static_cast<double>(occurrences);
      const int64_t divisor = compute == 0 ? 1 : compute, moved = std::max(in, egress);
      a.noc_required = std::max(a.noc_required, moved / divisor);
      noc_sum += static_cast<double>(occurrences * moved / divisor);
      const std::array<int64_t, 3> parts = {in_delay, out_delay, divisor};
      for (size_t i = 0; i < 3; ++i) {
        delay_sum[i] += static_cast<double>(occurrences * parts[i]);
        delays[i]->min_cycles = std::min(delays[i]->min_cycles, parts[i]);
        delays[i]->max_cycles = std::max(delays[i]->max_cycles, parts[i]);
      }
      counted += occurrences;
    }

    const auto total = static_cast<double>(counted);
    a.noc_average = noc_sum / total;
    if (counted != 0) a.busy_units /= total;
    for (size_t i = 0; i < 3; ++i) {
      constexpr int64_t kNone = std::numeric_limits<int64_t>::min();
      *delays[i] = counted == 0
                       ? maestro::DelayStatistics{kNone, 0, kNone}
                       : maestro::DelayStatistics{delays[i]->min_cycles, delays[i]->max_cycles,
                                                  static_cast<int64_t>(delay_sum[i] / total)};
    }
    if (top) CountTensors(sizes, a);
    order_.push_back(down);
    return {a};
  }

  void CountTensors(const Sizes& sizes, maestro::Analysis& a) const {
    for (size_t t = 0; t < 3; ++t) {
      int64_t elements = 1;
      for (const std::string& dim : tensors_[t]) {
        const bool window = t == 2 && convolution_ && kKernelOf.contains(dim);
        elements *= window ? sizes.at(dim) - sizes.at(kKernelOf.at(dim)) + 1 : sizes.at(dim);
      }
      (t == 2 ? a.l2_reads : a.l2_writes)[t] = elements;
    }
  }

  const PeArray array_;
  const bool head_;
  int64_t cases_left_;
  bool convolution_ = true;
  Sizes declared_, stride_, sizes_;
  std::vector<OracleNames> tensors_;
  OracleNames mapped_;
  std::vector<OracleLevel> levels_;
  std::vector<std::array<int64_t, 3>> order_;  // tile requirements, in the order of completion
};

}  // namespace

OracleResult EvaluateByTheBook(const maestro::Declaration& declaration, const PeArray& array,
                               MaestroVersion version, const Dataflow& dataflow,
                               int64_t max_cases) {
  try {
    Oracle oracle(declaration, array, version, max_cases);
    return {.analysis = oracle.Evaluate(dataflow)};
  } catch (const Rejected&) {
    return {.status = OracleStatus::kReject};
  } catch (const Crashed&) {
    return {.status = OracleStatus::kCrash};
  } catch (const GivenUp&) {
    return {.status = OracleStatus::kGivenUp};
  }
}

}  // namespace tessera
