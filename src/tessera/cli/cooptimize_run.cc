#include "tessera/cli/cooptimize_run.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/coopt/emit.h"
#include "tessera/coopt/exhaustive.h"
#include "tessera/coopt/methods.h"
#include "tessera/coopt/targets.h"
#include "tessera/report/coopt_report.h"

namespace tessera {

CooptimizeRun::CooptimizeRun(CooptimizeSettings settings, std::vector<coopt::LeftOut> left_out,
                             coopt::CooptProblem problem, std::optional<RunDirectory> directory,
                             Context& context)
    : settings_(std::move(settings)),
      left_out_(std::move(left_out)),
      problem_(std::move(problem)),
      directory_(std::move(directory)),
      context_(context),
      pool_(static_cast<int>(context.options.threads)),
      simulator_(problem_, pool_) {}

Result<void> CooptimizeRun::Execute() {
  if (Result<void> opened = OpenJournal(); !opened) return opened;
  const Result<coopt::SessionResult> result =
      settings_.method.method->proves ? Exhaustive() : Search();
  if (!result) return result.error();
  if (result->best() == nullptr) {
    return Error{.kind = ErrorKind::kBudget,
                 .message = fmt::format("no accelerator has a schedule for every layer after {} "
                                        "measurements",
                                        result->measurements),
                 .hint =
                     "allow more --measurements or a larger budget, or use --generator "
                     "reference, whose schedules are all known to have programs"};
  }
  return Show(*result);
}

Result<void> CooptimizeRun::OpenJournal() {
  if (!directory_) return {};
  const std::string path = directory_->File("journal/measurements.txt");
  const bool exists = std::filesystem::exists(path);
  const Result<std::string> text = exists ? ReadFile(path) : std::string();
  if (!text) return text.error();
  // A run that was killed before its first line starts anew.
  if (text->find('\n') == std::string::npos) {
    std::filesystem::remove(path);
    Result<std::unique_ptr<coopt::Journal>> journal = coopt::Journal::Create(path, settings_.text);
    if (!journal) return journal.error();
    journal_ = *std::move(journal);
    return {};
  }
  Result<coopt::JournalContents> contents = coopt::ReadJournal(path, settings_.text, problem_);
  if (!contents) return contents.error();
  Result<std::unique_ptr<coopt::Journal>> journal = coopt::Journal::Open(path, contents->bytes);
  if (!journal) return journal.error();
  journal_ = *std::move(journal);
  recorded_ = std::move(contents->outcomes);
  context_.remark(fmt::format("resumed: {} measurements are there", recorded_.size()));
  return {};
}

Result<coopt::SessionResult> CooptimizeRun::Search() {
  Result<std::unique_ptr<coopt::JointSearcher>> searcher =
      coopt::MakeSearcher(settings_.method, {.problem = problem_,
                                             .seed = settings_.seed,
                                             .measurements = settings_.measurements,
                                             .validity_filter = settings_.validity_filter});
  if (!searcher) return searcher.error();
  const std::shared_ptr<ProgressObserver> progress =
      context_.start_progress({.name_heading = "layer", .samples_heading = "measurements"});
  coopt::SessionOptions options = {.measurements = settings_.measurements,
                                   .validity_filter = settings_.validity_filter,
                                   .recorded = &recorded_,
                                   .interrupted = context_.stopped};
  options.observe = [&](std::span<const coopt::Measured> fresh,
                        const coopt::SessionResult& result) -> Result<void> {
    Report(result, *progress);
    return journal_ ? journal_->Append(fresh) : Result<void>{};
  };
  Result<coopt::SessionResult> result = RunSession(**searcher, problem_, simulator_, options);
  if (result && result->interrupted) {
    context_.remark("interrupted: this is what was found so far");
  }
  return result;
}

// One row per layer and one for the network.
void CooptimizeRun::Report(const coopt::SessionResult& result, ProgressObserver& progress) const {
  const auto show = [&](const ProgressRow& row, bool done) {
    progress.OnProgress(done ? ProgressEvent::kDone : ProgressEvent::kAdvanced, row);
  };
  for (size_t i = 0; i < problem_.layers().size(); ++i) {
    ProgressRow row = {.name = problem_.layers()[i].name,
                       .samples = result.layer_measurements[i],
                       .budget = settings_.measurements};
    if (!result.layer_curves[i].empty()) row.best = result.layer_curves[i].back().cycles;
    show(row, row.samples >= row.budget);
  }
  const int64_t budget = settings_.measurements * std::ssize(problem_.layers());
  ProgressRow row = {.name = settings_.network, .samples = result.measurements, .budget = budget};
  if (const coopt::HardwareScore* best = result.best()) {
    row.best = best->cycles;
    row.gap = best->value / problem_.FloorCycles(*result.hardware) - 1;
  }
  if (problem_.options().objective == coopt::CooptObjective::kEdpProxy) row.gap.reset();
  show(row, row.samples >= budget);
}

Result<coopt::SessionResult> CooptimizeRun::Exhaustive() {
  const std::shared_ptr<ProgressObserver> progress =
      context_.start_progress({.name_heading = "network", .samples_heading = "measurements"});
  const auto go_on = [&](int64_t measured, std::optional<double> best) {
    progress->OnProgress(ProgressEvent::kAdvanced,
                         {.name = settings_.network, .best = best, .samples = measured});
    return !context_.stopped || !context_.stopped();
  };
  const Result<coopt::NetworkOptimum> optimum =
      BestOfNetwork(problem_, simulator_, problem_.hardware().LargestBuffers(), go_on);
  if (!optimum) return optimum.error();
  coopt::SessionResult result;
  coopt::HardwareScore score;
  score.value = optimum->value;
  score.measured_layers = optimum->layers.size();
  for (size_t i = 0; i < optimum->layers.size(); ++i) {
    score.layers.push_back(optimum->layers[i]);
    score.cycles += static_cast<double>(problem_.layers()[i].count) *
                    static_cast<double>(optimum->layers[i].outcome.cycles) /
                    static_cast<double>(problem_.images(optimum->hardware));
  }
  result.hardware = optimum->hardware;
  result.measurements = optimum->measured;
  result.layer_measurements = optimum->layer_measured;
  result.curve.push_back({optimum->measured, score.value, score.cycles});
  result.scores.emplace(optimum->hardware, std::move(score));
  return result;
}

Result<void> CooptimizeRun::Show(const coopt::SessionResult& result) {
  Json json = CooptJson({.network = settings_.network,
                         .method = settings_.method.ToString(),
                         .seed = settings_.seed,
                         .validity_filter = settings_.validity_filter},
                        problem_, result, left_out_);
  for (const coopt::LeftOut& layer : left_out_) {
    context_.remark(
        fmt::format("not on {}: {}: {}", problem_.hardware().info().name, layer.name, layer.why));
  }
  std::string text = ToText(CooptTable(problem_, result));
  if (!problem_.hardware().fixed()) text += "\n" + ToText(ParetoTable(problem_, result));
  text += "\n" + CooptSummary(problem_, result);
  if (directory_) {
    if (Result<void> written = WriteRun(result, text, json); !written) return written;
    text += fmt::format("written to {}\n", directory_->path());
  }
  context_.output.SetAll(std::move(json));
  return context_.output.ShowText(text);
}

// A program of every layer, each checked before it is written.
Result<void> CooptimizeRun::WritePrograms(const coopt::SessionResult& result, Json& json) {
  for (size_t i = 0; i < problem_.layers().size(); ++i) {
    const Result<std::string> program =
        coopt::EmitProgram(problem_, *result.best()->layers[i], settings_.seed);
    if (!program) return program.error();
    const std::string name =
        fmt::format("{:02}-{}{}", i + 1, SafeFileName(problem_.layers()[i].name),
                    problem_.hardware().info().program_suffix);
    if (Result<void> ok = directory_->Write(name, *program); !ok) return ok;
    json["layers"][i]["program"] = name;
  }
  json["data_seed"] = settings_.seed;
  json["verified"] = true;
  return {};
}

Result<void> CooptimizeRun::WriteRun(const coopt::SessionResult& result, const std::string& text,
                                     Json& json) {
  const coopt::Target& target = problem_.hardware();
  if (Result<void> ok = directory_->Write(std::string(target.info().hardware_file),
                                          target.FileText(*result.hardware));
      !ok) {
    return ok;
  }
  if (!target.info().program_suffix.empty()) {
    if (Result<void> ok = WritePrograms(result, json); !ok) return ok;
  }
  if (Result<void> ok = directory_->Write("report.txt", text); !ok) return ok;
  const std::string page = CooptPage(settings_.network, text, problem_, result);
  if (Result<void> ok = directory_->Write("report.html", page); !ok) return ok;
  return directory_->Write("manifest.json", ToText(json));
}

}  // namespace tessera
