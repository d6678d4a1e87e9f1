// VTA's instruction formats against the published ones: every field of every configuration, and
// encodings that the published simulator's own decoder confirmed.
#include <map>

#include "tessera/vta/config.h"
#include "tessera/vta/isa/encoding.h"
#include "vta_golden.h"

namespace tessera::vta {
namespace {

using Json = nlohmann::json;

std::map<std::string, Config> Configs() {
  std::map<std::string, Config> configs;
  const Result<std::vector<Config>> table = LoadConfigTable(GoldenPath("configs.json"));
  EXPECT_TRUE(table) << table.error();
  for (const Config& config : *table) configs.emplace(config.name, config);
  return configs;
}

Json GoldenConfigs() {
  const Result<std::string> text = ReadFile(GoldenPath("configs.json"));
  EXPECT_TRUE(text) << text.error();
  return Json::parse(*text);
}

TEST(VtaGolden, PresetsAreTheGoldenConfigurations) {
  const std::map<std::string, Config> configs = Configs();
  EXPECT_EQ(configs.size(), ConfigPresets().size());
  for (const Config& preset : ConfigPresets()) EXPECT_EQ(configs.at(preset.name), preset);
}

TEST(VtaGolden, SizesAndFieldsAreInPlace) {
  const Json golden = GoldenConfigs();
  std::vector<Json> rows = golden["others"];
  rows.push_back(golden["default"]);
  const std::map<std::string, Config> configs = Configs();
  for (const Json& row : rows) {
    const Config& config = configs.at(row["name"]);
    EXPECT_TRUE(Validate(config));
    EXPECT_EQ(config.batch(), row["batch"]);
    EXPECT_EQ(config.block_in(), row["block_in"]);
    EXPECT_EQ(config.block_out(), row["block_out"]);
    for (const auto& [name, bytes] : row["tile_bytes"].items()) {
      EXPECT_EQ(config.TileBytes(static_cast<Memory>(*FindMemory(name))), bytes) << name;
    }
    for (const auto& [name, depth] : row["depth"].items()) {
      EXPECT_EQ(config.Depth(static_cast<Memory>(*FindMemory(name))), depth) << name;
    }
    const Encoding encoding(config);
    const Json& fields = row["fields"];
    for (const auto& [name, format] : {std::pair{"MEM", Format::kMemory},
                                       {"GEMM", Format::kGemm},
                                       {"ALU", Format::kAlu},
                                       {"FINISH", Format::kFinish}}) {
      EXPECT_EQ(encoding.Fields(format).size(), fields[name].size());
      for (const FieldPlace& field : encoding.Fields(format)) {
        EXPECT_EQ(Json({field.low_bit, field.width}), fields[name][std::string(field.name)])
            << row["name"] << " " << name << " " << field.name;
      }
    }
    for (const UopPlace& field : encoding.UopFields()) {
      EXPECT_EQ(Json({field.low_bit, field.width}), fields["UOP"][std::string(field.name)]);
    }
  }
}

TEST(VtaGolden, ConfigurationsThatDoNotFitAreRefused) {
  const Json configs = GoldenConfigs();
  for (const Json& row : configs["rejected"]) {
    const Result<Config> config = ParseConfig(row["log2"].dump(), "rejected.json");
    ASSERT_FALSE(config);
    EXPECT_EQ(config.error().kind, ErrorKind::kInfeasible) << config.error();
  }
}

TEST(VtaGolden, EncodingsAgreeInBothDirections) {
  const std::map<std::string, Config> configs = Configs();
  for (const std::string& line : GoldenLines("programs-configs/encoding.jsonl.gz")) {
    const Json row = Json::parse(line);
    const Encoding encoding(configs.at(row["config"]));
    const Json& fields = row["fields"];
    if (row["kind"] == "uop") {
      const Uop uop = {fields["dst"], fields["src"], fields["wgt"]};
      const auto word =
          static_cast<uint32_t>(std::stoul(row["hex"].get<std::string>(), nullptr, 16));
      EXPECT_EQ(*encoding.Encode(uop), word) << row["id"];
      EXPECT_EQ(encoding.DecodeUop(word), uop) << row["id"];
      continue;
    }
    const Result<Word128> word = ParseWord(row["hex"].get<std::string>());
    ASSERT_TRUE(word) << word.error();
    const Instruction decoded = encoding.Decode(*word);
    EXPECT_EQ(*encoding.Encode(decoded), *word) << row["id"];
    EXPECT_EQ(OpcodeName(decoded.opcode), fields["op"].get<std::string>());
    for (const FieldPlace& field : encoding.Fields(FormatOf(decoded.opcode))) {
      if (field.name == "opcode") continue;
      const Json& expected = fields[std::string(field.name)];
      if (field.name == "memory_type") {
        EXPECT_EQ(MemoryName(decoded.memory_type), expected.get<std::string>());
      } else if (field.name == "alu_opcode") {
        EXPECT_EQ(AluOpName(decoded.alu_opcode), expected.get<std::string>());
      } else if (field.member == nullptr) {
        EXPECT_EQ(decoded.imm, expected) << row["id"];
      } else {
        EXPECT_EQ(decoded.*field.member, expected) << row["id"] << " " << field.name;
      }
    }
  }
}

}  // namespace
}  // namespace tessera::vta
