// Folders walked by hand, so that limits hold and errors are entries.
#include "tessera/serve/catalogue.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/sha256.h"
#include "tessera/part.h"
#include "tessera/runs.h"
#include "tessera/serve/lock_holder.h"

namespace tessera {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kStateNames = {"running", "open", "ended", "damaged"};

// The folders with a run.json, depth first; what is below a run belongs to it.
class Walk {
 public:
  explicit Walk(const std::string& folder) { Visit(folder, "", 0); }

  std::vector<std::pair<std::string, std::string>> found;  // path, name
  bool cut = false;

 private:
  void Visit(const std::string& path, const std::string& name, int depth) {
    struct stat status {};
    if (::lstat((path + "/run.json").c_str(), &status) == 0) {
      found.emplace_back(path, name.empty() ? "." : name);
      return;
    }
    if (depth == Catalogue::kMostDepth) return;
    std::error_code code;
    std::vector<std::string> inner;
    fs::directory_iterator at(path, fs::directory_options::skip_permission_denied, code);
    for (; !code && at != fs::directory_iterator(); at.increment(code)) {
      if (++looked_at_ > Catalogue::kMostFolders) break;
      std::error_code unknown;
      const bool folder = at->symlink_status(unknown).type() == fs::file_type::directory;
      const std::string own = at->path().filename().string();
      if (folder && !own.starts_with('.')) inner.push_back(own);
    }
    std::ranges::sort(inner);
    for (const std::string& own : inner) {
      cut = cut || looked_at_ > Catalogue::kMostFolders || found.size() >= Catalogue::kMostRuns;
      if (cut) return;
      Visit(path + "/" + own, name.empty() ? own : name + "/" + own, depth + 1);
    }
  }

  size_t looked_at_ = 0;
};

bool Before(const timespec& a, const timespec& b) {
  return a.tv_sec != b.tv_sec ? a.tv_sec < b.tv_sec : a.tv_nsec < b.tv_nsec;
}

}  // namespace

CatalogueEntry Catalogue::Read(const std::string& path, const std::string& name) {
  CatalogueEntry entry{.id = Sha256Hex(name).substr(0, 16), .path = path, .name = name};
  struct stat status {};
  if (::lstat((path + "/run.json").c_str(), &status) == 0) {
    entry.changed = status.st_mtim;
    entry.stamp = fmt::format("{}.{}.{}.{}", status.st_mtim.tv_sec, status.st_mtim.tv_nsec,
                              status.st_size, status.st_ino);
  }
  // What was read of a run.json holds as long as it stays.
  if (const CatalogueEntry* known = Find(entry.id);
      known != nullptr && known->stamp == entry.stamp && known->state != RunState::kDamaged) {
    return *known;
  }
  tails_.erase(entry.id);
  const Result<RunDirectory> run = RunDirectory::ReadOnly(path);
  const Result<const RunKind*> kind = run ? KindOf(*run) : run.error();
  if (!kind) {
    entry.error = ToString(kind.error());
    return entry;
  }
  entry.kind = run->header().kind;
  entry.line = (*kind)->line(*run);
  entry.state = run->header().ended() ? RunState::kEnded : RunState::kOpen;
  if (!run->header().ended()) tails_[entry.id] = std::make_unique<RunTail>(*run);
  return entry;
}

void Catalogue::Scan() {
  const Walk walk(folder_);
  cut_ = walk.cut;
  const LockList locks = LockList::Now();
  std::vector<CatalogueEntry> entries;
  for (const auto& [path, name] : walk.found) {
    CatalogueEntry entry = Read(path, name);
    if (entry.state != RunState::kEnded && entry.state != RunState::kDamaged) {
      entry.state = locks.HolderOf(path) ? RunState::kRunning : RunState::kOpen;
      if (const auto tail = tails_.find(entry.id); tail != tails_.end()) tail->second->Read();
    }
    entries.push_back(std::move(entry));
  }
  std::ranges::stable_sort(entries, [](const CatalogueEntry& a, const CatalogueEntry& b) {
    return Before(b.changed, a.changed);
  });
  entries_ = std::move(entries);
  std::erase_if(tails_, [&](const auto& tail) { return Find(tail.first) == nullptr; });
}

const CatalogueEntry* Catalogue::Find(const std::string& id) const {
  const auto found = std::ranges::find(entries_, id, &CatalogueEntry::id);
  return found == entries_.end() ? nullptr : &*found;
}

const RunTail* Catalogue::TailOf(const std::string& id) const {
  const auto found = tails_.find(id);
  return found == tails_.end() ? nullptr : found->second.get();
}

Json Catalogue::ToJson() const {
  Json json = {{"folder", folder_}, {"cut", cut_}, {"runs", Json::array()}};
  for (const CatalogueEntry& entry : entries_) {
    const RunTail* const tail = TailOf(entry.id);
    json["runs"].push_back({{"id", entry.id},
                            {"name", entry.name},
                            {"kind", entry.kind},
                            {"what", Printable(entry.line)},
                            {"state", kStateNames[static_cast<size_t>(entry.state)]},
                            {"samples", tail == nullptr ? Json(nullptr) : Json(tail->lines())},
                            {"changed", entry.changed.tv_sec},
                            {"error", Printable(entry.error)}});
  }
  return json;
}

}  // namespace tessera
