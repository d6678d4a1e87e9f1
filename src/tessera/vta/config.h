// Where configurations come from: files, ids, tables of many. tessera/vta.h has what they are.
#ifndef TESSERA_VTA_CONFIG_H_
#define TESSERA_VTA_CONFIG_H_

#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/result.h"
#include "tessera/vta.h"

namespace tessera::vta {

// vta_config.json: upstream's LOG_BLOCK or separate LOG_BLOCK_IN and LOG_BLOCK_OUT. Keys that do
// not exist, missing keys and widths other than int8/int32 are errors. The result is valid.
Result<Config> ParseConfig(std::string_view json, const std::string& file);
Result<Config> ReadConfig(const Node& node, const std::string& name);
std::string WriteConfig(const Config& config);

// Reads what ConfigId writes, under a preset's name where one has these sizes.
Result<Config> ParseConfigId(std::string_view id);

// A file of many configurations: {"default": {...}, "others": [{...}, ...]}, each with a "name" and
// the keys of vta_config.json under "log2". Other keys of the file are descriptions and not read.
Result<std::vector<Config>> LoadConfigTable(const std::string& path);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CONFIG_H_
