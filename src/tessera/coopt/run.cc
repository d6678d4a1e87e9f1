// Co-optimizations as runs.
#include "tessera/coopt/run.h"

#include <array>
#include <filesystem>
#include <set>
#include <span>
#include <utility>
#include <variant>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/json_text.h"
#include "tessera/coopt/emit.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/measurement_journal.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/session.h"
#include "tessera/coopt/targets.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/record/run_inputs.h"
#include "tessera/vta.h"
#include "tessera/workload/copy.h"

namespace tessera::coopt {
namespace {

// The settings by name, once for writing and for reading.
struct Field {
  std::string_view key;
  std::variant<std::string*, int64_t*, double*, bool*, CooptObjective*, Generator*> value;
};
std::vector<Field> FieldsOf(CooptimizeSettings& s) {
  return {{"target", &s.target},
          {"method", &s.method},
          {"objective", &s.objective},
          {"generator", &s.generator},
          {"budget_macs", &s.limits.macs},
          {"budget_sram_bytes", &s.limits.sram_bytes},
          {"budget_area_um2", &s.limits.area_um2},
          {"budget_power_mw", &s.limits.sram_power_mw},
          {"max_batch", &s.limits.max_batch},
          {"limit_penalty", &s.limit_penalty},
          {"measurements", &s.measurements},
          {"measurement_seconds", &s.measurement_seconds},
          {"clock_mhz", &s.clock_mhz},
          {"read_delay_cycles", &s.timing.read_delay_cycles},
          {"beat_gap_cycles", &s.timing.beat_gap_cycles},
          {"write_ack_delay_cycles", &s.timing.write_ack_delay_cycles},
          {"bus_bytes", &s.timing.bus_bytes},
          {"gemm_startup_cycles", &s.timing.gemm_startup_cycles},
          {"alu_startup_cycles", &s.timing.alu_startup_cycles},
          {"as_published", &s.as_published}};
}

// How a setting is written: enums by their names.
template <typename Value>
const Value& Written(const Value& value) {
  return value;
}
std::string_view Written(CooptObjective value) { return NameOf(value, kCooptObjectiveNames); }
std::string_view Written(Generator value) { return NameOf(value, kGeneratorNames); }

std::string ToJsonText(CooptimizeSettings settings, const std::vector<std::string>& networks) {
  nlohmann::ordered_json json;
  json["networks"] = networks;
  for (const Field& field : FieldsOf(settings)) {
    std::visit([&](const auto* value) { json[std::string(field.key)] = Written(*value); },
               field.value);
  }
  json["hardware"] = settings.hardware ? nlohmann::ordered_json(*settings.hardware) : nullptr;
  if (!settings.policy.empty()) json["policy"] = settings.policy;
  return ToLine(json);
}

Result<void> ReadField(const Node& node, const Field& field) {
  const auto take = [](auto* target, const auto& value) -> Result<void> {
    if (!value) return value.error();
    *target = *value;
    return {};
  };
  if (auto* const* objective = std::get_if<CooptObjective*>(&field.value)) {
    const Result<std::string> name = node.AsString();
    return name ? take(*objective, FindCooptObjective(*name)) : name.error();
  }
  if (auto* const* generator = std::get_if<Generator*>(&field.value)) {
    const Result<std::string> name = node.AsString();
    return name ? take(*generator, FindGenerator(*name)) : name.error();
  }
  if (auto* const* text = std::get_if<std::string*>(&field.value)) {
    return take(*text, node.AsString());
  }
  if (auto* const* whole = std::get_if<int64_t*>(&field.value)) return take(*whole, node.AsInt());
  if (auto* const* real = std::get_if<double*>(&field.value)) return take(*real, node.AsDouble());
  return take(std::get<bool*>(field.value), node.AsBool());
}

struct StoredSettings {
  CooptimizeSettings settings = {};
  std::vector<std::string> networks = {};
};
Result<StoredSettings> ParseStored(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseJson(text, file);
  if (!root) return root.error();
  MapReader reader(*root, "run");
  StoredSettings stored;
  const Result<const Node*> networks = reader.Require("networks");
  if (!networks) return networks.error();
  for (const Node& item : (*networks)->items) stored.networks.push_back(item.scalar);
  for (const Field& field : FieldsOf(stored.settings)) {
    const Result<const Node*> node = reader.Require(field.key);
    if (!node) return node.error();
    if (Result<void> read = ReadField(**node, field); !read) return read.error();
  }
  const Result<const Node*> hardware = reader.Require("hardware");
  if (!hardware) return hardware.error();
  if ((*hardware)->kind == Node::Kind::kScalar) stored.settings.hardware = (*hardware)->scalar;
  if (const Node* policy = reader.Find("policy")) stored.settings.policy = policy->scalar;
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return stored;
}

// Settings come from users and from folders, which are data.
Result<void> CheckNumbers(const CooptimizeSettings& settings) {
  struct Number {
    std::string_view name;
    double value, least, most;
  };
  constexpr double kAny = 1e300;
  const HardwareLimits& limits = settings.limits;
  for (const Number& number : std::to_array<Number>(
           {{"budget_macs", static_cast<double>(limits.macs), 1, kMostMacs},
            {"budget_sram_bytes", static_cast<double>(limits.sram_bytes), 0, kAny},
            {"budget_area_um2", limits.area_um2, 0, kAny},
            {"budget_power_mw", limits.sram_power_mw, 0, kAny},
            {"max_batch", static_cast<double>(limits.max_batch), 1, kMostBatch},
            {"limit_penalty", settings.limit_penalty, 0, kAny},
            {"measurements", static_cast<double>(settings.measurements), 1, kMostMeasurements},
            {"measurement_seconds", settings.measurement_seconds, 0, kAny},
            {"clock_mhz", settings.clock_mhz, kLeastClockMhz, kMostClockMhz}})) {
    if (number.value >= number.least && number.value <= number.most) continue;
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} is {}, but must be in {}..{}", number.name,
                                        number.value, number.least, number.most)};
  }
  return {};
}

// ---- What is kept for other networks

constexpr std::string_view kAbout = "about";  // an array of characters: JSON
constexpr std::string_view kAboutFormat = "tessera-coopt-policies-1";

// The layer as a target sees it, for comparing.
std::string LoopsOf(const TaskLayer& layer) { return ToString(layer.layer); }

std::string AboutText(const CooptimizeJob& job, const SessionResult& session) {
  nlohmann::ordered_json json;
  json["format"] = kAboutFormat;
  json["target"] = job.settings.target;
  json["generator"] = NameOf(job.settings.generator, kGeneratorNames);
  json["objective"] = NameOf(job.settings.objective, kCooptObjectiveNames);
  json["method"] = job.settings.method;
  json["seed"] = job.seed;
  json["measurements"] = session.measurements;
  json["networks"] = nlohmann::ordered_json::array();
  for (const Network& network : job.networks) json["networks"].push_back(network.name);
  json["layers"] = nlohmann::ordered_json::array();
  for (const TaskLayer& layer : job.problem->layers()) json["layers"].push_back(LoopsOf(layer));
  return ToLine(json);
}

Result<std::string> ReadAbout(const TensorReader& reader) {
  const Result<int64_t> count = reader.Count(kAbout);
  if (!count) return count.error();
  std::vector<uint8_t> bytes(static_cast<size_t>(*count));
  if (Result<void> r = reader.Read(kAbout, std::span(bytes)); !r) return r.error();
  return std::string(bytes.begin(), bytes.end());
}

// The file, of a run's folder, too.
std::string PolicyFileOf(const std::string& path) {
  std::error_code ignored;
  if (!std::filesystem::is_directory(path, ignored)) return path;
  return path + "/" + std::string(kCooptPolicyFile);
}

// Takes up what a run has kept. Errors: a file of something else, or of another target.
Result<void> TakePolicy(const std::string& folder, CooptimizeJob& job) {
  if (job.settings.policy.empty()) return {};
  const Result<std::string> given = InputFile(folder, job.settings.policy);
  if (!given) return given.error();
  const std::string path = PolicyFileOf(*given);
  Result<TensorReader> reader = TensorReader::Open(path);
  if (!reader) return reader.error();
  const auto refuse = [&](std::string message) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = std::move(message),
                 .where = {.file = path},
                 .hint = "'tessera cooptimize ... --out RUN' with method dcoc writes such a file"};
  };
  const Result<std::string> text = ReadAbout(*reader);
  if (!text) return refuse("holds no policies of a co-optimization");
  const Result<Node> about = ParseJson(*text, path);
  if (!about) return about.error();
  const auto field = [&](std::string_view key) {
    const Node* node = about->Find(key);
    return node == nullptr ? std::string() : node->scalar;
  };
  if (field("format") != kAboutFormat) return refuse("holds no policies of a co-optimization");
  const std::string_view generator = NameOf(job.settings.generator, kGeneratorNames);
  if (field("target") != job.settings.target || field("generator") != generator) {
    return refuse(fmt::format("was learned on target {} with generator {}, not {} with {}",
                              field("target"), field("generator"), job.settings.target, generator));
  }
  CooptPolicyInfo info;
  if (const Node* measured = about->Find("measurements")) {
    const Result<int64_t> count = measured->AsInt();
    if (!count) return count.error();
    info.measurements = *count;
  }
  if (const Node* networks = about->Find("networks")) {
    for (const Node& item : networks->items) info.networks.push_back(item.scalar);
  }
  std::set<std::string> seen;
  if (const Node* layers = about->Find("layers")) {
    for (const Node& item : layers->items) seen.insert(item.scalar);
  }
  for (const TaskLayer& layer : job.problem->layers()) {
    info.layers_seen += seen.contains(LoopsOf(layer)) ? 1 : 0;
  }
  job.policy_info = std::move(info);
  job.policy = std::make_shared<const TensorReader>(*std::move(reader));
  return {};
}

Result<CooptOptions> OptionsOf(const CooptimizeSettings& settings, const MethodChoice& method,
                               const TargetInfo& target) {
  if (Result<void> valid = vta::Validate(settings.timing); !valid) return valid.error();
  const auto refuse = [&](std::string_view why, std::string_view hint) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--method {} {}", method.method->name, why),
                 .hint = std::string(hint)};
  };
  if (method.method->proves) {
    if (!target.has_bounds) {
      return refuse(fmt::format("is for --target {}", TargetsWith(&TargetInfo::has_bounds)), "");
    }
    if (settings.limit_penalty > 0) {
      return refuse("needs limits that exclude", "leave --limit-penalty out");
    }
    if (settings.objective == CooptObjective::kEdpProxy) {
      return refuse("has no bound for --objective edp-proxy", "use throughput or latency");
    }
  }
  return CooptOptions{.generator = settings.generator,
                      .objective = settings.objective,
                      .timing = settings.timing,
                      .clock_mhz = settings.clock_mhz,
                      .limits = settings.limits,
                      .limit_penalty = settings.limit_penalty};
}

SessionResult FromOptimum(const CooptProblem& problem, const NetworkOptimum& optimum) {
  SessionResult result;
  HardwareScore score;
  score.value = optimum.value;
  score.measured_layers = optimum.layers.size();
  for (size_t i = 0; i < optimum.layers.size(); ++i) {
    score.layers.push_back(optimum.layers[i]);
    score.cycles += static_cast<double>(problem.layers()[i].count) *
                    static_cast<double>(optimum.layers[i].outcome.cycles) /
                    static_cast<double>(problem.images(optimum.hardware));
  }
  result.hardware = optimum.hardware;
  result.measurements = optimum.measured;
  result.layer_measurements = optimum.layer_measured;
  result.curve.push_back({optimum.measured, score.value, score.cycles});
  result.scores.emplace(optimum.hardware, std::move(score));
  return result;
}

Result<SessionResult> Exhaustive(const CooptimizeJob& job, ThreadPool& pool,
                                 const RunHooks& hooks) {
  const CooptProblem& problem = *job.problem;
  const Simulator simulator(problem, pool);
  const auto go_on = [&](int64_t measured, std::optional<double> best) {
    if (hooks.progress != nullptr) {
      hooks.progress->OnProgress(ProgressEvent::kAdvanced,
                                 {.name = job.name, .best = best, .samples = measured});
    }
    return !hooks.stopped || !hooks.stopped();
  };
  const Result<NetworkOptimum> optimum =
      BestOfNetwork(problem, simulator, problem.hardware().LargestBuffers(), go_on);
  if (!optimum) return optimum.error();
  return FromOptimum(problem, *optimum);
}

Result<SessionResult> Search(const CooptimizeJob& job, ThreadPool& pool, SessionOptions options,
                             std::string& policies) {
  options.measurements = job.settings.measurements;
  options.validity_filter = !job.settings.as_published;
  const Result<std::unique_ptr<JointSearcher>> searcher =
      MakeSearcher(job.method, {.problem = *job.problem,
                                .seed = job.seed,
                                .measurements = job.settings.measurements,
                                .validity_filter = options.validity_filter,
                                .policy = job.policy});
  if (!searcher) return searcher.error();
  if (job.policy != nullptr && !(*searcher)->Keeps()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("--policy: method {} does not take policies up",
                                        job.method.method->name),
                 .hint = "use --method dcoc"};
  }
  Result<SessionResult> session =
      RunSession(**searcher, *job.problem, Simulator(*job.problem, pool), options);
  if (!session || !(*searcher)->Keeps()) return session;
  const std::string about = AboutText(job, *session);
  const std::vector<uint8_t> bytes(about.begin(), about.end());
  TensorWriter writer;
  writer.Add(std::string(kAbout), std::span<const uint8_t>(bytes));
  (*searcher)->Save(writer);
  policies = writer.Bytes();
  return session;
}

// One row per layer and one for the network.
void Report(const CooptimizeJob& job, const SessionResult& result, ProgressObserver& progress) {
  const CooptProblem& problem = *job.problem;
  const auto show = [&](const ProgressRow& row) {
    progress.OnProgress(row.samples >= row.budget ? ProgressEvent::kDone : ProgressEvent::kAdvanced,
                        row);
  };
  for (size_t i = 0; i < problem.layers().size(); ++i) {
    ProgressRow row = {.name = problem.layers()[i].name,
                       .samples = result.layer_measurements[i],
                       .budget = job.settings.measurements};
    if (!result.layer_curves[i].empty()) row.best = result.layer_curves[i].back().cycles;
    show(row);
  }
  ProgressRow row = {.name = job.name,
                     .samples = result.measurements,
                     .budget = job.settings.measurements * std::ssize(problem.layers())};
  if (const HardwareScore* best = result.best()) {
    row.best = best->cycles;
    row.gap = best->value / problem.FloorCycles(*result.hardware) - 1;
  }
  if (problem.options().objective == CooptObjective::kEdpProxy) row.gap.reset();
  show(row);
}

CooptimizedLayer LayerOf(const CooptProblem& problem, const SessionResult& session, size_t index) {
  const Measured& best = *session.best()->layers[index];
  const ScheduleSpace& space = problem.task(best.request.hardware, index).space;
  const double images = static_cast<double>(problem.images(best.request.hardware));
  return {.name = problem.layers()[index].name,
          .count = problem.layers()[index].count,
          .schedule = space.Describe(best.request.point),
          .cycles = static_cast<double>(best.outcome.cycles) / images,
          .floor_cycles = space.FloorCycles() / images,
          .energy_pj = best.outcome.energy_pj / images,
          .measurements = session.layer_measurements[index]};
}

// What a session came to, in plain data.
void Summarize(SessionResult session, CooptimizeResult& result) {
  const CooptProblem& problem = *result.job.problem;
  result.curve = session.curve;
  result.measurements = session.measurements;
  result.interrupted = session.interrupted;
  result.seconds = session.seconds;
  if (const HardwareScore* best = session.best()) {
    const size_t hardware = *session.hardware;
    result.best = {.hardware = problem.hardware().Name(hardware),
                   .file = problem.hardware().FileText(hardware),
                   .cost = problem.hardware().Cost(hardware, problem.options().clock_mhz),
                   .value = best->value,
                   .cycles = best->cycles};
    for (size_t i = 0; i < problem.layers().size(); ++i) {
      result.best->layers.push_back(LayerOf(problem, session, i));
    }
  }
  result.session = std::make_shared<const SessionResult>(std::move(session));
}

Result<void> AddPrograms(CooptimizeResult& result) {
  const bool none = result.job.problem->hardware().info().program_suffix.empty();
  if (none || !result.best) return {};
  for (const std::optional<Measured>& layer : result.session->best()->layers) {
    Result<std::string> program = EmitProgram(*result.job.problem, *layer, result.job.seed);
    if (!program) return program.error();
    result.programs.push_back(*std::move(program));
  }
  return {};
}

// What the run reports, measured now: a journal is no reason to believe a number.
Result<void> MeasureBestAgain(const CooptimizeResult& result, ThreadPool& pool) {
  if (!result.best) return {};
  const CooptProblem& problem = *result.job.problem;
  for (const std::optional<Measured>& layer : result.session->best()->layers) {
    Measured again = {.request = layer->request};
    Simulator(problem, pool).Measure({&again, 1});
    const std::string was = MeasurementLine(*layer), is = MeasurementLine(again);
    if (was == is) continue;
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("layer {}: a measurement of the run is {}, but now it is {}",
                               problem.layers()[layer->request.layer].name, was, is),
        .hint = "the settings or measurements of the run were changed"};
  }
  return {};
}

}  // namespace

Result<CooptimizeJob> MakeCooptimizeJob(const CooptimizeSettings& settings, uint64_t seed,
                                        std::vector<Network> networks, const std::string& folder) {
  if (Result<void> checked = CheckNumbers(settings); !checked) return checked.error();
  Result<MethodChoice> method = ParseMethodChoice(settings.method, CooptMethods());
  if (!method) return method.error();
  // Files that the method names travel with the run.
  for (std::string* file : method->Files()) {
    Result<std::string> path = InputFile(folder, *file);
    if (!path) return path.error();
    *file = *std::move(path);
  }
  const Result<const TargetInfo*> info = FindTarget(settings.target);
  if (!info) return info.error();
  const Result<CooptOptions> options = OptionsOf(settings, *method, **info);
  if (!options) return options.error();
  CooptimizeJob job{.settings = settings, .seed = seed, .networks = std::move(networks)};
  for (const Network& network : job.networks) {
    job.name += (job.name.empty() ? "" : "+") + network.name;
  }
  Result<TaskList> tasks = (*info)->tasks(job.networks);
  if (!tasks) return tasks.error();
  HardwareLimits limits = settings.limits;
  limits.clock_mhz = settings.clock_mhz;
  if (settings.limit_penalty > 0) limits.sram_bytes = 0, limits.area_um2 = limits.sram_power_mw = 0;
  std::optional<std::string> hardware = settings.hardware;
  if (hardware) {
    Result<std::string> path = InputFile(folder, *hardware);
    if (!path) return path.error();
    hardware = *std::move(path);
  }
  const Result<TargetPointer> target = MakeTarget(**info, limits, hardware);
  if (!target) return target.error();
  job.method = *std::move(method);
  job.left_out = std::move(tasks->left_out);
  job.problem = std::make_shared<CooptProblem>(std::move(tasks->layers), *target, *options);
  if (Result<void> taken = TakePolicy(folder, job); !taken) return taken.error();
  if (!job.method.method->proves) return job;
  if (Result<void> walks = CheckSize(*job.problem, (*target)->LargestBuffers()); !walks) {
    Error error = walks.error();
    error.hint = "use --generator reference, or a --layer with few schedules and --hardware";
    return error;
  }
  return job;
}

Result<RunDirectory> CreateCooptimizeRun(const std::string& path, const CooptimizeJob& job,
                                         const RunOrigin& origin) {
  CooptimizeSettings settings = job.settings;
  RunDirectory::Files inputs;
  std::vector<std::string> names;
  for (const Network& network : job.networks) {
    Result<std::string> text = NetworkText(network);
    if (!text) return text.error();
    names.push_back(fmt::format("inputs/network-{}.yaml", names.size() + 1));
    inputs[names.back()] = *std::move(text);
  }
  if (settings.hardware) {
    // The one accelerator of the target, as its file.
    settings.hardware = "inputs/" + std::string(job.problem->hardware().info().hardware_file);
    inputs[*settings.hardware] = job.problem->hardware().FileText(0);
  }
  MethodChoice method = job.method;
  for (std::string* file : method.Files()) {
    const Result<std::string> text = ReadTextFile(*file);
    if (!text) return text.error();
    *file = "inputs/method-" + std::filesystem::path(*file).filename().string();
    inputs[*file] = *text;
  }
  settings.method = method.ToString();
  if (!settings.policy.empty()) {
    Result<std::string> bytes = ReadFile(PolicyFileOf(settings.policy));
    if (!bytes) return bytes.error();
    settings.policy = "inputs/" + std::string(kCooptPolicyFile);
    inputs[settings.policy] = *std::move(bytes);
  }
  return RunDirectory::Create(path,
                              {.kind = std::string(kCooptimizeRun),
                               .origin = origin,
                               .settings = ToJsonText(settings, names),
                               .seed = static_cast<int64_t>(job.seed)},
                              inputs);
}

Result<CooptimizeJob> LoadCooptimizeJob(const RunDirectory& directory) {
  const Result<StoredSettings> stored =
      ParseStored(directory.header().settings, directory.File("run.json"));
  if (!stored) return stored.error();
  std::vector<Network> networks;
  for (const std::string& name : stored->networks) {
    const Result<std::string> file = InputFile(directory.path(), name);
    if (!file) return file.error();
    Result<Network> network = LoadNetwork(*file);
    if (!network) return network.error();
    networks.push_back(*std::move(network));
  }
  return MakeCooptimizeJob(stored->settings, static_cast<uint64_t>(directory.header().seed),
                           std::move(networks), directory.path());
}

Result<CooptimizeResult> Cooptimize(CooptimizeJob job, int threads, const RunHooks& hooks) {
  ThreadPool pool(threads);
  CooptimizeResult result{.job = std::move(job)};
  const CooptProblem& problem = *result.job.problem;
  Result<SessionResult> session = SessionResult{};
  if (result.job.method.method->proves) {
    session = Exhaustive(result.job, pool, hooks);
  } else {
    std::optional<MeasurementJournal> journal;
    SessionOptions options = {.interrupted = hooks.stopped};
    if (hooks.directory != nullptr) {
      Result<MeasurementJournal> opened = MeasurementJournal::Open(*hooks.directory, problem);
      if (!opened) return opened.error();
      journal.emplace(*std::move(opened));
      options.recorded = &journal->recorded();
      result.recorded = std::ssize(journal->recorded());
    }
    options.observe = [&](std::span<const Measured> fresh, const SessionResult& so_far) {
      if (hooks.progress != nullptr) Report(result.job, so_far, *hooks.progress);
      return journal ? journal->Append(fresh) : Result<void>();
    };
    session = Search(result.job, pool, options, result.policies);
  }
  if (!session) return session.error();
  Summarize(*std::move(session), result);
  if (!result.best && !result.interrupted) {
    return Error{.kind = ErrorKind::kBudget,
                 .message = fmt::format("no accelerator has a schedule for every layer after {} "
                                        "measurements",
                                        result.measurements),
                 .hint =
                     "allow more --measurements or a larger budget, or use --generator "
                     "reference, whose schedules are all known to have programs"};
  }
  if (hooks.directory == nullptr) return result;
  if (result.recorded > 0) {
    if (Result<void> same = MeasureBestAgain(result, pool); !same) return same.error();
  }
  if (Result<void> added = AddPrograms(result); !added) return added.error();
  return result;
}

Result<CooptimizeResult> CooptimizeAgain(const RunDirectory& directory,
                                         const VerifyOptions& options, Verification& found) {
  Result<CooptimizeJob> job = LoadCooptimizeJob(directory);
  if (!job) return job.error();
  found.part = "layer";
  if (job->method.method->proves) {
    Result<CooptimizeResult> walked = Cooptimize(*std::move(job), options.threads, {});
    if (!walked) return walked;
    if (Result<void> added = AddPrograms(*walked); !added) return added.error();
    return walked;
  }
  const CooptProblem& problem = *job->problem;
  const Result<std::vector<Measured>> lines = ReadMeasurements(directory, problem);
  if (!lines) return lines.error();
  ThreadPool pool(options.threads);
  std::vector<Measured> again = *lines;
  for (Measured& item : again) item.outcome = {};
  Simulator(problem, pool).Measure(again);
  for (const TaskLayer& layer : problem.layers()) found.parts.push_back({.name = layer.name});
  Outcomes outcomes;
  for (size_t i = 0; i < again.size(); ++i) {
    ++found.parts[again[i].request.layer].trials;
    const std::string was = MeasurementLine((*lines)[i]), is = MeasurementLine(again[i]);
    if (was != is) {
      found.discrepancies.push_back({fmt::format("measurement {} of the journal", i + 1), was, is});
    }
    outcomes.insert_or_assign(again[i].request, again[i].outcome);
  }
  // The search once more on these measurements. It ends where the journal does, also if somebody
  // interrupted it there.
  int64_t taken = 0;
  SessionOptions session = {.recorded = &outcomes};
  session.observe = [&](std::span<const Measured>, const SessionResult& so_far) -> Result<void> {
    taken = so_far.measurements + so_far.refused;
    return {};
  };
  session.interrupted = [&] { return taken >= std::ssize(outcomes); };
  CooptimizeResult result{.job = *std::move(job), .recorded = std::ssize(*lines)};
  Result<SessionResult> made = Search(result.job, pool, session, result.policies);
  if (!made) return made.error();
  Summarize(*std::move(made), result);
  if (Result<void> added = AddPrograms(result); !added) return added.error();
  return result;
}

}  // namespace tessera::coopt
