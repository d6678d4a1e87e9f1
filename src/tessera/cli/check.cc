// tessera check: reads files, infers shapes and reports every problem.
#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/cli/accelerator_argument.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/report/accelerator_report.h"
#include "tessera/report/component_report.h"
#include "tessera/report/graph_report.h"
#include "tessera/report/network_report.h"

namespace tessera {
namespace {

struct CheckArguments {
  std::vector<std::string> files;
  std::vector<std::string> bind;
  bool explain = false;
  bool graph = false;
  std::string dot, svg;
};

std::vector<std::string> BuiltInNames() {
  std::vector<std::string> names = ZooNames();
  for (std::string& name : AcceleratorNames()) names.push_back(std::move(name));
  return names;
}

std::vector<Flag> Flags(CheckArguments& arguments) {
  return {{.name = "FILE",
           .target = &arguments.files,
           .help = "network and accelerator files of any format, or built-in names; - is stdin",
           .required = true,
           .choices = BuiltInNames},
          BindFlag(arguments.bind),
          {.name = "--explain",
           .target = &arguments.explain,
           .help = "of an accelerator: every number with its source and how it was scaled"},
          {.name = "--graph",
           .target = &arguments.graph,
           .help = "of a network: nodes, tensors and the most words that are alive at a time"},
          {.name = "--dot",
           .target = &arguments.dot,
           .help = "with --graph: writes the graph for Graphviz",
           .value = "FILE"},
          {.name = "--svg",
           .target = &arguments.svg,
           .help = "with --graph: draws the graph",
           .value = "FILE"}};
}

// What is known of one file. Exactly one of the optionals is set.
struct Finding {
  std::string file;
  std::optional<Network> network = std::nullopt;
  std::optional<Accelerator> accelerator = std::nullopt;
  std::optional<Error> error = std::nullopt;
};

template <typename T>
void Store(Result<T> result, std::optional<T>& value, Finding& finding) {
  if (result) {
    value = std::move(*result);
    return;
  }
  finding.error = result.error();
  if (finding.error->where.file.empty()) finding.error->where.file = finding.file;
}

bool IsIn(std::span<const EmbeddedFile> files, std::string_view name) {
  return std::any_of(files.begin(), files.end(),
                     [&](const EmbeddedFile& file) { return file.name == name; });
}

// Timeloop files may hold a problem beside the architecture; then they are networks.
bool HoldsNetwork(std::string_view bytes) {
  const auto formats = NetworkFormats();
  return std::any_of(formats.begin(), formats.end(), [&](const NetworkFormat* format) {
    return format->recognises != nullptr && format->recognises(bytes);
  });
}

// Whether a name is that of a file with values behind it: "config.json:phase=decode".
bool HasSettings(const std::string& name) {
  for (size_t colon = name.find(':'); colon != std::string::npos;
       colon = name.find(':', colon + 1)) {
    std::error_code unknown;
    if (std::filesystem::exists(name.substr(0, colon), unknown)) return true;
  }
  return false;
}

Finding Check(const std::string& path, const Bindings& bindings) {
  Finding finding{.file = path};
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes && IsIn(AcceleratorPresets(), path)) {
    Store(LoadAccelerator(path), finding.accelerator, finding);
  } else if (!bytes && (IsIn(Zoo(), path.substr(0, path.find(':'))) || HasSettings(path))) {
    Store(LoadNetwork(path, bindings), finding.network, finding);
  } else if (!bytes) {
    finding.error = bytes.error();
  } else if (!HoldsNetwork(*bytes) && RecogniseAccelerator(*bytes) != nullptr) {
    Store(ParseAccelerator(*bytes, path), finding.accelerator, finding);
  } else {
    Store(ParseNetwork(*bytes, path, bindings), finding.network, finding);
  }
  return finding;
}

Json FindingJson(const Finding& finding) {
  Json json = {{"ok", !finding.error.has_value()}, {"file", finding.file}};
  if (finding.accelerator) {
    json["kind"] = "accelerator";
    json.update(ToJson(*finding.accelerator));
  } else if (finding.network) {
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

Result<void> ShowAccelerator(const Accelerator& accelerator, Output& output) {
  Result<void> shown = output.ShowText(Summary(accelerator) + "\n");
  if (shown && accelerator.hierarchy) shown = output.Show(LevelTable(*accelerator.hierarchy));
  if (shown && accelerator.pe_array) shown = output.Show(PeArrayTable(*accelerator.pe_array));
  return shown;
}

Result<void> ShowOne(const Finding& finding, Output& output, bool graph) {
  output.SetAll(FindingJson(finding));
  if (output.json() || finding.error) return {};
  if (finding.accelerator) return ShowAccelerator(*finding.accelerator, output);
  const std::string summary = Summary(*finding.network) + "\n";
  if (Result<void> shown = output.ShowText(summary); !shown || graph) return shown;
  return output.Show(LayerTable(*finding.network));
}

int64_t Sum(const std::map<std::string, int64_t>& counts) {
  int64_t sum = 0;
  for (const auto& [name, count] : counts) sum += count;
  return sum;
}

Result<void> ShowMany(const std::vector<Finding>& findings, Output& output) {
  Table table({"file", "ok", "what", "layers", "macs", "ignored", "unknown"});
  Json files = Json::array();
  Json errors = Json::array();
  for (const Finding& finding : findings) {
    files.push_back(FindingJson(finding));
    if (finding.error) {
      errors.push_back(ToJson(*finding.error));
      table.Add(finding.file, false, Cell(), Cell(), Cell(), Cell(), Cell());
    } else if (finding.accelerator) {
      table.Add(finding.file, true, SizeText(*finding.accelerator), Cell(), Cell(), Cell(), Cell());
    } else {
      const Network& network = *finding.network;
      table.Add(finding.file, true, fmt::format("network {}", network.name), TotalLayers(network),
                TotalMacs(network), Sum(network.ignored), Sum(network.unknown));
    }
  }
  output.Set("ok", errors.empty());
  output.Set("files", std::move(files));
  output.Set("errors", std::move(errors));
  return output.json() ? Result<void>() : output.Show(table);
}

std::vector<Finding> CheckAll(const std::vector<std::string>& files, const Bindings& bindings,
                              Context& context) {
  std::vector<Finding> findings;
  const std::shared_ptr<ProgressObserver> progress =
      context.start_progress({.samples_heading = "files"});
  ProgressRow row{.name = "check", .budget = std::ssize(files)};
  progress->OnProgress(ProgressEvent::kStarted, row);
  for (const std::string& path : files) {
    if (context.stopped()) {
      context.remark(
          fmt::format("stopped: {} of {} files were checked", findings.size(), files.size()));
      return findings;
    }
    findings.push_back(Check(path, bindings));
    if (findings.back().error) context.complain(*findings.back().error);
    ++row.samples;
    progress->OnProgress(
        row.samples == row.budget ? ProgressEvent::kDone : ProgressEvent::kAdvanced, row);
  }
  return findings;
}

// --explain: the numbers of a machine one by one.
Result<void> Explain(const std::string& name, Output& output) {
  Result<std::string> bytes = ReadFile(name);
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    if (!bytes && preset.name == name) bytes = std::string(preset.contents);
  }
  if (!bytes) return bytes.error();
  const Result<Table> numbers = SourceTable(*bytes, name);
  if (!numbers) return numbers.error();
  if (numbers->rows().empty()) return output.ShowText("all numbers are given in the file\n");
  return output.Show(*numbers, "numbers");
}

// --graph: nodes and tensors of a network.
Result<void> ShowGraph(const CheckArguments& arguments, const Network& network, Output& output) {
  if (network.graph.empty()) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("network {} has no graph: its source does not say how its "
                                        "layers are connected",
                                        Quoted(network.name)),
                 .hint = "ONNX graphs, language models, the zoo and native files with 'graph' do"};
  }
  output.SetAll(GraphJson(network));
  if (!arguments.dot.empty()) {
    Result<void> written = WriteFileAtomically(arguments.dot, GraphDot(network));
    if (!written) return written;
  }
  if (!arguments.svg.empty()) {
    Result<void> written = WriteFileAtomically(arguments.svg, GraphSvg(network));
    if (!written) return written;
  }
  if (output.json()) return {};
  if (Result<void> shown = output.ShowText(GraphSummary(network)); !shown) return shown;
  return output.Show(NodeTable(network), "nodes");
}

Result<void> CheckFlags(const CheckArguments& arguments) {
  const bool one = arguments.files.size() == 1;
  if (arguments.explain && !one) {
    return Error{.kind = ErrorKind::kUsage, .message = "--explain is for one accelerator"};
  }
  if (arguments.graph && !one) {
    return Error{.kind = ErrorKind::kUsage, .message = "--graph is for one network"};
  }
  if (!arguments.graph && (!arguments.dot.empty() || !arguments.svg.empty())) {
    return Error{.kind = ErrorKind::kUsage, .message = "--dot and --svg need --graph"};
  }
  return {};
}

Result<void> Run(const CheckArguments& arguments, Context& context) {
  if (Result<void> fine = CheckFlags(arguments); !fine) return fine;
  const Result<Bindings> bindings = ReadBindings(arguments.bind);
  if (!bindings) return bindings.error();
  const std::vector<Finding> findings = CheckAll(arguments.files, *bindings, context);
  if (arguments.files.size() == 1 && !findings.empty()) {
    const Finding& finding = findings.front();
    Result<void> shown = ShowOne(finding, context.output, arguments.graph);
    if (shown && arguments.graph && finding.accelerator) {
      return Error{.kind = ErrorKind::kUsage, .message = "--graph is for one network"};
    }
    if (shown && arguments.graph && finding.network) {
      return ShowGraph(arguments, *finding.network, context.output);
    }
    if (!shown || !arguments.explain || !findings.front().accelerator) return shown;
    return Explain(arguments.files.front(), context.output);
  }
  return ShowMany(findings, context.output);
}

}  // namespace

extern const Command kCheckCommand = {
    .name = "check",
    .summary = "read files, infer shapes, report problems",
    .examples = {{"tessera check resnet50.onnx", "layers, MACs and what was ignored"},
                 {"tessera check net.onnx --bind batch=1", "with a symbolic dimension bound"},
                 {"tessera check resnet18 --graph --svg resnet18.svg",
                  "how its layers are connected, as a table and a drawing"},
                 {"tessera check llama-3.1-8b:phase=decode,past=4096",
                  "a step of a language model: MACs, parameters, bytes of its cache"},
                 {"tessera check my-accelerator.yaml", "the levels of a machine"},
                 {"tessera check my-accelerator.yaml --explain",
                  "every number of it, with its source and how it was scaled"},
                 {"tessera check *.yaml *.m --json", "many files, for a program"}},
    .bind = Bind<CheckArguments, Flags, Run>,
    .details =
        "A file that cannot be read is reported with the line and column of the problem;\n"
        "the other files are still checked. The exit code is that of the first problem.\n"
        "With --json one FILE gives its object; several give a list of them in 'files'."};

}  // namespace tessera
