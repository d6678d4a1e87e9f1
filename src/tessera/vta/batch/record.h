// Program records: one JSON object per line with a memory image, instructions and the region to
// compare, as the golden data of VTA has them. `tessera simulate --batch` reads them.
#ifndef TESSERA_VTA_BATCH_RECORD_H_
#define TESSERA_VTA_BATCH_RECORD_H_

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/config.h"
#include "tessera/vta/program.h"
#include "tessera/vta/sim/timing.h"

namespace tessera::vta {

struct Record {
  std::string id = {};
  Program program = {};
  // The memory parameters of the row's "rtl_alt", in its order.
  std::vector<TimingParameters> alternatives = {};
};

// Configurations that records may name.
using ConfigTable = std::map<std::string, Config>;
ConfigTable PresetTable();

// Reads one record; answers that the row may hold as well (out.hex, rtl, timeline, error) are not
// looked at. Instructions come from "insns_hex".
Result<Record> ParseRecord(std::string_view line, const ConfigTable& configs, const Where& where);

// Bytes as lower-case hexadecimal digits, lowest address first, and back.
std::string BytesToHex(std::span<const uint8_t> bytes);
Result<std::vector<uint8_t>> HexToBytes(std::string_view hex);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_BATCH_RECORD_H_
