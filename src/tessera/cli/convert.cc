// tessera convert: a network or an accelerator in the file format of another tool.
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

namespace tessera {
namespace {

struct ConvertArguments {
  NetworkArgument network;
  std::string to;
};

template <typename Formats>
std::vector<std::string> Writable(const Formats& formats) {
  std::vector<std::string> names;
  for (const auto* format : formats) {
    if (format->write != nullptr) names.emplace_back(format->name);
  }
  return names;
}

// Of networks, then of accelerators.
std::vector<std::string> AllFormats() {
  std::vector<std::string> names = Writable(NetworkFormats());
  for (std::string& name : Writable(AcceleratorFormats())) {
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return names;
}

std::vector<Flag> Flags(ConvertArguments& arguments) {
  std::vector<Flag> flags = {{.name = "--to",
                              .target = &arguments.to,
                              .help = "the format to write (tessera list formats)",
                              .value = "FORMAT",
                              .required = true,
                              .choices = AllFormats}};
  for (Flag flag : NetworkFlags(arguments.network)) {
    if (flag.name == "NETWORK") {
      flag.help = "a network: a zoo name or a file; or an accelerator: a preset or a file";
      flag.choices = [] {
        std::vector<std::string> names = ZooNames();
        for (std::string& name : AcceleratorNames()) names.push_back(std::move(name));
        return names;
      };
    }
    flags.push_back(std::move(flag));
  }
  return flags;
}

// One file as it is; several as a stream of YAML documents with their names.
std::string Stream(const std::vector<ExportedFile>& files) {
  if (files.size() == 1) return files.front().contents;
  std::string text;
  for (const ExportedFile& file : files) {
    text += fmt::format("--- # {}\n{}", file.name, file.contents);
  }
  return text;
}

Result<void> Show(const std::vector<ExportedFile>& files, const std::string& folder,
                  Output& output) {
  if (folder.empty()) return output.ShowText(Stream(files));
  if (Result<void> written = WriteTogether(folder, files); !written) return written;
  for (const ExportedFile& file : files) {
    Result<void> shown =
        output.ShowText(fmt::format("{}\n", (std::filesystem::path(folder) / file.name).string()));
    if (!shown) return shown;
  }
  return {};
}

// `kind` is what was converted: network or accelerator, with its name.
Result<void> Finish(std::string_view kind, const std::string& name, std::string_view format,
                    const std::vector<ExportedFile>& written, const std::vector<std::string>& lost,
                    Context& context) {
  const std::string& folder = context.options.out;
  if (Result<void> shown = Show(written, folder, context.output); !shown) return shown;
  Json files = Json::array();
  for (const ExportedFile& file : written) {
    Json entry = {{"name", file.name}, {"bytes", file.contents.size()}};
    if (folder.empty()) entry["contents"] = file.contents;
    files.push_back(std::move(entry));
  }
  context.output.Set(kind, name);
  context.output.Set("format", format);
  context.output.Set("files", std::move(files));
  context.output.Set("lost", lost);
  for (const std::string& line : lost) context.remark(fmt::format("lost: {}", line));
  return {};
}

Error NotWritable(std::string_view format, const std::vector<std::string>& writable) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("format '{}' can be read, but not written", format),
               .hint = fmt::format("writable: {}", fmt::join(writable, ", "))};
}

// A preset, or a file that holds a machine and no network. A zoo name goes before both.
bool NamesAccelerator(const std::string& name) {
  const auto is = [&](const auto& names) { return std::ranges::find(names, name) != names.end(); };
  if (is(ZooNames())) return false;
  if (is(AcceleratorNames())) return true;
  const Result<std::string> bytes = name == "-" ? Error{} : ReadFile(name);
  if (!bytes || RecogniseAccelerator(*bytes) == nullptr) return false;
  return std::ranges::none_of(NetworkFormats(), [&](const NetworkFormat* format) {
    return format->recognises != nullptr && format->recognises(*bytes);
  });
}

Result<void> ConvertAccelerator(const ConvertArguments& arguments, Context& context) {
  if (arguments.network.layer || !arguments.network.bind.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "an accelerator has no layers and no sizes to bind",
                 .hint = "leave out --layer and --bind"};
  }
  const Result<const AcceleratorFormat*> format = FindAcceleratorFormat(arguments.to);
  if (!format) return format.error();
  if ((*format)->write == nullptr) {
    return NotWritable((*format)->name, Writable(AcceleratorFormats()));
  }
  const Result<Accelerator> machine = LoadAccelerator(arguments.network.name);
  if (!machine) return machine.error();
  const Result<AcceleratorExport> exported = (*format)->write(*machine);
  if (!exported) return exported.error();
  return Finish("accelerator", machine->name, (*format)->name, exported->files, exported->lost,
                context);
}

Result<void> Run(const ConvertArguments& arguments, Context& context) {
  if (NamesAccelerator(arguments.network.name)) return ConvertAccelerator(arguments, context);
  const Result<const NetworkFormat*> format = FindNetworkFormat(arguments.to);
  if (!format) return format.error();
  if ((*format)->write == nullptr) {
    return NotWritable(arguments.to, Writable(NetworkFormats()));
  }
  const Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<Export> exported = (*format)->write(*network);
  if (!exported) return exported.error();
  return Finish("network", network->name, arguments.to, exported->files, exported->lost, context);
}

}  // namespace

extern const Command kConvertCommand = {
    .name = "convert",
    .summary = "a network or an accelerator in the format of another tool",
    .examples = {{"tessera convert resnet18 --to maestro > resnet18.m", "for MAESTRO"},
                 {"tessera convert model.onnx --to timeloop --out problems",
                  "one Timeloop problem file per distinct layer, in a folder"},
                 {"tessera convert bert-base:seq=384 --to yaml --layer 2",
                  "one layer in Tessera's own format"},
                 {"tessera convert eyeriss-256 --to timeloop-arch --out arch",
                  "an accelerator for Timeloop, with its energies as an ERT"},
                 {"tessera convert arch.yaml --to yaml", "and back into Tessera's own format"}},
    .bind = Bind<ConvertArguments, Flags, Run>,
    .details =
        "What the format cannot hold is listed on stderr, and under 'lost' with --json.\n"
        "Several files without --out are printed one after another, each after a line\n"
        "'--- # NAME'. Nothing is written if anything is wrong.",
    .writes_out = true};

}  // namespace tessera
