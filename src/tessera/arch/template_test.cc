// Templates: choices, machines, and sixty ways to damage one.
#include "tessera/arch/template.h"

#include <string>
#include <string_view>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/arch/template_values.h"

namespace tessera {
namespace {

constexpr std::string_view kTemplate = R"(format: tessera-accelerator-1
name: edge
hierarchy:
  node_nm: 22
  bypass: {choose: [true, false]}
  arithmetic: {name: MAC, mesh_x: {choose: [4, 8, 16], as: columns}, mesh_y: 4, component: mac, word_bits: 8}
  levels:
  - {name: RF, entries: {choose: [64, 128]}, word_bits: 8, mesh_x: {as: columns}, mesh_y: 4, read_pj: 0.1}
  - {name: L2, present: {choose: [true, false]}, entries: [1K, 2K, 4K], word_bits: 8, component: sram, block_words: 2}
  - {name: GLB, entries: {from: 16K, to: 64K, times: 2}, word_bits: 8, block_words: 8, component: sram,
     read_words_per_cycle: {as: columns, times: 2}, keep: {choose: [[Weights, Inputs], [Inputs, Outputs]]}}
  - {name: DRAM, word_bits: 8, read_pj: 100, fill_pj: 100, update_pj: 100}
constraints: ["GLB.entries >= 4096 * columns", "levels.RF.entries < 1K"]
limits: {area_mm2: 2, sram_bytes: 1M, aspect: 4}
)";

MachineTemplate Parsed(std::string_view text = kTemplate) {
  Result<MachineTemplate> made = MachineTemplate::Parse(text, "t.yaml");
  EXPECT_TRUE(made) << ToString(made.error());
  return *std::move(made);
}

TEST(Template, FieldsAreNumbersByTheirPaths) {
  const MachineTemplate made = Parsed();
  std::string fields;
  for (const TemplateField& field : made.fields()) {
    fields += fmt::format("{}:{} ", field.path, field.values.size());
  }
  EXPECT_EQ(fields,
            "bypass:2 arithmetic.mesh_x:3 levels.RF.entries:2 levels.L2.present:2 "
            "levels.L2.entries:3 levels.GLB.entries:3 levels.GLB.keep:2 ");
  EXPECT_EQ(made.fields()[5].Text(0), "16384");
  EXPECT_EQ(made.fields()[6].Text(1), "[Inputs, Outputs]");
  EXPECT_EQ(made.combinations(), 2 * 3 * 2 * 2 * 3 * 3 * 2);
  EXPECT_EQ(*made.limits().area_um2, 2e6);
}

TEST(Template, MachinesAreCountedOnce) {
  const MachineTemplate made = Parsed();
  int64_t machines = 0, with_l2 = 0;
  for (int64_t i = 0; i < made.combinations(); ++i) {
    const MachineTemplate::Choice choice = made.At(i);
    EXPECT_EQ(made.NumberOf(choice), i);
    if (!made.Has(choice)) continue;
    ++machines;
    with_l2 += choice[3] == 0 ? 1 : 0;
  }
  // 16384 words are enough for 4 columns, 32768 for 8, 65536 for all: 6 of 9 pairs.
  EXPECT_EQ(with_l2, 2 * 2 * 6 * 3 * 2);
  EXPECT_EQ(machines, with_l2 + 2 * 2 * 6 * 2);
}

TEST(Template, MachinesAreTheFileWithChoicesFilledIn) {
  const MachineTemplate made = Parsed();
  const MachineTemplate::Choice choice = {1, 1, 1, 1, 0, 2, 1};
  ASSERT_TRUE(made.Has(choice));
  const Result<TemplateMachine> machine = made.Machine(choice);
  ASSERT_TRUE(machine) << ToString(machine.error());
  const Hierarchy& hierarchy = *machine->accelerator.hierarchy;
  EXPECT_FALSE(hierarchy.bypass);
  EXPECT_EQ(hierarchy.arithmetic.mesh_x, 8);
  ASSERT_EQ(hierarchy.levels.size(), 3u);
  EXPECT_EQ(hierarchy.levels[0].mesh_x, 8);
  EXPECT_EQ(hierarchy.levels[1].entries, 65'536);
  EXPECT_EQ(hierarchy.levels[1].read_words_per_cycle, Decimal(16));
  EXPECT_EQ(hierarchy.keeps[1], (std::vector<std::string>{"Inputs", "Outputs"}));
  EXPECT_GT(hierarchy.levels[1].read_pj.ToDouble(), 0);
  EXPECT_GT(machine->area_um2, hierarchy.levels[1].area_um2->ToDouble());
  EXPECT_EQ(machine->aspect, 2);
  EXPECT_EQ(machine->sram_bytes, 65'536 + 32 * 128);
  // Its file is that machine.
  const Result<Accelerator> again = ParseAccelerator(made.FileOf(choice), "again.yaml");
  ASSERT_TRUE(again) << ToString(again.error()) << made.FileOf(choice);
  EXPECT_EQ(*again, machine->accelerator);
  EXPECT_EQ(again->name, fmt::format("edge-{}", made.NumberOf(choice) + 1));
}

TEST(Template, LimitsSayWhatIsTooMuch) {
  const MachineTemplate made = Parsed();
  MachineLimits limits = made.limits();
  const Result<TemplateMachine> machine = made.Machine({0, 2, 0, 0, 2, 2, 0});
  ASSERT_TRUE(machine);
  EXPECT_EQ(limits.Broken(*machine), "");
  ASSERT_TRUE(limits.Set("area_mm2", 0.001));
  EXPECT_TRUE(limits.Broken(*machine).starts_with("area_mm2 ")) << limits.Broken(*machine);
  EXPECT_FALSE(limits.Set("colour", 1));
}

TEST(Template, AFileWithoutChoicesIsOneMachine) {
  const MachineTemplate made = Parsed(AcceleratorPresets().front().contents);
  EXPECT_EQ(made.combinations(), 1);
  EXPECT_TRUE(made.Has({}));
}

TEST(Template, VariesAnyValueOfAFile) {
  const Result<MachineTemplate> made = MachineTemplate::Vary(
      AcceleratorPresets()[1].contents, "eyeriss-256",
      {{"levels.GLB.entries", {"1024", "2048"}}, {"arithmetic.mac_pj", {"0.5", "1"}}});
  ASSERT_TRUE(made) << ToString(made.error());
  EXPECT_EQ(made->combinations(), 4);
  EXPECT_EQ(made->Machine({0, 1})->accelerator.hierarchy->levels[4].entries, 2048);
  for (const std::string_view path : {"levels.GLC.entries", "levels.GLB", "levels", "x.y"}) {
    const Result<MachineTemplate> wrong = MachineTemplate::Vary(
        AcceleratorPresets()[1].contents, "eyeriss-256", {{std::string(path), {"1", "2"}}});
    EXPECT_FALSE(wrong) << path;
  }
}

TEST(Values, RangesAndLists) {
  EXPECT_EQ(*ParseValues("16K..64K:x2"), (std::vector<std::string>{"16384", "32768", "65536"}));
  EXPECT_EQ(*ParseValues("1..7:+3,9"), (std::vector<std::string>{"1", "4", "7", "9"}));
  EXPECT_EQ(*ParseValues("0.1..0.3:+0.1"),
            (std::vector<std::string>{"0.1", "0.2", "0.30000000000000004"}));
  EXPECT_EQ(*ParseValues("true,false"), (std::vector<std::string>{"true", "false"}));
  for (const std::string_view wrong : {"", "1,,2", "1..", "4..1:x2", "1..4", "1..4:x1", "0..4:x2",
                                       "1..4:+0", "1,1", "1..1G:+1", "a..b:x2"}) {
    EXPECT_FALSE(ParseValues(wrong)) << wrong;
  }
}

struct Damage {
  std::string_view name;
  std::string_view from, to;  // what is replaced in kTemplate
  std::string_view where;     // "line:column" of the error
  std::string_view says;
};

constexpr Damage kDamages[] = {
    {"syntax", "hierarchy:", "hierarchy", "", ""},
    {"not a map", kTemplate, "[1, 2]", "1:1", "a template is a map"},
    {"two documents", "name: edge", "name: edge\n---\na: 1", "", "document"},
    {"no format", "format: tessera-accelerator-1\n", "", "1:1", "format"},
    {"other format", "tessera-accelerator-1", "tessera-accelerator-9", "1:9", ""},
    {"no name", "name: edge\n", "", "1:1", "name"},
    {"no hierarchy", "hierarchy:", "pe_array:", "", ""},
    {"unknown key", "name: edge", "name: edge\nnode: 22", "3:1", "node"},
    {"unknown key of a level", "entries: {choose: [64, 128]}", "entires: {choose: [64, 128]}",
     "13:49", "entires"},
    {"duplicate key", "mesh_y: 4, component", "mesh_y: 4, mesh_y: 4, component", "", "duplicate"},
    {"choose is a number", "{choose: [64, 128]}", "{choose: 64}", "8:34", "list"},
    {"nothing to choose", "{choose: [64, 128]}", "{choose: []}", "8:34", "nothing"},
    {"chosen twice", "{choose: [64, 128]}", "{choose: [64, 64]}", "8:39", "twice"},
    {"chosen twice in other words", "{choose: [64, 128]}", "{choose: [1K, 1024]}", "8:39", "twice"},
    {"a map is chosen", "{choose: [64, 128]}", "{choose: [{a: 1}, 2]}", "8:35", "between values"},
    {"a list of lists is chosen", "{choose: [64, 128]}", "{choose: [[[1]], 2]}", "8:35",
     "between values"},
    {"unknown key of a choice", "{choose: [64, 128]}", "{choose: [64, 128], ass: rf}", "8:45",
     "ass"},
    {"choice and range", "{choose: [64, 128]}", "{choose: [64, 128], from: 1, to: 2}", "8:45",
     "from"},
    {"a word for a size", "{choose: [64, 128]}", "{choose: [64, many]}", "13:49", "many"},
    {"a negative size", "{choose: [64, 128]}", "{choose: [64, -128]}", "", "-128"},
    {"a size with an unknown unit", "{choose: [64, 128]}", "{choose: [64, 16Q]}", "13:49", "16Q"},
    {"a size beyond 64 bits", "[1K, 2K, 4K]", "[1K, 2K, 99999999999G]", "", ""},
    {"no end", "to: 64K, ", "", "10:26", "both from and to"},
    {"no step", ", times: 2", "", "10:26", "either times or step"},
    {"two steps", "times: 2", "times: 2, step: 2", "10:26", "either times or step"},
    {"times 1", "times: 2", "times: 1", "10:26", "more than 1"},
    {"times from 0", "from: 16K", "from: 0", "10:26", "above 0"},
    {"step 0", "times: 2", "step: 0", "10:26", "more than 0"},
    {"a range backwards", "from: 16K", "from: 128K", "10:26", "before it begins"},
    {"a range without end", "times: 2", "step: 1", "10:26", "more than 10000"},
    {"a range of words", "from: 16K", "from: small", "10:33", "from is a number"},
    {"unknown key of a range", "to: 64K", "to: 64K, by: 3", "", "by"},
    {"unknown label", "mesh_x: {as: columns}", "mesh_x: {as: column}", "8:73", "columns"},
    {"label that is none", "{as: columns}, mesh_y", "{as: 4 columns}, mesh_y", "8:73",
     "name of letters"},
    {"label twice", "{choose: [64, 128]}", "{choose: [64, 128], as: columns}", "8:25",
     "two choices"},
    {"times of a label is a word", "{as: columns, times: 2}", "{as: columns, times: two}", "11:49",
     "times is a number"},
    {"unknown key of a label", "{as: columns, times: 2}", "{as: columns, plus: 2}", "11:42",
     "plus"},
    {"a name is chosen", "name: RF", "name: {choose: [RF, L1]}", "8:12", "cannot be chosen"},
    {"two levels of one name", "name: GLB", "name: RF", "", ""},
    {"present is a number", "present: {choose: [true, false]}", "present: 3", "9:16", "present"},
    {"no levels", "levels:", "levels: []\nx:", "", ""},
    {"constraints are text", "[\"GLB.entries >= 4096 * columns\", \"levels.RF.entries < 1K\"]",
     "many", "13:14", "list of relations"},
    {"a constraint is a list", "\"levels.RF.entries < 1K\"", "[1]", "13:48", "relation"},
    {"constraint without comparison", "levels.RF.entries < 1K", "levels.RF.entries", "",
     "comparison"},
    {"constraint without a side", "levels.RF.entries < 1K", "levels.RF.entries <", "",
     "at the end"},
    {"constraint with rest", "levels.RF.entries < 1K", "levels.RF.entries < 1K 2", "13:72",
     "nothing may follow"},
    {"unknown number", "levels.RF.entries < 1K", "levels.RG.entries < 1K", "13:49", "RG"},
    {"unclear number", "levels.RF.entries < 1K", "entries < 1K", "13:49", "3 numbers"},
    {"open parenthesis", "levels.RF.entries < 1K", "(levels.RF.entries < 1K", "", "')'"},
    {"bad number", "levels.RF.entries < 1K", "levels.RF.entries < 1Q", "13:69", "1Q"},
    {"bad operator", "levels.RF.entries < 1K", "levels.RF.entries % 2 < 1K", "13:67", "comparison"},
    {"a relation of words", "levels.RF.entries < 1K", "bypass < 1K", "13:49",
     "not always a number"},
    {"nothing is left", "levels.RF.entries < 1K", "levels.RF.entries > 1K", "1:1",
     "leave no machine"},
    {"unknown limit", "area_mm2: 2", "area: 2", "14:10", "area_mm2"},
    {"limit below 0", "area_mm2: 2", "area_mm2: -2", "14:20", "above 0"},
    {"limit is a word", "area_mm2: 2", "area_mm2: two", "14:20", "is a number"},
    {"limits are a list", "{area_mm2: 2, sram_bytes: 1M, aspect: 4}", "[2]", "14:9", "map"},
    {"unknown component", "component: mac", "component: mick", "", "mick"},
    {"component out of range", "entries: [1K, 2K, 4K]", "entries: [2K, 4K, 1]", "", "table"},
};

TEST(Template, DamagedOnesAreRefusedWithTheirPlace) {
  static_assert(std::size(kDamages) >= 40);
  for (const Damage& damage : kDamages) {
    SCOPED_TRACE(damage.name);
    std::string text(kTemplate);
    const size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos);
    text.replace(at, damage.from.size(), damage.to);
    const Result<MachineTemplate> made = MachineTemplate::Parse(text, "t.yaml");
    ASSERT_FALSE(made);
    const Error& error = made.error();
    EXPECT_EQ(error.where.file, "t.yaml");
    const std::string place = fmt::format("{}:{}", error.where.line, error.where.column);
    if (!damage.where.empty()) {
      EXPECT_EQ(place, damage.where) << ToString(error);
    }
    EXPECT_GT(error.where.line, 0) << ToString(error);
    const std::string all = error.message + " " + error.hint;
    EXPECT_NE(all.find(damage.says), std::string::npos) << ToString(error);
  }
}

}  // namespace
}  // namespace tessera
