// Whole programs as text: directives for configuration and memory around the instructions.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/program.h"

namespace tessera::vta {
namespace {

constexpr size_t kDataBytesPerLine = 32;
constexpr uint64_t kMaxImageBytes = uint64_t{1} << 28;

// Writes the image as rows of hexadecimal digits, without rows that are all zero.
void WriteData(const Program& program, const std::vector<bool>& skip, std::string& text) {
  bool open = false;
  for (size_t row = 0; row < program.dram.size(); row += kDataBytesPerLine) {
    const size_t end = std::min(row + kDataBytesPerLine, program.dram.size());
    bool any = false;
    for (size_t i = row; i < end; ++i) any = any || (program.dram[i] != 0 && !skip[i]);
    if (any && !open) text += fmt::format(".data {:#x}\n", program.dram_base + row);
    open = any;
    if (!any) continue;
    text += "  ";
    for (size_t i = row; i < end; ++i) {
      text += fmt::format("{:02x}", skip[i] ? 0 : program.dram[i]);
    }
    text += "\n";
  }
}

void WriteCode(const Program& program, std::vector<bool>& skip, std::string& text) {
  const Encoding encoding(program.config);
  const std::vector<Instruction> instructions = DecodeInstructions(program);
  text += fmt::format(".code {:#x}\n", program.insn_addr);
  for (size_t i = 0; i < instructions.size(); ++i) {
    const size_t offset = program.insn_addr - program.dram_base + i * kInstructionBytes;
    const Word128 word = LoadWord(&program.dram[offset]);
    const Result<Word128> again = encoding.Encode(instructions[i]);
    const bool exact = again && *again == word;
    text +=
        fmt::format("  {:<88} ; {}\n", exact ? ToText(instructions[i]) : ".word " + ToHex(word), i);
    std::fill_n(skip.begin() + static_cast<std::ptrdiff_t>(offset), kInstructionBytes, true);
  }
}

// Micro-ops as the program's LOAD.UOP instructions find them in the image.
void WriteUops(const Program& program, std::vector<bool>& skip, std::string& text) {
  const Encoding encoding(program.config);
  for (const Instruction& load : DecodeInstructions(program)) {
    if (!load.Is(Opcode::kLoad) || load.memory() != Memory::kUop) continue;
    const uint64_t begin = uint64_t{load.dram_base} * 4, bytes = uint64_t{load.x_size} * 4;
    if (bytes == 0 || load.y_size != 1 || !InImage(program, begin, bytes)) continue;
    std::string lines = fmt::format(".uops {:#x}\n", begin);
    const size_t offset = begin - program.dram_base;
    bool exact = std::find(skip.begin() + static_cast<std::ptrdiff_t>(offset),
                           skip.begin() + static_cast<std::ptrdiff_t>(offset + bytes),
                           true) == skip.begin() + static_cast<std::ptrdiff_t>(offset + bytes);
    for (uint64_t at = 0; exact && at < bytes; at += 4) {
      uint32_t word = 0;
      for (uint64_t byte = 0; byte < 4; ++byte) {
        word |= uint32_t{program.dram[offset + at + byte]} << (8 * byte);
      }
      const Uop uop = encoding.DecodeUop(word);
      const Result<uint32_t> again = encoding.Encode(uop);
      exact = again && *again == word;
      lines += fmt::format("  {} {} {}\n", uop.dst, uop.src, uop.wgt);
    }
    if (!exact) continue;  // shared with other data or odd bits: .data holds it
    text += lines;
    std::fill_n(skip.begin() + static_cast<std::ptrdiff_t>(offset), bytes, true);
  }
}

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  Result<Program> Parse() {
    for (const std::string_view line : Split(text_, '\n')) {
      ++line_;
      const std::string_view code = Trim(line.substr(0, line.find(';')));
      if (code.empty()) continue;
      column_ = code.data() - line.data() + 1;
      const bool directive = code.starts_with('.') && !code.starts_with(".word");
      if (Result<void> ok = directive ? Directive(code) : Content(code); !ok) return ok.error();
    }
    return Finish();
  }

 private:
  enum class Section { kNone, kData, kUops, kCode };

  Error Fail(ErrorKind kind, std::string message, std::string hint = "") const {
    return Error{.kind = kind,
                 .message = std::move(message),
                 .where = {.file = file_, .line = line_, .column = column_},
                 .hint = std::move(hint)};
  }

  // A decimal or 0x number.
  Result<uint64_t> Number(std::string_view text) const {
    uint64_t value = 0;
    const bool hex = text.starts_with("0x");
    const std::string_view digits = hex ? text.substr(2) : text;
    bool good = !digits.empty() && digits.size() <= (hex ? 16u : 18u);
    for (const char c : digits) {
      const bool decimal = c >= '0' && c <= '9', letter = hex && c >= 'a' && c <= 'f';
      good = good && (decimal || letter);
      value = value * (hex ? 16 : 10) + static_cast<uint64_t>(letter ? c - 'a' + 10 : c - '0');
    }
    if (good) return value;
    return Fail(ErrorKind::kBadValue, fmt::format("{} is not an address or size", Quoted(text)));
  }

  Result<void> Directive(std::string_view code) {
    std::vector<std::string_view> words;
    for (const std::string_view word : Split(code, ' ')) {
      if (!word.empty()) words.push_back(word);
    }
    if (words[0] == ".config" && words.size() == 2) return SetConfig(words[1]);
    std::vector<uint64_t> numbers;
    for (size_t i = 1; i < words.size(); ++i) {
      const Result<uint64_t> number = Number(words[i]);
      if (!number) return number.error();
      numbers.push_back(*number);
    }
    if (words[0] == ".memory" && numbers.size() == 2) return SetMemory(numbers[0], numbers[1]);
    if (words[0] == ".output" && numbers.size() == 2) {
      program_.out = {numbers[0], numbers[1]};
      return {};
    }
    if (numbers.size() == 1 &&
        (words[0] == ".data" || words[0] == ".uops" || words[0] == ".code")) {
      section_ = words[0] == ".data"   ? Section::kData
                 : words[0] == ".uops" ? Section::kUops
                                       : Section::kCode;
      address_ = numbers[0];
      if (section_ == Section::kCode) program_.insn_addr = address_;
      return {};
    }
    return Fail(ErrorKind::kSyntax, fmt::format("unknown directive {}", Quoted(code)),
                ".config ID, .memory BASE BYTES, .output ADDRESS BYTES, .data ADDRESS, .uops "
                "ADDRESS, .code ADDRESS");
  }

  Result<void> SetConfig(std::string_view name) {
    Result<Config> config = LoadConfig(std::string(name));
    if (!config) {
      Error error = config.error();
      error.where = {.file = file_, .line = line_, .column = column_};
      return error;
    }
    program_.config = *std::move(config);
    encoding_.emplace(program_.config);
    return {};
  }

  Result<void> SetMemory(uint64_t base, uint64_t bytes) {
    if (bytes > kMaxImageBytes) {
      return Fail(ErrorKind::kBadValue,
                  fmt::format("memory of {} bytes > {} bytes", bytes, kMaxImageBytes));
    }
    program_.dram_base = base;
    program_.dram.assign(bytes, 0);
    return {};
  }

  Result<void> Content(std::string_view code) {
    if (!encoding_) return Fail(ErrorKind::kSyntax, "contents before .config");
    switch (section_) {
      case Section::kNone: break;
      case Section::kData: return Data(code);
      case Section::kUops: return UopLine(code);
      case Section::kCode: return Code(code);
    }
    return Fail(ErrorKind::kSyntax, "contents before .data, .uops or .code");
  }

  // Writes bytes at the current address and moves it on.
  Result<void> Put(const uint8_t* bytes, size_t count) {
    if (!InImage(program_, address_, count)) {
      return Fail(ErrorKind::kBadValue,
                  fmt::format("{} bytes at {:#x} are outside the memory of {} bytes at {:#x}",
                              count, address_, program_.dram.size(), program_.dram_base),
                  "give .memory first, and large enough");
    }
    std::copy_n(bytes, count,
                program_.dram.begin() + static_cast<std::ptrdiff_t>(address_ - program_.dram_base));
    address_ += count;
    return {};
  }

  Result<void> Data(std::string_view code) {
    std::vector<uint8_t> bytes;
    const std::string padded = std::string(code.size() % 2, '0') + std::string(code);
    for (size_t i = 0; i < padded.size(); i += 2) {
      const Result<uint64_t> byte = Number("0x" + padded.substr(i, 2));
      if (!byte || code.size() % 2 != 0) {
        return Fail(ErrorKind::kSyntax, fmt::format("{} is not a row of bytes", Quoted(code)),
                    "two hexadecimal digits per byte, without blanks");
      }
      bytes.push_back(static_cast<uint8_t>(*byte));
    }
    return Put(bytes.data(), bytes.size());
  }

  Result<void> UopLine(std::string_view code) {
    std::vector<uint64_t> fields;
    for (const std::string_view word : Split(code, ' ')) {
      if (word.empty()) continue;
      const Result<uint64_t> number = Number(word);
      if (!number) return number.error();
      fields.push_back(*number);
    }
    if (fields.size() != 3 || *std::max_element(fields.begin(), fields.end()) > UINT32_MAX) {
      return Fail(ErrorKind::kSyntax, fmt::format("{} is not a micro-op", Quoted(code)),
                  "three numbers: dst src wgt");
    }
    const Result<uint32_t> word = encoding_->Encode(Uop{.dst = static_cast<uint32_t>(fields[0]),
                                                        .src = static_cast<uint32_t>(fields[1]),
                                                        .wgt = static_cast<uint32_t>(fields[2])});
    if (!word) return Fail(word.error().kind, word.error().message);
    uint8_t bytes[4];
    for (size_t i = 0; i < 4; ++i) bytes[i] = static_cast<uint8_t>(*word >> (8 * i));
    return Put(bytes, sizeof bytes);
  }

  Result<void> Code(std::string_view code) {
    Result<Word128> word = Word128{};
    if (code.starts_with(".word")) {
      word = ParseWord(Trim(code.substr(5)));
    } else {
      const Result<Instruction> instruction =
          ParseInstruction(code, {.file = file_, .line = line_, .column = column_});
      if (!instruction) return instruction.error();
      word = encoding_->Encode(*instruction);
    }
    if (!word) return Fail(word.error().kind, word.error().message, word.error().hint);
    uint8_t bytes[kInstructionBytes];
    StoreWord(*word, bytes);
    ++program_.insn_count;
    return Put(bytes, sizeof bytes);
  }

  Result<Program> Finish() {
    if (!encoding_) return Fail(ErrorKind::kSyntax, "no .config line");
    if (Result<void> valid = Validate(program_); !valid) {
      return Fail(valid.error().kind, valid.error().message);
    }
    return std::move(program_);
  }

  const std::string_view text_;
  const std::string& file_;
  int64_t line_ = 0, column_ = 1;
  Program program_;
  std::optional<Encoding> encoding_;
  Section section_ = Section::kNone;
  uint64_t address_ = 0;
};

}  // namespace

std::string WriteAssembly(const Program& program, const AssemblyOptions& options) {
  std::string text = fmt::format(".config {}\n", ConfigId(program.config));
  text += fmt::format(".memory {:#x} {}\n", program.dram_base, program.dram.size());
  text += fmt::format(".output {:#x} {}\n", program.out.address, program.out.bytes);
  std::vector<bool> skip(program.dram.size(), false);
  std::string code, uops, data;
  WriteCode(program, skip, code);
  WriteUops(program, skip, uops);
  if (options.data) WriteData(program, skip, data);
  return text + data + uops + code;
}

Result<Program> ParseAssembly(std::string_view text, const std::string& file) {
  return Parser(text, file).Parse();
}

std::vector<std::string> InstructionTexts(const Program& program) {
  std::vector<std::string> texts;
  for (const Instruction& instruction : DecodeInstructions(program)) {
    texts.push_back(ToText(instruction));
  }
  return texts;
}

}  // namespace tessera::vta
