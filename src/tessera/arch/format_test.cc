// Presets and the ACCELERATOR argument, and the contract of every accelerator format.
#include "tessera/accelerator.h"

#include <algorithm>
#include <filesystem>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "tessera/arch/area_table.h"
#include "tessera/arch/energy_table.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

TEST(LoadAccelerator, ReadsEveryPreset) {
  std::vector<std::string_view> names;
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    SCOPED_TRACE(preset.name);
    names.push_back(preset.name);
    const Result<Accelerator> accelerator = LoadAccelerator(std::string(preset.name));
    ASSERT_TRUE(accelerator) << accelerator.error();
    EXPECT_EQ(accelerator->name, preset.name);
    EXPECT_FALSE(accelerator->source.empty());
    EXPECT_TRUE(accelerator->notes.empty());
    EXPECT_TRUE(Validate(*accelerator));
    if (!accelerator->hierarchy) continue;
    // The outermost level holds everything: a mapping has to start somewhere.
    const Hierarchy& hierarchy = *accelerator->hierarchy;
    EXPECT_EQ(hierarchy.levels.back().entries, std::nullopt);
    if (!hierarchy.keeps.empty()) {
      EXPECT_EQ(hierarchy.keeps.back().size(), kTensorNames.size());
    }
  }
  EXPECT_EQ(names,
            (std::vector<std::string_view>{"eyeriss-168", "eyeriss-256", "gamma-168", "maestro-256",
                                           "nvdla", "shidiannao", "simba", "simple3", "tpu-128"}));
}

TEST(LoadAccelerator, NamesTheNearestPreset) {
  EXPECT_EQ(ToString(LoadAccelerator("eyeris-256").error()),
            "'eyeris-256' is neither a file nor an accelerator preset; did you mean "
            "'eyeriss-256'?");
  EXPECT_EQ(ToString(LoadAccelerator("missing.yaml").error()), "missing.yaml: no such file");
  EXPECT_EQ(ToString(LoadAccelerator("./eyeriss-256").error()), "./eyeriss-256: no such file");
}

TEST(LoadAccelerator, ReadsFiles) {
  const TemporaryFolder folder;
  const std::string path = folder.File("mine.yaml");
  ASSERT_TRUE(WriteFileAtomically(path,
                                  "format: tessera-accelerator-1\nname: mine\n"
                                  "pe_array: {num_pes: 4}\n"));
  const Result<Accelerator> accelerator = LoadAccelerator(path);
  ASSERT_TRUE(accelerator) << accelerator.error();
  EXPECT_EQ(accelerator->pe_array->num_pes, 4);
}

TEST(ParseAccelerator, SaysWhatIsWrongWithOtherFiles) {
  const auto error = [](std::string_view bytes) {
    return ToString(ParseAccelerator(bytes, "a.yaml").error());
  };
  EXPECT_EQ(error("name: x\n"),
            "a.yaml: this is no accelerator in a known format; start it with 'format: "
            "tessera-accelerator-1' (docs/accelerators.md)");
  EXPECT_EQ(error(""), "a.yaml: the file is empty");
  EXPECT_EQ(error("\xff\xfe\x01"),
            "a.yaml:1: the file is UTF-16, not UTF-8; convert it: iconv -f UTF-16 -t UTF-8");
}

TEST(AcceleratorFormats, EveryFormatKeepsItsContract) {
  std::vector<std::string_view> names;
  for (const AcceleratorFormat* format : AcceleratorFormats()) {
    SCOPED_TRACE(format->name);
    EXPECT_EQ(std::count(names.begin(), names.end(), format->name), 0);
    names.push_back(format->name);
    EXPECT_FALSE(format->summary.empty());
    EXPECT_FALSE(format->extensions.empty());
    ASSERT_NE(format->read, nullptr);
    ASSERT_NE(format->recognises, nullptr);
    // No input crashes a reader, and every error says where.
    for (const std::string& bad :
         {std::string(), std::string("\0\1", 2), std::string("{"), std::string("- - -"),
          std::string(100, '['), std::string("a: &a [*a]"), std::string("null"),
          std::string("\xef\xbb\xbf")}) {
      const Result<Accelerator> read = format->read(bad, "bad.file");
      ASSERT_FALSE(read) << bad;
      EXPECT_EQ(read.error().where.file, "bad.file");
      EXPECT_NE(read.error().kind, ErrorKind::kInternal);
    }
  }
}

// Whether a format says that it loses something of this name.
bool Loses(const AcceleratorExport& written, std::string_view what) {
  return std::ranges::any_of(written.lost,
                             [&](const std::string& line) { return line.starts_with(what); });
}

// The machine without what the format cannot hold.
Accelerator WithoutLost(Accelerator machine, const AcceleratorExport& written) {
  if (Loses(written, "source")) machine.source.clear();
  if (Loses(written, "pe_array")) machine.pe_array.reset();
  if (Loses(written, "hierarchy")) machine.hierarchy.reset();
  if (Loses(written, "simd_lanes")) machine.pe_array->simd_lanes = 1;
  if (Loses(written, "noc_hop_latency_cycles")) machine.pe_array->noc_hop_latency_cycles = 1;
  if (machine.hierarchy) {
    if (Loses(written, "links")) machine.hierarchy->links = false;
    if (Loses(written, "bypass: false")) machine.hierarchy->bypass = true;
    for (MemoryLevel& level : machine.hierarchy->levels) {
      if (Loses(written, "technology of " + level.name)) level.technology = "SRAM";
    }
  }
  return machine;
}

Result<Accelerator> ReadBack(const AcceleratorFormat& format, const AcceleratorExport& written) {
  Result<Accelerator> read =
      format.read(written.files.front().contents, written.files.front().name);
  if (!read) return read.error();
  for (const ExportedFile& file : std::span(written.files).subspan(1)) {
    const Result<Node> document = ParseDocument(file.contents, file.name);
    if (!document) return document.error();
    Result<std::vector<std::string>> notes = std::vector<std::string>();
    if (file.name.ends_with(".ert.yaml")) {
      notes = ApplyEnergyTable(*ParseEnergyTable(*document), *read);
    } else {
      EXPECT_TRUE(file.name.ends_with(".art.yaml")) << file.name;
      notes = ApplyAreaTable(*ParseAreaTable(*document), *read);
    }
    if (!notes) return notes.error();
    EXPECT_EQ(*notes, std::vector<std::string>());
  }
  return read;
}

TEST(AcceleratorFormats, WhatIsWrittenReadsBackButForWhatIsLost) {
  std::map<std::string_view, int> checked;
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    Result<Accelerator> machine = LoadAccelerator(std::string(preset.name));
    ASSERT_TRUE(machine);
    machine->name = preset.name;
    if (machine->hierarchy) machine->hierarchy->levels[0].area_um2 = *Decimal::Parse("12.5");
    for (const AcceleratorFormat* format : AcceleratorFormats()) {
      SCOPED_TRACE(fmt::format("{} as {}", preset.name, format->name));
      if (format->write == nullptr) continue;
      const Result<AcceleratorExport> written = format->write(*machine);
      if (!written) {
        EXPECT_EQ(written.error().kind, ErrorKind::kUnsupported);
        continue;
      }
      const std::string& text = written->files.front().contents;
      EXPECT_TRUE(format->recognises(text));
      Result<Accelerator> again = ReadBack(*format, *written);
      ASSERT_TRUE(again) << again.error() << "\n" << text;
      // A preset's own remarks are the native format's.
      if (format->name != "yaml") again->notes = machine->notes;
      EXPECT_EQ(*again, WithoutLost(*machine, *written)) << text;
      ++checked[format->name];
    }
  }
  EXPECT_EQ(checked["yaml"], std::ssize(AcceleratorPresets()));
  EXPECT_EQ(checked["maestro-hw"], 2);
  EXPECT_GE(checked["timeloop-arch"], 7);
  EXPECT_GE(checked["timeloop-arch-0.4"], 7);
}

}  // namespace
}  // namespace tessera
