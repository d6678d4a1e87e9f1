#include "tessera/arch/sizes.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kHint = "write 65536, 64Kword, 128KB, 2MiB or 512Kbit";

struct Unit {
  int64_t factor = 1;
  int64_t bits = 0;  // 0: words
};

std::optional<Unit> ParseUnit(std::string_view text) {
  Unit unit;
  constexpr std::string_view kPrefixes = "KMG";
  if (const size_t power = text.empty() ? std::string_view::npos : kPrefixes.find(text[0]);
      power != std::string_view::npos) {
    for (size_t i = 0; i <= power; ++i) unit.factor *= 1024;
    text.remove_prefix(1);
    if (text.starts_with('i')) text.remove_prefix(1);
  }
  constexpr std::array<std::pair<std::string_view, int64_t>, 5> kUnits = {
      {{"word", 0}, {"words", 0}, {"bit", 1}, {"bits", 1}, {"B", 8}}};
  for (const auto& [name, bits] : kUnits) {
    if (text != name) continue;
    unit.bits = bits;
    return unit;
  }
  return std::nullopt;
}

}  // namespace

Result<int64_t> ReadWords(const Node& node, int64_t word_bits) {
  if (const Result<int64_t> plain = node.AsInt()) return plain;
  const Result<std::string> read = node.AsString();
  if (!read) return read.error();
  const std::string_view text = *read;
  const auto wrong = [&](std::string message) {
    return node.ErrorHere(ErrorKind::kBadValue, std::move(message), std::string(kHint));
  };
  const size_t end = text.find_first_not_of("0123456789.");
  if (end == 0 || end == std::string_view::npos) {
    return wrong(fmt::format("{} is not a size", Quoted(text)));
  }
  const Result<Decimal> number = Decimal::Parse(text.substr(0, end));
  std::string_view name = text.substr(end);
  while (name.starts_with(' ')) name.remove_prefix(1);
  const std::optional<Unit> unit = ParseUnit(name);
  if (!number || !unit) return wrong(fmt::format("{} is not a size", Quoted(text)));
  // Tenths and smaller parts are of the unit, so that 0.5KB is 512 bytes.
  Checked amount = Checked(number->mantissa()) * unit->factor;
  if (unit->bits > 0) amount = amount * unit->bits;
  int64_t divisor = unit->bits > 0 ? word_bits : 1;
  for (int64_t e = number->exponent(); e > 0; --e) amount = amount * 10;
  for (int64_t e = number->exponent(); e < 0; ++e) {
    const Checked grown = Checked(divisor) * 10;
    if (!grown.ok()) return wrong(fmt::format("{} has too many digits", Quoted(text)));
    divisor = grown.value();
  }
  if (!amount.ok()) {
    return node.ErrorHere(ErrorKind::kOverflow, fmt::format("{} is too large", Quoted(text)));
  }
  if (divisor < 1 || amount.value() % divisor != 0) {
    return wrong(fmt::format("{} is no whole number of words of {} bits", Quoted(text), word_bits));
  }
  return amount.value() / divisor;
}

}  // namespace tessera
