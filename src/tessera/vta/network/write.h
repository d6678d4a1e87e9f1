// The folder of a compiled network as it is written: names of programs, where their tensors lie,
// the manifest. network/manifest.h reads it back.
#ifndef TESSERA_VTA_NETWORK_WRITE_H_
#define TESSERA_VTA_NETWORK_WRITE_H_

#include <cstddef>
#include <optional>
#include <string>

#include "tessera/base/file_set.h"
#include "tessera/base/json_text.h"
#include "tessera/result.h"
#include "tessera/vta.h"

namespace tessera::vta {

// The name of the program of entry `index` (from 0): "01-layer1.0.conv1.vta". The number keeps
// names apart that differ only in odd characters.
std::string ProgramFile(size_t index, const std::string& name);

// Where a kernel's tensors lie.
Json TensorsJson(const Kernel& kernel);

// The files of a compiled network, which appear as a whole; nothing is written without a folder.
Result<std::optional<FileSet>> OpenFiles(const std::string& folder);
Result<void> AddProgram(const std::string& file, const Program& program,
                        std::optional<FileSet>& files);
Result<void> FinishFiles(const std::string& manifest, std::optional<FileSet>& files);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_WRITE_H_
