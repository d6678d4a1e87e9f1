// Files of curricula, and the exercises that they stand for.
#include "tessera/mapper/curriculum.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/cost.h"
#include "tessera/map.h"
#include "tessera/mapping.h"

namespace tessera {
namespace {

// ---- Files

Result<std::vector<std::string>> ReadNames(const Node& node) {
  std::vector<std::string> names;
  if (node.kind != Node::Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, "a list of names is expected");
  }
  for (const Node& item : node.items) {
    Result<std::string> name = item.AsString();
    if (!name) return name.error();
    names.push_back(*std::move(name));
  }
  return names;
}

class CurriculumReader {
 public:
  CurriculumReader(const Node& node, Curriculum& made) : reader_(node, "curriculum"), made_(made) {}

  Result<void> Read() {
    if (Result<void> map = reader_.Check(); !map) return map;
    if (Result<void> format = reader_.RequireFormat("tessera-curriculum-1"); !format) return format;
    Text("model", made_.model);
    Names("networks", made_.networks);
    Names("held_out", made_.held_out);
    Names("presets", made_.presets);
    Share("synthetic", made_.synthetic);
    Share("varied", made_.varied);
    Share("sampled", made_.sampled);
    Share("bypass", made_.bypass);
    Share("taught", made_.taught);
    Share("entropy", made_.entropy);
    Share("learning_rate", made_.learning_rate);
    Number("imitate", made_.imitate, 100);
    Count("problems", made_.problems, 1, 10'000'000);
    Count("rounds", made_.rounds, 0, 1000);
    Count("improve", made_.improve, 0, 10'000'000);
    Count("epochs", made_.epochs, 0, 10'000);
    Count("visits", made_.visits, 0, 100'000);
    Count("draws", made_.draws, 2, 1024);
    Count("batch", made_.batch, 1, 4096);
    Objectives();
    Hidden();
    Model();
    if (!outcome_) return outcome_;
    if (Result<void> done = reader_.Finish(); !done) return done;
    return {};
  }

 private:
  template <typename T>
  void Take(std::string_view key, T& target, auto&& read) {
    const Node* node = reader_.Find(key);
    if (node == nullptr || !outcome_) return;
    auto value = read(*node);
    if (!value) {
      outcome_ = value.error();
    } else {
      target = *std::move(value);
    }
  }
  void Text(std::string_view key, std::string& target) {
    Take(key, target, [](const Node& node) { return node.AsString(); });
  }
  void Names(std::string_view key, std::vector<std::string>& target) {
    Take(key, target, ReadNames);
  }
  void Count(std::string_view key, int64_t& target, int64_t least, int64_t most) {
    Take(key, target, [&](const Node& node) { return node.AsInt(least, most); });
  }
  void Number(std::string_view key, double& target, double most) {
    Take(key, target, [&](const Node& node) -> Result<double> {
      const Result<double> value = node.AsDouble();
      if (!value || (*value >= 0 && *value <= most)) return value;
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("{} is not from 0 to {}", *value, most));
    });
  }
  void Share(std::string_view key, double& target) { Number(key, target, 1); }
  // A curriculum is data, and so is the folder of a run that has a copy of it: no program in it
  // runs.
  void Model() {
    const Node* node = reader_.Find("model");
    if (node == nullptr || !outcome_) return;
    const Result<CostModelChoice> model = ChooseCostModel(made_.model, {});
    if (!model) {
      outcome_ = node->ErrorHere(model.error().kind, model.error().message);
    } else if (model->info().takes_command) {
      outcome_ = node->ErrorHere(ErrorKind::kUnsupported, "a policy learns from no programs");
    }
  }
  void Objectives() {
    const Node* node = reader_.Find("objectives");
    if (node == nullptr || !outcome_) return;
    const Result<std::vector<std::string>> names = ReadNames(*node);
    if (!names) {
      outcome_ = names.error();
      return;
    }
    made_.objectives.clear();
    for (const std::string& name : *names) {
      const Result<std::vector<Objective>> objective = ParseObjectives(name);
      if (!objective) {
        outcome_ = node->ErrorHere(ErrorKind::kUnknownName, objective.error().message);
        return;
      }
      made_.objectives.insert(made_.objectives.end(), objective->begin(), objective->end());
    }
    if (made_.objectives.empty()) {
      outcome_ = node->ErrorHere(ErrorKind::kBadValue, "there is no objective");
    }
  }
  void Hidden() {
    const Node* node = reader_.Find("hidden");
    if (node == nullptr || !outcome_) return;
    made_.hidden.clear();
    for (const Node& item : node->items) {
      const Result<int64_t> width = item.AsInt(1, 1024);
      if (!width) {
        outcome_ = width.error();
        return;
      }
      made_.hidden.push_back(*width);
    }
    if (made_.hidden.empty() || made_.hidden.size() > 4) {
      outcome_ = node->ErrorHere(ErrorKind::kBadValue, "one to four widths are expected");
    }
  }

  MapReader reader_;
  Curriculum& made_;
  Result<void> outcome_ = {};
};

// ---- Layers

template <typename T, size_t N>
T Pick(const std::array<T, N>& values, CounterRng& rng) {
  return values[static_cast<size_t>(rng.UniformInt(static_cast<int64_t>(N)))];
}

// Sizes as networks have them, primes and odd ones included.
constexpr std::array<int64_t, 36> kChannels = {
    3,   4,   8,   12,  16,  20,  24,  32,  40,  48,  64,  72,  80,  88,  96,  112, 120,  128,
    144, 160, 192, 224, 240, 256, 320, 384, 448, 480, 512, 576, 640, 672, 768, 960, 1024, 1536};
constexpr std::array<int64_t, 24> kImages = {1,  2,  4,  5,  7,  8,  10, 12, 13, 14,  16,  20,
                                             24, 26, 28, 32, 35, 40, 52, 56, 64, 104, 112, 128};
constexpr std::array<int64_t, 6> kKernels = {1, 1, 3, 3, 5, 7};
constexpr std::array<int64_t, 12> kRows = {1, 1, 1, 4, 16, 32, 64, 100, 128, 197, 256, 512};
constexpr std::array<int64_t, 22> kWidths = {10,   64,   80,   100,  128,  192,  256,  320,
                                             384,  512,  576,  640,  768,  1000, 1024, 1280,
                                             1536, 2048, 2304, 3072, 4096, 5000};
constexpr std::array<int64_t, 5> kHeads = {1, 4, 8, 12, 16};
constexpr std::array<int64_t, 8> kTokens = {16, 49, 64, 128, 197, 256, 384, 1024};

Layer DrawConv(CounterRng& rng) {
  Layer layer;
  const double kind = rng.Uniform();
  const bool depthwise = kind < 0.25;
  layer.k = Pick(kChannels, rng);
  layer.c = depthwise ? layer.k : Pick(kChannels, rng);
  layer.groups = depthwise ? layer.k : 1;
  layer.r = layer.s = depthwise ? 3 + 2 * rng.UniformInt(2) : Pick(kKernels, rng);
  const int64_t stride = rng.Uniform() < 0.75 ? 1 : 2;
  layer.stride = {stride, stride};
  const int64_t pad = (layer.r - 1) / 2;
  layer.pad = {pad, pad, pad, pad};
  const int64_t p = Pick(kImages, rng), q = rng.Uniform() < 0.9 ? p : Pick(kImages, rng);
  layer.y = std::max<int64_t>(1, stride * (p - 1) + layer.r - 2 * pad);
  layer.x = std::max<int64_t>(1, stride * (q - 1) + layer.s - 2 * pad);
  return layer;
}

Layer DrawProduct(CounterRng& rng) {
  if (rng.Uniform() < 0.55) {
    return {.type = LayerType::kFullyConnected,
            .n = Pick(kRows, rng),
            .k = Pick(kWidths, rng),
            .c = Pick(kWidths, rng)};
  }
  Layer layer{.type = LayerType::kMatmul, .h = Pick(kHeads, rng), .m = Pick(kTokens, rng)};
  const bool scores = rng.Uniform() < 0.5;  // rows against rows, or against values
  layer.n = scores ? Pick(kTokens, rng) : 64;
  layer.k = scores ? 64 : Pick(kTokens, rng);
  return layer;
}

// ---- Machines

double Factor(CounterRng& rng, double doublings) {
  return std::exp2((2 * rng.Uniform() - 1) * doublings);
}

Decimal Scaled(const Decimal& value, double factor) {
  // Three digits say enough.
  const double scaled = value.ToDouble() * factor;
  if (scaled == 0) return value;
  const double unit = std::pow(10.0, std::floor(std::log10(scaled)) - 2);
  return Decimal::FromDouble(std::round(scaled / unit) * unit);
}

// A preset with other memories, bandwidths, energies and, sometimes, another array.
Accelerator Varied(const Accelerator& preset, CounterRng& rng) {
  Accelerator made = preset;
  Hierarchy& hierarchy = *made.hierarchy;
  const double size = rng.Uniform() < 0.5 ? 1 : rng.Uniform() < 0.5 ? 0.5 : 2;
  const auto mesh = [&](int64_t& value) {
    if (value > 1)
      value = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(value) * size));
  };
  mesh(hierarchy.arithmetic.mesh_x);
  mesh(hierarchy.arithmetic.mesh_y);
  for (MemoryLevel& level : hierarchy.levels) {
    mesh(level.mesh_x);
    mesh(level.mesh_y);
    if (level.entries && *level.entries > 8) {
      const double entries =
          static_cast<double>(*level.entries) * std::exp2(std::round(4 * rng.Uniform() - 2) / 1);
      level.entries = std::max<int64_t>(4, static_cast<int64_t>(entries));
    }
    for (std::optional<Decimal>* words : {&level.read_words_per_cycle, &level.write_words_per_cycle,
                                          &level.shared_words_per_cycle}) {
      if (*words) *words = Scaled(**words, std::exp2(std::round(3 * rng.Uniform() - 1.5)));
    }
    const double energy = Factor(rng, 1);
    for (Decimal* pj : {&level.read_pj, &level.fill_pj, &level.update_pj})
      *pj = Scaled(*pj, energy);
  }
  made.name += "-varied";
  return Validate(made) ? made : preset;
}

// The same for an array of PEs.
Accelerator VariedArray(const Accelerator& preset, CounterRng& rng) {
  Accelerator made = preset;
  const auto scale = [&](int64_t& value, double doublings) {
    if (value == PeArray::kUnlimited) return;
    const double factor = std::exp2(std::round((2 * rng.Uniform() - 1) * doublings));
    value = std::max<int64_t>(1, static_cast<int64_t>(static_cast<double>(value) * factor));
  };
  PeArray& array = *made.pe_array;
  scale(array.num_pes, 1);
  scale(array.l1_elements, 1);
  scale(array.l2_elements, 2);
  scale(array.noc_elements_per_cycle, 2);
  scale(array.offchip_elements_per_cycle, 1);
  made.name += "-varied";
  return Validate(made) ? made : preset;
}

// A machine from scratch: an array of PEs with registers, perhaps clusters, buffers, DRAM. Tensors
// share the memories of a place or have their own, some places have none, and words may pay for
// the way through the array.
class MachineDrawer {
 public:
  explicit MachineDrawer(CounterRng& rng) : rng_(rng) {}

  Accelerator Draw() {
    constexpr std::array<int64_t, 7> kSides = {4, 8, 12, 14, 16, 32, 64};
    const int64_t x = Pick(kSides, rng_), y = Pick(kSides, rng_);
    hierarchy_.arithmetic.mesh_x = x;
    hierarchy_.arithmetic.mesh_y = y;
    hierarchy_.arithmetic.mac_pj = Scaled(Decimal(1), Factor(rng_, 2));
    hierarchy_.links = rng_.Uniform() < 0.1;
    const bool hops = rng_.Uniform() < 0.5;
    const double kind = rng_.Uniform();
    Place("RF", {.most = 9, .pj = 0.3, .doublings = 2, .words = 4, .x = x, .y = y});
    // The fan-out is below the next level, whichever that is.
    const size_t array = hierarchy_.levels.size();
    if (kind < 0.25) {
      Place("LB", {.least = 9, .most = 13, .pj = 2, .doublings = 1, .words = 8, .x = x});
    } else if (kind < 0.35) {
      // Holds nothing: splits the fan-out, so that one dimension can use both axes.
      MemoryLevel column{.name = "Column", .entries = 0, .mesh_x = x};
      Add(column, {});
    }
    Place("GLB", {.least = 12,
                  .most = 19,
                  .pj = 10,
                  .doublings = 1.5,
                  .words = static_cast<double>(int64_t{8} << rng_.UniformInt(4))});
    if (kind > 0.9) Place("L3", {.least = 20, .most = 20, .pj = 25, .doublings = 1, .words = 32});
    if (hops) {
      for (size_t i = array; i < hierarchy_.levels.size(); ++i) Network(hierarchy_.levels[i]);
    }
    MemoryLevel dram =
        Level("DRAM", {.pj = 200,
                       .doublings = 1,
                       .words = static_cast<double>(int64_t{2} << rng_.UniformInt(6))});
    dram.entries.reset();
    dram.reduces_in_place = false;
    Add(dram, {kTensorNames.begin(), kTensorNames.end()});
    return {.name = "sampled", .source = "drawn for training", .hierarchy = std::move(hierarchy_)};
  }

 private:
  // Of the memories of a place: words are powers of two.
  struct Ranges {
    int64_t least = 0, most = 0;
    double pj = 1, doublings = 1, words = 1;
    int64_t x = 1, y = 1;
  };

  MemoryLevel Level(std::string name, const Ranges& ranges) {
    const int64_t power = ranges.least + rng_.UniformInt(ranges.most - ranges.least + 1);
    MemoryLevel level{.name = std::move(name),
                      .entries = int64_t{1} << power,
                      .mesh_x = ranges.x,
                      .mesh_y = ranges.y};
    const double pj = ranges.pj * Factor(rng_, ranges.doublings);
    level.read_pj = level.fill_pj = level.update_pj = Scaled(Decimal(1), pj);
    if (rng_.Uniform() < 0.8) {
      level.read_words_per_cycle = level.write_words_per_cycle = Scaled(Decimal(1), ranges.words);
    }
    return level;
  }

  void Add(const MemoryLevel& level, std::vector<std::string> keep) {
    hierarchy_.levels.push_back(level);
    hierarchy_.keeps.push_back(std::move(keep));
  }

  // One memory for all tensors, or one for each of some.
  void Place(const std::string& name, Ranges ranges) {
    if (rng_.Uniform() < 0.55) {
      ranges.least = std::max(ranges.least, std::min<int64_t>(ranges.most, 3));
      Add(Level(name, ranges), {kTensorNames.begin(), kTensorNames.end()});
      return;
    }
    std::array<size_t, 3> tensors = {0, 1, 2};
    rng_.Shuffle(std::span<size_t>(tensors));
    const int64_t count = 1 + rng_.UniformInt(3);
    for (int64_t i = 0; i < count; ++i) {
      const std::string tensor(kTensorNames[tensors[static_cast<size_t>(i)]]);
      Add(Level(name + tensor, ranges), {tensor});
    }
  }

  void Network(MemoryLevel& level) {
    if (rng_.Uniform() < 0.4) return;
    level.network.hop_pj = Scaled(Decimal(1), 0.1 * Factor(rng_, 4.5));
    if (rng_.Uniform() < 0.3) level.network.router_pj = Scaled(Decimal(1), 0.02 * Factor(rng_, 2));
    if (rng_.Uniform() < 0.3) level.network.ingress_pj = Scaled(Decimal(1), 0.05 * Factor(rng_, 2));
  }

  CounterRng& rng_;
  Hierarchy hierarchy_;
};

Accelerator Sampled(CounterRng& rng) { return MachineDrawer(rng).Draw(); }

// What a mapper sees of a layer; biases and names make no difference to it.
std::string LoopsOf(const Layer& layer) {
  const Result<LoopProblem> problem = MakeLoopProblem(layer);
  return problem ? ToString(*problem) : ToString(layer);
}

}  // namespace

Result<Curriculum> ParseCurriculum(std::string_view text, const std::string& file) {
  const Result<Node> node = ParseDocument(text, file);
  if (!node) return node.error();
  Curriculum made;
  if (Result<void> read = CurriculumReader(*node, made).Read(); !read) return read.error();
  return made;
}

bool ExerciseSource::IsHeldOut(const Layer& layer) const {
  return held_out_.contains(LoopsOf(layer));
}

Result<ExerciseSource> ExerciseSource::Make(const Curriculum& curriculum) {
  ExerciseSource source;
  source.curriculum_ = curriculum;
  for (const std::string& name : curriculum.held_out) {
    const Result<Network> network = LoadNetwork(name);
    if (!network) return network.error();
    for (const NetworkLayer& entry : network->layers) source.held_out_.insert(LoopsOf(entry.layer));
  }
  for (const std::string& name : curriculum.networks) {
    const Result<Network> network = LoadNetwork(name);
    if (!network) return network.error();
    for (const NetworkLayer& entry : network->layers) {
      if (!source.IsHeldOut(entry.layer)) source.layers_.push_back(entry.layer);
    }
  }
  for (const std::string& name : curriculum.presets) {
    Result<Accelerator> machine = LoadAccelerator(name);
    if (!machine) return machine.error();
    source.machines_.push_back(*std::move(machine));
  }
  return source;
}

Layer ExerciseSource::DrawLayer(CounterRng& rng) const {
  for (;;) {
    Layer layer;
    if (layers_.empty() || rng.Uniform() < curriculum_.synthetic) {
      layer = rng.Uniform() < 0.7 ? DrawConv(rng) : DrawProduct(rng);
    } else {
      layer = layers_[static_cast<size_t>(rng.UniformInt(std::ssize(layers_)))];
    }
    constexpr int64_t kMostMacs = int64_t{1} << 33;
    if (Validate(layer) && Macs(layer) <= kMostMacs && !IsHeldOut(layer)) return layer;
  }
}

Accelerator ExerciseSource::DrawMachine(CounterRng& rng) const {
  const double kind = rng.Uniform();
  if (machines_.empty() || kind < curriculum_.sampled) return Sampled(rng);
  const Accelerator& preset = machines_[static_cast<size_t>(rng.UniformInt(std::ssize(machines_)))];
  if (kind >= curriculum_.sampled + curriculum_.varied) return preset;
  return preset.hierarchy ? Varied(preset, rng) : VariedArray(preset, rng);
}

Exercise ExerciseSource::Draw(uint64_t seed, uint64_t number) const {
  CounterRng rng(seed, StreamId("policy.exercise"), number);
  Exercise made;
  made.layer = DrawLayer(rng);
  made.machine = DrawMachine(rng);
  made.objective =
      curriculum_
          .objectives[static_cast<size_t>(rng.UniformInt(std::ssize(curriculum_.objectives)))];
  made.bypass = rng.Uniform() < curriculum_.bypass;
  return made;
}

}  // namespace tessera
