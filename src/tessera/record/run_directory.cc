// Folders of runs on disk.
#include "tessera/run.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/folder_lock.h"
#include "tessera/base/sha256.h"
#include "tessera/record/run_header.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kHeader = "run.json", kTimes = "times.json", kJournals = "journal";

Error LinkError(const std::string& path) {
  return Error{
      .kind = ErrorKind::kBadValue,
      .message = fmt::format("{} is a symbolic link; the folder of a run holds none", path),
      .hint = "replace it by what it points to"};
}

// All entries below a folder. Folders that cannot be read are errors, as are links.
Result<std::vector<std::string>> EntriesOf(const std::string& folder) {
  std::vector<std::string> entries;
  std::error_code code;
  fs::recursive_directory_iterator at(folder, code);
  for (; !code && at != fs::recursive_directory_iterator(); at.increment(code)) {
    if (at->is_symlink(code)) return LinkError(at->path().string());
    // Opening a pipe would wait for somebody to write to it.
    if (!code && !at->is_regular_file(code) && !at->is_directory(code) && !code) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = "neither a file nor a folder; the folder of a run holds nothing else",
                   .where = {.file = at->path().string()}};
    }
    entries.push_back(at->path().string());
  }
  if (!code) return entries;
  return Error{.kind = ErrorKind::kIo,
               .message = fmt::format("cannot read the folder: {}", code.message()),
               .where = {.file = folder}};
}

// "runs/a" of "runs/a/": names of files are made by adding to it.
std::string WithoutSlash(std::string path) {
  while (path.size() > 1 && path.back() == '/') path.pop_back();
  return path;
}

Error NotARun(const std::string& path) {
  std::error_code ignored;
  // Training runs of the first version had a config.json and a log.
  if (fs::exists(path + "/config.json", ignored) && fs::exists(path + "/progress.jsonl", ignored)) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "made by tessera 0.1 (format tessera-run-1); use that version",
                 .where = {.file = path}};
  }
  return Error{.kind = ErrorKind::kIo,
               .message = fmt::format("{} is not the folder of a run: it has no run.json", path),
               .hint = "runs are made with --out"};
}

}  // namespace

Result<RunDirectory> RunDirectory::Create(const std::string& folder, RunHeader header,
                                          const Files& inputs) {
  const std::string path = WithoutSlash(folder);
  if (Result<void> made = MakeFolder(path); !made) return made.error();
  Result<FolderLock> lock = FolderLock::Take(path);
  if (!lock) return lock.error();
  RunDirectory directory(path, std::make_shared<FolderLock>(*std::move(lock)));
  std::error_code ignored;
  if (fs::exists(directory.File(kHeader), ignored)) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} already holds a run", path),
                 .hint = fmt::format("continue it with 'tessera resume {}', or choose another "
                                     "folder",
                                     path)};
  }
  for (const auto& [name, contents] : inputs) header.inputs[name] = Sha256Hex(contents);
  header.id = RunId(header);
  directory.header_ = std::move(header);
  for (const auto& [name, contents] : inputs) {
    if (Result<void> put = directory.Put(name, contents); !put) return put.error();
  }
  const std::string journals = directory.File(kJournals);
  if (fs::is_symlink(journals, ignored)) return LinkError(journals);
  if (Result<void> made = MakeFolder(journals); !made) return made.error();
  // Last, because a folder with run.json is a run.
  if (Result<void> written = directory.WriteHeader(); !written) return written.error();
  return directory;
}

Result<RunDirectory> RunDirectory::Checked(const std::string& folder, bool writes) {
  const std::string path = WithoutSlash(folder);
  std::error_code ignored;
  if (!fs::exists(path + "/" + std::string(kHeader), ignored)) return NotARun(path);
  if (const Result<std::vector<std::string>> entries = EntriesOf(path); !entries) {
    return entries.error();
  }
  std::shared_ptr<FolderLock> lock;
  if (writes) {
    Result<FolderLock> taken = FolderLock::Take(path);
    if (!taken) return taken.error();
    lock = std::make_shared<FolderLock>(*std::move(taken));
  }
  RunDirectory directory(path, std::move(lock));
  const Result<std::string> text = ReadTextFile(directory.File(kHeader));
  if (!text) return text.error();
  Result<RunHeader> header = ParseRunHeader(*text, directory.File(kHeader));
  if (!header) return header.error();
  directory.header_ = *std::move(header);
  if (Result<void> checked = directory.CheckInputs(); !checked) return checked.error();
  return directory;
}

Result<RunDirectory> RunDirectory::Open(const std::string& path) {
  Result<RunDirectory> directory = Checked(path, /*writes=*/true);
  if (!directory) return directory;
  directory->RemoveUnfinished();
  if (Result<void> made = MakeFolder(directory->File(kJournals)); !made) return made.error();
  return directory;
}

Result<RunDirectory> RunDirectory::ReadOnly(const std::string& path) {
  return Checked(path, /*writes=*/false);
}

Result<void> RunDirectory::CheckInputs() const {
  for (const auto& [name, expected] : header_.inputs) {
    const Result<std::string> hash = Sha256OfFile(File(name), /*stops=*/true);
    if (!hash) return hash.error();
    if (*hash == expected) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the input is not the one that the run was started with",
                 .where = {.file = File(name)},
                 .hint = "its SHA-256 in run.json is another one"};
  }
  return {};
}

// A program that was killed leaves at most these, and nobody else makes such names.
void RunDirectory::RemoveUnfinished() const {
  const Result<std::vector<std::string>> entries = EntriesOf(path_);
  if (!entries) return;
  const std::string ending = UnfinishedName("", token());
  std::error_code ignored;
  for (const std::string& entry : *entries) {
    if (entry.ends_with(ending) && fs::is_regular_file(entry, ignored)) fs::remove(entry, ignored);
  }
}

JournalFile RunDirectory::Journal(std::string_view name) const {
  return {.path = File(fmt::format("{}/{}.jsonl", kJournals, name)),
          .start = fmt::format("{}/{}", header_.id, name)};
}

Result<void> RunDirectory::Put(const std::string& name, std::string_view contents) const {
  const std::string file = File(name);
  const std::string folder = fs::path(file).parent_path().string();
  std::error_code ignored;
  // Somebody moved or removed it: what is left to write would be the debris of a run.
  if (!fs::is_directory(path_, ignored)) {
    return Error{.kind = ErrorKind::kIo,
                 .message = "the folder of the run is not there any more",
                 .where = {.file = path_}};
  }
  // Any of the folders in between may lead elsewhere.
  for (size_t end = name.find('/'); end != std::string::npos; end = name.find('/', end + 1)) {
    const std::string between = File(std::string_view(name).substr(0, end));
    if (fs::is_symlink(between, ignored)) return LinkError(between);
  }
  if (Result<void> made = MakeFolder(folder); !made) return made;
  return WriteFileAtomically(file, contents, token());
}

Result<void> RunDirectory::WriteHeader() const {
  return Put(std::string(kHeader), ToJsonText(header_));
}

Result<void> RunDirectory::Begin() {
  written_.clear();
  if (!header_.ended()) return {};
  header_.results.clear();
  return WriteHeader();
}

Result<void> RunDirectory::ChangeSettings(std::string settings) {
  header_.settings = std::move(settings);
  return WriteHeader();
}

Result<void> RunDirectory::Write(const std::string& name, std::string_view contents) {
  written_[name] = Sha256Hex(contents);
  return Put(name, contents);
}

Result<void> RunDirectory::Replace(const std::string& name, std::string_view contents) {
  if (Result<void> put = Put(name, contents); !put) return put;
  header_.results[name] = Sha256Hex(contents);
  return WriteHeader();
}

Result<void> RunDirectory::AddTimes(std::string_view object) const {
  const Result<std::string> earlier = ReadFile(File(kTimes));
  return Put(std::string(kTimes), WithSitting(earlier ? *earlier : "", object));
}

Result<void> RunDirectory::End(const std::vector<std::string>& more) {
  std::vector<std::string> names = more;
  const Result<std::vector<std::string>> journals = EntriesOf(File(kJournals));
  if (!journals) return journals.error();
  for (const std::string& path : *journals) names.push_back(path.substr(path_.size() + 1));
  header_.results = std::move(written_);
  for (const std::string& name : names) {
    Result<std::string> hash = Sha256OfFile(File(name));
    if (!hash) return hash.error();
    header_.results[name] = *std::move(hash);
  }
  written_.clear();
  return WriteHeader();
}

Verification RunDirectory::CheckFiles() const {
  Verification found;
  const auto complain = [&](const std::string& name, std::string_view reported) {
    found.discrepancies.push_back({name, std::string(reported), "what run.json has the hash of"});
  };
  for (const auto& [name, expected] : header_.results) {
    ++found.total_files;
    const Result<std::string> hash = Sha256OfFile(File(name), /*stops=*/true);
    if (!hash) complain(name, "missing");
    if (hash && *hash != expected) complain(name, "another file");
  }
  std::error_code ignored;
  const Result<std::string> times = ReadFile(File(kTimes));
  if (times ? !SealFits(*times) : fs::exists(File(kTimes), ignored)) {
    complain(std::string(kTimes), "changed");
  }
  return found;
}

}  // namespace tessera
