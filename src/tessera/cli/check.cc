// tessera check: reads files, infers shapes and reports every problem.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/report/network_report.h"
#include "tessera/workload/format.h"

namespace tessera {
namespace {

struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> bind;
};

std::vector<Flag> Flags(CheckArguments& arguments) {
  return {{.name = "FILE",
           .target = &arguments.files,
           .help = "network files of any format; - is stdin",
           .required = true},
          BindFlag(arguments.bind)};
}

// What is known of one file. Exactly one of `network` and `error` is set.
struct Finding {
  std::string file;
  std::optional<Network> network = std::nullopt;
  std::optional<Error> error = std::nullopt;
};

Finding Check(const std::string& path, const Bindings& bindings) {
  Finding finding{.file = path};
  Result<Network> network = ReadNetwork(path, bindings);
  if (network) {
    finding.network = std::move(*network);
    return finding;
  }
  finding.error = network.error();
  if (finding.error->where.file.empty()) finding.error->where.file = path;
  return finding;
}

Json ToJson(const Finding& finding) {
  Json json = {{"ok", !finding.error.has_value()}, {"file", finding.file}};
  if (finding.network) {
    json["kind"] = "network";
    json.update(ToJson(*finding.network));
  } else {
    json["macs"] = nullptr;
    json["layers"] = Json::array();
    json["ignored"] = Json::object();
    json["unknown"] = Json::object();
  }
  json["errors"] = Json::array();
  if (finding.error) json["errors"].push_back(ToJson(*finding.error));
  return json;
}

Result<void> ShowOne(const Finding& finding, Output& output) {
  output.SetAll(ToJson(finding));
  if (output.json() || !finding.network) return {};
  const std::string summary = Summary(*finding.network) + "\n";
  if (Result<void> shown = output.ShowText(summary); !shown) return shown;
  return output.Show(LayerTable(*finding.network));
}

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

Result<void> ShowMany(const std::vector<Finding>& findings, Output& output) {
  Table table({"file", "ok", "layers", "macs", "ignored", "unknown"});
  Json files = Json::array();
  Json errors = Json::array();
  for (const Finding& finding : findings) {
    files.push_back(ToJson(finding));
    if (finding.error) {
      errors.push_back(ToJson(*finding.error));
      table.Add(finding.file, false, Cell(), Cell(), Cell(), Cell());
    } else {
      const Network& network = *finding.network;
      table.Add(finding.file, true, TotalLayers(network), TotalMacs(network), Sum(network.ignored),
                Sum(network.unknown));
    }
  }
  output.Set("ok", errors.empty());
  output.Set("files", std::move(files));
  output.Set("errors", std::move(errors));
  return output.json() ? Result<void>() : output.Show(table);
}

Result<void> Run(const CheckArguments& arguments, Context& context) {
  const Result<Bindings> bindings = ReadBindings(arguments.bind);
  if (!bindings) return bindings.error();
  std::vector<Finding> findings;
  for (const std::string& path : arguments.files) {
    findings.push_back(Check(path, *bindings));
    if (findings.back().error) context.complain(*findings.back().error);
  }
  if (findings.size() == 1) return ShowOne(findings.front(), context.output);
  return ShowMany(findings, context.output);
}

}  // namespace

extern const Command kCheckCommand = {
    .name = "check",
    .summary = "read files, infer shapes, report problems",
    .examples = {{"tessera check resnet50.onnx", "layers, MACs and what was ignored"},
                 {"tessera check net.onnx --bind batch=1", "with a symbolic dimension bound"},
                 {"tessera check *.yaml *.m --json", "many files, for a program"}},
    .bind = Bind<CheckArguments, Flags, Run>,
    .details =
        "A file that cannot be read is reported with the line and column of the problem;\n"
        "the other files are still checked. The exit code is that of the first problem.\n"
        "With --json one FILE gives its object; several give a list of them in 'files'."};

}  // namespace tessera
