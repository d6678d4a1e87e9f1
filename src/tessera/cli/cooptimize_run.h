// One co-optimization: the search with its journal and progress, and what is shown and written.
#ifndef TESSERA_CLI_COOPTIMIZE_RUN_H_
#define TESSERA_CLI_COOPTIMIZE_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tessera/cli/command.h"
#include "tessera/coopt/journal.h"
#include "tessera/coopt/session.h"
#include "tessera/part.h"
#include "tessera/record/run_directory.h"
#include "tessera/report/json.h"
#include "tessera/search.h"

namespace tessera {

struct CooptimizeSettings {
  std::string network;  // names, joined with +
  MethodChoice method;
  uint64_t seed = 1;
  int64_t measurements = 1'000;
  bool validity_filter = true;

  // All that measurements depend on, in one line.
  std::string text;
};

class CooptimizeRun {
 public:
  // `directory` is the folder of the run, if it has one.
  CooptimizeRun(CooptimizeSettings settings, std::vector<coopt::LeftOut> left_out,
                coopt::CooptProblem problem, std::optional<RunDirectory> directory,
                Context& context);

  // Goes on with what the folder's journal holds, if anything.
  Result<void> Execute();

 private:
  Result<void> OpenJournal();
  Result<coopt::SessionResult> Search();
  Result<coopt::SessionResult> Exhaustive();
  void Report(const coopt::SessionResult& result, ProgressObserver& progress) const;
  Result<void> Show(const coopt::SessionResult& result);
  Result<void> WriteRun(const coopt::SessionResult& result, const std::string& text, Json& json);
  Result<void> WritePrograms(const coopt::SessionResult& result, Json& json);

  const CooptimizeSettings settings_;
  const std::vector<coopt::LeftOut> left_out_;
  const coopt::CooptProblem problem_;
  const std::optional<RunDirectory> directory_;
  Context& context_;
  ThreadPool pool_;
  coopt::Simulator simulator_;
  std::unique_ptr<coopt::Journal> journal_;
  coopt::Outcomes recorded_;
};

}  // namespace tessera

#endif  // TESSERA_CLI_COOPTIMIZE_RUN_H_
