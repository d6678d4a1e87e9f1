// Records from elsewhere: from workers, and from runs of parts.
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/record/clock.h"
#include "tessera/runs.h"
#include "tessera/study/open_study.h"
#include "tessera/study/store.h"
#include "tessera/study/study.h"
#include "tessera/study/unit_journal.h"

namespace tessera {
namespace {

// A run that is read from.
struct Source {
  RunDirectory directory;
  Study study;
  UnitRecords records;
};

Result<Source> ReadSource(const std::string& folder) {
  Result<RunDirectory> directory = RunDirectory::ReadOnly(folder);
  if (!directory) return directory.error();
  if (directory->header().kind != kStudyRun) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{} is a run of {}, not of a study", folder,
                                        Quoted(directory->header().kind))};
  }
  Result<Study> study = Study::Load(*directory);
  if (!study) return study.error();
  Result<UnitRecords> records = ReadUnitRecords(*directory, *study);
  if (!records) return records.error();
  return Source{*std::move(directory), *std::move(study), *std::move(records)};
}

Result<std::vector<Source>> ReadSources(const std::vector<std::string>& folders) {
  std::vector<Source> sources;
  for (const std::string& folder : folders) {
    Result<Source> source = ReadSource(folder);
    if (!source) return source.error();
    if (!sources.empty() && sources.front().study.id() != source->study.id()) {
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("{} and {} are not runs of the same study", folders[0], folder)};
    }
    sources.push_back(*std::move(source));
  }
  if (!sources.empty()) return sources;
  return Error{.kind = ErrorKind::kUsage, .message = "there is no run to collect from"};
}

// A run of the whole study with the inputs of one of its parts.
Result<RunDirectory> CreateWhole(const std::string& path, const Source& source,
                                 const RunOrigin& origin) {
  RunDirectory::Files inputs;
  for (const auto& [name, hash] : source.directory.header().inputs) {
    Result<std::string> contents = ReadFile(source.directory.File(name));
    if (!contents) return contents.error();
    inputs[name] = *std::move(contents);
  }
  return RunDirectory::Create(path,
                              {.kind = std::string(kStudyRun),
                               .origin = origin,
                               .settings = StudySettings(source.study.name(), StudyPart{})},
                              inputs);
}

}  // namespace

Result<std::unique_ptr<RunResult>> AddStudyRecords(
    RunDirectory& directory, const std::function<Result<std::optional<std::string>>()>& next,
    const RunContext& context) {
  const double begin = SteadySeconds();
  if (Result<void> begun = directory.Begin(); !begun) return begun.error();
  Result<OpenStudy> open = OpenStudy::Open(directory);
  if (!open) return open.error();
  UnitProgress progress(context, open->study().name(),
                        std::ssize(open->Remaining(/*retry=*/false)));
  Result<void> status;
  for (int64_t line = 1; status; ++line) {
    const Result<std::optional<std::string>> record = next();
    if (!record) status = record.error();
    if (!record || !*record) break;
    const Result<bool> merged = open->Merge(**record, {.file = "records", .line = line});
    if (!merged) status = merged.error();
    if (merged && *merged) progress.Advance();
  }
  Result<std::unique_ptr<StudyRunResult>> result = open->Finish();
  if (!status) return status.error();
  if (!result) return result.error();
  (*result)->seconds = SteadySeconds() - begin;
  return std::unique_ptr<RunResult>(*std::move(result));
}

Result<std::unique_ptr<StudyRunResult>> CollectStudies(const std::vector<std::string>& folders) {
  const Result<std::vector<Source>> sources = ReadSources(folders);
  if (!sources) return sources.error();
  const Study whole = sources->front().study.Whole();
  UnitRecords records;
  for (const Source& source : *sources) {
    for (const auto& [number, record] : source.records) {
      const Result<std::optional<int64_t>> unit =
          UnitOfNew(record, whole, records, {.file = source.directory.path()});
      if (!unit) return unit.error();
      if (*unit) records[**unit] = record;
    }
  }
  return ResultOf(whole, records);
}

Result<RunDirectory> CollectStudiesInto(const std::string& path,
                                        const std::vector<std::string>& folders,
                                        const RunOrigin& origin) {
  const Result<std::vector<Source>> sources = ReadSources(folders);
  if (!sources) return sources.error();
  const Source& first = sources->front();
  Result<RunDirectory> directory = HoldsRun(path)
                                       ? OpenStudyRun(path, first.study.id(), StudyPart{})
                                       : CreateWhole(path, first, origin);
  if (!directory) return directory;
  if (Result<void> begun = directory->Begin(); !begun) return begun.error();
  Result<OpenStudy> open = OpenStudy::Open(*directory);
  if (!open) return open.error();
  for (const Source& source : *sources) {
    for (const auto& [unit, record] : source.records) {
      const Result<bool> merged = open->Merge(record, {.file = source.directory.path()});
      if (!merged) return merged.error();
    }
  }
  if (const auto result = open->Finish(); !result) return result.error();
  return directory;
}

Result<StudyRows> QueryStudy(const std::string& folder, const std::string& sql,
                             const std::function<bool()>& stopped) {
  const Result<Store> file = Store::OpenReadOnly(folder + "/" + std::string(kStoreFile));
  if (file) {
    Result<StudyRows> rows = file->Query(sql, stopped);
    if (rows || rows.error().kind != ErrorKind::kIo) return rows;
  }
  const Result<Source> source = ReadSource(folder);
  if (!source) return source.error();
  const Result<Store> store = Store::Make(*ResultOf(source->study, source->records));
  if (!store) return store.error();
  return store->Query(sql, stopped);
}

}  // namespace tessera
