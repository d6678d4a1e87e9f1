// The runs below a folder: what they are, how far they are, and which cannot be read. A run is
// known by an id that is made from its place, so that nobody who asks for one can name a path.
#ifndef TESSERA_SERVE_CATALOGUE_H_
#define TESSERA_SERVE_CATALOGUE_H_

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/report/json.h"
#include "tessera/serve/run_tail.h"

namespace tessera {

enum class RunState { kRunning, kOpen, kEnded, kDamaged };

struct CatalogueEntry {
  std::string id = {};    // 16 digits
  std::string path = {};  // of the folder
  std::string name = {};  // below the catalogue's folder
  std::string kind = {}, line = {}, error = {};
  RunState state = RunState::kDamaged;
  std::string stamp = {};  // changes whenever run.json does
  timespec changed = {};   // of run.json

  bool running() const { return state == RunState::kRunning; }
};

// Contract:
//   Threads   used by one thread at a time.
//   Links     symbolic links are not followed; folders whose names begin with a dot are left out.
//   Limits    kMostDepth folders deep, kMostRuns runs, kMostFolders folders looked at.
class Catalogue {
 public:
  static constexpr int kMostDepth = 4;
  static constexpr size_t kMostRuns = 2'000;
  static constexpr size_t kMostFolders = 20'000;

  explicit Catalogue(std::string folder) : folder_(std::move(folder)) {}

  // Looks again; runs that have not changed are not read again. A damaged one is an entry that
  // says what is wrong with it.
  void Scan();

  const std::vector<CatalogueEntry>& entries() const { return entries_; }
  const CatalogueEntry* Find(const std::string& id) const;
  // Of a run that has not ended; null otherwise.
  const RunTail* TailOf(const std::string& id) const;

  // {"folder", "runs": [{"id", "name", "kind", "what", "state", "samples", "changed", "error"}]}
  Json ToJson() const;

 private:
  CatalogueEntry Read(const std::string& path, const std::string& name);

  const std::string folder_;
  std::vector<CatalogueEntry> entries_;                    // the latest first
  std::map<std::string, std::unique_ptr<RunTail>> tails_;  // by id
  bool cut_ = false;                                       // there are more than the limits allow
};

}  // namespace tessera

#endif  // TESSERA_SERVE_CATALOGUE_H_
