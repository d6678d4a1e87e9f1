// Files of Timeloop by their paths.
#include <algorithm>
#include <array>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

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
  // Timeloop counts words.
  LoopProblem words = problem;
  for (LoopTensor& tensor : words.tensors) tensor.bits = tensor.sum_bits = 0;
  const Result<TimeloopArchitecture> architecture = WriteTimeloopArchitecture(accelerator, *known);
  if (!architecture) return architecture.error();
  Export made{
      .files = {{"arch.yaml", architecture->text},
                {"ert.yaml", architecture->ert},
                {"problem.yaml", WriteLoopProblem(words, *known)},
                {"mapping.yaml", WriteTimeloopMapping(mapping, problem, *accelerator.hierarchy)}},
      .lost = architecture->lost};
  if (words != problem) made.lost.emplace_back("bits of tensors: Timeloop counts words");
  std::erase_if(made.files, [](const ExportedFile& file) { return file.contents.empty(); });
  return made;
}

}  // namespace tessera
