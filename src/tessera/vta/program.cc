#include "tessera/vta/program.h"

#include <algorithm>
#include <array>
#include <cstring>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/vta/config.h"

namespace tessera::vta {
namespace {

// The file header; little endian, naturally aligned, so that the struct is the format.
struct Header {
  char magic[8];
  uint64_t dram_base;
  uint64_t image_bytes;
  uint64_t insn_addr;
  uint32_t insn_count;
  uint32_t reserved_1;
  uint64_t out_address;
  uint64_t out_bytes;
  uint8_t config[16];
  uint64_t reserved_2;
};
static_assert(sizeof(Header) == 80);

constexpr std::string_view kMagic = "VTAORC01";
constexpr std::array<uint8_t, 4> kWidths = {3, 3, 5, 3};  // log2 bits of INP, WGT, ACC and OUT

std::array<uint8_t, 16> ConfigTag(const Config& config) {
  std::array<uint8_t, 16> tag = {};
  std::copy(kWidths.begin(), kWidths.end(), tag.begin());
  size_t i = kWidths.size();
  for (const int log :
       {config.log_batch, config.log_block_in, config.log_block_out, config.log_uop_buff_size,
        config.log_inp_buff_size, config.log_wgt_buff_size, config.log_acc_buff_size}) {
    tag[i++] = static_cast<uint8_t>(log);
  }
  return tag;
}

Result<Config> ReadConfigTag(std::span<const uint8_t, 16> tag) {
  if (!std::equal(kWidths.begin(), kWidths.end(), tag.begin())) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message =
                     "data widths other than int8 inputs, weights and outputs and int32 "
                     "accumulators"};
  }
  if (std::any_of(tag.begin() + 11, tag.end(), [](uint8_t byte) { return byte != 0; })) {
    return Error{.kind = ErrorKind::kSyntax, .message = "reserved bytes of the config tag are set"};
  }
  Config config;
  config.log_batch = tag[4];
  config.log_block_in = tag[5];
  config.log_block_out = tag[6];
  config.log_uop_buff_size = tag[7];
  config.log_inp_buff_size = tag[8];
  config.log_wgt_buff_size = tag[9];
  config.log_acc_buff_size = tag[10];
  config.name = "container";
  if (Result<void> valid = Validate(config); !valid) return valid.error();
  return ParseConfigId(ConfigId(config));
}

Error BadContainer(std::string message, const std::string& file) {
  return Error{.kind = ErrorKind::kSyntax, .message = std::move(message), .where = {.file = file}};
}

}  // namespace

bool InImage(const Program& program, uint64_t address, uint64_t bytes) {
  return address >= program.dram_base && address - program.dram_base <= program.dram.size() &&
         bytes <= program.dram.size() - (address - program.dram_base);
}

std::span<const uint8_t> Bytes(const Program& program, const Region& region) {
  TESSERA_CHECK(InImage(program, region.address, region.bytes));
  return std::span(program.dram).subspan(region.address - program.dram_base, region.bytes);
}

std::span<uint8_t> Bytes(Program& program, const Region& region) {
  TESSERA_CHECK(InImage(program, region.address, region.bytes));
  return std::span(program.dram).subspan(region.address - program.dram_base, region.bytes);
}

Result<void> Validate(const Program& program) {
  if (Result<void> valid = Validate(program.config); !valid) return valid;
  const uint64_t insn_bytes = static_cast<uint64_t>(program.insn_count * kInstructionBytes);
  for (const auto& [name, region] :
       {std::pair<std::string_view, Region>{"instructions", {program.insn_addr, insn_bytes}},
        {"output", program.out}}) {
    if (InImage(program, region.address, region.bytes)) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("{}: {} bytes at {:#x} are outside the memory image of {} "
                                        "bytes at {:#x}",
                                        name, region.bytes, region.address, program.dram.size(),
                                        program.dram_base)};
  }
  return {};
}

std::vector<Instruction> DecodeInstructions(const Program& program) {
  const Encoding encoding(program.config);
  const uint64_t bytes = static_cast<uint64_t>(program.insn_count * kInstructionBytes);
  const std::span<const uint8_t> words = Bytes(program, {program.insn_addr, bytes});
  std::vector<Instruction> instructions(static_cast<size_t>(program.insn_count));
  for (size_t i = 0; i < instructions.size(); ++i) {
    instructions[i] = encoding.Decode(LoadWord(&words[i * kInstructionBytes]));
  }
  return instructions;
}

Result<void> PlaceInstructions(std::span<const Instruction> instructions, Program& program) {
  const Encoding encoding(program.config);
  const std::span<uint8_t> words =
      Bytes(program, {program.insn_addr, instructions.size() * kInstructionBytes});
  for (size_t i = 0; i < instructions.size(); ++i) {
    const Result<Word128> word = encoding.Encode(instructions[i]);
    if (!word) {
      Error error = word.error();
      error.message = fmt::format("instruction {}: {}", i, error.message);
      return error;
    }
    StoreWord(*word, &words[i * kInstructionBytes]);
  }
  program.insn_count = std::ssize(instructions);
  return {};
}

std::string WriteContainer(const Program& program) {
  Header header = {};
  std::copy(kMagic.begin(), kMagic.end(), header.magic);
  header.dram_base = program.dram_base;
  header.image_bytes = program.dram.size();
  header.insn_addr = program.insn_addr;
  header.insn_count = static_cast<uint32_t>(program.insn_count);
  header.out_address = program.out.address;
  header.out_bytes = program.out.bytes;
  const std::array<uint8_t, 16> tag = ConfigTag(program.config);
  std::copy(tag.begin(), tag.end(), header.config);
  std::string bytes(sizeof header + program.dram.size(), '\0');
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!program.dram.empty()) {
    std::memcpy(bytes.data() + sizeof header, program.dram.data(), program.dram.size());
  }
  return bytes;
}

Result<Program> ParseContainer(std::string_view bytes, const std::string& file) {
  Header header;
  if (bytes.size() < sizeof header) {
    return BadContainer(fmt::format("{} bytes are fewer than the {} of a VTA program's header",
                                    bytes.size(), sizeof header),
                        file);
  }
  std::memcpy(&header, bytes.data(), sizeof header);
  if (std::string_view(header.magic, sizeof header.magic) != kMagic) {
    return BadContainer(fmt::format("not a VTA program: it does not start with {}", kMagic), file);
  }
  if (header.reserved_1 != 0 || header.reserved_2 != 0) {
    return BadContainer("reserved bytes of the header are set", file);
  }
  if (header.image_bytes != bytes.size() - sizeof header) {
    return BadContainer(fmt::format("the header announces an image of {} bytes, the file holds {}",
                                    header.image_bytes, bytes.size() - sizeof header),
                        file);
  }
  Result<Config> config = ReadConfigTag(header.config);
  if (!config) {
    Error error = config.error();
    error.where.file = file;
    return error;
  }
  Program program = {.config = *std::move(config),
                     .dram_base = header.dram_base,
                     .dram = {bytes.begin() + sizeof header, bytes.end()},
                     .insn_addr = header.insn_addr,
                     .insn_count = header.insn_count,
                     .out = {header.out_address, header.out_bytes}};
  if (Result<void> valid = Validate(program); !valid) {
    Error error = valid.error();
    error.where.file = file;
    return error;
  }
  return program;
}

Result<Program> LoadProgram(const std::string& path) {
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes) return bytes.error();
  if (bytes->starts_with(kMagic.substr(0, 3))) return ParseContainer(*bytes, path);
  const Result<std::string> text = tessera::ToText(*bytes, path);
  if (!text) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "neither a VTA program, which starts with VTAORC01, nor assembly text",
                 .where = {.file = path}};
  }
  return ParseAssembly(*text, path);
}

Result<void> SaveProgram(const Program& program, const std::string& path) {
  if (Result<void> valid = Validate(program); !valid) return valid;
  return WriteFileAtomically(path, WriteContainer(program));
}

}  // namespace tessera::vta
