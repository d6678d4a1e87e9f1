// The hardware configuration of a VTA: how wide its matrix unit is and how large its buffers are.
// It decides the instruction format too, so programs of different configurations never mix.
#ifndef TESSERA_VTA_CONFIG_H_
#define TESSERA_VTA_CONFIG_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/base/result.h"

namespace tessera::vta {

// What an instruction can address. The values are those of the instructions' memory_type field.
enum class Memory : uint8_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAcc8Bit = 5 };

// Base-2 logarithms, under the names of vta_config.json. Data are int8, accumulators int32: the
// only widths that the published designs have been built with.
struct Config {
  std::string name = "default_1x16";
  std::string target = "sim";  // kept for people; nothing here depends on it
  std::string hw_ver = "0.0.2";
  int log_batch = 0;
  int log_block_in = 4;
  int log_block_out = 4;
  int log_uop_buff_size = 15;  // bytes, as the next three
  int log_inp_buff_size = 15;
  int log_wgt_buff_size = 18;
  int log_acc_buff_size = 17;

  int64_t batch() const { return int64_t{1} << log_batch; }
  int64_t block_in() const { return int64_t{1} << log_block_in; }
  int64_t block_out() const { return int64_t{1} << log_block_out; }
  int64_t macs() const { return batch() * block_in() * block_out(); }

  // Base-2 logarithms of buffer depths in tiles (micro-ops for UOP). OUT is as deep as ACC.
  int log_uop_depth() const { return log_uop_buff_size - 2; }
  int log_inp_depth() const { return log_inp_buff_size - log_batch - log_block_in; }
  int log_wgt_depth() const { return log_wgt_buff_size - log_block_out - log_block_in; }
  int log_acc_depth() const { return log_acc_buff_size - log_batch - log_block_out - 2; }

  int64_t Depth(Memory memory) const;      // in tiles
  int64_t TileBytes(Memory memory) const;  // of one tile in DRAM
  bool IsDefaultSize() const;              // the sizes whose cycle counts were verified on RTL

  friend bool operator==(const Config&, const Config&) = default;
};

// Refuses sizes that the instruction format cannot hold; the error quotes the violated inequality.
Result<void> Validate(const Config& config);

// vta_config.json: upstream's LOG_BLOCK or separate LOG_BLOCK_IN and LOG_BLOCK_OUT. Keys that do
// not exist, missing keys and widths other than int8/int32 are errors. The result is valid.
Result<Config> ParseConfig(std::string_view json, const std::string& file);
Result<Config> ReadConfig(const Node& node, const std::string& name);
std::string WriteConfig(const Config& config);

// "1x16_i8w8a32_15_15_18_17", TVM's name for a configuration; "1x16x32_..." where the blocks
// differ. ParseConfigId reads both back, under a preset's name where one has these sizes.
std::string ConfigId(const Config& config);
Result<Config> ParseConfigId(std::string_view id);

// Configurations with a name, by name.
std::span<const Config> ConfigPresets();

// The --vta argument: "default", a preset's name, a config id, or a path to vta_config.json.
Result<Config> LoadConfig(const std::string& name_or_path);

// A file of many configurations: {"default": {...}, "others": [{...}, ...]}, each with a "name" and
// the keys of vta_config.json under "log2". Other keys of the file are descriptions and not read.
Result<std::vector<Config>> LoadConfigTable(const std::string& path);

// What an area estimate rests on. The defaults are round numbers for a 45 nm process.
struct AreaAssumptions {
  // One int8 multiplier with its int32 adder. Default: 420.
  double mac_um2 = 420;

  // One SRAM bit with its share of decoders and sense amplifiers. Default: 0.55.
  double sram_bit_um2 = 0.55;
};

// Counts are exact; area_um2 is counts times assumptions and knows nothing of wiring, control or
// the DMA engines.
struct Area {
  int64_t macs = 0;
  int64_t sram_bits = 0;  // UOP, INP, WGT, ACC and OUT
  double area_um2 = 0;
};
Area EstimateArea(const Config& config, const AreaAssumptions& assumptions = {});

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CONFIG_H_
