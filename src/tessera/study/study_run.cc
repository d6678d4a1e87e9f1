// Computing studies: units side by side on this machine, or one of them for a machine elsewhere.
#include <algorithm>
#include <atomic>
#include <mutex>
#include <utility>

#include <fmt/format.h>

#include "tessera/part.h"
#include "tessera/record/clock.h"
#include "tessera/runs.h"
#include "tessera/study/open_study.h"
#include "tessera/study/study.h"
#include "tessera/study/study_plan.h"

namespace tessera {
namespace {

Result<void> ComputeAll(OpenStudy& open, const RunContext& context, bool retry) {
  const std::vector<const StudyUnit*> units = open.Remaining(retry);
  ThreadPool pool(context.threads);
  // Cores that have no unit of their own help with one.
  const int each =
      units.empty() ? 1 : std::max(1, pool.threads() / static_cast<int>(std::ssize(units)));
  UnitProgress progress(context, open.study().name(), std::ssize(units));
  std::mutex mutex;
  Result<void> status;
  std::atomic<bool> ended = false;
  const auto stopped = [&] { return ended || (context.stopped && context.stopped()); };
  pool.ParallelFor(std::ssize(units), 1, [&](int64_t begin, int64_t, int) {
    if (stopped()) return;
    const StudyUnit& unit = *units[static_cast<size_t>(begin)];
    Result<std::optional<std::string>> record = ComputeUnit(open.study(), unit, each, stopped);
    const std::lock_guard lock(mutex);
    if (ended || (record && !*record)) return;
    Result<void> added = record ? open.Add(unit.number, **std::move(record)) : record.error();
    if (added) return progress.Advance();
    status = added;
    ended = true;
  });
  return status;
}

}  // namespace

Result<RunDirectory> CreateStudyRun(const std::string& path, const std::string& file,
                                    const StudyPart& part, const RunOrigin& origin) {
  const Result<StudyPlan> plan = PlanStudy(file);
  if (!plan) return plan.error();
  if (HoldsRun(path)) {
    return OpenStudyRun(path, StudyId(plan->inputs.at(std::string(kUnitsFile))), part);
  }
  return RunDirectory::Create(path,
                              {.kind = std::string(kStudyRun),
                               .origin = origin,
                               .settings = StudySettings(plan->name, part)},
                              plan->inputs);
}

Result<std::unique_ptr<StudyRunResult>> LoadStudyRun(const RunDirectory& directory) {
  const Result<Study> study = Study::Load(directory);
  if (!study) return study.error();
  const Result<UnitRecords> records = ReadUnitRecords(directory, *study);
  if (!records) return records.error();
  return ResultOf(*study, *records);
}

Result<std::unique_ptr<RunResult>> RunStudy(RunDirectory& directory, const RunContext& context,
                                            bool retry) {
  const double begin = SteadySeconds();
  Result<OpenStudy> open = OpenStudy::Open(directory);
  if (!open) return open.error();
  Result<void> status = ComputeAll(*open, context, retry);
  Result<std::unique_ptr<StudyRunResult>> result = open->Finish();
  if (!status) return status.error();
  if (!result) return result.error();
  (*result)->seconds = SteadySeconds() - begin;
  return std::unique_ptr<RunResult>(*std::move(result));
}

Result<std::string> ComputeStudyUnit(const RunDirectory& directory, int64_t number,
                                     const RunContext& context) {
  const Result<Study> study = Study::Load(directory);
  if (!study) return study.error();
  const Result<const StudyUnit*> unit = study->Find(number);
  if (!unit) return unit.error();
  const Result<std::optional<std::string>> record =
      ComputeUnit(*study, **unit, context.threads, context.stopped);
  if (!record) return record.error();
  if (*record) return **record;
  return Error{.kind = ErrorKind::kInterrupted,
               .message = fmt::format("unit {} was interrupted", number)};
}

}  // namespace tessera
