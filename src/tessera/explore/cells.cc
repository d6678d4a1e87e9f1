#include "tessera/explore/cells.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/sha256.h"
#include "tessera/mapper/layer_prover.h"
#include "tessera/mapper/map_settings.h"
#include "tessera/record/clock.h"
#include "tessera/search/exact/mapper.h"
#include "tessera/search/exact/problem_options.h"

namespace tessera {
namespace {

constexpr int64_t kMaxNodes = 200'000;   // open ones of a cell: about 80 MiB
constexpr int64_t kSplitSteps = 60'000;  // bounds the work of a round for a bound
constexpr double kForever = std::numeric_limits<double>::infinity();

std::string JsonOf(const std::string& key, const CellFacts& facts) {
  std::string text =
      fmt::format("{{\"cell\":\"{}\",\"rounds\":{},\"bound\":{},\"complete\":{},\"settled\":{}",
                  key, facts.rounds, facts.bound, facts.complete, facts.settled);
  if (!facts.possible) text += fmt::format(",\"why\":{}", JournalString(facts.why));
  if (facts.mapped) {
    text += fmt::format(",\"value\":{},\"cycles\":{},\"energy_pj\":{},\"mapping\":{}", facts.value,
                        facts.cycles, facts.energy_pj, facts.mapping);
  }
  return text + "}";
}

// False if it is no line of such a journal.
bool Read(const Json& json, std::string& key, CellFacts& facts) {
  const auto number = [&](const char* name) {
    return json.contains(name) && json[name].is_number();
  };
  const auto flag = [&](const char* name) {
    return json.contains(name) && json[name].is_boolean();
  };
  if (!json.is_object() || !json.contains("cell") || !json["cell"].is_string() ||
      !number("rounds") || !number("bound") || !flag("complete") || !flag("settled")) {
    return false;
  }
  key = json["cell"].get<std::string>();
  facts.rounds = json["rounds"].get<int64_t>();
  facts.bound = json["bound"].get<double>();
  facts.complete = json["complete"].get<bool>();
  facts.settled = json["settled"].get<bool>();
  if (json.contains("why")) {
    if (!json["why"].is_string()) return false;
    facts.possible = false;
    facts.why = json["why"].get<std::string>();
  }
  if (!json.contains("value")) return true;
  if (!number("value") || !number("cycles") || !number("energy_pj") || !json.contains("mapping")) {
    return false;
  }
  facts.mapped = true;
  facts.value = json["value"].get<double>();
  facts.cycles = json["cycles"].get<double>();
  facts.energy_pj = json["energy_pj"].get<double>();
  facts.mapping = ToLine(json["mapping"]);
  return true;
}

}  // namespace

std::string CellQuestion::Key() const {
  Accelerator unnamed = accelerator;
  unnamed.name = unnamed.source = "";
  unnamed.notes.clear();
  const std::string text =
      fmt::format("{}|{}|{}|{}|{}", ToString(layer), name, ToString(objective),
                  threshold ? fmt::format("{}", *threshold) : "best", AcceleratorText(unnamed));
  constexpr size_t kDigits = 16;
  return Sha256Hex(text).substr(0, kDigits);
}

// What is under way: a proof of the best mapping, or a bound up to a threshold.
struct MapCell::Work {
  MapJob job = {};
  std::function<bool()> stopped = {};
  LayerMapping layer = {};
  std::unique_ptr<LayerProver> prover = {};
  std::unique_ptr<exact::Mapper> mapper = {};
  bool more = true;  // of the mapper
  int64_t rounds = 0;
};

MapCell::MapCell(const MapJob& base, CellQuestion question)
    : base_(base), question_(std::move(question)), key_(question_.Key()) {}

MapCell::~MapCell() = default;

void MapCell::Rest() { work_.reset(); }

Result<void> MapCell::StartProof(Work& work) {
  LayerMapping& layer = work.layer;
  layer.layer = question_.layer;
  layer.name = question_.name;
  const Result<LayerBounds> bounds = BoundsOf(layer.layer, work.job);
  if (!bounds) return bounds.error();
  layer.bounds = *bounds;
  layer.bound = bounds->Of(question_.objective);
  if (!start_.mapping.empty()) {
    const Result<Mapping> mapping =
        ParseMappingJson(start_.mapping, "mapping", layer.layer, question_.accelerator);
    if (!mapping) return mapping.error();
    const Result<std::unique_ptr<CostModel>> model = ModelOf(work.job, layer.layer);
    if (!model) return model.error();
    const Result<Cost> cost = Evaluate(**model, *mapping);
    if (!cost) return cost.error();
    layer.mapping = *mapping;
    layer.cost = *cost;
    layer.value = ValueOf(*cost, question_.objective);
  }
  work.prover = std::make_unique<LayerProver>(work.job, layer,
                                              [&work] { return work.stopped && work.stopped(); });
  if (Result<void> made = work.prover->Make(kMaxNodes, start_.entries); !made) return made;
  work.prover->Offer();
  return {};
}

Result<void> MapCell::Start() {
  work_ = std::make_unique<Work>();
  Work& work = *work_;
  work.job = base_;
  work.job.accelerator = question_.accelerator;
  work.job.problem.objective = question_.objective;
  const bool may_bypass = question_.accelerator.hierarchy->bypass;
  work.job.problem.space.decide_keep = base_.settings.bypass && may_bypass;
  if (!question_.threshold) {
    return StartProof(work);
  }
  const Result<std::unique_ptr<MappingProblem>> problem =
      ProblemOf(work.job, question_.layer, question_.name);
  if (!problem) return problem.error();
  Result<exact::MapperOptions> options = exact::OptionsFor(**problem);
  if (!options) return options.error();
  options->max_nodes = kMaxNodes;
  options->split_steps = kSplitSteps;
  options->dive_width = 0;  // Mappings above the threshold are of no use.
  options->stopped = [&work] { return work.stopped && work.stopped(); };
  const auto& [loops, hierarchy] = *(*problem)->loops();
  Result<std::unique_ptr<exact::Mapper>> mapper = exact::Mapper::Make(loops, hierarchy, *options);
  if (!mapper) return mapper.error();
  work.mapper = *std::move(mapper);
  work.mapper->OfferValue(*question_.threshold);
  return {};
}

void MapCell::Look(CellFacts& facts) const {
  const Work& work = *work_;
  facts.rounds = work.rounds;
  if (work.mapper != nullptr) {
    const exact::Progress progress = work.mapper->progress();
    facts.bound = std::max(facts.bound, std::min(progress.bound, *question_.threshold));
    facts.complete = facts.settled = !work.more || progress.status == exact::Status::kOptimal ||
                                     progress.status == exact::Status::kInfeasible;
    return;
  }
  work.prover->Publish();
  const LayerMapping& layer = work.layer;
  facts.complete = work.prover->first_done();
  facts.settled = work.prover->done();
  if (layer.bound) facts.bound = std::max(facts.bound, *layer.bound);
  if (!layer.cost) {
    facts.possible = !facts.settled;
    if (!facts.possible) facts.why = "no mapping is within the limits";
    return;
  }
  facts.mapped = true;
  facts.value = layer.value;
  facts.cycles = static_cast<double>(layer.cost->cycles);
  facts.energy_pj = layer.cost->energy_pj;
  if (Result<std::string> text =
          MappingJson(question_.layer, question_.accelerator, *layer.mapping)) {
    facts.mapping = *std::move(text);
  }
}

Result<bool> MapCell::Advance(int64_t rounds, bool settle, const std::function<bool()>& stopped) {
  if (work_ == nullptr) {
    if (Result<void> started = Start(); !started) {
      work_.reset();
      const Error& error = started.error();
      if (error.kind != ErrorKind::kInfeasible) return error;
      facts_.possible = false;
      facts_.complete = facts_.settled = true;
      facts_.why = error.message;
      return true;
    }
  }
  Work& work = *work_;
  work.stopped = stopped;
  ThreadPool one(1);  // Cells are what runs side by side.
  CellFacts facts = facts_;
  const auto over = [&] { return stopped && stopped(); };
  while (true) {
    const bool first_done = work.prover ? work.prover->first_done() : !work.more;
    const bool done = work.prover ? work.prover->done() : !work.more;
    if (done || (first_done ? !settle : work.rounds >= rounds)) break;
    if (over()) break;
    if (work.prover) {
      if (Result<void> ran = work.prover->Run(0, kForever, kForever, one); !ran) return ran.error();
      if (!first_done) ++work.rounds;
    } else {
      work.more = work.mapper->Step(one);
      ++work.rounds;
      const exact::Progress progress = work.mapper->progress();
      work.more = work.more && progress.status != exact::Status::kOptimal &&
                  progress.status != exact::Status::kInfeasible;
    }
  }
  if (over()) {
    Rest();  // A round that was cut short is not one of the schedule.
    return false;
  }
  Look(facts);
  facts_ = std::move(facts);
  if (facts_.settled) Rest();
  return true;
}

Result<void> CellTable::ReadKnown(const JournalFile& file) {
  Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  Where where{.file = file.path};
  for (const std::string& line : text->lines) {
    ++where.line;
    std::string key;
    CellFacts facts;
    if (!Read(FromText(line), key, facts)) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = "this is not a line of an exploration's journal",
                   .where = where};
    }
    read_keys_.push_back(key);
    known_[key] = std::move(facts);
  }
  file_ = file;
  read_ = *std::move(text);
  return {};
}

Result<void> CellTable::Open(const RunDirectory* directory) {
  if (directory == nullptr) return {};
  if (Result<void> read = ReadKnown(directory->Journal("cells")); !read) return read;
  Result<std::unique_ptr<LineJournal>> opened = LineJournal::Open(file_, read_);
  if (!opened) return opened.error();
  journal_ = *std::move(opened);
  return {};
}

Result<void> CellTable::Replay(const RunDirectory& directory, double seconds) {
  replays_ = true;
  repeat_until_ = SteadySeconds() + seconds;
  return ReadKnown(directory.Journal("cells"));
}

// A line for each of these tasks, all of them done and none written in this sitting.
Result<void> CellTable::Write(const std::vector<Task>& tasks) {
  if (journal_ == nullptr) return {};
  std::vector<std::string> lines;
  for (const Task& task : tasks) {
    const std::string key = KeyOf(task);
    const bool there =
        lines.empty() && confirmed_ < read_keys_.size() && read_keys_[confirmed_] == key;
    if (there) {
      ++confirmed_;
    } else {
      lines.push_back(JsonOf(key, known_.at(key)));
    }
  }
  if (lines.empty()) return {};
  if (confirmed_ < read_keys_.size()) {
    read_keys_.resize(confirmed_);
    read_.Keep(confirmed_);
    Result<std::unique_ptr<LineJournal>> cut = LineJournal::Open(file_, read_);
    if (!cut) return cut.error();
    journal_ = *std::move(cut);
  }
  return journal_->Append(lines);
}

// From the start, so that it depends on the question alone.
Result<void> CellTable::Repeat(const Task& task, const CellFacts& known) {
  MapCell again(task.cell->base(), task.cell->question());
  again.StartFrom(task.cell->start());
  const Result<bool> done =
      again.Advance(task.rounds, task.settle, [&] { return SteadySeconds() >= repeat_until_; });
  if (!done) return done.error();
  if (!*done) return {};
  ++repeated_;
  if (again.facts() == known) return {};
  const std::string key = KeyOf(task);
  discrepancies_.push_back(
      {fmt::format("cell {} of the journal", key), JsonOf(key, known), JsonOf(key, again.facts())});
  return {};
}

MapCell& CellTable::At(const MapJob& base, CellQuestion question) {
  auto cell = std::make_unique<MapCell>(base, std::move(question));
  std::unique_ptr<MapCell>& made = cells_[cell->key()];
  if (!made) made = std::move(cell);
  return *made;
}

std::string CellTable::KeyOf(const Task& task) {
  return fmt::format("{}.{}{}", task.cell->key(), task.rounds, task.settle ? "s" : "");
}

// What lies open of a cell takes memory, so only the latest cells keep it.
void CellTable::RestOthers(const std::vector<Task>& tasks) {
  constexpr size_t kMost = 48;
  for (const Task& task : tasks) {
    std::erase(working_, task.cell);
    if (task.cell->working()) working_.push_back(task.cell);
  }
  while (working_.size() > std::max(kMost, tasks.size())) {
    working_.front()->Rest();
    working_.erase(working_.begin());
  }
}

Result<bool> CellTable::Do(const std::vector<Task>& tasks, ThreadPool& pool,
                           const std::function<bool()>& stopped) {
  std::vector<Result<bool>> outcomes(tasks.size(), true);
  std::vector<size_t> open;
  std::vector<bool> first(tasks.size());
  for (size_t i = 0; i < tasks.size(); ++i) {
    const std::string key = KeyOf(tasks[i]);
    first[i] = !asked_.contains(key);
    const auto known = known_.find(key);
    if (known == known_.end()) {
      open.push_back(i);
      continue;
    }
    tasks[i].cell->Take(known->second);
    if (!first[i]) continue;
    ++recorded_;
    if (!replays_ || SteadySeconds() >= repeat_until_) continue;
    if (Result<void> repeated = Repeat(tasks[i], known->second); !repeated) return repeated.error();
  }
  if (!replays_) {
    pool.ParallelFor(std::ssize(open), 1, [&](int64_t begin, int64_t end, int /*worker*/) {
      for (int64_t k = begin; k < end; ++k) {
        const Task& task = tasks[open[static_cast<size_t>(k)]];
        outcomes[open[static_cast<size_t>(k)]] =
            task.cell->Advance(task.rounds, task.settle, stopped);
      }
    });
    RestOthers(tasks);
  }
  for (const size_t i : open) {
    if (replays_) outcomes[i] = false;
    if (!outcomes[i]) return outcomes[i].error();
    if (!*outcomes[i]) continue;
    ++computed_;
    known_[KeyOf(tasks[i])] = tasks[i].cell->facts();
  }
  bool all = true;
  std::vector<Task> done;
  for (size_t i = 0; i < tasks.size(); ++i) {
    all = all && *outcomes[i];
    if (!*outcomes[i]) continue;
    asked_.insert(KeyOf(tasks[i]));
    if (first[i]) done.push_back(tasks[i]);
  }
  if (Result<void> written = Write(done); !written) return written.error();
  return all;
}

void AddVerification(const CellTable& table, Verification& found) {
  found.part = "journal";
  found.parts.push_back({.name = "cells", .trials = table.repeated()});
  found.discrepancies.insert(found.discrepancies.end(), table.discrepancies().begin(),
                             table.discrepancies().end());
  const int64_t trusted = table.recorded() - table.repeated();
  if (trusted == 0) return;
  found.trusted.push_back(
      fmt::format("{} of {} steps of proofs were not repeated; more time (--seconds) repeats more",
                  trusted, table.recorded()));
}

}  // namespace tessera
