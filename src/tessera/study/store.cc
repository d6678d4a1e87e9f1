// Stores in SQLite.
#include "tessera/study/store.h"

#include <sqlite3.h>

#include <filesystem>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/study/unit_record.h"

namespace tessera {
namespace {

// Told by SQLite's own tools what a file is; "tess".
constexpr int kApplicationId = 0x74657373;
constexpr int kSchemaVersion = 1;

// How long a statement waits for another program that has the file.
constexpr int kBusyMilliseconds = 10'000;

// Between two looks at whether the user wants to stop.
constexpr int kStepsBetweenPolls = 10'000;

constexpr std::string_view kPlainUnitColumns =
    "unit INTEGER PRIMARY KEY, id TEXT NOT NULL, network TEXT NOT NULL, layer TEXT, "
    "accelerator TEXT NOT NULL, model TEXT NOT NULL, objective TEXT NOT NULL, "
    "method TEXT NOT NULL, seed INTEGER NOT NULL, cores INTEGER NOT NULL, "
    "memory_mib INTEGER NOT NULL";

std::string_view SqlType(ColumnType type) {
  switch (type) {
    case ColumnType::kInteger: return "INTEGER";
    case ColumnType::kReal: return "REAL";
    case ColumnType::kText:
    case ColumnType::kJson: return "TEXT";
  }
  return "TEXT";
}

std::string Declared(std::span<const RecordColumn> columns) {
  std::string text;
  for (const RecordColumn& column : columns) {
    text += fmt::format(", {} {}", column.name, SqlType(column.type));
  }
  return text;
}

std::string Schema() {
  return fmt::format(
      "PRAGMA application_id = {}; PRAGMA user_version = {};"
      "CREATE TABLE study(key TEXT PRIMARY KEY, value) WITHOUT ROWID;"
      "CREATE TABLE units({}{});"
      "CREATE TABLE layers(unit INTEGER NOT NULL, position INTEGER NOT NULL{}, "
      "PRIMARY KEY(unit, position)) WITHOUT ROWID;",
      kApplicationId, kSchemaVersion, kPlainUnitColumns, Declared(UnitColumns()),
      Declared(LayerColumns()));
}

Error StoreError(sqlite3* database, int code, std::string_view doing) {
  const char* text = database != nullptr ? sqlite3_errmsg(database) : sqlite3_errstr(code);
  return Error{.kind = code == SQLITE_NOMEM ? ErrorKind::kInternal : ErrorKind::kIo,
               .message = fmt::format("the store cannot be {}: {}", doing, text)};
}

Error BadSql(std::string message, std::string hint = "") {
  return Error{.kind = ErrorKind::kUsage, .message = std::move(message), .hint = std::move(hint)};
}

// A prepared statement with its values.
class Statement {
 public:
  static Result<Statement> Prepare(sqlite3* database, const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    const char* rest = nullptr;
    const int code = sqlite3_prepare_v2(database, sql.c_str(), static_cast<int>(sql.size()) + 1,
                                        &statement, &rest);
    if (code == SQLITE_ERROR) return BadSql(sqlite3_errmsg(database));
    if (code != SQLITE_OK) return StoreError(database, code, "asked");
    return Statement(database, statement, rest);
  }

  sqlite3_stmt* get() const { return statement_.get(); }
  std::string_view rest() const { return rest_; }

  void Bind(int position, int64_t value) { sqlite3_bind_int64(get(), position, value); }
  void Bind(int position, std::string_view text) {
    sqlite3_bind_text(get(), position, text.data(), static_cast<int>(text.size()),
                      SQLITE_TRANSIENT);
  }
  void Bind(int position, const Json& value) {
    if (value.is_null()) {
      sqlite3_bind_null(get(), position);
    } else if (value.is_number_integer()) {
      Bind(position, value.get<int64_t>());
    } else if (value.is_number()) {
      sqlite3_bind_double(get(), position, value.get<double>());
    } else if (value.is_string()) {
      Bind(position, std::string_view(value.get_ref<const std::string&>()));
    } else {
      Bind(position, std::string_view(ToLine(value)));
    }
  }
  // To the end, for statements without rows.
  Result<void> Run() {
    const int code = sqlite3_step(get());
    sqlite3_reset(get());
    if (code == SQLITE_DONE) return {};
    return StoreError(database_, code, "written");
  }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  Statement(sqlite3* database, sqlite3_stmt* statement, std::string rest)
      : database_(database), statement_(statement), rest_(std::move(rest)) {}

  sqlite3* database_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  std::string rest_;
};

// "?1, ?2, ?3".
std::string Places(int count) {
  std::string text;
  for (int i = 1; i <= count; ++i) text += fmt::format("{}?{}", i == 1 ? "" : ", ", i);
  return text;
}

StudyValue ValueOf(sqlite3_stmt* statement, int column) {
  switch (sqlite3_column_type(statement, column)) {
    case SQLITE_NULL: return std::monostate();
    case SQLITE_INTEGER: return static_cast<int64_t>(sqlite3_column_int64(statement, column));
    case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
    default: {
      const auto* bytes = static_cast<const char*>(sqlite3_column_blob(statement, column));
      const auto size = static_cast<size_t>(sqlite3_column_bytes(statement, column));
      return bytes == nullptr ? std::string() : std::string(bytes, size);
    }
  }
}

bool IsBlank(std::string_view text) {
  return text.find_first_not_of(" \t\r\n;") == std::string_view::npos;
}

}  // namespace

void Store::Close::operator()(sqlite3* database) const { sqlite3_close_v2(database); }

Result<Store> Store::OpenFile(const std::string& path, int flags) {
  sqlite3* database = nullptr;
  const int code = sqlite3_open_v2(path.c_str(), &database, flags, nullptr);
  Store store(database);
  if (code != SQLITE_OK) return StoreError(database, code, "opened");
  sqlite3_busy_timeout(database, kBusyMilliseconds);
  sqlite3_limit(database, SQLITE_LIMIT_ATTACHED, 0);
  return store;
}

Result<Store> Store::Make(const StudyRunResult& result) {
  Result<Store> store = OpenFile(":memory:", SQLITE_OPEN_READWRITE);
  if (!store) return store;
  if (Result<void> filled = store->Fill(result); !filled) return filled.error();
  return store;
}

Result<Store> Store::Open(const std::string& path) {
  Result<Store> store = OpenFile(path, SQLITE_OPEN_READWRITE);
  if (!store) return store;
  // The journal of the run is on the disk before its store is changed: what a power cut takes from
  // the store is made again.
  if (Result<void> set = store->Run("PRAGMA synchronous = OFF;"); !set) return set.error();
  return store;
}

Result<Store> Store::OpenReadOnly(const std::string& path) {
  // Not with SQLITE_OPEN_NOFOLLOW, which also refuses folders that are reached through links.
  std::error_code ignored;
  if (std::filesystem::is_symlink(path, ignored)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = "the store is a symbolic link; the folder of a run holds none",
                 .where = {.file = path}};
  }
  Result<Store> store = OpenFile(path, SQLITE_OPEN_READONLY);
  if (!store) return store;
  const Result<StudyRows> version = store->Query("PRAGMA user_version", {});
  if (!version) return version.error();
  if (version->rows.empty() || version->rows[0][0] != StudyValue(int64_t{kSchemaVersion})) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "the store has tables of another version",
                 .where = {.file = path}};
  }
  return store;
}

Result<void> Store::Run(const std::string& sql) const {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  return StoreError(database_.get(), code, "written");
}

Result<void> Store::Fill(const StudyRunResult& result) {
  if (Result<void> made = Run("BEGIN;" + Schema()); !made) return made;
  Result<Statement> about = Statement::Prepare(database_.get(), "INSERT INTO study VALUES(?1, ?2)");
  if (!about) return about.error();
  const std::pair<std::string_view, Json> entries[] = {
      {"id", result.id},
      {"name", result.name},
      {"part", fmt::format("{}/{}", result.part.index, result.part.of)},
      {"units", result.units_of_all_parts}};
  for (const auto& [key, value] : entries) {
    about->Bind(1, key);
    about->Bind(2, value);
    if (Result<void> run = about->Run(); !run) return run;
  }
  Result<Statement> insert = Statement::Prepare(
      database_.get(),
      fmt::format("INSERT INTO units(unit, id, network, layer, accelerator, model, "
                  "objective, method, seed, cores, memory_mib, state) "
                  "VALUES({}, 'open')",
                  Places(11)));
  if (!insert) return insert.error();
  for (size_t i = 0; i < result.units.size(); ++i) {
    const StudyUnit& unit = result.units[i];
    insert->Bind(1, unit.number);
    insert->Bind(2, std::string_view(unit.id));
    insert->Bind(3, std::string_view(unit.network));
    insert->Bind(4, unit.layer.empty() ? Json() : Json(unit.layer));
    insert->Bind(5, std::string_view(unit.accelerator));
    insert->Bind(6, std::string_view(unit.model));
    insert->Bind(7, std::string_view(unit.objective));
    insert->Bind(8, std::string_view(unit.method));
    insert->Bind(9, unit.seed);
    insert->Bind(10, unit.cores);
    insert->Bind(11, unit.memory_mib);
    if (Result<void> run = insert->Run(); !run) return run;
    if (result.records[i].empty()) continue;
    if (Result<void> added = AddRows(result.records[i]); !added) return added;
  }
  return Run("COMMIT;");
}

Result<void> Store::Add(const std::string& record) {
  if (Result<void> begun = Run("BEGIN IMMEDIATE;"); !begun) return begun;
  Result<void> added = AddRows(record);
  Result<void> ended = Run(added ? "COMMIT;" : "ROLLBACK;");
  return added ? ended : added;
}

Result<void> Store::AddRows(const std::string& record) {
  const Json json = FromText(record);
  const int64_t unit = json["unit"].get<int64_t>();
  std::string assignments;
  int place = 1;
  for (const RecordColumn& column : UnitColumns()) {
    assignments += fmt::format("{}{} = ?{}", place == 1 ? "" : ", ", column.name, place + 1);
    ++place;
  }
  Result<Statement> update = Statement::Prepare(
      database_.get(), fmt::format("UPDATE units SET {} WHERE unit = ?1", assignments));
  if (!update) return update.error();
  update->Bind(1, unit);
  place = 2;
  for (const RecordColumn& column : UnitColumns()) update->Bind(place++, json[column.name]);
  if (Result<void> run = update->Run(); !run) return run;
  // A unit that was tried again.
  if (Result<void> run = Run(fmt::format("DELETE FROM layers WHERE unit = {};", unit)); !run) {
    return run;
  }
  const int columns = static_cast<int>(LayerColumns().size()) + 2;
  Result<Statement> insert = Statement::Prepare(
      database_.get(), fmt::format("INSERT INTO layers VALUES({})", Places(columns)));
  if (!insert) return insert.error();
  int64_t position = 0;
  for (const Json& layer : json["layers"]) {
    insert->Bind(1, unit);
    insert->Bind(2, ++position);
    place = 3;
    for (const RecordColumn& column : LayerColumns()) insert->Bind(place++, layer[column.name]);
    if (Result<void> run = insert->Run(); !run) return run;
  }
  return {};
}

Result<std::string> Store::Bytes() const {
  sqlite3_int64 size = 0;
  unsigned char* bytes = sqlite3_serialize(database_.get(), "main", &size, 0);
  if (bytes == nullptr) return StoreError(nullptr, SQLITE_NOMEM, "written");
  std::string text(static_cast<const char*>(static_cast<void*>(bytes)), static_cast<size_t>(size));
  sqlite3_free(bytes);
  return text;
}

Result<StudyRows> Store::Query(const std::string& sql, const std::function<bool()>& stopped) const {
  Result<Statement> statement = Statement::Prepare(database_.get(), sql);
  if (!statement) return statement.error();
  if (statement->get() == nullptr) return BadSql("there is no statement to ask");
  if (!IsBlank(statement->rest())) {
    return BadSql("only one statement can be asked at a time");
  }
  if (sqlite3_stmt_readonly(statement->get()) == 0) {
    return BadSql("the statement would change the store", "ask with SELECT");
  }
  if (stopped) {
    const auto poll = [](void* context) {
      return (*static_cast<const std::function<bool()>*>(context))() ? 1 : 0;
    };
    void* context = const_cast<void*>(static_cast<const void*>(&stopped));  // NOLINT: C interface
    sqlite3_progress_handler(database_.get(), kStepsBetweenPolls, poll, context);
  }
  StudyRows rows;
  const int columns = sqlite3_column_count(statement->get());
  for (int i = 0; i < columns; ++i) {
    rows.columns.emplace_back(sqlite3_column_name(statement->get(), i));
  }
  int code = 0;
  while ((code = sqlite3_step(statement->get())) == SQLITE_ROW) {
    std::vector<StudyValue>& row = rows.rows.emplace_back();
    for (int i = 0; i < columns; ++i) row.push_back(ValueOf(statement->get(), i));
  }
  sqlite3_progress_handler(database_.get(), 0, nullptr, nullptr);
  if (code == SQLITE_DONE) return rows;
  if (code == SQLITE_INTERRUPT) {
    return Error{.kind = ErrorKind::kInterrupted, .message = "interrupted while asking the store"};
  }
  return StoreError(database_.get(), code, "asked");
}

Result<std::string> StudyStoreBytes(const StudyRunResult& result) {
  const Result<Store> store = Store::Make(result);
  return store ? store->Bytes() : store.error();
}

}  // namespace tessera
