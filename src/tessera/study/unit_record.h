// What a unit came to, as one line of JSON: in the journal, in the answer of a worker elsewhere, in
// result.json and, column by column, in the store. It holds nothing of the clock.
//
//   {"unit":1,"id":"9f86d081884c7d65","state":"done","status":"OPTIMAL","cycles":...,"error":null,
//    "layers":[{"name":"conv1","count":1,"cycles":...,"mapping":{...}}]}
#ifndef TESSERA_STUDY_UNIT_RECORD_H_
#define TESSERA_STUDY_UNIT_RECORD_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "tessera/map.h"
#include "tessera/result.h"
#include "tessera/runs.h"

namespace tessera {

enum class ColumnType : uint8_t {
  kInteger,  // a whole number, as a double beyond 2^53
  kReal,
  kText,
  kJson,  // an object or a list; text in the store
};

struct RecordColumn {
  std::string_view name;  // the key in the record, the column in the store
  ColumnType type;
};

// After "unit" and "id", and of each layer. All but `state` may be null.
std::span<const RecordColumn> UnitColumns();
std::span<const RecordColumn> LayerColumns();

inline constexpr std::string_view kDone = "done", kFailed = "failed";

// The record of a unit that was mapped. A unit without a mapping of every layer has failed.
Result<std::string> RecordOf(const StudyUnit& unit, const MapJob& job,
                             const NetworkMapping& mapping);

// The record of a unit that cannot be mapped, whoever tries.
std::string FailedRecord(const StudyUnit& unit, const Error& error);

// Whether an error is about the unit itself, so that trying again elsewhere would not help.
bool IsAboutUnit(const Error& error);

// Which unit a record is of, and how it ended.
struct RecordHead {
  int64_t unit = 0;
  std::string id = {};
  bool failed = false;
};

// Looks at every value of a record; a line that is none is an error at `where`.
Result<RecordHead> CheckRecord(std::string_view line, const Where& where);

}  // namespace tessera

#endif  // TESSERA_STUDY_UNIT_RECORD_H_
