// Journals of studies.
#include "tessera/study/unit_journal.h"

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/stop.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kJournal = "units";

Result<UnitRecords> RecordsOf(const JournalText& text, const std::string& path,
                              const Study& study) {
  UnitRecords records;
  int64_t line = 0;
  for (const std::string& record : text.lines) {
    if (StopRequested()) return Interrupted("reading the records");
    const Result<RecordHead> head = CheckRecordOf(study, record, {.file = path, .line = ++line});
    if (!head) return head.error();
    records[head->unit] = record;
  }
  return records;
}

}  // namespace

Result<RecordHead> CheckRecordOf(const Study& study, std::string_view line, const Where& where) {
  Result<RecordHead> head = CheckRecord(line, where);
  if (!head) return head;
  const Result<const StudyUnit*> unit = study.Find(head->unit);
  if (!unit || (*unit)->id != head->id) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("unit {} with id {} is not of study {}", head->unit,
                                        Quoted(head->id), Quoted(study.name())),
                 .where = where,
                 .hint = "it belongs to another study, or to another version of this one"};
  }
  if (!study.part().Has(head->unit)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("unit {} is not of part {}/{}", head->unit,
                                        study.part().index, study.part().of),
                 .where = where};
  }
  return head;
}

Result<UnitRecords> ReadUnitRecords(const RunDirectory& directory, const Study& study) {
  const JournalFile file = directory.Journal(kJournal);
  const Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  return RecordsOf(*text, file.path, study);
}

Result<UnitJournal> UnitJournal::Open(const RunDirectory& directory, const Study& study) {
  UnitJournal journal;
  journal.file_ = directory.Journal(kJournal);
  journal.unfinished_ = UnfinishedName(journal.file_.path, directory.token());
  const Result<JournalText> text = ReadJournalText(journal.file_);
  if (!text) return text.error();
  Result<UnitRecords> records = RecordsOf(*text, journal.file_.path, study);
  if (!records) return records.error();
  journal.records_ = *std::move(records);
  Result<std::unique_ptr<LineJournal>> opened = LineJournal::Open(journal.file_, *text);
  if (!opened) return opened.error();
  journal.journal_ = *std::move(opened);
  return journal;
}

Result<void> UnitJournal::Append(int64_t unit, std::string record) {
  const std::vector<std::string> lines = {std::move(record)};
  if (Result<void> appended = journal_->Append(lines); !appended) return appended;
  records_[unit] = lines.front();
  return {};
}

Result<void> UnitJournal::PutInOrder() {
  const JournalFile ordered{.path = unfinished_, .start = file_.start};
  std::error_code code;
  std::filesystem::remove(unfinished_, code);
  {
    Result<std::unique_ptr<LineJournal>> file = LineJournal::Open(ordered, {});
    if (!file) return file.error();
    std::vector<std::string> lines;
    for (const auto& [unit, record] : records_) lines.push_back(record);
    if (Result<void> written = (*file)->Append(lines); !written) return written;
    if (Result<void> synced = (*file)->Sync(); !synced) return synced;
  }
  journal_.reset();
  std::filesystem::rename(unfinished_, file_.path, code);
  if (!code) {
    // The header is about to name the hash of this file: a power cut must not bring back the other.
    SyncFolder(std::filesystem::path(file_.path).parent_path().string());
    return {};
  }
  return Error{.kind = ErrorKind::kIo,
               .message = fmt::format("cannot replace the journal: {}", code.message()),
               .where = {.file = file_.path}};
}

}  // namespace tessera
