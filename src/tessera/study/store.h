// The store of a study: its units and records as SQLite tables (docs/cluster.md has the schema).
// The journal is what counts; a store is made from it whenever it is missing or in doubt.
#ifndef TESSERA_STUDY_STORE_H_
#define TESSERA_STUDY_STORE_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/runs.h"

struct sqlite3;

namespace tessera {

inline constexpr std::string_view kStoreFile = "study.sqlite";

// Contract: used by one thread at a time.
class Store {
 public:
  // In memory.
  static Result<Store> Make(const StudyRunResult& result);
  // An existing file, to add to it or only to ask it.
  static Result<Store> Open(const std::string& path);
  static Result<Store> OpenReadOnly(const std::string& path);

  // Sets what a record says of its unit, all of it or nothing.
  Result<void> Add(const std::string& record);

  // What a file of this store holds. Equal results give equal bytes: tables are filled in the order
  // of their keys, and there is no clock in them.
  Result<std::string> Bytes() const;

  // The rows of one statement, which may only read.
  Result<StudyRows> Query(const std::string& sql, const std::function<bool()>& stopped) const;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  explicit Store(sqlite3* database) : database_(database) {}
  static Result<Store> OpenFile(const std::string& path, int flags);

  Result<void> Run(const std::string& sql) const;
  Result<void> Fill(const StudyRunResult& result);
  Result<void> AddRows(const std::string& record);

  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace tessera

#endif  // TESSERA_STUDY_STORE_H_
