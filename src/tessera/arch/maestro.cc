// Hardware files of MAESTRO: pairs of a key and an integer, such as "num_pes: 256". They describe a
// two-level array of processing elements.
#include <algorithm>
#include <array>
#include <filesystem>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

struct Key {
  std::string_view name;
  int64_t PeArray::*field;
};
constexpr std::array<Key, 6> kKeys = {{
    {"num_pes", &PeArray::num_pes},
    {"l1_size_cstr", &PeArray::l1_elements},
    {"l2_size_cstr", &PeArray::l2_elements},
    {"noc_bw_cstr", &PeArray::noc_elements_per_cycle},
    {"offchip_bw_cstr", &PeArray::offchip_elements_per_cycle},
    {"NoC_NumHops", &PeArray::noc_hops},
}};

struct Token {
  std::string_view text;
  Where where;
  bool after_minus;  // '-' only separates in MAESTRO, which would turn -3 into 3
};

// Words between MAESTRO's separators, without // comments.
std::vector<Token> Tokens(std::string_view text, const std::string& file) {
  constexpr std::string_view kSeparators = " \t\r,->():;";
  std::vector<Token> tokens;
  int64_t number = 0;
  for (std::string_view line : Split(text, '\n')) {
    ++number;
    line = line.substr(0, line.find("//"));
    for (size_t at = line.find_first_not_of(kSeparators); at != std::string_view::npos;) {
      const size_t end = std::min(line.find_first_of(kSeparators, at), line.size());
      tokens.push_back(
          {.text = line.substr(at, end - at),
           .where = {.file = file, .line = number, .column = static_cast<int64_t>(at) + 1},
           .after_minus = at > 0 && line[at - 1] == '-'});
      at = line.find_first_not_of(kSeparators, end);
    }
  }
  return tokens;
}

Error At(const Token& token, ErrorKind kind, std::string message, std::string hint = "") {
  return Error{
      .kind = kind, .message = std::move(message), .where = token.where, .hint = std::move(hint)};
}

Result<const Key*> FindKey(const Token& token) {
  std::vector<std::string_view> names;
  for (const Key& key : kKeys) {
    if (key.name == token.text) return &key;
    names.push_back(key.name);
  }
  return At(token, ErrorKind::kUnknownName, fmt::format("unknown key {}", Quoted(token.text)),
            DidYouMean(token.text, names));
}

Result<int64_t> ReadNumber(const Key& key, const Token& token) {
  if (token.after_minus) {
    return At(token, ErrorKind::kBadValue,
              fmt::format("{} has a minus before {}", key.name, Quoted(token.text)),
              "write a number of at least 1");
  }
  const Result<int64_t> value = ParseInt(token.text);
  if (!value) return At(token, value.error().kind, value.error().message);
  if (*value < 1 || *value > PeArray::kUnlimited) {
    return At(token, ErrorKind::kBadValue,
              fmt::format("{} is {}, but must be in 1..{}", key.name, *value, PeArray::kUnlimited));
  }
  return value;
}

Result<Accelerator> Read(std::string_view bytes, const std::string& file) {
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  Accelerator accelerator{.name = std::filesystem::path(file).stem().string()};
  // MAESTRO's own defaults for what a file leaves out; a hop takes one cycle.
  PeArray& array = accelerator.pe_array.emplace();
  array.offchip_elements_per_cycle = PeArray::kUnlimited;
  const std::vector<Token> tokens = Tokens(*text, file);
  std::vector<const Key*> given;
  for (size_t i = 0; i < tokens.size(); i += 2) {
    const Result<const Key*> key = FindKey(tokens[i]);
    if (!key) return key.error();
    if (std::count(given.begin(), given.end(), *key) > 0) {
      return At(tokens[i], ErrorKind::kSyntax, fmt::format("{} is given twice", (*key)->name));
    }
    given.push_back(*key);
    if (i + 1 == tokens.size()) {
      return At(tokens[i], ErrorKind::kSyntax, fmt::format("{} has no value", (*key)->name));
    }
    const Result<int64_t> value = ReadNumber(**key, tokens[i + 1]);
    if (!value) return value.error();
    array.*(*key)->field = *value;
  }
  if (given.empty()) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "the file has no key",
                 .where = {.file = file},
                 .hint = "write lines such as 'num_pes: 256'"};
  }
  for (const Key& key : kKeys) {
    if (std::count(given.begin(), given.end(), &key) > 0) continue;
    accelerator.notes.push_back(
        array.*key.field == PeArray::kUnlimited
            ? fmt::format("{} is not given: unlimited", key.name)
            : fmt::format("{} is not given: {}", key.name, array.*key.field));
  }
  return accelerator;
}

Result<AcceleratorExport> Write(const Accelerator& accelerator) {
  if (!accelerator.pe_array) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} has no pe_array, which is all that a hardware file of "
                                        "MAESTRO holds",
                                        Quoted(accelerator.name))};
  }
  const PeArray& array = *accelerator.pe_array;
  std::string text;
  for (const Key& key : kKeys) text += fmt::format("{}: {}\n", key.name, array.*key.field);
  AcceleratorExport written;
  written.files.push_back({SafeFileName(accelerator.name) + ".m", std::move(text)});
  const PeArray defaults;
  if (array.simd_lanes != defaults.simd_lanes) {
    written.lost.push_back(
        fmt::format("simd_lanes {}: the file has no such key", array.simd_lanes));
  }
  if (array.noc_hop_latency_cycles != defaults.noc_hop_latency_cycles) {
    written.lost.push_back(fmt::format("noc_hop_latency_cycles {}: a hop takes one cycle",
                                       array.noc_hop_latency_cycles));
  }
  if (accelerator.hierarchy) written.lost.emplace_back("hierarchy: the file has PE arrays only");
  if (!accelerator.source.empty()) written.lost.emplace_back("source");
  return written;
}

// Any of the keys as a word; network files of MAESTRO have none of them.
bool Recognises(std::string_view bytes) {
  return std::any_of(kKeys.begin(), kKeys.end(), [&](const Key& key) {
    const size_t at = bytes.find(key.name);
    if (at == std::string_view::npos) return false;
    const size_t after = bytes.find_first_not_of(" \t", at + key.name.size());
    return after != std::string_view::npos && bytes[after] == ':';
  });
}

}  // namespace

extern const AcceleratorFormat kMaestroAcceleratorFormat = {
    .name = "maestro-hw",
    .summary = "MAESTRO hardware files: num_pes, l1_size_cstr, ...",
    .extensions = {".m"},
    .recognises = Recognises,
    .read = Read,
    .write = Write};

}  // namespace tessera
