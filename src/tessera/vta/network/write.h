// The folder of a compiled network as it is written: names of programs, where their tensors lie,
// the manifest. network/manifest.h reads it back.
#ifndef TESSERA_VTA_NETWORK_WRITE_H_
#define TESSERA_VTA_NETWORK_WRITE_H_

#include <cstddef>
#include <string>

#include "tessera/base/json_text.h"
#include "tessera/result.h"
#include "tessera/vta.h"

namespace tessera::vta {

// The name of the program of entry `index` (from 0): "01-layer1.0.conv1.vta". The number keeps
// names apart that differ only in odd characters.
std::string ProgramFile(size_t index, const std::string& name);

// Where a kernel's tensors lie.
Json TensorsJson(const Kernel& kernel);

// Writes into an existing folder.
Result<void> WriteProgram(const std::string& folder, const std::string& file,
                          const Program& program);
Result<void> WriteManifest(const std::string& folder, const std::string& manifest);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_WRITE_H_
