// Reading of study files.
#include "tessera/study/study_file.h"

#include <cctype>
#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-study-1";

// Larger counts are typing errors: no study would end.
constexpr int64_t kMostSeedsOfAStudy = 1'000'000;

Result<Word> WordAt(const Node& node) {
  Result<std::string> text = node.AsString();
  if (!text) return text.error();
  if (text->empty()) return node.ErrorHere(ErrorKind::kBadValue, "expected a word, not nothing");
  return Word{*std::move(text), node.where()};
}

// One or more of something; a single one needs no brackets.
template <typename Item, typename Read>
Result<std::vector<Item>> ListAt(const Node& node, std::string_view what, Read read) {
  std::vector<Item> items;
  const auto add = [&](const Node& item) -> Result<void> {
    auto value = read(item);
    if (!value) return value.error();
    items.push_back(*std::move(value));
    return {};
  };
  if (node.kind != Node::Kind::kSequence) {
    if (Result<void> ok = add(node); !ok) return ok.error();
    return items;
  }
  if (node.items.empty()) {
    return node.ErrorHere(ErrorKind::kBadValue, fmt::format("expected one or more {}", what));
  }
  for (const Node& item : node.items) {
    if (Result<void> ok = add(item); !ok) return ok.error();
  }
  return items;
}

// Reads the keys of a map that may be there; after the first error the others are left alone.
class Keys {
 public:
  Keys(const Node& node, std::string what)
      : reader_(node, std::move(what)), status_(reader_.Check()) {}

  template <typename Value, typename Read>
  void Take(std::string_view key, Value& value, Read read) {
    if (!status_) return;
    const Node* node = reader_.Find(key);
    if (node == nullptr) return;
    auto taken = read(*node);
    if (taken) {
      value = *std::move(taken);
    } else {
      status_ = taken.error();
    }
  }
  void Require(std::string_view key) {
    if (!status_) return;
    if (const Result<const Node*> node = reader_.Require(key); !node) status_ = node.error();
  }
  void RequireFormat() {
    if (status_) status_ = reader_.RequireFormat(kFormat);
  }

  void Read(std::string_view key, std::optional<Word>& value) { Take(key, value, WordAt); }
  void Read(std::string_view key, std::optional<bool>& value) {
    Take(key, value, [](const Node& node) { return node.AsBool(); });
  }
  void Read(std::string_view key, std::optional<int64_t>& value, int64_t least) {
    Take(key, value, [&](const Node& node) { return node.AsInt(least, INT64_MAX); });
  }
  void Read(std::string_view key, std::optional<double>& value) {
    Take(key, value, [](const Node& node) -> Result<double> {
      const Result<double> number = node.AsDouble();
      if (number && !(*number >= 0)) {
        return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} is below 0", node.scalar));
      }
      return number;
    });
  }
  // Whatever stands under the key, by a function that fills `value` in.
  template <typename Value>
  void Into(std::string_view key, Value& value, Result<void> (*read)(const Node&, Value&)) {
    if (!status_) return;
    if (const Node* node = reader_.Find(key)) status_ = read(*node, value);
  }

  Result<void> Finish() const { return status_ ? reader_.Finish() : status_; }

 private:
  MapReader reader_;
  Result<void> status_;
};

Result<Bindings> BindingsAt(const Node& node) {
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a map of names and values");
  }
  Bindings bindings;
  for (const Node::Entry& entry : node.entries) {
    // A number, or the word of a choice (phase: decode).
    const Result<int64_t> value = entry.value.AsInt();
    const Result<std::string> word = entry.value.AsString();
    if (!value &&
        (!word || word->empty() || std::isalpha(static_cast<unsigned char>((*word)[0])) == 0)) {
      return value.error();
    }
    bindings[entry.key] = value ? Binding(*value) : Binding(*word);
  }
  return bindings;
}

Result<LayersRequest> LayersAt(const Node& node) {
  LayersRequest layers;
  if (node.kind == Node::Kind::kScalar && node.scalar == "each") {
    layers.each = true;
    return layers;
  }
  if (node.kind == Node::Kind::kScalar && node.scalar == "whole") return layers;
  Result<std::vector<Word>> words = ListAt<Word>(node, "layers", WordAt);
  if (!words) return words.error();
  layers.chosen = *std::move(words);
  return layers;
}

// A name, or a map with what is to be known beside it. A unit names its layer itself.
Result<NetworkRequest> NetworkAt(const Node& node, bool with_layers) {
  NetworkRequest network;
  if (node.kind != Node::Kind::kMap) {
    Result<Word> name = WordAt(node);
    if (!name) return name.error();
    network.name = *std::move(name);
    return network;
  }
  Keys keys(node, "network");
  keys.Require("network");
  keys.Take("network", network.name, WordAt);
  keys.Take("bind", network.bindings, BindingsAt);
  if (with_layers) keys.Take("layers", network.layers, LayersAt);
  if (Result<void> done = keys.Finish(); !done) return done.error();
  return network;
}

Result<std::vector<int64_t>> SeedsAt(const Node& node) {
  const auto seed = [](const Node& item) { return item.AsInt(0, INT64_MAX); };
  if (node.kind == Node::Kind::kSequence) return ListAt<int64_t>(node, "seeds", seed);
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a list of seeds",
                          "write [1, 2, 3], or {from: 1, count: 3}");
  }
  Keys keys(node, "seeds");
  int64_t from = 1, count = 1;
  keys.Require("count");
  keys.Take("from", from, [](const Node& n) { return n.AsInt(0, INT64_MAX - kMostSeedsOfAStudy); });
  keys.Take("count", count, [](const Node& n) { return n.AsInt(1, kMostSeedsOfAStudy); });
  if (Result<void> done = keys.Finish(); !done) return done.error();
  std::vector<int64_t> seeds;
  for (int64_t i = 0; i < count; ++i) seeds.push_back(from + i);
  return seeds;
}

Result<void> ReadBudget(const Node& node, UnitSettings& settings) {
  Keys keys(node, "budget");
  MapBudget& budget = settings.budget;
  keys.Read("samples", budget.samples, 1);
  keys.Read("seconds", budget.seconds);
  keys.Read("proof_seconds", budget.proof_seconds);
  keys.Read("proof_rounds", budget.proof_rounds, 0);
  keys.Read("proof_memory_mib", budget.proof_memory_mib, 1);
  keys.Read("target_gap", settings.target_gap);
  return keys.Finish();
}

Result<void> ReadNeeds(const Node& node, UnitSettings& settings) {
  Keys keys(node, "needs");
  keys.Read("cores", settings.cores, 1);
  keys.Read("memory_mib", settings.memory_mib, 1);
  return keys.Finish();
}

Result<Assignments> AssignmentsAt(const Node& node) {
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a map of settings");
  }
  Assignments values;
  for (const Node::Entry& entry : node.entries) {
    Result<std::string> text = entry.value.AsString();
    if (!text) return text.error();
    values.emplace_back(entry.key, *std::move(text));
  }
  return values;
}

// A word, or a list of them.
Result<std::vector<Word>> WordsAt(const Node& node) {
  std::vector<Word> words;
  const bool list = node.kind == Node::Kind::kSequence;
  for (const Node& item : list ? std::span(node.items) : std::span(&node, 1)) {
    Result<Word> word = WordAt(item);
    if (!word) return word.error();
    words.push_back(*std::move(word));
  }
  return words;
}

// A map of costs and what they may be at most, in the words of --limit.
Result<std::vector<Word>> LimitsAt(const Node& node) {
  const Result<Assignments> values = AssignmentsAt(node);
  if (!values) return values.error();
  std::vector<Word> limits;
  for (const auto& [key, most] : *values) {
    limits.push_back({fmt::format("{}={}", key, most), node.where()});
  }
  return limits;
}

Result<void> ReadSettings(const Node& node, UnitSettings& settings) {
  Keys keys(node, "settings");
  keys.Read("model", settings.model);
  keys.Take("model_settings", settings.model_settings, AssignmentsAt);
  keys.Read("sizes", settings.sizes);
  keys.Read("factors", settings.factors);
  keys.Take("constraints", settings.constraints, WordsAt);
  keys.Read("dataflow", settings.dataflow);
  keys.Read("decide_pes", settings.decide_pes);
  keys.Read("bypass", settings.bypass);
  keys.Read("points", settings.points, 1);
  keys.Read("within", settings.within);
  keys.Take("limits", settings.limits, LimitsAt);
  return keys.Finish();
}

void ReadUnitSettings(Keys& keys, UnitSettings& settings) {
  keys.Into("budget", settings, ReadBudget);
  keys.Into("settings", settings, ReadSettings);
  keys.Into("needs", settings, ReadNeeds);
}

Result<UnitRequest> UnitAt(const Node& node, const UnitSettings& defaults) {
  UnitRequest unit{.where = node.where(), .settings = defaults};
  Keys keys(node, "unit");
  keys.Require("network");
  keys.Require("accelerator");
  keys.Take("network", unit.network,
            [](const Node& n) { return NetworkAt(n, /*with_layers=*/false); });
  keys.Read("layer", unit.layer);
  keys.Take("accelerator", unit.accelerator, WordAt);
  keys.Read("objective", unit.objective);
  keys.Read("method", unit.method);
  keys.Take("seed", unit.seed, [](const Node& n) { return n.AsInt(0, INT64_MAX); });
  ReadUnitSettings(keys, unit.settings);
  if (Result<void> done = keys.Finish(); !done) return done.error();
  return unit;
}

// Axes without a product, or a product without machines, are forgotten halves.
Result<void> CheckWork(const StudyFile& study, const Node& root) {
  const bool product = !study.networks.empty() || !study.accelerators.empty();
  if (product && study.networks.empty()) {
    return root.ErrorHere(ErrorKind::kBadValue, "the study has accelerators, but no 'networks'");
  }
  if (product && study.accelerators.empty()) {
    return root.ErrorHere(ErrorKind::kBadValue, "the study has networks, but no 'accelerators'");
  }
  if (product || !study.units.empty()) return {};
  return root.ErrorHere(ErrorKind::kBadValue, "the study has no work",
                        "give it 'networks' and 'accelerators', or 'units'");
}

}  // namespace

Result<StudyFile> ParseStudyFile(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  StudyFile study{.name = std::filesystem::path(file).stem().string(), .where = root->where()};
  std::optional<Word> name;
  using Words = std::vector<std::optional<Word>>;
  const auto words = [](std::string_view what) {
    return [what](const Node& node) { return ListAt<std::optional<Word>>(node, what, WordAt); };
  };
  Keys keys(*root, "study");
  keys.RequireFormat();
  keys.Read("name", name);
  keys.Take("networks", study.networks, [](const Node& node) {
    return ListAt<NetworkRequest>(node, "networks",
                                  [](const Node& n) { return NetworkAt(n, /*with_layers=*/true); });
  });
  keys.Take("layers", study.layers, LayersAt);
  keys.Take("accelerators", study.accelerators,
            [](const Node& node) { return ListAt<Word>(node, "accelerators", WordAt); });
  study.objectives = Words(1);
  keys.Take("objectives", study.objectives, words("objectives"));
  study.methods = Words(1);
  keys.Take("methods", study.methods, words("methods"));
  study.seeds = {1};
  keys.Take("seeds", study.seeds, SeedsAt);
  ReadUnitSettings(keys, study.settings);
  keys.Take("units", study.units, [&](const Node& node) {
    return ListAt<UnitRequest>(node, "units",
                               [&](const Node& n) { return UnitAt(n, study.settings); });
  });
  if (Result<void> done = keys.Finish(); !done) return done.error();
  if (name) study.name = name->text;
  if (Result<void> work = CheckWork(study, *root); !work) return work.error();
  return study;
}

}  // namespace tessera
