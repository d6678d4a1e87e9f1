// Text of the form "name=1,other=2" for structs of integers and flags; knobs and schedules use it.
#ifndef TESSERA_VTA_CODEGEN_FIELDS_H_
#define TESSERA_VTA_CODEGEN_FIELDS_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/result.h"

namespace tessera::vta {

template <typename Struct>
struct NamedField {
  std::string_view name;
  std::variant<int64_t Struct::*, bool Struct::*> member;
  int64_t least = 1;
  bool always = true;  // written even where it has its default
};

template <typename Struct, size_t kCount>
std::string FieldsToText(const Struct& value,
                         const std::array<NamedField<Struct>, kCount>& fields) {
  std::string text;
  const Struct defaults = {};
  for (const NamedField<Struct>& field : fields) {
    const auto of = [&field](const Struct& from) {
      return std::visit([&from](auto member) { return static_cast<int64_t>(from.*member); },
                        field.member);
    };
    const int64_t number = of(value);
    if (!field.always && number == of(defaults)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : ",", field.name, number);
  }
  return text;
}

// What is not named keeps its default. `what` names the struct in messages.
template <typename Struct, size_t kCount>
Result<Struct> TextToFields(std::string_view text, std::string_view what, int64_t most,
                            const std::array<NamedField<Struct>, kCount>& fields) {
  Struct value;
  std::vector<std::string_view> names, given;
  for (const NamedField<Struct>& field : fields) names.push_back(field.name);
  for (const std::string_view part : Split(text, ',')) {
    const size_t equals = part.find('=');
    const std::string_view name = Trim(part.substr(0, equals));
    const NamedField<Struct>* found = nullptr;
    for (const NamedField<Struct>& field : fields) {
      if (field.name == name) found = &field;
    }
    if (found == nullptr || equals == std::string_view::npos) {
      return Error{.kind = ErrorKind::kUnknownName,
                   .message = fmt::format("unknown {} {}", what, Quoted(part)),
                   .hint = DidYouMean(name, names)};
    }
    if (std::find(given.begin(), given.end(), name) != given.end()) {
      return Error{.kind = ErrorKind::kBadValue, .message = fmt::format("{} is given twice", name)};
    }
    given.push_back(name);
    const Result<int64_t> number = ParseInt(Trim(part.substr(equals + 1)));
    if (!number) {
      Error error = number.error();
      error.message = fmt::format("{}: {}", name, error.message);
      return error;
    }
    const bool flag = std::holds_alternative<bool Struct::*>(found->member);
    const int64_t least = flag ? 0 : found->least, limit = flag ? 1 : most;
    if (*number < least || *number > limit) {
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("{} = {} is outside {}..{}", name, *number, least, limit)};
    }
    std::visit(
        [&](auto member) {
          using Type = std::remove_reference_t<decltype(value.*member)>;
          value.*member = static_cast<Type>(*number);
        },
        found->member);
  }
  return value;
}

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_FIELDS_H_
