// Answers to rows of JSON, one line each: what `--batch` of simulate, compile, assemble and
// disassemble prints. Rows need only their questions; answers that they may hold are not read.
#ifndef TESSERA_VTA_BATCH_ROWS_H_
#define TESSERA_VTA_BATCH_ROWS_H_

#include <string>
#include <string_view>

#include "tessera/result.h"
#include "tessera/vta/batch/best_table.h"
#include "tessera/vta/batch/record.h"

namespace tessera::vta {

// Contract of all of them:
//   Threads      pure; any thread may call them.
//   Errors       for rows that ask nothing: no JSON, a key missing, an unknown configuration. The
//                place is the row's.
//   Answers      one JSON object without line ends, with the row's id.

// A program record: result, cycles, per-instruction times, defects, portability.
Result<std::string> AnswerProgram(std::string_view row, const ConfigTable& configs,
                                  const TimingParameters& timing, const Where& where);

// An encoding row: fields to bits, and bits to fields.
Result<std::string> AnswerEncode(std::string_view row, const ConfigTable& configs,
                                 const Where& where);
Result<std::string> AnswerDecode(std::string_view row, const ConfigTable& configs,
                                 const Where& where);

// A convolution row. `best` must have the same timing.
Result<std::string> AnswerConv(std::string_view row, RowGenerator generator, BestTable& best,
                               const ConfigTable& configs, const TimingParameters& timing,
                               const Where& where);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_BATCH_ROWS_H_
