// tessera profile: where training time goes, phase by phase, for several team sizes and layouts.
#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/training.h"
#include "tessera/part.h"

namespace tessera {
namespace {

struct ProfileArguments {
  TrainingFlags training;
  std::vector<std::string> sizes, samplers, replays;
  std::string device = "cpu";
  int64_t rounds = 5;
  int64_t fill = 100'000;
  std::string clock = "wall";
  std::optional<std::string> caches;
};

constexpr std::string_view kProcessorClock = "processor";
constexpr std::array<std::string_view, 2> kClocks = {"wall", kProcessorClock};

std::vector<std::string> CacheNames() {
  std::vector<std::string> names;
  for (const SimulatedMachine& machine : SimulatedMachines()) names.emplace_back(machine.name);
  return names;
}

std::vector<Flag> Flags(ProfileArguments& arguments) {
  std::vector<Flag> flags = MakeTrainingFlags(arguments.training);
  std::erase_if(flags, [](const Flag& flag) {
    return flag.name == "--agents" || flag.name == "--sampler" || flag.name == "--replay";
  });
  const std::vector<Flag> own = {{.name = "--agents",
                                  .target = &arguments.sizes,
                                  .help = "team sizes (default: 3)",
                                  .value = "N,...",
                                  .commas = true},
                                 {.name = "--sampler",
                                  .target = &arguments.samplers,
                                  .help = "replay samplers (default: uniform)",
                                  .value = "NAME,...",
                                  .commas = true},
                                 {.name = "--replay",
                                  .target = &arguments.replays,
                                  .help = "replay layouts (default: compact)",
                                  .value = "NAME,...",
                                  .commas = true},
                                 MakeDeviceFlag(arguments.device),
                                 {.name = "--rounds",
                                  .target = &arguments.rounds,
                                  .help = "update rounds to measure",
                                  .value = "N",
                                  .least = 1},
                                 {.name = "--fill",
                                  .target = &arguments.fill,
                                  .help = "transitions in replay before the first round",
                                  .value = "N",
                                  .least = 1},
                                 {.name = "--clock",
                                  .target = &arguments.clock,
                                  .help = "what times are: of the clock, or of the processor, so "
                                          "that other programs' turns do not count",
                                  .value = "CLOCK",
                                  .choices = AsChoices<kClocks>,
                                  .closed = true},
                                 {.name = "--caches",
                                  .target = &arguments.caches,
                                  .help = "count what sampling misses in the caches and the data "
                                          "TLB of this machine, by simulation: the same everywhere",
                                  .value = "MODEL",
                                  .choices = CacheNames}};
  flags.insert(flags.end(), own.begin(), own.end());
  return flags;
}

// One row per size, layout and sampler.
class ProfileTable {
 public:
  ProfileTable(const MachineSpeed& machine, bool simulated)
      : machine_(machine), table_(Columns(simulated)) {}

  void Add(int64_t agents, const std::string& replay, const std::string& sampler,
           const TrainingProfile& profile, bool counters) {
    const auto ms = [](const PhaseTotals& phase) { return 1e3 * phase.seconds; };
    const double update = 1e3 * profile.update_seconds;
    const PhaseTotals& sampling = profile.sampling;
    const double gb =
        sampling.seconds > 0 ? static_cast<double>(sampling.bytes) * 1e-9 / sampling.seconds : 0;
    double flops = 0, seconds = 0;
    for (const PhaseTotals& phase : {profile.target_q, profile.q_loss, profile.p_loss}) {
      flops += static_cast<double>(phase.flops);
      seconds += phase.seconds;
    }
    const double gflops = seconds > 0 ? flops * 1e-9 / seconds : 0;
    const auto misses = [&](int64_t count) { return counters ? Cell(count) : Cell(); };
    std::vector<Cell> row = {agents,
                             replay,
                             sampler,
                             ms(profile.acting),
                             update,
                             100 * profile.update_seconds / profile.training_seconds,
                             ms(profile.sampling),
                             ms(profile.target_q),
                             ms(profile.q_loss),
                             ms(profile.p_loss),
                             ms(profile.other),
                             ms(profile.environment),
                             gb,
                             100 * gb / machine_.memcpy_gb_per_s,
                             gflops,
                             100 * gflops / machine_.fma_gflop_per_s,
                             misses(sampling.cache_misses),
                             misses(sampling.dtlb_misses)};
    if (const std::optional<SimulatedMisses>& simulated = profile.simulated) {
      for (const int64_t count : {simulated->accesses, simulated->l1, simulated->l2,
                                  simulated->last_level, simulated->dtlb}) {
        row.emplace_back(count);
      }
    }
    table_.AddRow(std::move(row));
  }
  const Table& table() const { return table_; }

 private:
  static std::vector<std::string> Columns(bool simulated) {
    std::vector<std::string> columns = {"agents",
                                        "replay",
                                        "sampler",
                                        "acting_ms",
                                        "update_ms",
                                        "update_share_percent",
                                        "sampling_ms",
                                        "target_q_ms",
                                        "q_loss_ms",
                                        "p_loss_ms",
                                        "other_ms",
                                        "env_ms",
                                        "sampling_gb_per_s",
                                        "percent_of_memcpy",
                                        "gflop_per_s",
                                        "percent_of_fma",
                                        "cache_misses",
                                        "dtlb_misses"};
    if (!simulated) return columns;
    for (const char* const column :
         {"simulated_accesses", "simulated_l1_misses", "simulated_l2_misses",
          "simulated_last_misses", "simulated_dtlb_misses"}) {
      columns.emplace_back(column);
    }
    return columns;
  }

  const MachineSpeed machine_;
  Table table_;
};

// What is measured are updates from replay.
Result<void> CheckHasReplay(const std::string& algorithm) {
  const Result<const LearnerInfo*> info = FindLearner(algorithm);
  if (!info) return info.error();
  if ((*info)->replays) return {};
  std::string others;
  for (const LearnerInfo* learner : Learners()) {
    if (!learner->replays) continue;
    others += fmt::format("{}{}", others.empty() ? "take " : " or ", learner->name);
  }
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("algorithm {} has no replay to profile", algorithm),
               .hint = others};
}

Result<TrainingProfile> Measure(const TrainingFlags& flags, const ProfileArguments& arguments,
                                const Context& context) {
  TrainingConfig base;
  base.seed = static_cast<uint64_t>(context.options.seed);
  const Result<TrainingConfig> config = Apply(flags, base);
  if (!config) return config.error();
  return ProfileTraining(*config,
                         {.fill = arguments.fill,
                          .rounds = arguments.rounds,
                          .seed = config->seed,
                          .processor_time = arguments.clock == kProcessorClock,
                          .caches = arguments.caches.value_or("")},
                         static_cast<int>(std::max<int64_t>(1, context.options.threads)),
                         DeviceOf(arguments.device));
}

Result<void> Run(const ProfileArguments& arguments, Context& context) {
  const auto or_default = [](const std::vector<std::string>& given, const char* fallback) {
    return given.empty() ? std::vector<std::string>{fallback} : given;
  };
  if (arguments.clock == kProcessorClock && DeviceOf(arguments.device) != Device::kCpu) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "--clock processor does not see the time of a device",
                 .hint = "leave it out, or take --device cpu"};
  }
  const std::string algorithm = arguments.training.algorithm.value_or(TrainingConfig().algorithm);
  if (Result<void> checked = CheckHasReplay(algorithm); !checked) return checked;
  std::vector<int64_t> sizes;
  for (const std::string& size : or_default(arguments.sizes, "3")) {
    const Result<int64_t> agents = ParseInt(size);
    if (!agents) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("--agents: {}", agents.error().message),
                   .hint = "write team sizes as in 3,6,12"};
    }
    if (*agents < 1) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("--agents is {}, but must be at least 1", *agents)};
    }
    sizes.push_back(*agents);
  }
  const MachineSpeed machine = MeasureMachine();
  const Result<void> counters = HasHardwareCounters();
  Output& output = context.output;
  output.Set("memcpy_gb_per_s", machine.memcpy_gb_per_s);
  output.Set("fma_gflop_per_s", machine.fma_gflop_per_s);
  output.Set("hardware_counters", counters.ok() ? "on" : ToString(counters.error()));
  if (Result<void> shown = output.ShowText(fmt::format(
          "this machine, one thread: memcpy {:.1f} GB/s, multiply-adds {:.1f} GFLOP/s; {}\n"
          "times of an update round and its {} environment steps, each phase in the round in which "
          "it "
          "was fastest; the environment is left out of shares\n\n",
          machine.memcpy_gb_per_s, machine.fma_gflop_per_s,
          counters.ok() ? "hardware counters of the sampling phase are shown"
                        : ToString(counters.error()),
          kProfileStepsPerRound));
      !shown) {
    return shown;
  }
  ProfileTable table(machine, arguments.caches.has_value());
  Result<void> measured;
  for (const int64_t agents : sizes) {
    for (const std::string& replay : or_default(arguments.replays, "compact")) {
      for (const std::string& sampler : or_default(arguments.samplers, "uniform")) {
        if (context.stopped() || !measured) break;
        TrainingFlags flags = arguments.training;
        flags.agents = agents;
        flags.replay = replay;
        flags.sampler = sampler;
        const Result<TrainingProfile> profile = Measure(flags, arguments, context);
        measured = profile ? Result<void>() : profile.error();
        if (profile) table.Add(agents, replay, sampler, *profile, counters.ok());
      }
    }
  }
  // What was measured before an error is shown, too.
  if (!measured && table.table().rows().empty()) return measured;
  if (Result<void> shown = output.Show(table.table(), "profile"); !shown) return shown;
  return measured;
}

}  // namespace

extern const Command kProfileCommand = {
    .name = "profile",
    .summary = "where training time goes, phase by phase",
    .examples = {{"tessera profile --agents 3,6,12 --replay per_agent,joint,compact",
                  "what the layout of replay changes"},
                 {"tessera profile --algo masac --sampler uniform,neighbor --replay per_agent",
                  "what neighbor sampling saves"},
                 {"tessera profile --agents 3,6 --replay per_agent --caches zen2 --json",
                  "how misses grow with the team, without hardware counters"}},
    .bind = Bind<ProfileArguments, Flags, Run>,
    .details =
        "One thread unless --threads says more. Replay is filled by random play first, then\n"
        "update rounds of the algorithm are measured with 100 environment steps each. Of every\n"
        "phase the fastest round counts."};

}  // namespace tessera
