#include "tessera/vta/network/write.h"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/vta/codegen/conv.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

std::string ProgramFile(size_t index, const std::string& name) {
  std::string file = fmt::format("{:02}-", index + 1);
  for (const char c : name) {
    const bool plain = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                       c == '.' || c == '-';
    file += plain ? c : '_';
  }
  return file + ".vta";
}

Json TensorsJson(const Kernel& kernel) {
  Json tensors = Json::array();
  for (const Tensor& tensor : kernel.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"layout", tensor.layout},
                       {"address", tensor.address},
                       {"bytes", tensor.bytes}});
  }
  return tensors;
}

Result<std::optional<FileSet>> OpenFiles(const std::string& folder) {
  if (folder.empty()) return std::optional<FileSet>();
  Result<FileSet> files = FileSet::Open(folder);
  if (!files) return files.error();
  return std::optional<FileSet>(std::move(*files));
}

Result<void> AddProgram(const std::string& file, const Program& program,
                        std::optional<FileSet>& files) {
  if (!files) return {};
  if (Result<void> valid = Validate(program); !valid) return valid;
  return files->Add(file, WriteContainer(program));
}

Result<void> FinishFiles(const std::string& manifest, std::optional<FileSet>& files) {
  if (!files) return {};
  if (Result<void> added = files->Add("manifest.json", manifest); !added) return added;
  return files->Commit();
}

}  // namespace tessera::vta
