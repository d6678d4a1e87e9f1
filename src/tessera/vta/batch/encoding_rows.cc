// Encoding rows: fields of instructions and micro-ops to hexadecimal words, and back.
#include <array>

#include <fmt/format.h>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/vta/batch/json_row.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/isa/encoding.h"

namespace tessera::vta {
namespace {

// Fields that are written as names, with both directions.
struct NamedField {
  std::string_view name;
  Result<uint32_t> (*find)(std::string_view);
  std::string (*to_name)(uint32_t);
};
constexpr std::array<NamedField, 2> kNamedFields = {
    {{"memory_type", FindMemory, MemoryName}, {"alu_opcode", FindAluOp, AluOpName}}};

const NamedField* FindNamed(std::string_view field) {
  for (const NamedField& named : kNamedFields) {
    if (named.name == field) return &named;
  }
  return nullptr;
}

void ReadName(JsonRow& reader, const Json& fields, const char* key,
              Result<uint32_t> (*find)(std::string_view), uint32_t& value) {
  const std::string name = reader.String(fields, key);
  if (!reader.ok()) return;
  const Result<uint32_t> code = find(name);
  if (!code) return reader.Fail(code.error().message, code.error().kind, code.error().hint);
  value = *code;
}

void ReadImm(JsonRow& reader, const Json& fields, Instruction& instruction) {
  const Json* imm = reader.Find(fields, "imm");
  if (imm == nullptr) return;
  if (!imm->is_number_integer() || imm->get<int64_t>() < INT32_MIN ||
      imm->get<int64_t>() > INT32_MAX) {
    return reader.Fail(fmt::format("'imm' is {}, not an integer", Quoted(imm->dump())));
  }
  instruction.imm = imm->get<int32_t>();
}

Instruction ReadInstruction(JsonRow& reader, const Json& fields, const Encoding& encoding) {
  Instruction instruction;
  ReadName(reader, fields, "op", FindOpcode, instruction.opcode);
  if (!reader.ok()) return instruction;
  for (const FieldPlace& field : encoding.Fields(FormatOf(instruction.opcode))) {
    const std::string key(field.name);
    if (field.name == "opcode") continue;
    if (field.member == nullptr) {
      ReadImm(reader, fields, instruction);
    } else if (const NamedField* named = FindNamed(field.name)) {
      ReadName(reader, fields, key.c_str(), named->find, instruction.*field.member);
    } else {
      instruction.*field.member =
          static_cast<uint32_t>(reader.Unsigned(fields, key.c_str(), UINT32_MAX));
    }
  }
  return instruction;
}

Json ToFields(const Instruction& instruction, const Encoding& encoding) {
  Json fields = {{"op", OpcodeName(instruction.opcode)}};
  for (const FieldPlace& field : encoding.Fields(FormatOf(instruction.opcode))) {
    const std::string key(field.name);
    if (field.name == "opcode") continue;
    if (field.member == nullptr) {
      fields[key] = instruction.imm;
    } else if (const NamedField* named = FindNamed(field.name)) {
      fields[key] = named->to_name(instruction.*field.member);
    } else {
      fields[key] = instruction.*field.member;
    }
  }
  return fields;
}

bool IsUop(JsonRow& reader) {
  const std::string kind = reader.String(reader.row(), "kind");
  if (reader.ok() && kind != "uop" && kind != "insn") {
    reader.Fail(fmt::format("'kind' is {}, neither insn nor uop", Quoted(kind)));
  }
  return kind == "uop";
}

Result<uint32_t> ParseUopWord(std::string_view hex) {
  const Result<Word128> word =
      ParseWord(std::string(32 - std::min<size_t>(hex.size(), 32), '0') + std::string(hex));
  if (hex.size() != 8 || !word) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("{} is not a micro-op word", Quoted(hex)),
                 .hint = "8 hexadecimal digits"};
  }
  return static_cast<uint32_t>(word->low);
}

}  // namespace

Result<std::string> AnswerEncode(std::string_view row, const ConfigTable& configs,
                                 const Where& where) {
  JsonRow reader(row, where);
  if (!reader.ok()) return reader.error();
  const std::string id = reader.String(reader.row(), "id");
  const Config config = reader.ConfigOf(configs);
  const bool uop = IsUop(reader);
  const Json* fields = reader.ok() ? reader.Find(reader.row(), "fields") : nullptr;
  if (!reader.ok()) return reader.error();
  const Encoding encoding(config);
  std::string hex;
  if (uop) {
    Uop value;
    for (const UopPlace& field : encoding.UopFields()) {
      const std::string key(field.name);
      value.*field.member =
          static_cast<uint32_t>(reader.Unsigned(*fields, key.c_str(), UINT32_MAX));
    }
    const Result<uint32_t> word = encoding.Encode(value);
    if (reader.ok() && !word) reader.Fail(word.error().message);
    if (word) hex = fmt::format("{:08x}", *word);
  } else {
    const Instruction instruction = ReadInstruction(reader, *fields, encoding);
    const Result<Word128> word = encoding.Encode(instruction);
    if (reader.ok() && !word) reader.Fail(word.error().message);
    if (word) hex = ToHex(*word);
  }
  if (!reader.ok()) return reader.error();
  return ToLine({{"id", id}, {"hex", hex}});
}

Result<std::string> AnswerDecode(std::string_view row, const ConfigTable& configs,
                                 const Where& where) {
  JsonRow reader(row, where);
  if (!reader.ok()) return reader.error();
  const std::string id = reader.String(reader.row(), "id");
  const Config config = reader.ConfigOf(configs);
  const bool uop = IsUop(reader);
  const std::string hex = reader.ok() ? reader.String(reader.row(), "hex") : "";
  if (!reader.ok()) return reader.error();
  const Encoding encoding(config);
  Json fields;
  if (uop) {
    const Result<uint32_t> word = ParseUopWord(hex);
    if (!word) reader.Fail(word.error().message, word.error().kind, word.error().hint);
    const Uop value = encoding.DecodeUop(word ? *word : 0);
    fields = {{"dst", value.dst}, {"src", value.src}, {"wgt", value.wgt}};
  } else {
    const Result<Word128> word = ParseWord(hex);
    if (!word) reader.Fail(word.error().message, word.error().kind, word.error().hint);
    fields = ToFields(encoding.Decode(word ? *word : Word128{}), encoding);
  }
  if (!reader.ok()) return reader.error();
  return ToLine({{"id", id}, {"fields", std::move(fields)}});
}

}  // namespace tessera::vta
