// tessera convert: a network in the file format of another tool.
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

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

std::vector<std::string> WritableFormats() {
  std::vector<std::string> names;
  for (const NetworkFormat* format : NetworkFormats()) {
    if (format->write != nullptr) names.emplace_back(format->name);
  }
  return names;
}

std::vector<Flag> Flags(ConvertArguments& arguments) {
  std::vector<Flag> flags = {{.name = "--to",
                              .target = &arguments.to,
                              .help = "the format to write",
                              .value = "FORMAT",
                              .required = true,
                              .choices = WritableFormats}};
  for (const Flag& flag : NetworkFlags(arguments.network)) flags.push_back(flag);
  return flags;
}

// One file as it is; several as a stream of YAML documents with their names.
std::string Stream(const Export& exported) {
  if (exported.files.size() == 1) return exported.files.front().contents;
  std::string text;
  for (const ExportedFile& file : exported.files) {
    text += fmt::format("--- # {}\n{}", file.name, file.contents);
  }
  return text;
}

Result<void> Show(const Export& exported, const std::string& folder, Output& output) {
  if (folder.empty()) return output.ShowText(Stream(exported));
  if (Result<void> written = WriteTogether(folder, exported.files); !written) return written;
  for (const ExportedFile& file : exported.files) {
    Result<void> shown =
        output.ShowText(fmt::format("{}\n", (std::filesystem::path(folder) / file.name).string()));
    if (!shown) return shown;
  }
  return {};
}

Result<void> Run(const ConvertArguments& arguments, Context& context) {
  const Result<const NetworkFormat*> format = FindNetworkFormat(arguments.to);
  if (!format) return format.error();
  if ((*format)->write == nullptr) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("format '{}' can be read, but not written", arguments.to),
                 .hint = fmt::format("writable: {}", fmt::join(WritableFormats(), ", "))};
  }
  const Result<Network> network = Load(arguments.network);
  if (!network) return network.error();
  const Result<Export> exported = (*format)->write(*network);
  if (!exported) return exported.error();

  const std::string& folder = context.options.out;
  if (Result<void> shown = Show(*exported, folder, context.output); !shown) return shown;
  Json files = Json::array();
  for (const ExportedFile& file : exported->files) {
    Json entry = {{"name", file.name}, {"bytes", file.contents.size()}};
    if (folder.empty()) entry["contents"] = file.contents;
    files.push_back(std::move(entry));
  }
  context.output.Set("network", network->name);
  context.output.Set("format", arguments.to);
  context.output.Set("files", std::move(files));
  context.output.Set("lost", exported->lost);
  for (const std::string& line : exported->lost) context.remark(fmt::format("lost: {}", line));
  return {};
}

}  // namespace

extern const Command kConvertCommand = {
    .name = "convert",
    .summary = "a network in the format of another tool",
    .examples = {{"tessera convert resnet18 --to maestro > resnet18.m", "for MAESTRO"},
                 {"tessera convert model.onnx --to timeloop --out problems",
                  "one Timeloop problem file per distinct layer, in a folder"},
                 {"tessera convert bert-base:seq=384 --to yaml --layer 2",
                  "one layer in Tessera's own format"}},
    .bind = Bind<ConvertArguments, Flags, Run>,
    .details =
        "What the format cannot hold is listed on stderr, and under 'lost' with --json.\n"
        "Several files without --out are printed one after another, each after a line\n"
        "'--- # NAME'. Nothing is written if anything is wrong.",
    .writes_out = true};

}  // namespace tessera
