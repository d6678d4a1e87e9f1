// Files of Timeloop by their paths.
#include <algorithm>
#include <array>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/timeloop_write.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/mapping.h"
#include "tessera/mapping/loop_shape.h"
#include "tessera/mapping/timeloop_mapping.h"

namespace tessera {
namespace {

Result<Node> LoadDocument(const std::string& path) {
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes) return bytes.error();
  const Result<std::string> text = ToText(*bytes, path);
  if (!text) return text.error();
  return ParseDocument(*text, path);
}

}  // namespace

bool FileHasKey(const std::string& path, std::initializer_list<std::string_view> keys) {
  std::error_code ignored;
  if (!std::filesystem::is_regular_file(path, ignored)) return false;
  for (const std::string_view extension : {".onnx", ".m", ".csv", ".onnx.gz", ".m.gz", ".csv.gz"}) {
    if (path.ends_with(extension)) return false;
  }
  const Result<Node> document = LoadDocument(path);
  if (!document) return false;
  return std::ranges::any_of(keys,
                             [&](std::string_view key) { return document->Find(key) != nullptr; });
}

Result<LoopProblem> LoadTimeloopProblem(const std::string& path) {
  const Result<Node> document = LoadDocument(path);
  if (!document) return document.error();
  return ReadLoopProblem(*document);
}

Result<LoopMapping> LoadTimeloopMapping(const std::string& path, const LoopProblem& problem,
                                        const Hierarchy& hierarchy) {
  const Result<Node> document = LoadDocument(path);
  if (!document) return document.error();
  return ReadTimeloopMapping(*document, problem, hierarchy);
}

std::vector<std::string> TimeloopVersions() { return {"0.3", "0.4"}; }

Result<Export> ExportToTimeloop(const LoopProblem& problem, const Accelerator& accelerator,
                                const LoopMapping& mapping, std::string_view version) {
  const std::optional<TimeloopVersion> known = FindTimeloopVersion(version);
  if (!known) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("unknown version of Timeloop {}", Quoted(version)),
                 .hint = DidYouMean(version, TimeloopVersions())};
  }
  const Result<TimeloopArchitecture> architecture = WriteTimeloopArchitecture(accelerator, *known);
  if (!architecture) return architecture.error();
  Export made{
      .files = {{"arch.yaml", architecture->text},
                {"ert.yaml", architecture->ert},
                {"problem.yaml", WriteLoopProblem(problem, *known)},
                {"mapping.yaml", WriteTimeloopMapping(mapping, problem, *accelerator.hierarchy)}},
      .lost = architecture->lost};
  std::erase_if(made.files, [](const ExportedFile& file) { return file.contents.empty(); });
  return made;
}

namespace {

constexpr std::string_view kTimeloopPrefix = "timeloop-";

// What levels cannot hold, as directives that both versions read.
std::string Bypasses(const Hierarchy& hierarchy, bool v04) {
  std::string text;
  for (size_t i = 0; i < hierarchy.keeps.size(); ++i) {
    std::vector<std::string_view> missing;
    for (const std::string_view tensor : kTensorNames) {
      if (std::ranges::find(hierarchy.keeps[i], tensor) == hierarchy.keeps[i].end()) {
        missing.push_back(tensor);
      }
    }
    if (missing.empty()) continue;
    text +=
        fmt::format("  - {{type: {}, target: {}, bypass: [{}]}}\n", v04 ? "dataspace" : "bypass",
                    YamlScalar(hierarchy.levels[i].name), fmt::join(missing, ", "));
  }
  if (text.empty()) return text;
  return fmt::format("{}:\n  targets:\n{}", v04 ? "constraints" : "architecture_constraints", text);
}

}  // namespace

std::vector<std::string> AcceleratorExportFormats() {
  std::vector<std::string> names = {std::string(AcceleratorFormats().front()->name)};
  for (const std::string& version : TimeloopVersions()) {
    names.push_back(std::string(kTimeloopPrefix) + version);
  }
  return names;
}

Result<Export> ExportAccelerator(const Accelerator& accelerator, std::string_view format) {
  const AcceleratorFormat& own = *AcceleratorFormats().front();
  if (format == own.name) {
    return Export{.files = {{SafeFileName(accelerator.name) + ".yaml", own.write(accelerator)}},
                  .lost = {}};
  }
  // As of networks: the name alone is the latest version.
  const std::optional<TimeloopVersion> version =
      format == "timeloop" ? TimeloopVersion::k04
      : format.starts_with(kTimeloopPrefix)
          ? FindTimeloopVersion(format.substr(kTimeloopPrefix.size()))
          : std::nullopt;
  if (!version) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("machines cannot be written as {}", Quoted(format)),
                 .hint = fmt::format("formats: {}", fmt::join(AcceleratorExportFormats(), ", "))};
  }
  if (!accelerator.hierarchy) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} has no hierarchy, and Timeloop knows nothing else",
                                        Quoted(accelerator.name))};
  }
  const Result<TimeloopArchitecture> written = WriteTimeloopArchitecture(accelerator, *version);
  if (!written) return written.error();
  const std::string bypasses = Bypasses(*accelerator.hierarchy, *version == TimeloopVersion::k04);
  Export made{.files = {{"arch.yaml", written->text + bypasses}}, .lost = written->lost};
  if (!written->ert.empty()) made.files.push_back({"ert.yaml", written->ert});
  std::erase_if(made.lost, [&](const std::string& line) {
    return !bypasses.empty() && line.starts_with("which tensors");
  });
  const std::array<std::pair<bool, std::string_view>, 5> others = {
      {{accelerator.pe_array.has_value(), "pe_array: the form for model maestro"},
       {!accelerator.constraints.demands.empty(), "constraints on mappings"},
       {accelerator.area_um2.has_value(), "area_um2"},
       {!accelerator.source.empty(), "source"},
       {!accelerator.notes.empty(), "notes"}}};
  for (const auto& [lost, what] : others) {
    if (lost) made.lost.emplace_back(what);
  }
  return made;
}

}  // namespace tessera
