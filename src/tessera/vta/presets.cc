// Named configurations, and where a configuration comes from when a user names one.
#include <array>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/vta/config.h"

namespace tessera::vta {
namespace {

// log2: batch, block in, block out, then bytes of the UOP, INP, WGT and ACC buffers.
Config MakePreset(std::string name, const std::array<int, 7>& logs) {
  Config config;
  config.name = std::move(name);
  config.log_batch = logs[0];
  config.log_block_in = logs[1];
  config.log_block_out = logs[2];
  config.log_uop_buff_size = logs[3];
  config.log_inp_buff_size = logs[4];
  config.log_wgt_buff_size = logs[5];
  config.log_acc_buff_size = logs[6];
  return config;
}

Result<Config> ReadTableEntry(const Node& entry) {
  const Node* name = entry.Find("name");
  const Node* log2 = entry.Find("log2");
  if (name == nullptr || log2 == nullptr) {
    return entry.ErrorHere(ErrorKind::kBadValue, "a configuration needs the keys name and log2");
  }
  const Result<std::string> text = name->AsString();
  if (!text) return text.error();
  return ReadConfig(*log2, *text);
}

}  // namespace

std::span<const Config> ConfigPresets() {
  static const std::vector<Config> presets = {
      MakePreset("b1_16x16_half", {0, 4, 4, 14, 14, 17, 16}),
      MakePreset("b1_16x16_small", {0, 4, 4, 12, 13, 13, 13}),
      MakePreset("b1_32x32", {0, 5, 5, 15, 16, 20, 18}),
      MakePreset("b1_4x4", {0, 2, 2, 13, 13, 14, 15}),
      MakePreset("b1_64x64", {0, 6, 6, 15, 16, 21, 18}),
      MakePreset("b1_8x8_small", {0, 3, 3, 15, 14, 16, 16}),
      MakePreset("b1_8x8_tiny", {0, 3, 3, 11, 12, 12, 12}),
      MakePreset("b1_in16_out32", {0, 4, 5, 15, 15, 19, 18}),
      MakePreset("b1_in32_out16", {0, 5, 4, 15, 16, 19, 17}),
      MakePreset("b1_in32_out8", {0, 5, 3, 15, 16, 18, 16}),
      MakePreset("b1_in8_out32", {0, 3, 5, 15, 14, 18, 18}),
      MakePreset("b2_16x16", {1, 4, 4, 15, 16, 18, 18}),
      MakePreset("b2_in4_out64", {1, 2, 6, 14, 14, 17, 19}),
      MakePreset("b4_16x16", {2, 4, 4, 15, 17, 18, 19}),
      MakePreset("b4_in64_out4", {2, 6, 2, 14, 18, 17, 16}),
      MakePreset("default_1x16", {0, 4, 4, 15, 15, 18, 17}),
      MakePreset("pynq_4x8", {2, 3, 3, 15, 16, 16, 18}),
  };
  return presets;
}

Result<Config> LoadConfig(const std::string& name_or_path) {
  if (name_or_path == "default") return Config{};
  std::vector<std::string> names = {"default"};
  for (const Config& preset : ConfigPresets()) {
    if (preset.name == name_or_path) return preset;
    names.push_back(preset.name);
  }
  if (name_or_path.find("_i8w8a32_") != std::string::npos) return ParseConfigId(name_or_path);
  if (name_or_path.find_first_of("./") == std::string::npos) {
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("unknown VTA configuration {}", Quoted(name_or_path)),
                 .hint = DidYouMean(name_or_path, names)};
  }
  const Result<std::string> text = ReadTextFile(name_or_path);
  if (!text) return text.error();
  return ParseConfig(*text, name_or_path);
}

Result<std::vector<Config>> LoadConfigTable(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<Node> node = ParseDocument(*text, path);
  if (!node) return node.error();
  std::vector<const Node*> entries;
  if (const Node* standard = node->Find("default")) entries.push_back(standard);
  if (const Node* others = node->Find("others")) {
    for (const Node& other : others->items) entries.push_back(&other);
  }
  if (entries.empty()) {
    return node->ErrorHere(ErrorKind::kBadValue, "no configurations under 'default' or 'others'");
  }
  std::vector<Config> configs;
  for (const Node* entry : entries) {
    Result<Config> config = ReadTableEntry(*entry);
    if (!config) return config.error();
    configs.push_back(*std::move(config));
  }
  return configs;
}

}  // namespace tessera::vta
