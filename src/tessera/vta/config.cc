#include "tessera/vta/config.h"

#include <array>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/document.h"
#include "tessera/base/text.h"

namespace tessera::vta {
namespace {

constexpr int64_t kMaxTileBytes = 4096;       // of the published runtime
constexpr int64_t kMaxBufferBytes = 1 << 24;  // a limit of this model, not of VTA

struct NamedLog {
  std::string_view key;
  int Config::*field;
};
constexpr std::array<NamedLog, 7> kLogs = {{{"LOG_BATCH", &Config::log_batch},
                                            {"LOG_BLOCK_IN", &Config::log_block_in},
                                            {"LOG_BLOCK_OUT", &Config::log_block_out},
                                            {"LOG_UOP_BUFF_SIZE", &Config::log_uop_buff_size},
                                            {"LOG_INP_BUFF_SIZE", &Config::log_inp_buff_size},
                                            {"LOG_WGT_BUFF_SIZE", &Config::log_wgt_buff_size},
                                            {"LOG_ACC_BUFF_SIZE", &Config::log_acc_buff_size}}};

Error Infeasible(const Config& config, std::string rule, std::string hint = {}) {
  return Error{.kind = ErrorKind::kInfeasible,
               .message = fmt::format("VTA configuration '{}': {}", config.name, rule),
               .hint = std::move(hint)};
}

Result<void> CheckTiles(const Config& config) {
  for (const NamedLog& log : kLogs) {
    const int value = config.*log.field;
    if (value < 0 || value > 30) {
      return Infeasible(config, fmt::format("{} = {} is outside 0..30", log.key, value));
    }
  }
  struct Buffer {
    std::string_view name;
    Memory memory;
    int log_depth;
  };
  for (const Buffer& buffer : {Buffer{"UOP", Memory::kUop, config.log_uop_depth()},
                               {"INP", Memory::kInp, config.log_inp_depth()},
                               {"WGT", Memory::kWgt, config.log_wgt_depth()},
                               {"ACC", Memory::kAcc, config.log_acc_depth()}}) {
    const int64_t tile_bytes = config.TileBytes(buffer.memory);
    if (tile_bytes > kMaxTileBytes) {
      return Infeasible(config, fmt::format("{} tile of {} bytes > {} bytes", buffer.name,
                                            tile_bytes, kMaxTileBytes));
    }
    if (buffer.log_depth < 0) {
      return Infeasible(config, fmt::format("{} buffer is smaller than one tile of {} bytes",
                                            buffer.name, tile_bytes));
    }
    if (config.Depth(buffer.memory) * tile_bytes > kMaxBufferBytes) {
      return Infeasible(config,
                        fmt::format("{} buffer of {} bytes > {} bytes", buffer.name,
                                    config.Depth(buffer.memory) * tile_bytes, kMaxBufferBytes));
    }
  }
  return {};
}

// An optional integer logarithm; LOG_BLOCK stands for both blocks.
Result<std::optional<int>> ReadLog(MapReader& reader, std::string_view key) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return std::optional<int>();
  const Result<int64_t> value = node->AsInt(0, 30);
  if (!value) return value.error();
  return std::optional<int>(static_cast<int>(*value));
}

Result<void> ReadFixedWidth(MapReader& reader, std::string_view key, int64_t only) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<int64_t> value = node->AsInt(0, 30);
  if (!value) return value.error();
  if (*value == only) return {};
  return node->ErrorHere(
      ErrorKind::kUnsupported,
      fmt::format("{} = {}; only {} ({} bits) is modelled", key, *value, only, 1 << only));
}

Result<void> ReadText(MapReader& reader, std::string_view key, std::string& text) {
  const Node* node = reader.Find(key);
  if (node == nullptr) return {};
  const Result<std::string> value = node->AsString();
  if (!value) return value.error();
  text = *value;
  return {};
}

Result<void> ReadLogs(const Node& node, MapReader& reader, Config& config) {
  const Result<std::optional<int>> block = ReadLog(reader, "LOG_BLOCK");
  if (!block) return block.error();
  for (const NamedLog& log : kLogs) {
    const Result<std::optional<int>> value = ReadLog(reader, log.key);
    if (!value) return value.error();
    const bool is_block = log.key.starts_with("LOG_BLOCK");
    if (value->has_value() && is_block && block->has_value() && **value != **block) {
      return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} = {} contradicts LOG_BLOCK = {}",
                                                              log.key, **value, **block));
    }
    if (value->has_value()) {
      config.*log.field = **value;
    } else if (is_block && block->has_value()) {
      config.*log.field = **block;
    } else {
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("VTA configuration lacks {}", log.key));
    }
  }
  return {};
}

// Every integer of "1x16x32_i8w8a32_15_15_18_17" apart from the fixed middle part.
std::optional<std::vector<int64_t>> SplitInts(std::string_view text, char separator) {
  std::vector<int64_t> values;
  for (const std::string_view part : Split(text, separator)) {
    const Result<int64_t> value = ParseInt(part);
    if (!value || *value < 0) return std::nullopt;
    values.push_back(*value);
  }
  return values;
}

std::optional<int> ExactLog2(int64_t value) {
  if (value < 1 || (value & (value - 1)) != 0) return std::nullopt;
  return __builtin_ctzll(static_cast<unsigned long long>(value));
}

}  // namespace

int64_t Config::Depth(Memory memory) const {
  switch (memory) {
    case Memory::kUop: return int64_t{1} << log_uop_depth();
    case Memory::kInp: return int64_t{1} << log_inp_depth();
    case Memory::kWgt: return int64_t{1} << log_wgt_depth();
    case Memory::kAcc:
    case Memory::kOut:
    case Memory::kAcc8Bit: return int64_t{1} << log_acc_depth();
  }
  return 0;
}

int64_t Config::TileBytes(Memory memory) const {
  switch (memory) {
    case Memory::kUop: return 4;
    case Memory::kInp: return batch() * block_in();
    case Memory::kWgt: return block_out() * block_in();
    case Memory::kAcc: return batch() * block_out() * 4;
    case Memory::kOut:
    case Memory::kAcc8Bit: return batch() * block_out();
  }
  return 0;
}

bool Config::IsDefaultSize() const {
  Config sizes = *this;
  sizes.name = Config{}.name;
  sizes.target = Config{}.target;
  sizes.hw_ver = Config{}.hw_ver;
  return sizes == Config{};
}

Result<void> Validate(const Config& config) {
  if (Result<void> tiles = CheckTiles(config); !tiles) return tiles;
  const int uop = config.log_uop_depth(), inp = config.log_inp_depth(),
            wgt = config.log_wgt_depth(), acc = config.log_acc_depth();
  const std::string_view shrink = "shrink the buffers, or widen the blocks: depth = bytes / tile";
  if (uop > 13) {
    return Infeasible(config,
                      fmt::format("log2 UOP depth {} > 13: the loop fields exceed 64 bits", uop),
                      "at most LOG_UOP_BUFF_SIZE 15");
  }
  if (acc > 11) {
    return Infeasible(config,
                      fmt::format("log2 ACC depth {} > 11: the ALU factors and the immediate "
                                  "exceed 64 bits",
                                  acc),
                      std::string(shrink));
  }
  if (acc + inp + wgt > 32) {
    return Infeasible(
        config,
        fmt::format("log2 depths ACC {} + INP {} + WGT {} = {} > 32: the GEMM factors need {} "
                    "bits of 64",
                    acc, inp, wgt, acc + inp + wgt, 2 * (acc + inp + wgt)),
        std::string(shrink));
  }
  const int uop_bits = acc + std::max(acc, inp) + wgt;
  if (uop_bits > 32) {
    return Infeasible(config,
                      fmt::format("log2 depths ACC {} + max(ACC, INP) {} + WGT {} = {} > 32: the "
                                  "micro-op exceeds 32 bits",
                                  acc, std::max(acc, inp), wgt, uop_bits),
                      std::string(shrink));
  }
  return {};
}

Result<Config> ParseConfig(std::string_view json, const std::string& file) {
  const Result<Node> node = ParseDocument(json, file);
  if (!node) return node.error();
  return ReadConfig(*node, file);
}

Result<Config> ReadConfig(const Node& node, const std::string& name) {
  MapReader reader(node, "VTA configuration");
  if (Result<void> is_map = reader.Check(); !is_map) return is_map.error();
  Config config;
  config.name = name;
  if (Result<void> ok = ReadText(reader, "NAME", config.name); !ok) return ok.error();
  if (Result<void> ok = ReadText(reader, "TARGET", config.target); !ok) return ok.error();
  if (Result<void> ok = ReadText(reader, "HW_VER", config.hw_ver); !ok) return ok.error();
  for (const auto& [key, only] : {std::pair<std::string_view, int64_t>{"LOG_INP_WIDTH", 3},
                                  {"LOG_WGT_WIDTH", 3},
                                  {"LOG_ACC_WIDTH", 5},
                                  {"LOG_OUT_WIDTH", 3}}) {
    if (Result<void> ok = ReadFixedWidth(reader, key, only); !ok) return ok.error();
  }
  if (Result<void> ok = ReadLogs(node, reader, config); !ok) return ok.error();
  if (Result<void> done = reader.Finish(); !done) return done.error();
  if (Result<void> valid = Validate(config); !valid) {
    Error error = valid.error();
    error.where = node.where();
    return error;
  }
  return config;
}

std::string WriteConfig(const Config& config) {
  const bool square = config.log_block_in == config.log_block_out;
  std::string text = fmt::format(
      "{{\n  \"TARGET\" : \"{}\",\n  \"HW_VER\" : \"{}\",\n  \"LOG_INP_WIDTH\" : 3,\n"
      "  \"LOG_WGT_WIDTH\" : 3,\n  \"LOG_ACC_WIDTH\" : 5,\n",
      config.target, config.hw_ver);
  for (size_t i = 0; i < kLogs.size(); ++i) {
    const bool is_block = kLogs[i].key.starts_with("LOG_BLOCK");
    if (square && kLogs[i].key == "LOG_BLOCK_OUT") continue;
    text += fmt::format("  \"{}\" : {}{}\n", square && is_block ? "LOG_BLOCK" : kLogs[i].key,
                        config.*kLogs[i].field, i + 1 == kLogs.size() ? "" : ",");
  }
  return text + "}\n";
}

std::string ConfigId(const Config& config) {
  const std::string blocks = config.log_block_in == config.log_block_out
                                 ? fmt::format("{}", config.block_in())
                                 : fmt::format("{}x{}", config.block_in(), config.block_out());
  return fmt::format("{}x{}_i8w8a32_{}_{}_{}_{}", config.batch(), blocks, config.log_uop_buff_size,
                     config.log_inp_buff_size, config.log_wgt_buff_size, config.log_acc_buff_size);
}

Result<Config> ParseConfigId(std::string_view id) {
  const Error bad = {.kind = ErrorKind::kSyntax,
                     .message = fmt::format("{} is not a VTA configuration id", Quoted(id)),
                     .hint =
                         "an id looks like 1x16_i8w8a32_15_15_18_17: batch x block, then the "
                         "log2 bytes of the UOP, INP, WGT and ACC buffers"};
  constexpr std::string_view kWidths = "_i8w8a32_";
  const size_t middle = id.find(kWidths);
  if (middle == std::string_view::npos) return bad;
  const auto sizes = SplitInts(id.substr(0, middle), 'x');
  const auto buffers = SplitInts(id.substr(middle + kWidths.size()), '_');
  if (!sizes || !buffers || sizes->size() < 2 || sizes->size() > 3 || buffers->size() != 4) {
    return bad;
  }
  std::array<int, 7> logs = {};
  for (size_t i = 0; i < 3; ++i) {
    const std::optional<int> log = ExactLog2((*sizes)[std::min(i, sizes->size() - 1)]);
    if (!log) return bad;
    logs[i] = *log;
  }
  for (size_t i = 0; i < 4; ++i) {
    if ((*buffers)[i] > 30) return bad;
    logs[3 + i] = static_cast<int>((*buffers)[i]);
  }
  Config config;
  config.name = std::string(id);
  for (size_t i = 0; i < kLogs.size(); ++i) config.*kLogs[i].field = logs[i];
  if (Result<void> valid = Validate(config); !valid) return valid.error();
  for (const Config& preset : ConfigPresets()) {
    if (ConfigId(preset) == ConfigId(config)) return preset;
  }
  return config;
}

Area EstimateArea(const Config& config, const AreaAssumptions& assumptions) {
  Area area;
  area.macs = config.macs();
  for (const Memory memory :
       {Memory::kUop, Memory::kInp, Memory::kWgt, Memory::kAcc, Memory::kOut}) {
    area.sram_bits += 8 * config.Depth(memory) * config.TileBytes(memory);
  }
  area.area_um2 = static_cast<double>(area.macs) * assumptions.mac_um2 +
                  static_cast<double>(area.sram_bits) * assumptions.sram_bit_um2;
  return area;
}

}  // namespace tessera::vta
