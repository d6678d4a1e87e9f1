// The settings of a registered part (a search method, a learner), declared once beside its options
// struct: --help, docs and Python read name, type, default, range and text from the declaration,
// and values given as text are checked against it.
//
//   struct RandomOptions {
//     int64_t redraws = 64;
//   };
//   const ParameterList<RandomOptions> kParameters = {
//       {"redraws", &RandomOptions::redraws, Range{0, 10'000}, "tries for a legal point"}};
#ifndef TESSERA_BASE_PARAMETER_H_
#define TESSERA_BASE_PARAMETER_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

// Limits of a number, both allowed.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// The words that a text may be; none: any text.
using Choices = std::vector<std::string>;

using ParameterValue = std::variant<bool, int64_t, double, std::string>;

// One parameter as people and bindings see it.
struct ParameterInfo {
  std::string name;
  ParameterValue fallback;  // the value if none is given; its type is the parameter's
  Range range;              // of numbers
  Choices choices;          // of texts
  std::string text;
  std::string placeholder = {};  // of the value in --help ("SECONDS"); empty: as its type
};

std::string_view TypeName(const ParameterInfo& info);  // "bool", "int", "float" or "text"
std::string RangeText(const ParameterInfo& info);      // "0..10000", "single|ward", or nothing
std::string ToString(const ParameterValue& value);     // ParseValue reads it back

// A value of the parameter's type within its range; errors name the parameter and the rule.
Result<ParameterValue> ParseValue(const ParameterInfo& info, std::string_view text);

// Name and value as a user wrote them.
using Assignments = std::vector<std::pair<std::string, std::string>>;

// A parameter tied to a field of `Options`, whose default it takes from there.
template <typename Options>
class Parameter {
 public:
  Parameter(std::string name, int64_t Options::*field, Range range, std::string text)
      : Parameter(std::move(name), field, range, Choices{}, std::move(text)) {}
  Parameter(std::string name, double Options::*field, Range range, std::string text)
      : Parameter(std::move(name), field, range, Choices{}, std::move(text)) {}
  Parameter(std::string name, bool Options::*field, std::string text)
      : Parameter(std::move(name), field, Range{}, Choices{}, std::move(text)) {}
  Parameter(std::string name, std::string Options::*field, Choices choices, std::string text)
      : Parameter(std::move(name), field, Range{}, std::move(choices), std::move(text)) {}

  // An enum, by the words of its table (base/names.h).
  template <typename Enum, size_t kCount>
    requires std::is_enum_v<Enum>
  Parameter(std::string name, Enum Options::*field,
            const std::array<std::string_view, kCount>& names, std::string text)
      : info_{.name = std::move(name),
              .fallback = std::string(names[static_cast<size_t>(Options().*field)]),
              .range = {},
              .choices = Choices(names.begin(), names.end()),
              .text = std::move(text)},
        set_([field, names](Options& options, const ParameterValue& value) {
          const auto found = std::find(names.begin(), names.end(), std::get<std::string>(value));
          options.*field = static_cast<Enum>(found - names.begin());
        }) {}

  // The same with a placeholder for its value.
  Parameter Of(std::string placeholder) && {
    info_.placeholder = std::move(placeholder);
    return std::move(*this);
  }

  const ParameterInfo& info() const { return info_; }

  // `value` has this parameter's type.
  void Set(Options& options, const ParameterValue& value) const { set_(options, value); }

 private:
  template <typename Value>
  Parameter(std::string name, Value Options::*field, Range range, Choices choices, std::string text)
      : info_{.name = std::move(name),
              .fallback = Options().*field,
              .range = range,
              .choices = std::move(choices),
              .text = std::move(text)},
        set_([field](Options& options, const ParameterValue& value) {
          options.*field = std::get<Value>(value);
        }) {}

  ParameterInfo info_;
  std::function<void(Options&, const ParameterValue&)> set_;
};

template <typename Options>
using ParameterList = std::vector<Parameter<Options>>;

template <typename Options>
std::vector<ParameterInfo> Describe(const ParameterList<Options>& parameters) {
  std::vector<ParameterInfo> infos;
  for (const Parameter<Options>& parameter : parameters) infos.push_back(parameter.info());
  return infos;
}

// The parameter that `name` names, as an index into `infos`. `part` is what has them ("method
// random"), for the message.
Result<size_t> FindParameter(std::string_view part, const std::vector<ParameterInfo>& infos,
                             std::string_view name);

// Options with the given values and otherwise their defaults. A name that does not exist, a value
// out of range and a name given twice are errors.
template <typename Options>
Result<Options> ReadOptions(std::string_view part, const ParameterList<Options>& parameters,
                            const Assignments& assignments) {
  const std::vector<ParameterInfo> infos = Describe(parameters);
  std::vector<bool> given(infos.size());
  Options options;
  for (const auto& [name, text] : assignments) {
    const Result<size_t> index = FindParameter(part, infos, name);
    if (!index) return index.error();
    if (given[*index]) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = std::string(part) + ": parameter '" + name + "' is given twice"};
    }
    given[*index] = true;
    const Result<ParameterValue> value = ParseValue(infos[*index], text);
    if (!value) return value.error();
    parameters[*index].Set(options, *value);
  }
  return options;
}

}  // namespace tessera

#endif  // TESSERA_BASE_PARAMETER_H_
