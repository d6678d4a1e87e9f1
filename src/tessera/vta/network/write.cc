#include "tessera/vta/network/write.h"

#include <filesystem>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/vta/codegen/conv.h"

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

Result<void> WriteProgram(const std::string& folder, const std::string& file,
                          const Program& program) {
  return SaveProgram(program, (std::filesystem::path(folder) / file).string());
}

Result<void> WriteManifest(const std::string& folder, const std::string& manifest) {
  const std::string path = (std::filesystem::path(folder) / "manifest.json").string();
  return WriteFileAtomically(path, manifest);
}

}  // namespace tessera::vta
