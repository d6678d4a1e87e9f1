#include "tessera/vta/batch/record.h"

#include <algorithm>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/vta/batch/json_row.h"
#include "tessera/vta/isa/encoding.h"

namespace tessera::vta {
namespace {

constexpr uint64_t kMaxImageBytes = uint64_t{1} << 28;

void ReadSegment(JsonRow& reader, const Json& segment, Program& program) {
  const uint64_t address = reader.Unsigned(segment, "addr", UINT64_MAX);
  if (!reader.ok()) return;
  std::vector<uint8_t> bytes;
  if (segment.contains("hex")) {
    Result<std::vector<uint8_t>> parsed = HexToBytes(reader.String(segment, "hex"));
    if (!parsed) return reader.Fail(parsed.error().message);
    bytes = *std::move(parsed);
  } else {
    const uint64_t size = reader.Unsigned(segment, "size", kMaxImageBytes);
    bytes.assign(size, static_cast<uint8_t>(reader.Unsigned(segment, "repeat", 255)));
  }
  if (!reader.ok()) return;
  if (!InImage(program, address, bytes.size())) {
    return reader.Fail(
        fmt::format("segment of {} bytes at {} is outside the image", bytes.size(), address));
  }
  std::copy(bytes.begin(), bytes.end(), Bytes(program, {address, bytes.size()}).begin());
}

void ReadImage(JsonRow& reader, const Json& record, Program& program) {
  const Json* dram = reader.Find(record, "dram");
  if (dram == nullptr) return;
  program.dram_base = reader.Unsigned(*dram, "base", UINT64_MAX);
  const uint64_t size = reader.Unsigned(*dram, "size", kMaxImageBytes);
  const uint64_t fill = reader.Unsigned(*dram, "fill", 255);
  const Json* segments = reader.Find(*dram, "segments");
  if (segments == nullptr || !reader.ok()) return;
  program.dram.assign(size, static_cast<uint8_t>(fill));
  if (!segments->is_array()) return reader.Fail("'segments' is not a list");
  for (const Json& segment : *segments) {
    ReadSegment(reader, segment, program);
    if (!reader.ok()) return;
  }
}

void ReadInstructions(JsonRow& reader, const Json& record, Program& program) {
  program.insn_addr = reader.Unsigned(record, "insn_addr", UINT64_MAX);
  const Json* words = reader.Find(record, "insns_hex");
  if (words == nullptr || !reader.ok()) return;
  if (!words->is_array()) return reader.Fail("'insns_hex' is not a list");
  if (!InImage(program, program.insn_addr, words->size() * kInstructionBytes)) {
    return reader.Fail(fmt::format("{} instructions at {} do not lie in the image", words->size(),
                                   program.insn_addr));
  }
  uint64_t address = program.insn_addr;
  for (const Json& word : *words) {
    const Result<Word128> parsed =
        ParseWord(word.is_string() ? word.get_ref<const std::string&>() : "");
    if (!parsed) return reader.Fail(parsed.error().message);
    StoreWord(*parsed, Bytes(program, {address, kInstructionBytes}).data());
    address += kInstructionBytes;
  }
  program.insn_count = static_cast<int64_t>(words->size());
}

void ReadAlternatives(JsonRow& reader, const Json& record, Record& out) {
  const auto found = record.find("rtl_alt");
  if (found == record.end() || found->is_null()) return;
  if (!found->is_array()) return reader.Fail("'rtl_alt' is not a list");
  for (const Json& entry : *found) {
    TimingParameters parameters;
    parameters.read_delay_cycles =
        static_cast<int64_t>(reader.Unsigned(entry, "rd_delay", 1'000'000));
    parameters.beat_gap_cycles =
        static_cast<int64_t>(reader.Unsigned(entry, "beat_gap", 1'000'000));
    parameters.write_ack_delay_cycles =
        static_cast<int64_t>(reader.Unsigned(entry, "b_delay", 1'000'000));
    if (!reader.ok()) return;
    if (Result<void> valid = Validate(parameters); !valid)
      return reader.Fail(valid.error().message);
    out.alternatives.push_back(parameters);
  }
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

ConfigTable PresetTable() {
  ConfigTable table;
  for (const Config& preset : ConfigPresets()) table.emplace(preset.name, preset);
  return table;
}

Result<Record> ParseRecord(std::string_view line, const ConfigTable& configs, const Where& where) {
  JsonRow reader(line, where);
  if (!reader.ok()) return reader.error();
  const Json& row = reader.row();
  Record record;
  record.id = reader.String(row, "id");
  record.program.config = reader.ConfigOf(configs);
  if (reader.ok()) ReadImage(reader, row, record.program);
  if (reader.ok()) ReadInstructions(reader, row, record.program);
  if (reader.ok()) ReadAlternatives(reader, row, record);
  const Json* out = reader.ok() ? reader.Find(row, "out") : nullptr;
  if (out != nullptr) {
    record.program.out = {reader.Unsigned(*out, "addr", UINT64_MAX),
                          reader.Unsigned(*out, "size", UINT64_MAX)};
  }
  if (!reader.ok()) return reader.error();
  if (Result<void> valid = Validate(record.program); !valid) {
    Error error = valid.error();
    error.where = where;
    return error;
  }
  return record;
}

std::string BytesToHex(std::span<const uint8_t> bytes) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const uint8_t byte : bytes) {
    hex += kDigits[byte >> 4];
    hex += kDigits[byte & 15];
  }
  return hex;
}

Result<std::vector<uint8_t>> HexToBytes(std::string_view hex) {
  std::vector<uint8_t> bytes(hex.size() / 2);
  for (size_t i = 0; i < bytes.size(); ++i) {
    const int high = HexDigit(hex[2 * i]), low = HexDigit(hex[2 * i + 1]);
    if (high < 0 || low < 0 || hex.size() % 2 != 0) {
      return Error{
          .kind = ErrorKind::kSyntax,
          .message = fmt::format("{} is not a string of bytes in hexadecimal digits", Quoted(hex))};
    }
    bytes[i] = static_cast<uint8_t>(high << 4 | low);
  }
  if (hex.size() % 2 != 0) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("{} hexadecimal digits are not whole bytes", hex.size())};
  }
  return bytes;
}

}  // namespace tessera::vta
