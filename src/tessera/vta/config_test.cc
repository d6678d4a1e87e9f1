// VTA configurations: the file format, TVM's ids, the limits of the instruction format, area.
#include "tessera/vta/config.h"

#include <gtest/gtest.h>

namespace tessera::vta {
namespace {

constexpr std::string_view kUpstream = R"({
  "TARGET" : "pynq", "HW_VER" : "0.0.2",
  "LOG_INP_WIDTH" : 3, "LOG_WGT_WIDTH" : 3, "LOG_ACC_WIDTH" : 5,
  "LOG_BATCH" : 0, "LOG_BLOCK" : 4,
  "LOG_UOP_BUFF_SIZE" : 15, "LOG_INP_BUFF_SIZE" : 15,
  "LOG_WGT_BUFF_SIZE" : 18, "LOG_ACC_BUFF_SIZE" : 17
})";

std::string Replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result(text);
  result.replace(result.find(from), from.size(), to);
  return result;
}

TEST(Config, DefaultHasTheSizesOfTheUpstreamFile) {
  const Result<Config> config = ParseConfig(kUpstream, "vta_config.json");
  ASSERT_TRUE(config) << config.error();
  EXPECT_TRUE(config->IsDefaultSize());
  EXPECT_EQ(config->target, "pynq");
  EXPECT_EQ(config->Depth(Memory::kUop), 8192);
  EXPECT_EQ(config->Depth(Memory::kInp), 2048);
  EXPECT_EQ(config->Depth(Memory::kWgt), 1024);
  EXPECT_EQ(config->Depth(Memory::kAcc), 2048);
  EXPECT_EQ(config->TileBytes(Memory::kInp), 16);
  EXPECT_EQ(config->TileBytes(Memory::kWgt), 256);
  EXPECT_EQ(config->TileBytes(Memory::kAcc), 64);
  EXPECT_EQ(config->TileBytes(Memory::kOut), 16);
}

TEST(Config, WritingAndReadingGivesTheSameSizes) {
  for (const Config& preset : ConfigPresets()) {
    const Result<Config> again = ParseConfig(WriteConfig(preset), preset.name);
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, preset);
    const Result<Config> by_id = ParseConfigId(ConfigId(preset));
    ASSERT_TRUE(by_id) << by_id.error();
    EXPECT_EQ(*by_id, preset);
  }
}

TEST(Config, IdsAreThoseOfTvm) {
  EXPECT_EQ(ConfigId(Config{}), "1x16_i8w8a32_15_15_18_17");
  const Result<Config> wide = ParseConfigId("1x16x32_i8w8a32_15_15_19_18");
  ASSERT_TRUE(wide) << wide.error();
  EXPECT_EQ(wide->block_in(), 16);
  EXPECT_EQ(wide->block_out(), 32);
  for (const char* bad : {"", "1x16", "1x16_i8w8a32_15_15_18", "1x17_i8w8a32_15_15_18_17",
                          "1x16x16x16_i8w8a32_15_15_18_17", "1x16_i8w8a32_15_15_18_x"}) {
    EXPECT_FALSE(ParseConfigId(bad)) << bad;
  }
}

TEST(Config, RefusesSizesThatTheInstructionFormatCannotHold) {
  Config config;
  config.name = "small blocks";
  config.log_block_in = config.log_block_out = 3;
  const Result<void> depths = Validate(config);
  ASSERT_FALSE(depths);
  EXPECT_EQ(depths.error().message,
            "VTA configuration 'small blocks': log2 ACC depth 12 > 11: the ALU factors and the "
            "immediate exceed 64 bits");
  config = {};
  config.log_uop_buff_size = 16;
  EXPECT_EQ(Validate(config).error().message,
            "VTA configuration 'default_1x16': log2 UOP depth 14 > 13: the loop fields exceed 64 "
            "bits");
  config = {};
  config.log_wgt_buff_size = 19;
  EXPECT_EQ(Validate(config).error().message,
            "VTA configuration 'default_1x16': log2 depths ACC 11 + INP 11 + WGT 11 = 33 > 32: the "
            "GEMM factors need 66 bits of 64");
  config = {};
  config.log_acc_buff_size = 14;
  config.log_inp_buff_size = 18;
  EXPECT_TRUE(Validate(config)) << "8 + 14 + 10 = 32";
  config = {};
  config.log_inp_buff_size = 13;
  config.log_wgt_buff_size = 20;
  EXPECT_EQ(Validate(config).error().message,
            "VTA configuration 'default_1x16': log2 depths ACC 11 + max(ACC, INP) 11 + WGT 12 = 34 "
            "> 32: the micro-op exceeds 32 bits");
  config = {};
  config.log_wgt_buff_size = 7;
  EXPECT_EQ(Validate(config).error().message,
            "VTA configuration 'default_1x16': WGT buffer is smaller than one tile of 256 bytes");
  config = {};
  config.log_batch = 9;
  EXPECT_EQ(Validate(config).error().message,
            "VTA configuration 'default_1x16': INP tile of 8192 bytes > 4096 bytes");
}

TEST(Config, BadFilesAreExplained) {
  const auto message = [](const std::string& text) {
    const Result<Config> config = ParseConfig(text, "c.json");
    return config ? "accepted" : ToString(config.error());
  };
  EXPECT_EQ(message(Replaced(kUpstream, "LOG_BATCH", "LOG_BATHC")),
            "c.json:1:1: VTA configuration lacks LOG_BATCH");
  EXPECT_EQ(message(Replaced(kUpstream, "\"LOG_BATCH\" : 0,", "\"LOG_BATCH\" : 0, \"LOG_X\" : 1,")),
            "c.json:4:20: unknown key 'LOG_X' in a VTA configuration");
  EXPECT_EQ(message(Replaced(kUpstream, "\"LOG_WGT_WIDTH\" : 3", "\"LOG_WGT_WIDTH\" : 1")),
            "c.json:3:42: LOG_WGT_WIDTH = 1; only 3 (8 bits) is modelled");
  EXPECT_EQ(
      message(Replaced(kUpstream, "\"LOG_BLOCK\" : 4", "\"LOG_BLOCK\" : 4, \"LOG_BLOCK_IN\" : 5")),
      "c.json:1:1: LOG_BLOCK_IN = 5 contradicts LOG_BLOCK = 4");
}

TEST(Config, UnknownNamesGetAHint) {
  const Result<Config> config = LoadConfig("default_1x61");
  ASSERT_FALSE(config);
  EXPECT_EQ(ToString(config.error()),
            "unknown VTA configuration 'default_1x61'; did you mean 'default_1x16'?");
}

TEST(Config, AreaCountsMacsAndBits) {
  const Area area = EstimateArea(Config{}, {.mac_um2 = 2, .sram_bit_um2 = 1});
  EXPECT_EQ(area.macs, 256);
  EXPECT_EQ(area.sram_bits, 8 * (32768 + 32768 + 262144 + 131072 + 32768));
  EXPECT_EQ(area.area_um2, 2.0 * 256 + static_cast<double>(area.sram_bits));
}

}  // namespace
}  // namespace tessera::vta
