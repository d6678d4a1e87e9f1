#include "tessera/vta/codegen/best.h"

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/stop.h"
#include "tessera/part.h"
#include "tessera/vta/codegen/geometry.h"

namespace tessera::vta {
namespace {

// Seeds of each kind that the search climbs from.
constexpr size_t kStarts = 3;

// Schedules that are looked at on the way from each of them, and which part of its cycles the first
// of these may cost more.
constexpr int64_t kWanderSteps = 300, kWanderShare = 1'000;

// Long programs are looked at less often: as many as have so many instructions together.
constexpr int64_t kWanderInstructions = 60'000;

// Sizes that cut `total` into 1, 2, 3, ... equal pieces, largest first.
std::vector<int64_t> EvenPieces(int64_t total, int64_t most_pieces) {
  std::vector<int64_t> sizes;
  for (int64_t pieces = 1; pieces <= std::min(total, most_pieces); ++pieces) {
    const int64_t size = CeilDiv(total, pieces);
    if (sizes.empty() || sizes.back() != size) sizes.push_back(size);
  }
  return sizes;
}

auto KeyOf(const TiledSchedule& s) {
  return std::tuple(s.tile_h, s.tile_w, s.tile_ci, s.tile_co, s.lead_co, s.inp_slots, s.wgt_slots,
                    s.channels_outermost, s.trim_rows, s.trim_columns, s.gemm_bias, s.short_lists,
                    s.row_groups, s.quick_ends, s.tail_co, s.tail_rows, s.uop_pieces, s.uop_steps,
                    s.lead_ci, s.lead_repeat, s.lead_part, s.lead_growth, s.split_products);
}

struct StartPoint {
  int64_t cycles = 0;  // or what they are not below
  int64_t least = 0;   // what COMPUTE works
  TiledSchedule schedule = {};
};

class Search {
 public:
  Search(const ConvShape& shape, const Config& config, const Epilogue& epilogue,
         const BestOptions& options)
      : shape_(shape),
        config_(config),
        epilogue_(epilogue),
        options_(options),
        simulator_(config, options.timing),
        cib_(InputBlocks(shape, config)),
        cob_(OutputBlocks(shape, config)) {}

  Result<BestConv> Run() {
    Seed();
    Climb();
    TryReference();
    if (!best_.tiled && !best_.reference) {
      // Layers with very few outputs.
      split_products_ = true;
      Seed();
      Climb();
    }
    if (Stopped()) return Interrupted("looking for the fastest program");
    if (!best_.tiled && !best_.reference) {
      return Error{.kind = ErrorKind::kInfeasible,
                   .message = fmt::format("no schedule fits: {}", last_refusal_)};
    }
    best_.evaluations = evaluations_;
    return std::move(best_);
  }

 private:
  // Tiles as large as the accumulators allow and half of that, in a grid of channel, width and
  // reduction sizes.
  void Seed() {
    const int64_t all = config_.Depth(Memory::kAcc), half = all / 2;
    for (const int64_t tile_co : EvenPieces(cob_, 12)) {
      for (const int64_t tile_w : EvenPieces(shape_.ow(), 8)) {
        for (const int64_t sums : {all, half, half / 2}) {
          const int64_t rows = std::min(sums / (tile_co * tile_w), shape_.oh());
          if (rows == 0) continue;
          const int64_t tile_h = CeilDiv(shape_.oh(), CeilDiv(shape_.oh(), rows));
          for (const int64_t tile_ci : {int64_t{1}, int64_t{2}, int64_t{4}, cib_}) {
            if (tile_ci > cib_) continue;
            for (const bool outermost : {false, true}) {
              TiledSchedule seed = {.tile_h = tile_h,
                                    .tile_w = tile_w,
                                    .tile_ci = tile_ci,
                                    .tile_co = tile_co,
                                    .channels_outermost = outermost,
                                    .gemm_bias = options_.gemm_bias,
                                    .lead_ci = 1,
                                    .lead_repeat = 1,
                                    .lead_part = std::min<int64_t>(4, tile_co),
                                    .lead_growth = GrowthOf(tile_h * tile_w)};
              SeedOne(seed);
              // A last piece while whose products most of a large tile goes out.
              seed.tail_co = 1;
              if (sums == all && tile_co > 1) SeedOne(seed);
              seed.tail_co = 0;
              // All inputs of a tile at once: the next ones come while its sums go out.
              seed.inp_slots = 1;
              if (tile_ci == cib_) SeedOne(seed);
            }
          }
        }
      }
    }
    if (seeds_.empty()) SeedOne({.gemm_bias = options_.gemm_bias});
    // The last resort takes the least room.
    if (seeds_.empty() && split_products_) {
      SeedOne({.inp_slots = 1, .wgt_slots = 1, .gemm_bias = options_.gemm_bias});
    }
  }

  // By how many percent products of a tile of weights with so many outputs take longer than its
  // load.
  int64_t GrowthOf(int64_t outputs) const {
    const int64_t beats = config_.TileBytes(Memory::kWgt) / options_.timing.bus_bytes;
    const int64_t load = std::max<int64_t>(beats, 1) * options_.timing.beat_gap_cycles;
    const double products = static_cast<double>(outputs) *
                            ShareInside(RowAxis(shape_), shape_.oh()) *
                            ShareInside(ColumnAxis(shape_), shape_.ow());
    const double percent = 90 * (products / static_cast<double>(load) - 1);
    return static_cast<int64_t>(std::clamp(percent, 0.0, 400.0));
  }

  // Of the taps along one axis, those that meet data.
  static double ShareInside(const Axis& axis, int64_t outputs) {
    const Window window = WindowOf(axis, {0, outputs}, /*trim=*/true, /*may_skip=*/false);
    int64_t inside = 0;
    for (int64_t tap = 0; tap < axis.kernel; ++tap) {
      inside += OutputsOfTap(window, outputs, tap).size();
    }
    return static_cast<double>(inside) / static_cast<double>(axis.kernel * outputs);
  }

  // With as much trimming as the micro-ops allow.
  void SeedOne(TiledSchedule schedule) {
    schedule.split_products = split_products_;
    schedule.quick_ends = true;
    schedule.uop_pieces = 2;
    for (const auto& [rows, columns] :
         {std::pair{true, true}, {true, false}, {false, true}, {false, false}}) {
      schedule.trim_rows = rows;
      schedule.trim_columns = columns;
      for (const bool short_lists : {true, false}) {
        schedule.short_lists = short_lists;
        const std::optional<int64_t> cycles = Try(schedule, SeedLimit());
        if (!cycles) continue;
        seeds_.push_back({*cycles, least_, schedule});
        return;
      }
    }
  }

  // Seeds with as many cycles are nothing to climb from.
  int64_t SeedLimit() const {
    if (seeds_.size() < kStarts) return std::numeric_limits<int64_t>::max();
    std::vector<int64_t> cycles;
    for (const StartPoint& seed : seeds_) cycles.push_back(seed.cycles);
    std::ranges::nth_element(cycles, cycles.begin() + (kStarts - 1));
    return cycles[kStarts - 1];
  }

  // From the best seeds, changes one thing at a time as long as that helps, and then wanders.
  void Climb() {
    for (auto [cycles, least, schedule] : Starts()) {
      bool better = true;
      while (better) {
        better = false;
        for (const TiledSchedule& neighbour : Neighbours(schedule)) {
          const std::optional<int64_t> its_cycles = Try(neighbour, cycles);
          if (!its_cycles || *its_cycles >= cycles) continue;
          cycles = *its_cycles;
          schedule = neighbour;
          better = true;
        }
      }
      Wander(schedule, cycles);
    }
  }

  // The fastest seeds, and those whose instructions take the least time: waits can be cured. One of
  // each size of tiles.
  std::vector<StartPoint> Starts() {
    std::vector<StartPoint> starts;
    std::set<std::tuple<int64_t, int64_t, int64_t>> sizes;
    for (int64_t StartPoint::*order : {&StartPoint::cycles, &StartPoint::least}) {
      std::ranges::stable_sort(seeds_, {}, order);
      const size_t most = starts.size() + kStarts;
      for (const StartPoint& seed : seeds_) {
        const TiledSchedule& schedule = seed.schedule;
        if (starts.size() == most) break;
        if (!sizes.emplace(schedule.tile_h, schedule.tile_w, schedule.tile_co).second) continue;
        starts.push_back(seed);
      }
    }
    return starts;
  }

  // Random changes of one to three things at once, as long as they cost little: ever less.
  void Wander(TiledSchedule at, int64_t cycles) {
    const int64_t steps =
        std::min(kWanderSteps, kWanderInstructions / std::ssize(best_.kernel.instructions));
    for (int64_t step = 0; step < steps && !Done(); ++step) {
      CounterRng rng(/*seed=*/0, StreamId("wander"), static_cast<uint64_t>(step));
      TiledSchedule next = at;
      for (int64_t changes = 1 + rng.UniformInt(3); changes > 0; --changes) {
        const std::vector<TiledSchedule> all = Neighbours(next);
        next = all[static_cast<size_t>(rng.UniformInt(std::ssize(all)))];
      }
      const int64_t most = cycles + cycles * (steps - step) / steps / kWanderShare;
      const std::optional<int64_t> its_cycles = Try(next, most);
      if (!its_cycles || *its_cycles >= most) continue;
      cycles = *its_cycles;
      at = next;
    }
  }

  std::vector<TiledSchedule> Neighbours(const TiledSchedule& from) const {
    std::vector<TiledSchedule> neighbours;
    const auto vary = [&](int64_t TiledSchedule::*field, std::vector<int64_t> values,
                          int64_t most) {
      for (const int64_t value : values) {
        if (value < 1 || value > most || value == from.*field) continue;
        TiledSchedule next = from;
        next.*field = value;
        neighbours.push_back(next);
      }
    };
    // As many slots as there are tiles is as good as all: the generator takes what it needs.
    const int64_t all_inp = config_.Depth(Memory::kInp), all_wgt = config_.Depth(Memory::kWgt);
    vary(&TiledSchedule::tile_h,
         {from.tile_h - 1, from.tile_h + 1, from.tile_h / 2, from.tile_h * 2}, shape_.oh());
    vary(&TiledSchedule::tile_w,
         {from.tile_w - 1, from.tile_w + 1, CeilDiv(from.tile_w, 2), from.tile_w * 2}, shape_.ow());
    vary(&TiledSchedule::tile_ci,
         {from.tile_ci - 1, from.tile_ci + 1, from.tile_ci / 2, from.tile_ci * 2}, cib_);
    vary(&TiledSchedule::tile_co,
         {from.tile_co - 1, from.tile_co + 1, from.tile_co / 2, from.tile_co * 2}, cob_);
    vary(&TiledSchedule::lead_co, {1, 2, 3, 4, from.tile_co / 2, from.tile_co - 1}, from.tile_co);
    vary(&TiledSchedule::tail_co, {1, 2, 3, from.tail_co + 1}, from.tile_co - 1);
    vary(&TiledSchedule::tail_rows, {1, 2, 3, from.tail_rows + 1}, from.tile_h - 1);
    vary(&TiledSchedule::inp_slots, {1, 2, 3, 4, from.inp_slots + 1, from.inp_slots * 2, all_inp},
         all_inp);
    vary(&TiledSchedule::wgt_slots, {1, 2, 3, 4, from.wgt_slots + 1, from.wgt_slots * 2, all_wgt},
         all_wgt);
    vary(&TiledSchedule::lead_ci, {1, 2, 4, from.tile_ci}, from.tile_ci);
    vary(&TiledSchedule::lead_repeat, {1, 2, 3, 4, 6}, 8);
    vary(&TiledSchedule::uop_pieces, {1, 2, 3}, 3);
    vary(&TiledSchedule::uop_steps, {1, 2, from.uop_steps + 1, 2 * from.uop_steps}, 64);
    vary(&TiledSchedule::lead_part, {1, 2, 4, from.lead_part + 1, from.tile_co}, from.tile_co);
    vary(&TiledSchedule::lead_growth, {10, 15, 20, 25, 30, 50, 100, 200, 400}, 400);
    TiledSchedule plain = from;
    plain.lead_ci = plain.lead_repeat = plain.lead_part = 0;
    neighbours.push_back(plain);
    TiledSchedule no_tail = from;
    no_tail.tail_co = no_tail.tail_rows = 0;
    neighbours.push_back(no_tail);
    for (bool TiledSchedule::*flag :
         {&TiledSchedule::channels_outermost, &TiledSchedule::trim_rows,
          &TiledSchedule::trim_columns, &TiledSchedule::row_groups, &TiledSchedule::short_lists}) {
      TiledSchedule next = from;
      next.*flag = !(next.*flag);
      neighbours.push_back(next);
    }
    return neighbours;
  }

  bool Stopped() const { return options_.may_stop && StopRequested(); }
  bool Done() const { return evaluations_ >= options_.max_evaluations || Stopped(); }

  // The cycles of a schedule that was not tried before and fits; or, without timing it, what they
  // are not below, if that is no less than the limit.
  std::optional<int64_t> Try(const TiledSchedule& schedule, int64_t limit) {
    if (Done() || !tried_.insert(KeyOf(schedule)).second) return std::nullopt;
    Result<Kernel> kernel = GenerateTiled(shape_, schedule, config_, epilogue_);
    if (!kernel) {
      last_refusal_ = kernel.error().message;
      return std::nullopt;
    }
    least_ = ComputeCycles(*kernel);
    if (best_.tiled && least_ >= limit) return least_;
    const Result<CycleReport> report = simulator_.Run(kernel->instructions);
    ++evaluations_;
    if (!report) return std::nullopt;
    if (!best_.tiled || report->cycles < best_.report.cycles) {
      best_.kernel = *std::move(kernel);
      best_.report = *report;
      best_.tiled = schedule;
    }
    return report->cycles;
  }

  // What the COMPUTE stage, which runs one instruction at a time, works at least.
  int64_t ComputeCycles(const Kernel& kernel) const {
    const TimingParameters& timing = options_.timing;
    int64_t cycles = std::ssize(kernel.uops) * config_.TileBytes(Memory::kUop) / timing.bus_bytes;
    for (const Instruction& at : kernel.instructions) {
      const auto opcode = static_cast<Opcode>(at.opcode);
      if (opcode != Opcode::kGemm && opcode != Opcode::kAlu) continue;
      const int64_t steps = int64_t{at.iter_out} * at.iter_in * (at.uop_end - at.uop_bgn);
      cycles += opcode == Opcode::kGemm ? timing.gemm_startup_cycles + steps
                                        : timing.alu_startup_cycles + steps;
    }
    return cycles;
  }

  void TryReference() {
    for (const Knobs& knobs : KnobSpace(shape_, config_)) {
      if (Stopped()) return;
      const Verdict verdict = CheckKnobs(shape_, knobs, config_);
      if (!verdict.valid()) continue;
      const bool any = best_.tiled || best_.reference;
      if (any && ReferenceLowerBound(shape_, knobs, config_, epilogue_, options_.timing) >=
                     best_.report.cycles) {
        continue;
      }
      Kernel kernel = GenerateReference(shape_, knobs, config_, epilogue_);
      const Result<CycleReport> report = simulator_.Run(kernel.instructions);
      ++evaluations_;
      if (!report || (any && report->cycles >= best_.report.cycles)) continue;
      best_.kernel = std::move(kernel);
      best_.report = *report;
      best_.tiled.reset();
      best_.reference = knobs;
    }
  }

  const ConvShape& shape_;
  const Config& config_;
  const Epilogue& epilogue_;
  const BestOptions& options_;
  CycleSimulator simulator_;
  const int64_t cib_, cob_;
  int64_t evaluations_ = 0;
  bool split_products_ = false;
  int64_t least_ = 0;  // of the schedule that was tried last
  std::vector<StartPoint> seeds_;
  std::set<decltype(KeyOf(TiledSchedule{}))> tried_;
  std::string last_refusal_ = "none was tried";
  BestConv best_;
};

}  // namespace

std::string DescribeSchedule(const BestConv& best) {
  if (best.tiled) return "tiled:" + ToString(*best.tiled);
  return best.reference ? "reference:" + ToString(*best.reference) : "none";
}

int64_t ReferenceLowerBound(const ConvShape& shape, const Knobs& k, const Config& config,
                            const Epilogue& epilogue, const TimingParameters& timing) {
  const int64_t tiles_out = (shape.oh() / k.tile_h) * (shape.ow() / k.tile_w) *
                            (OutputBlocks(shape, config) / k.tile_co) * BatchBlocks(shape, config);
  const int64_t chunks = InputBlocks(shape, config) / k.tile_ci;
  const int64_t sums = k.tile_h * k.tile_w * k.tile_co;
  const int64_t alu = timing.alu_startup_cycles + 1, gemm = timing.gemm_startup_cycles + 1;
  int64_t compute = gemm + sums;  // reset
  compute += chunks * (gemm + sums * k.tile_ci * shape.kh * shape.kw);
  compute += 3 * (alu + sums * timing.alu_immediate_cycles);
  if (epilogue.bias) compute += alu + sums * timing.alu_register_cycles;
  const int64_t weights = chunks * k.tile_co * k.tile_ci * shape.kh * shape.kw *
                          config.TileBytes(Memory::kWgt) / timing.bus_bytes;
  return tiles_out * std::max(compute, weights * timing.beat_gap_cycles);
}

Result<BestConv> FindBest(const ConvShape& shape, const Config& config, const Epilogue& epilogue,
                          const BestOptions& options) {
  if (Result<void> valid = Validate(shape, config); !valid) return valid.error();
  if (Result<void> valid = Validate(options.timing); !valid) return valid.error();
  return Search(shape, config, epilogue, options).Run();
}

}  // namespace tessera::vta
