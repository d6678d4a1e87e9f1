// Studies that are being computed.
#include "tessera/study/open_study.h"

#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/map.h"
#include "tessera/study/unit_record.h"

namespace tessera {
namespace {

// Lines of progress where there is no live table.
constexpr int64_t kMilestones = 20;

}  // namespace

int64_t StudyRunResult::done() const {
  return std::count_if(records.begin(), records.end(),
                       [](const std::string& record) { return !record.empty(); });
}

std::unique_ptr<StudyRunResult> ResultOf(const Study& study, const UnitRecords& records) {
  auto result = std::make_unique<StudyRunResult>();
  result->name = study.name();
  result->id = study.id();
  result->part = study.part();
  result->units_of_all_parts = std::ssize(study.units());
  for (const StudyUnit& unit : study.units()) {
    if (!study.part().Has(unit.number)) continue;
    const auto found = records.find(unit.number);
    result->units.push_back(unit);
    result->records.push_back(found == records.end() ? "" : found->second);
  }
  return result;
}

Result<std::optional<std::string>> ComputeUnit(const Study& study, const StudyUnit& unit,
                                               int threads, const std::function<bool()>& stopped) {
  const auto failed = [&](const Error& error) -> Result<std::optional<std::string>> {
    if (error.kind == ErrorKind::kInterrupted) return std::optional<std::string>();
    if (!IsAboutUnit(error)) {
      Error named = error;
      named.message = fmt::format("unit {} ({}): {}", unit.number, unit.Name(), error.message);
      return named;
    }
    return std::optional(FailedRecord(unit, error));
  };
  const Result<MapJob> job = study.Job(unit);
  if (!job) return failed(job.error());
  const Result<NetworkMapping> mapping = MapNetwork(*job, threads, {.stopped = stopped});
  if (!mapping) return failed(mapping.error());
  if (mapping->interrupted) return std::optional<std::string>();
  Result<std::string> record = RecordOf(unit, *job, *mapping);
  if (!record) return failed(record.error());
  return std::optional(*std::move(record));
}

Result<std::optional<int64_t>> UnitOfNew(const std::string& record, const Study& study,
                                         const UnitRecords& known, const Where& where) {
  const Result<RecordHead> head = CheckRecordOf(study, record, where);
  if (!head) return head.error();
  const auto found = known.find(head->unit);
  if (found == known.end()) return std::optional(head->unit);
  if (found->second == record) return std::optional<int64_t>();
  const StudyUnit& unit = study.units()[static_cast<size_t>(head->unit - 1)];
  const Result<bool> timed = study.DependsOnClock(unit);
  if (!timed) return timed.error();
  if (*timed) return std::optional<int64_t>();
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("unit {} ({}) has two different records", head->unit,
                                      Printable(unit.Name())),
               .where = where,
               .hint = "they were computed by different versions, or one was changed"};
}

Result<RunDirectory> OpenStudyRun(const std::string& path, const std::string& id,
                                  const StudyPart& part) {
  Result<RunDirectory> directory = RunDirectory::Open(path);
  if (!directory) return directory;
  const auto other = [&](std::string message) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} {}", path, message),
                 .hint = "choose another folder"};
  };
  if (directory->header().kind != kStudyRun) return other("already holds another run");
  const Result<Study> study = Study::Load(*directory);
  if (!study) return study.error();
  if (study->id() != id) return other("holds another study, or another version of this one");
  if (study->part() != part) {
    return other(
        fmt::format("holds part {}/{} of the study", study->part().index, study->part().of));
  }
  return directory;
}

bool HoldsRun(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path + "/run.json", ignored);
}

Result<OpenStudy> OpenStudy::Open(RunDirectory& directory) {
  Result<Study> study = Study::Load(directory);
  if (!study) return study.error();
  Result<UnitJournal> journal = UnitJournal::Open(directory, *study);
  if (!journal) return journal.error();
  OpenStudy open(directory, *std::move(study), *std::move(journal));
  if (Result<void> made = open.RenewStore(); !made) return made.error();
  return open;
}

// A store that was damaged, or torn by a kill, is made anew from the journal. SQLite's own
// journal of an old store must never meet a new one, so both go first.
Result<void> OpenStudy::RenewStore() {
  const std::string path = directory_->File(kStoreFile);
  std::error_code ignored;
  std::filesystem::remove(path, ignored);
  std::filesystem::remove(path + "-journal", ignored);
  const Result<std::string> bytes = StudyStoreBytes(*ResultOf(study_, journal_.records()));
  if (!bytes) return bytes.error();
  if (Result<void> written = WriteFileAtomically(path, *bytes, directory_->token()); !written) {
    return written;
  }
  Result<Store> store = Store::Open(path);
  if (!store) return store.error();
  store_ = *std::move(store);
  return {};
}

std::vector<const StudyUnit*> OpenStudy::Remaining(bool retry) const {
  std::vector<const StudyUnit*> units;
  for (const StudyUnit& unit : study_.units()) {
    if (!study_.part().Has(unit.number)) continue;
    const auto known = records().find(unit.number);
    if (known != records().end()) {
      const Result<RecordHead> head = CheckRecord(known->second, {});
      if (!retry || !head || !head->failed) continue;
    }
    units.push_back(&unit);
  }
  return units;
}

Result<void> OpenStudy::Add(int64_t unit, std::string record) {
  if (Result<void> appended = journal_.Append(unit, record); !appended) return appended;
  return store_->Add(record);
}

Result<bool> OpenStudy::Merge(const std::string& record, const Where& where) {
  const Result<std::optional<int64_t>> unit = UnitOfNew(record, study_, records(), where);
  if (!unit) return unit.error();
  if (!*unit) return false;
  if (Result<void> added = Add(**unit, record); !added) return added.error();
  return true;
}

Result<std::unique_ptr<StudyRunResult>> OpenStudy::Finish() {
  std::unique_ptr<StudyRunResult> result = ResultOf(study_, journal_.records());
  store_.reset();
  if (result->complete()) {
    if (Result<void> ordered = journal_.PutInOrder(); !ordered) return ordered.error();
  }
  return result;
}

UnitProgress::UnitProgress(const RunContext& context, const std::string& name, int64_t units)
    : row_{.name = name, .budget = units} {
  if (units == 0 || !context.start_progress) return;
  observer_ = context.start_progress({.name_heading = "study", .samples_heading = "units"});
  Tell(ProgressEvent::kStarted);
}

void UnitProgress::Advance() {
  ++row_.samples;
  const bool last = row_.samples == row_.budget;
  const bool mark =
      row_.samples * kMilestones / row_.budget != (row_.samples - 1) * kMilestones / row_.budget;
  Tell(last ? ProgressEvent::kDone : mark ? ProgressEvent::kMilestone : ProgressEvent::kAdvanced);
}

void UnitProgress::Tell(ProgressEvent event) {
  if (observer_) observer_->OnProgress(event, row_);
}

}  // namespace tessera
