// --batch: files with one question per line, answered with one line of JSON each.
#ifndef TESSERA_CLI_BATCH_H_
#define TESSERA_CLI_BATCH_H_

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/report/evaluation.h"
#include "tessera/result.h"

namespace tessera {

// The lines of a --batch file. Empty lines are left out.
Result<std::vector<BatchLine>> ReadBatch(const std::string& path);

// Shows one line of JSON per answer; with --json, one list under `rows`.
Result<void> ShowAnswers(const std::vector<std::string>& answers, Context& context);
// The same after complaints about the rows that have none.
Result<void> ShowAnswers(const RowAnswers& answers, Context& context);

// Answers every line of a file on all threads and shows the answers in the file's order. Lines
// without an answer are complained about; the others are answered all the same.
Result<void> AnswerLines(
    const std::string& path,
    const std::function<Result<std::string>(std::string_view line, const Where& where)>& answer,
    Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_BATCH_H_
