#include "tessera/cli/batch.h"

#include <optional>

#include <nlohmann/json.hpp>

#include "tessera/part.h"
#include "tessera/report/json.h"

namespace tessera {

Result<std::vector<BatchLine>> ReadBatch(const std::string& path) {
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes) return bytes.error();
  const Result<std::string> text = ToText(*bytes, path);
  if (!text) return text.error();
  std::vector<BatchLine> lines;
  int64_t number = 0;
  for (const std::string_view line : Split(*text, '\n')) {
    ++number;
    if (!Trim(line).empty()) lines.push_back({number, std::string(line)});
  }
  return lines;
}

Result<void> ShowAnswers(const std::vector<std::string>& answers, Context& context) {
  if (context.output.json()) {
    Json rows = Json::array();
    for (const std::string& answer : answers) rows.push_back(FromText(answer));
    context.output.Set("rows", std::move(rows));
    return {};
  }
  for (const std::string& answer : answers) {
    if (Result<void> shown = context.output.ShowText(answer + "\n"); !shown) return shown;
  }
  return {};
}

Result<void> ShowAnswers(const RowAnswers& answers, Context& context) {
  for (const Error& error : answers.complaints) context.complain(error);
  return ShowAnswers(answers.lines, context);
}

Result<void> AnswerLines(
    const std::string& path,
    const std::function<Result<std::string>(std::string_view line, const Where& where)>& answer,
    Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(path);
  if (!lines) return lines.error();
  std::vector<std::optional<Result<std::string>>> results(lines->size());
  ThreadPool pool(static_cast<int>(context.options.threads));
  pool.ParallelFor(std::ssize(*lines), /*chunk=*/1, [&](int64_t begin, int64_t end, int) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      results[i] = answer((*lines)[i].text, {.file = path, .line = (*lines)[i].number});
    }
  });
  std::vector<std::string> answers;
  for (const std::optional<Result<std::string>>& result : results) {
    if (*result) {
      answers.push_back(**result);
    } else {
      context.complain(result->error());
    }
  }
  return ShowAnswers(answers, context);
}

}  // namespace tessera
