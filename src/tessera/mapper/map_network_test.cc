// Mapping runs: whole networks, the same result on any number of threads and after any
// interruption, and files that can be checked without the program that wrote them.
#include "tessera/mapper/map_network.h"
#include "tessera/map.h"

#include <chrono>
#include <fstream>
#include <thread>

#include <gtest/gtest.h>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/mapper/verify.h"
#include "tessera/mapper/warm_start.h"
#include "tessera/network.h"
#include "tessera/record/trial_journal.h"
#include "tessera/space/translate.h"
#include "tessera/workload/builder.h"

namespace tessera {
namespace {

Network SmallNetwork() {
  NetworkBuilder builder(Network{.name = "small"});
  Layer conv;
  conv.k = 16, conv.c = 8, conv.y = conv.x = 14, conv.r = conv.s = 3;
  Layer wide = conv;
  wide.k = 32;
  EXPECT_TRUE(builder.Add("first", conv));
  EXPECT_TRUE(builder.Add("second", wide, 3));
  EXPECT_TRUE(builder.Add("third", Layer{.type = LayerType::kMatmul, .m = 16, .n = 32, .k = 64}));
  return builder.Take();
}

MapMethod Method(const char* text) { return *ParseMapMethod(text); }

Result<MapJob> MakeJob(const MapSettings& settings, const Network& network) {
  return MakeMapJob(settings, network, *LoadAccelerator(settings.accelerator));
}

MapJob Job(MapSettings settings) {
  if (settings.accelerator.empty()) settings.accelerator = "maestro-256";
  settings.model = *CostModelChoice::Make(DefaultCostModel(*LoadAccelerator(settings.accelerator)));
  settings.network = "small";
  if (settings.budget.samples == 20'000) settings.budget.samples = 300;
  Result<MapJob> job = MakeJob(settings, SmallNetwork());
  EXPECT_TRUE(job) << job.error();
  return *std::move(job);
}

void ExpectEqual(const NetworkMapping& a, const NetworkMapping& b) {
  ASSERT_EQ(a.layers.size(), b.layers.size());
  for (size_t i = 0; i < a.layers.size(); ++i) {
    EXPECT_EQ(a.layers[i].point, b.layers[i].point);
    EXPECT_EQ(a.layers[i].value, b.layers[i].value);
    EXPECT_EQ(a.layers[i].search.curve, b.layers[i].search.curve);
    EXPECT_EQ(a.layers[i].search.samples, b.layers[i].search.samples);
  }
  EXPECT_EQ(a.total.cycles, b.total.cycles);
  EXPECT_EQ(a.total.energy_pj, b.total.energy_pj);
}

TEST(MapNetwork, MapsEveryLayerAndAddsUp) {
  for (const char* machine : {"maestro-256", "eyeriss-256"}) {
    const Result<NetworkMapping> mapping = MapNetwork(Job({.accelerator = machine}), 1, {});
    ASSERT_TRUE(mapping) << mapping.error();
    ASSERT_EQ(mapping->layers.size(), 3u);
    double cycles = 0;
    int64_t samples = 0;
    for (const LayerMapping& layer : mapping->layers) {
      ASSERT_TRUE(layer.cost) << layer.name;
      EXPECT_TRUE(layer.cost->feasible());
      EXPECT_EQ(layer.value, static_cast<double>(layer.cost->cycles));
      EXPECT_GE(layer.value, *layer.bound);
      // A search ends early at its bound, and only there.
      EXPECT_EQ(layer.search.samples < 300, layer.value == *layer.bound) << layer.name;
      samples += layer.search.samples;
      cycles += static_cast<double>(layer.count * layer.cost->cycles);
    }
    EXPECT_EQ(mapping->total.cycles, cycles);
    EXPECT_EQ(mapping->total.layers, 5);
    EXPECT_EQ(mapping->total.samples, samples);
    EXPECT_GT(mapping->total.bound, 0);
  }
}

TEST(MapNetwork, NothingIsBelowItsBound) {
  for (const Objective objective : {Objective::kLatency, Objective::kEnergy, Objective::kEdp}) {
    const Result<NetworkMapping> mapping =
        MapNetwork(Job({.accelerator = "eyeriss-256", .objective = objective}), 1, {});
    ASSERT_TRUE(mapping) << mapping.error();
    for (const LayerMapping& layer : mapping->layers) {
      ASSERT_TRUE(layer.bound) << ToString(objective);
      EXPECT_GE(layer.value, *layer.bound);
      EXPECT_EQ(layer.status, StatusOf(layer.value, layer.bound));
    }
    ASSERT_TRUE(mapping->total.gap());
    EXPECT_GE(*mapping->total.gap(), 0);
  }
  const Result<NetworkMapping> power =
      MapNetwork(Job({.accelerator = "eyeriss-256", .objective = Objective::kPower}), 1, {});
  ASSERT_TRUE(power) << power.error();
  EXPECT_FALSE(power->total.gap());
  EXPECT_EQ(power->layers[0].status, MapStatus::kHeuristic);
}

TEST(MapNetwork, BoundsOfLayersBoundTheNetworksEdp) {
  const auto layer = [](int64_t count, int64_t cycles, double energy_pj, double bound) {
    LayerMapping made{.count = count, .bound = bound};
    made.cost = Cost{.cycles = cycles, .energy_pj = energy_pj};
    return made;
  };
  // Both layers are at their bounds, and so is the network: all have one ratio of energy to cycles.
  const NetworkTotal total =
      AddUp({layer(1, 10, 20, 200), layer(3, 30, 60, 1800)}, Objective::kEdp);
  EXPECT_EQ(total.cycles, 100);
  EXPECT_EQ(total.edp(), 20'000);
  EXPECT_DOUBLE_EQ(*total.bound, 20'000);
  // Whatever the ratios, the bound is not above the value.
  const NetworkTotal mixed = AddUp({layer(1, 10, 20, 200), layer(2, 30, 5, 150)}, Objective::kEdp);
  EXPECT_LT(*mixed.bound, mixed.edp());
}

TEST(MapNetwork, DoesNotDependOnThreads) {
  const MapJob job = Job({.objective = Objective::kEdp, .method = Method("ga")});
  const Result<NetworkMapping> one = MapNetwork(job, 1, {}), two = MapNetwork(job, 2, {});
  ASSERT_TRUE(one && two);
  ExpectEqual(*one, *two);
}

TEST(MapNetwork, ResumesToTheSameResult) {
  const MapJob job = Job({.method = Method("marl")});
  const Result<NetworkMapping> whole = MapNetwork(job, 1, {});
  TemporaryFolder folder;
  {
    const Result<RunDirectory> directory = CreateMapRun(folder.File("run"), job, {});
    ASSERT_TRUE(directory) << directory.error();
    int polls = 0;
    const Result<NetworkMapping> part =
        MapNetwork(job, 1, {.stopped = [&] { return ++polls > 7; }, .directory = &*directory});
    ASSERT_TRUE(part) << part.error();
    EXPECT_TRUE(part->interrupted);
    EXPECT_LT(part->total.samples, 900);
    // What kill -9 leaves: the beginning of a line.
    std::ofstream(SearchJournal(*directory, 1).path, std::ios::app) << "{\"point\":[1,2";
  }
  const Result<RunDirectory> directory = RunDirectory::Open(folder.File("run"));
  ASSERT_TRUE(directory) << directory.error();
  const Result<MapJob> loaded = LoadMapJob(*directory);
  ASSERT_TRUE(loaded) << loaded.error();
  const Result<NetworkMapping> resumed = MapNetwork(*loaded, 2, {.directory = &*directory});
  ASSERT_TRUE(resumed) << resumed.error();
  ExpectEqual(*resumed, *whole);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(ReadTrials(SearchJournal(*directory, i))->size(), 300u);
  }
}

// A resumed run whose first look takes all the time for searches still knows what was searched
// before.
TEST(MapNetwork, WhatWasSearchedCountsWhereTheClockLeavesNoTimeToSearch) {
  NetworkBuilder builder(Network{.name = "one"});
  Layer conv;
  conv.k = 256, conv.c = 192, conv.y = conv.x = 27, conv.r = conv.s = 5;
  ASSERT_TRUE(builder.Add("only", conv));
  const Network network = builder.Take();
  MapSettings settings{.accelerator = "eyeriss-256", .objective = Objective::kEdp};
  settings.model = *ChooseCostModel("loopnest");
  settings.method = Method("sa");
  settings.bypass = false;
  settings.budget.samples = 5000;
  const Result<MapJob> search = MakeJob(settings, network);
  ASSERT_TRUE(search) << search.error();
  settings.method = Method("auto");
  settings.policy = "none";
  settings.budget.seconds = 0.2;
  const Result<MapJob> job = MakeJob(settings, network);
  ASSERT_TRUE(job) << job.error();

  TemporaryFolder folder;
  const Result<RunDirectory> searched = CreateMapRun(folder.File("searched"), *search, {});
  const Result<RunDirectory> directory = CreateMapRun(folder.File("run"), *job, {});
  ASSERT_TRUE(searched && directory);
  const Result<NetworkMapping> known = MapNetwork(*search, 1, {.directory = &*searched});
  ASSERT_TRUE(known) << known.error();
  const Result<std::vector<Trial>> trials = ReadTrials(SearchJournal(*searched, 0));
  ASSERT_TRUE(trials) << trials.error();
  ASSERT_TRUE(TrialJournal::Open(SearchJournal(*directory, 0))->Append(*trials));

  const auto sleepy = [] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    return false;
  };
  const Result<NetworkMapping> resumed =
      MapNetwork(*job, 1, {.stopped = sleepy, .directory = &*directory});
  ASSERT_TRUE(resumed) << resumed.error();
  EXPECT_LE(resumed->layers[0].value, known->layers[0].value);
  EXPECT_EQ(resumed->layers[0].search.samples, std::ssize(*trials));
}

// Layers of a later wave begin with what earlier ones found, whatever the threads and stops.
TEST(MapNetwork, LearnsFromSolvedLayers) {
  NetworkBuilder builder(Network{.name = "alike"});
  Layer conv;
  conv.c = 8, conv.y = conv.x = 14, conv.r = conv.s = 3;
  for (const int64_t k : {16, 32, 64, 48}) {
    conv.k = k;
    ASSERT_TRUE(builder.Add("k" + std::to_string(k), conv));
  }
  MapSettings settings{.accelerator = "maestro-256", .objective = Objective::kEdp};
  settings.model = *ChooseCostModel("maestro");
  settings.method = Method("team");
  settings.budget.samples = 60;
  const Result<MapJob> job = MakeJob(settings, builder.Take());
  ASSERT_TRUE(job) << job.error();
  const Result<NetworkMapping> whole = MapNetwork(*job, 1, {}), two = MapNetwork(*job, 2, {});
  ASSERT_TRUE(whole && two);
  ExpectEqual(*whole, *two);
  TemporaryFolder folder;
  {
    const Result<RunDirectory> directory = CreateMapRun(folder.File("run"), *job, {});
    ASSERT_TRUE(directory) << directory.error();
    int polls = 0;
    ASSERT_TRUE(
        MapNetwork(*job, 1, {.stopped = [&] { return ++polls > 25; }, .directory = &*directory}));
  }
  const Result<RunDirectory> directory = RunDirectory::Open(folder.File("run"));
  const Result<NetworkMapping> resumed = MapNetwork(*job, 2, {.directory = &*directory});
  ASSERT_TRUE(resumed) << resumed.error();
  ExpectEqual(*resumed, *whole);
  // The first sample of the second layer is the best point of the first, in its own words.
  const Result<std::vector<Trial>> trials = ReadTrials(SearchJournal(*directory, 1));
  ASSERT_TRUE(trials && !trials->empty());
  const auto problem = [&](size_t i) {
    return *MappingProblem::Make(job->network.layers[i].layer, job->accelerator,
                                 job->settings.model, job->problem);
  };
  EXPECT_EQ((*trials)[0].point,
            Translate(problem(0)->space(), *whole->layers[0].point, problem(1)->space()));
}

TEST(WarmStart, IsForMethodsThatTakeHintsAndForBudgetsOfSamples) {
  EXPECT_TRUE(StartsWarm(Job({.method = Method("team")})));
  EXPECT_FALSE(StartsWarm(Job({.method = Method("ga")})));
  EXPECT_FALSE(
      StartsWarm(Job({.method = Method("team"), .budget = {.samples = 300, .seconds = 1}})));
  EXPECT_EQ(WaveEnd(0, 10), 1u);
  EXPECT_EQ(WaveEnd(1, 10), 3u);
  EXPECT_EQ(WaveEnd(3, 10), 7u);
  EXPECT_EQ(WaveEnd(7, 10), 10u);
}

TEST(MapNetwork, StopsAtTheTargetGap) {
  const Result<NetworkMapping> mapping =
      MapNetwork(Job({.budget = {.samples = 5000}, .target_gap = 10.0}), 1, {});
  ASSERT_TRUE(mapping) << mapping.error();
  for (const LayerMapping& layer : mapping->layers) {
    EXPECT_EQ(layer.search.stop, StopReason::kTarget);
    EXPECT_LE(*layer.gap(), 10.0);
  }
}

// 29 rows and 31 columns fill an array badly with factors that divide.
TEST(MapNetwork, AnyFactorsAreBetterAndProved) {
  NetworkBuilder builder(Network{.name = "odd"});
  const Layer gemm{.type = LayerType::kMatmul, .m = 29, .n = 31, .k = 8};
  ASSERT_TRUE(builder.Add("odd", gemm));
  const Network network = builder.Take();
  MapSettings settings{.accelerator = "simple3", .method = Method("exact"), .bypass = false};
  settings.proof_rounds = 2000;
  const auto map = [&](Factors factors) {
    settings.factors = factors;
    const Result<NetworkMapping> mapping = MapNetwork(*MakeJob(settings, network), 1, {});
    EXPECT_TRUE(mapping) << mapping.error();
    return mapping->layers.front();
  };
  const LayerMapping perfect = map(Factors::kPerfect), any = map(Factors::kAny);
  EXPECT_LT(any.value, perfect.value);
  EXPECT_GE(any.value, any.bounds.Of(Objective::kLatency));
  EXPECT_EQ(any.status, MapStatus::kOptimal);
  EXPECT_EQ(any.stopped_by, MapStop::kProved);
  ASSERT_TRUE(any.perfect_factors && any.perfect_factors->value);
  EXPECT_EQ(*any.perfect_factors->value, perfect.value);
  EXPECT_EQ(any.perfect_factors->bound, perfect.value);
  EXPECT_FALSE(perfect.perfect_factors);

  settings.constraints = {"some.yaml"};
  settings.model = *ChooseCostModel("loopnest", {{"semantics", "timeloop3"}});
  EXPECT_FALSE(MakeJob(settings, network));
}

// Constraints that tell equal layers apart by name give them entries of their own, and a run's
// folder keeps that.
TEST(MapConstraints, SplitEqualLayers) {
  const TemporaryFolder folder;
  const std::string file = folder.path() + "/c.yaml";
  ASSERT_TRUE(WriteFileAtomically(
      file,
      "format: tessera-constraints-1\n"
      "layers: {'b*': {range: {M_DRAM: {max: 2}}}, '!?1': {fixed: {N_DRAM: 1}}}\n"));
  const Layer layer{.type = LayerType::kMatmul, .m = 8, .n = 4, .k = 2};
  std::vector<NetworkLayer> layers;
  for (const std::string name : {"a1", "b1", "a2", "b2", "b3"}) {
    layers.push_back({.name = name, .layer = layer});
  }
  const Network network = *MakeNetwork("n", layers);
  ASSERT_EQ(network.layers.size(), 1u);
  MapSettings settings;
  settings.accelerator = "simple3";
  settings.constraints = {file};
  settings.method = Method("random");
  settings.budget.samples = 5;
  const Result<MapJob> job = MakeJob(settings, network);
  ASSERT_TRUE(job) << job.error();
  const auto names = [](const MapJob& made) {
    std::vector<std::pair<std::string, int64_t>> all;
    for (const NetworkLayer& entry : made.network.layers) all.emplace_back(entry.name, entry.count);
    return all;
  };
  EXPECT_EQ(names(*job), (std::vector<std::pair<std::string, int64_t>>{
                             {"a1", 1}, {"b1", 1}, {"a2", 1}, {"b2", 2}}));
  const Result<NetworkMapping> mapped = MapNetwork(*job, 1);
  ASSERT_TRUE(mapped) << mapped.error();
  EXPECT_EQ(mapped->total.layers, 5);
  const auto run = CreateMapRun(folder.path() + "/run", *job, {});
  ASSERT_TRUE(run) << run.error();
  const Result<MapJob> again = LoadMapJob(*run);
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(names(*again), names(*job));

  ASSERT_TRUE(WriteFileAtomically(
      file, "format: tessera-constraints-1\nlayers: {c1: {fixed: {N_DRAM: 1}}}\n"));
  EXPECT_TRUE(MakeJob(settings, network));  // of a single layer nothing else is known
  layers.push_back({.name = "other", .layer = {.type = LayerType::kMatmul, .m = 2}});
  EXPECT_EQ(MakeJob(settings, *MakeNetwork("n", layers)).error().message,
            "no layer of the network fits 'c1'");
  settings.constraints.clear();
  settings.dataflow = "weight-stationry";
  EXPECT_EQ(ToString(MakeJob(settings, network).error()),
            "unknown dataflow 'weight-stationry'; did you mean 'weight-stationary'?");
}

TEST(MapSettings, SurviveTheirFile) {
  MapSettings settings{
      .network = "n", .accelerator = "a", .method = Method("ga:population=7"), .seed = 9};
  settings.budget = {.samples = 5, .seconds = 1.5};
  settings.target_gap = 0.25;
  settings.bypass = false;
  settings.then = {Objective::kEnergy, Objective::kEdp};
  settings.within = 0.01;
  settings.limits.Of(Objective::kEnergy) = 2.5e9;
  settings.constraints = {"a.yaml", "b.yaml"};
  settings.dataflow = "nvdla";
  const std::string text = ToJsonText(settings);
  const Result<MapSettings> read = ParseMapSettings(text, "run.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(ToJsonText(*read), text);
  std::string broken = text;
  broken.replace(broken.find("\"points\""), 8, "\"pointz\"");
  EXPECT_EQ(ToString(ParseMapSettings(broken, "run.json").error()),
            "run.json:1:1: run without 'points'");
}

TEST(MapSettings, ObjectivesThatMeanNothingAreRefused) {
  const auto message = [](MapSettings settings, const Accelerator& machine) {
    settings.budget.samples = 10;
    const Result<MapJob> job = MakeMapJob(settings, SmallNetwork(), machine);
    return job ? "no error" : job.error().message;
  };
  Accelerator machine = *LoadAccelerator("simple3");
  EXPECT_EQ(message({.objective = Objective::kArea}, machine),
            "with model loopnest no mapping changes the area of the machine");
  EXPECT_EQ(message({.objective = Objective::kEnergy}, machine), "no error");
  Hierarchy& hierarchy = *machine.hierarchy;
  hierarchy.arithmetic.mac_pj = 0;
  for (MemoryLevel& level : hierarchy.levels) level.read_pj = level.fill_pj = level.update_pj = 0;
  EXPECT_EQ(message({.objective = Objective::kLatency}, machine), "no error");
  for (const Objective objective : {Objective::kEnergy, Objective::kEdp, Objective::kPower}) {
    EXPECT_EQ(message({.objective = objective}, machine),
              "machine 'simple3' has no energies, so objective " +
                  std::string(ToString(objective)) + " would be 0 for every mapping");
  }
  MapSettings limited;
  limited.limits.Of(Objective::kEnergy) = 1;
  EXPECT_NE(message(limited, machine), "no error");
  EXPECT_NE(message({.then = {Objective::kEnergy}}, machine), "no error");
}

TEST(MapSettings, LimitsAreParsed) {
  CostLimits limits;
  EXPECT_FALSE(limits.any());
  EXPECT_TRUE(ParseLimit("cycles=1e6", limits));
  EXPECT_TRUE(ParseLimit("energy_pj=2.5e9", limits));
  EXPECT_EQ(limits.ToString(), "cycles <= 1000000, energy_pj <= 2500000000");
  EXPECT_EQ(limits.Broken({.cycles = 1'000'001}), Objective::kLatency);
  EXPECT_EQ(limits.Broken({.cycles = 1'000'000, .energy_pj = 2.5e9}), std::nullopt);
  for (const char* text :
       {"cycles", "cycle=1", "cycles=0", "cycles=-1", "cycles=x", "cycles=inf"}) {
    EXPECT_FALSE(ParseLimit(text, limits)) << text;
  }
}

// Ties between mappings of equal value: the next objective decides, and in the end cycles and
// energy.
TEST(MapNetwork, EqualMappingsAreToldApartByTheNextObjective) {
  MapSettings settings{.accelerator = "simple3", .method = Method("exact"), .bypass = false};
  settings.proof_rounds = 30;
  const MapJob job = Job(settings);
  const Result<NetworkMapping> mapping = MapNetwork(job, 1, {});
  ASSERT_TRUE(mapping) << mapping.error();
  for (const LayerMapping& layer : mapping->layers) {
    ASSERT_EQ(layer.status, MapStatus::kOptimal) << layer.name;
    ASSERT_EQ(layer.then.size(), 1u);
    EXPECT_EQ(layer.then[0].objective, Objective::kEnergy);
    EXPECT_EQ(layer.then[0].value, layer.cost->energy_pj);
  }
  // What is proved about the next objective is what a search for it finds among as few cycles.
  MapSettings limited = job.settings;
  limited.objective = Objective::kEnergy;
  limited.limits.Of(Objective::kLatency) = static_cast<double>(mapping->layers[0].cost->cycles);
  Network first = SmallNetwork();
  first.layers.resize(1);
  const Result<NetworkMapping> least = MapNetwork(*MakeJob(limited, first), 1, {});
  ASSERT_TRUE(least) << least.error();
  ASSERT_TRUE(least->layers[0].cost && least->layers[0].bound);
  const double reached = mapping->layers[0].cost->energy_pj;
  EXPECT_GE(reached, *least->layers[0].bound);
  if (mapping->layers[0].then[0].proved) {
    EXPECT_NEAR(reached, least->layers[0].cost->energy_pj, 1e-9 * reached);
  }
}

// What a policy proposes takes the place of the mapper's own first chains: fewer evaluations lead
// to the same proofs, and what bypass gains is known even where a proposal meets the bound at once.
TEST(MapNetwork, ProposalsTakeThePlaceOfTheFirstChains) {
  for (const Objective objective : {Objective::kLatency, Objective::kEdp}) {
    MapSettings settings{.accelerator = "simple3", .objective = objective};
    settings.method = Method("exact");
    settings.proof_rounds = 60;
    settings.bypass = objective == Objective::kLatency;
    const Result<NetworkMapping> alone = MapNetwork(Job(settings), 1, {});
    settings.policy = "default";
    const MapJob job = Job(settings);
    const Result<NetworkMapping> proposed = MapNetwork(job, 1, {}), again = MapNetwork(job, 3, {});
    ASSERT_TRUE(alone && proposed && again);
    ExpectEqual(*proposed, *again);
    for (size_t i = 0; i < alone->layers.size(); ++i) {
      const LayerMapping &before = alone->layers[i], &after = proposed->layers[i];
      EXPECT_EQ(before.status, MapStatus::kOptimal);
      EXPECT_EQ(after.status, MapStatus::kOptimal);
      EXPECT_NEAR(after.value, before.value, 1e-9 * before.value) << after.name;
      EXPECT_LT(after.samples(), before.samples()) << after.name;
      ASSERT_EQ(after.without_bypass.has_value(), settings.bypass) << after.name;
      if (!settings.bypass) continue;
      EXPECT_GE(after.without_bypass->value.value_or(0), after.value) << after.name;
    }
  }
}

// Layers that rest give up what they can make again: less memory than any of them takes, and the
// same result.
TEST(MapNetwork, LittleMemoryIsNoReasonForAnotherResult) {
  MapSettings settings{.accelerator = "simple3", .objective = Objective::kEnergy};
  settings.method = Method("exact");
  settings.proof_rounds = 3;
  const Result<NetworkMapping> much = MapNetwork(Job(settings), 1, {});
  settings.proof_memory_mib = 1;
  const Result<NetworkMapping> little = MapNetwork(Job(settings), 1, {});
  const Result<NetworkMapping> threads = MapNetwork(Job(settings), 3, {});
  ASSERT_TRUE(much && little && threads);
  ExpectEqual(*much, *little);
  ExpectEqual(*much, *threads);
}

// What a machine forbids is not searched, and --no-bypass is the same space.
TEST(MapNetwork, BypassIsTheDefaultUnlessTheMachineForbidsIt) {
  MapSettings settings{.accelerator = "simple3", .objective = Objective::kEnergy};
  settings.method = Method("exact");
  settings.proof_rounds = 6;
  const MapJob free = Job(settings);
  settings.bypass = false;
  const MapJob held = Job(settings);
  settings.bypass = true;
  Accelerator strict = *LoadAccelerator("simple3");
  strict.hierarchy->bypass = false;
  const Result<MapJob> forbidden = MakeMapJob(free.settings, SmallNetwork(), strict);
  ASSERT_TRUE(forbidden);
  const Result<NetworkMapping> with = MapNetwork(free, 1, {}), without = MapNetwork(held, 1, {}),
                               none = MapNetwork(*forbidden, 1, {});
  ASSERT_TRUE(with && without && none);
  ExpectEqual(*without, *none);
  EXPECT_LT(with->total.energy_pj, without->total.energy_pj);
  for (const LayerMapping& layer : with->layers) {
    ASSERT_TRUE(layer.without_bypass && layer.without_bypass->value);
    EXPECT_GE(*layer.without_bypass->value, layer.value);
    EXPECT_LE(layer.without_bypass->bound, *layer.without_bypass->value);
  }
  EXPECT_NE(DescribeSpace(free).find("bypass searched"), std::string::npos);
  EXPECT_NE(DescribeSpace(held).find("no bypass: every level holds every tensor"),
            std::string::npos);
  EXPECT_NE(DescribeSpace(*forbidden).find("the machine forbids it"), std::string::npos);
  const Result<NetworkMapping> threads = MapNetwork(free, 2, {});
  ASSERT_TRUE(threads);
  ExpectEqual(*with, *threads);
}

TEST(MapSettings, NamesThatDoNotExistHaveHints) {
  const auto message = [](const char* from, const char* to) {
    std::string text = ToJsonText({.model = *ChooseCostModel("maestro")});
    text.replace(text.find(from), std::string_view(from).size(), to);
    const Result<MapSettings> read = ParseMapSettings(text, "run.json");
    return read ? "no error" : ToString(read.error());
  };
  EXPECT_EQ(message("\"marl-table\"", "\"gaa\""),
            "run.json:1:216: unknown search method 'gaa'; did you mean 'ga'?");
  EXPECT_EQ(message("\"latency\"", "\"speed\"").substr(0, 41),
            "run.json:1:197: unknown objective 'speed'");
  EXPECT_EQ(message("\"strict\"", "\"strickt\""),
            "run.json:1:71: unknown legality 'strickt'; did you mean 'strict'?");
}

TEST(Export, MappingsComeBackFromTheirText) {
  for (const char* machine : {"maestro-256", "eyeriss-256"}) {
    const MapJob job = Job({.accelerator = machine});
    const Result<NetworkMapping> mapping = MapNetwork(job, 1, {});
    ASSERT_TRUE(mapping) << mapping.error();
    for (const LayerMapping& layer : mapping->layers) {
      const Result<std::string> text = MappingJson(layer.layer, job.accelerator, *layer.mapping);
      ASSERT_TRUE(text) << text.error();
      const Result<Mapping> read = ParseMappingJson(*text, "m.json", layer.layer, job.accelerator);
      ASSERT_TRUE(read) << read.error();
      const Result<std::string> again = MappingJson(layer.layer, job.accelerator, *read);
      EXPECT_EQ(*text, *again);
      const size_t files = std::string_view(machine) == "maestro-256" ? 2 : 4;
      EXPECT_EQ(ExportMapping("x", layer.layer, job.accelerator, *layer.mapping)->size(), files);
    }
  }
}

}  // namespace
}  // namespace tessera
