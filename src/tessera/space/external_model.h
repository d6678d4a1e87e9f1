// A user's program as the model of a mapping problem: --model exec:COMMAND. It gets the rows that
// docs/external-evaluator.md describes, a batch at a time.
#ifndef TESSERA_SPACE_EXTERNAL_MODEL_H_
#define TESSERA_SPACE_EXTERNAL_MODEL_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/result.h"
#include "tessera/base/thread_pool.h"
#include "tessera/cost/cost.h"
#include "tessera/cost/external/external.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/mapping/dataflow.h"
#include "tessera/workload/layer.h"

namespace tessera {

inline constexpr std::string_view kExternalPrefix = "exec:";

class ExternalModel {
 public:
  // Errors: layers that a row cannot hold.
  static Result<ExternalModel> Make(const Layer& layer, const PeArray& array,
                                    MaestroVersion version, ExternalOptions options);

  struct Request {
    Dataflow dataflow = {};
    int64_t num_pes = 1;
  };
  // The program's costs. An error of kind kInfeasible is its verdict on a mapping; any other is a
  // failure of the program.
  std::vector<Result<Cost>> Evaluate(std::span<const Request> requests, ThreadPool& pool) const;

 private:
  ExternalModel(maestro::Declaration declaration, const PeArray& array, MaestroVersion version,
                ExternalOptions options)
      : declaration_(std::move(declaration)),
        array_(array),
        version_(version),
        options_(std::move(options)) {}

  maestro::Declaration declaration_;
  PeArray array_;
  MaestroVersion version_;
  ExternalOptions options_;
};

}  // namespace tessera

#endif  // TESSERA_SPACE_EXTERNAL_MODEL_H_
