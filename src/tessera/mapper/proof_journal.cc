// Journals of proofs on disk.
#include "tessera/mapper/proof_journal.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/map.h"

namespace tessera {
namespace {

SubspaceResult PartOf(const Json& json) {
  const auto number = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_number()
               ? std::optional(json[key].get<double>())
               : std::nullopt;
  };
  return {.value = number("value"),
          .cycles = number("cycles").value_or(0),
          .energy_pj = number("energy_pj").value_or(0),
          .bound = number("bound").value_or(std::numeric_limits<double>::infinity())};
}

std::string PartText(std::string_view key, const std::optional<SubspaceResult>& part) {
  if (!part) return "";
  const SubspaceResult& held = *part;
  std::string text;
  // Where there is no mapping without bypass, there is no bound either.
  if (std::isfinite(held.bound)) text = fmt::format("\"bound\":{}", held.bound);
  if (held.value) {
    text += fmt::format("{}\"value\":{},\"cycles\":{},\"energy_pj\":{}", text.empty() ? "" : ",",
                        *held.value, held.cycles, held.energy_pj);
  }
  return fmt::format(",\"{}\":{{{}}}", key, text);
}

// Takes a line into the record; false if it is not one of a journal.
bool Take(const Json& line, ProofRecord& record) {
  const auto number = [&](const char* key) {
    return line.contains(key) && line[key].is_number() ? std::optional(line[key].get<double>())
                                                       : std::nullopt;
  };
  const auto rounds = number("rounds"), evaluations = number("evaluations"),
             bound = number("bound");
  if (!rounds || !evaluations || !bound || !line.contains("complete") ||
      !line["complete"].is_boolean()) {
    return false;
  }
  constexpr double kMost = 0x1p53;
  for (const double count : {*rounds, *evaluations}) {
    if (count < 0 || count > kMost) return false;
  }
  record.proof = {.rounds = static_cast<int64_t>(*rounds),
                  .evaluations = static_cast<int64_t>(*evaluations),
                  .complete = line["complete"].get<bool>()};
  record.bound = *bound;
  if (number("value")) record.value = number("value");
  if (line.contains("held")) record.held = PartOf(line["held"]);
  if (line.contains("perfect")) record.perfect = PartOf(line["perfect"]);
  return true;
}

}  // namespace

std::string ProofLine(const LayerProof& proof, double bound, std::optional<double> value,
                      const std::string& mapping, const std::optional<SubspaceResult>& held,
                      const std::optional<SubspaceResult>& perfect) {
  const std::string found =
      mapping.empty() || !value ? "" : fmt::format(",\"value\":{},\"mapping\":{}", *value, mapping);
  return fmt::format("{{\"rounds\":{},\"evaluations\":{},\"bound\":{},\"complete\":{}{}{}{}}}",
                     proof.rounds, proof.evaluations, bound, proof.complete, found,
                     PartText("held", held), PartText("perfect", perfect));
}

Result<ProofRecord> ReadProofJournal(const JournalFile& file, const Layer& layer,
                                     const Accelerator& accelerator) {
  ProofRecord record;
  Result<JournalText> text = ReadJournalText(file);
  if (!text) return text.error();
  std::string mapping;
  Where where{.file = file.path}, mapping_where;
  for (const std::string& line : text->lines) {
    ++where.line;
    const Json json = FromText(line);
    if (!json.is_object() || !Take(json, record)) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = "this is not a line of a proof's journal",
                   .where = where};
    }
    if (!json.contains("mapping")) continue;
    mapping = ToLine(json["mapping"]);
    mapping_where = where;
  }
  record.text = *std::move(text);
  if (mapping.empty()) return record;
  Result<Mapping> parsed = ParseMappingJson(mapping, file.path, layer, accelerator);
  if (!parsed) {
    Error error = parsed.error();
    error.where = mapping_where;
    return error;
  }
  record.mapping = *std::move(parsed);
  return record;
}

}  // namespace tessera
