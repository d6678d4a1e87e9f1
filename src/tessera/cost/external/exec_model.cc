// Mappings to rows, and answers to costs.
#include "tessera/cost/external/exec_model.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/settings.h"
#include "tessera/cost/maestro/workload.h"
#include "tessera/result.h"

namespace tessera {
namespace {

// Which dataflows the program is asked about is what MAESTRO would take.
struct ExecOptions : ExternalOptions {
  MaestroLegality legality = MaestroLegality::kStrict;  // Default: kStrict.
  MaestroVersion version = MaestroVersion::kHead;       // Default: kHead.
};

class ExecModel final : public BatchModel {
 public:
  ExecModel(maestro::Declaration declaration, const PeArray& array, ExecOptions options)
      : declaration_(std::move(declaration)), array_(array), options_(std::move(options)) {}

  std::vector<Result<Cost>> Evaluate(std::span<const Request> requests,
                                     ThreadPool& pool) const override {
    std::vector<std::string> rows;
    for (const Request& request : requests) {
      rows.push_back(RowOf(std::to_string(rows.size() + 1), request));
    }
    const Result<std::vector<ExternalAnswer>> answers = RunExternal(options_, rows, pool);
    if (!answers) return {requests.size(), Result<Cost>(answers.error())};
    std::vector<Result<Cost>> costs;
    for (const ExternalAnswer& answer : *answers) {
      if (answer.kind == ExternalAnswer::Kind::kAnswered) {
        costs.push_back(CostOfAnswer(answer.line));
      } else {
        costs.emplace_back(Error{.kind = ErrorKind::kIo, .message = answer.message});
      }
    }
    return costs;
  }

 private:
  std::string RowOf(const std::string& id, const Request& request) const {
    PeArray array = array_;
    array.num_pes = request.num_pes;
    return maestro::RowOf(id,
                          {.name = "layer",
                           .declaration = declaration_,
                           .dataflow = std::get<Dataflow>(request.mapping)},
                          array, options_.version);
  }

  const maestro::Declaration declaration_;
  const PeArray array_;
  const ExecOptions options_;
};

class ConfiguredExec final : public ConfiguredModel {
 public:
  ConfiguredExec(ExecOptions options, const std::string& command) : options_(std::move(options)) {
    options_.command = command;
  }

  Result<std::unique_ptr<CostModel>> Make(const Layer& /*layer*/,
                                          const Accelerator& /*accelerator*/) const override {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = "a program of the user's prices by the batch only"};
  }

  Result<std::unique_ptr<BatchModel>> MakeBatch(const Layer& layer,
                                                const Accelerator& accelerator) const override {
    if (Result<void> suits = CheckMachine(kExecModel.form, kExecModel.name, accelerator); !suits) {
      return suits.error();
    }
    Result<maestro::Declaration> declaration = maestro::Declare(layer);
    if (!declaration) return declaration.error();
    return std::unique_ptr<BatchModel>(
        std::make_unique<ExecModel>(*std::move(declaration), *accelerator.pe_array, options_));
  }

  const ExternalOptions& options() const { return options_; }

  SpaceRules RulesFor(const Layer& layer, const Accelerator& accelerator) const override {
    return maestro::RulesFor(layer, *accelerator.pe_array, options_.version, options_.legality);
  }

  static ParameterList<ExecOptions> Parameters() {
    using Setting = Parameter<ExecOptions>;
    ParameterList<ExecOptions> parameters = {
        Setting("exec-timeout", &ExecOptions::timeout_seconds, Range{.least = 0.001},
                "exec: longest time to the first answer and between answers")
            .Of("SECONDS"),
        Setting("exec-memory", &ExecOptions::memory_mib, Range{0, 1 << 30},
                "exec: memory of the program, 0 for no limit")
            .Of("MIB"),
        Setting("exec-batch", &ExecOptions::batch_rows, Range{1, 1 << 30},
                "exec: rows that one run of the program gets")};
    parameters.push_back(maestro::LegalityParameter(&ExecOptions::legality));
    parameters.push_back(maestro::VersionParameter(&ExecOptions::version));
    return parameters;
  }

 private:
  ExecOptions options_;
};

}  // namespace

constinit const CostModelInfo kExecModel = {
    .name = "exec",
    .summary = "a program of yours, exec:COMMAND, prices dataflows (docs/external-evaluator.md)",
    .form = MappingForm::kDataflow,
    .takes_command = true,
    .parameters = DescribeSettings<ConfiguredExec>,
    .configure = Configure<ConfiguredExec>,
};

const ExternalOptions& ExternalOptionsOf(const CostModelChoice& model) {
  TESSERA_CHECK(&model.info() == &kExecModel);
  return static_cast<const ConfiguredExec*>(model.operator->())->options();
}

}  // namespace tessera
