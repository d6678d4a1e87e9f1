// Runs of `tessera study`, as all kinds of runs are resumed, verified and listed.
#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/record/clock.h"
#include "tessera/runs.h"
#include "tessera/study/kinds.h"
#include "tessera/study/open_study.h"
#include "tessera/study/study.h"

namespace tessera {
namespace {

Result<std::unique_ptr<RunResult>> Resume(RunDirectory& directory, const RunContext& context) {
  return RunStudy(directory, context);
}

Result<void> CheckExec(const RunDirectory& directory, bool allowed) {
  const Result<Study> study = Study::Load(directory);
  return study ? study->CheckExec(allowed) : study.error();
}

// Computes records again and compares them, as long as the time lasts.
class Repeater {
 public:
  Repeater(const Study& study, const VerifyOptions& options, Verification& found)
      : study_(study), options_(options), found_(found), begin_(SteadySeconds()) {}

  Result<void> Check(const StudyUnit& unit, const std::string& reported) {
    const Result<bool> timed = study_.DependsOnClock(unit);
    if (!timed) return timed.error();
    if (*timed) {
      ++timed_;
      return {};
    }
    if (SteadySeconds() - begin_ > options_.seconds) {
      ++late_;
      return {};
    }
    const Result<std::optional<std::string>> again =
        ComputeUnit(study_, unit, options_.threads, /*stopped=*/{});
    if (!again) return again.error();
    CheckedPart& part = PartOf(unit.network);
    ++part.numbers;
    if (**again != reported) {
      found_.discrepancies.push_back(
          {fmt::format("unit {}", unit.number), Quoted(reported, 200), Quoted(**again, 200)});
    }
    return {};
  }

  void Trust() {
    if (timed_ > 0) {
      found_.trusted.push_back(
          fmt::format("{} units whose budget has seconds, which no machine repeats", timed_));
    }
    if (late_ > 0) {
      found_.trusted.push_back(fmt::format("{} units that were not computed again within {} s",
                                           late_, options_.seconds));
    }
  }

 private:
  CheckedPart& PartOf(const std::string& name) {
    for (CheckedPart& part : found_.parts) {
      if (part.name == name) return part;
    }
    return found_.parts.emplace_back(CheckedPart{.name = name});
  }

  const Study& study_;
  const VerifyOptions& options_;
  Verification& found_;
  const double begin_;
  int64_t timed_ = 0, late_ = 0;
};

Result<RunVerification> Verify(const RunDirectory& directory, const VerifyOptions& options) {
  const Result<Study> study = Study::Load(directory);
  if (!study) return study.error();
  const Result<UnitRecords> records = ReadUnitRecords(directory, *study);
  if (!records) return records.error();
  RunVerification verification;
  verification.found.part = "network";
  Repeater repeater(*study, options, verification.found);
  for (const auto& [number, record] : *records) {
    const StudyUnit& unit = study->units()[static_cast<size_t>(number - 1)];
    if (Result<void> checked = repeater.Check(unit, record); !checked) return checked.error();
  }
  repeater.Trust();
  verification.again = ResultOf(*study, *records);
  return verification;
}

std::string Line(const RunDirectory& directory) {
  const Result<std::unique_ptr<StudyRunResult>> run = LoadStudyRun(directory);
  if (!run) return run.error().message;
  const StudyRunResult& result = **run;
  std::string text =
      fmt::format("{}, {} of {} units", result.name, result.done(), result.units.size());
  if (result.part.of > 1) {
    text += fmt::format(", part {}/{}", result.part.index, result.part.of);
  }
  return text;
}

}  // namespace

RunKind StudyRunKind() {
  return {.name = kStudyRun,
          .summary = "many mappings as one",
          .check_exec = CheckExec,
          .resume = Resume,
          .verify = Verify,
          .line = Line};
}

}  // namespace tessera
