// tessera evaluate --model loopnest: a mapping of one layer, or batch rows.
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cli/evaluate.h"
#include "tessera/cost/loopnest/batch.h"

namespace tessera {
namespace {

using loopnest::Semantics;

std::vector<std::string> SemanticsNames() {
  return {loopnest::kSemanticsNames.begin(), loopnest::kSemanticsNames.end()};
}

std::optional<Semantics> SemanticsOf(const LoopnestArguments& arguments) {
  if (!arguments.semantics) return std::nullopt;
  return loopnest::FindSemantics(*arguments.semantics);
}

Result<void> EvaluateBatchFile(const EvaluateArguments& arguments, Context& context) {
  const Result<std::vector<BatchLine>> lines = ReadBatch(arguments.batch);
  if (!lines) return lines.error();
  const std::optional<Semantics> semantics = SemanticsOf(arguments.loopnest);
  ThreadPool pool(static_cast<int>(context.options.threads));
  std::vector<loopnest::Workspace> workspaces(static_cast<size_t>(pool.threads()));
  std::vector<loopnest::BatchAnswer> answers(lines->size());
  pool.ParallelFor(std::ssize(*lines), /*chunk=*/16, [&](int64_t begin, int64_t end, int worker) {
    for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
      const Where where{.file = arguments.batch, .line = (*lines)[i].number};
      answers[i] = loopnest::AnswerRow((*lines)[i].text, where, semantics,
                                       workspaces[static_cast<size_t>(worker)]);
    }
  });
  std::vector<std::string> texts;
  for (loopnest::BatchAnswer& answer : answers) {
    if (answer.error) context.complain(*answer.error);
    texts.push_back(std::move(answer.text));
  }
  return ShowAnswers(texts, context);
}

}  // namespace

std::vector<Flag> LoopnestFlags(LoopnestArguments& arguments) {
  return {{.name = "--semantics",
           .target = &arguments.semantics,
           .help = "loopnest: exact, timeloop3 (timeloop-model 3.0.3) or timeloop4 (3.0.3 with the "
                   "stride rule of v4, not checked against a v4 binary) (default: exact; with "
                   "--batch what the row says)",
           .value = "S",
           .choices = SemanticsNames,
           .closed = true}};
}

Result<void> EvaluateLoopnest(const EvaluateArguments& arguments, Context& context) {
  return EvaluateBatchFile(arguments, context);
}

}  // namespace tessera
