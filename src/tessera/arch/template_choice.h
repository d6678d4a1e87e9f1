// Choices as template files write them: {choose: [16K, 32K]}, {from: 16K, to: 1M, times: 2}, and
// labels of those that move together.
#ifndef TESSERA_ARCH_TEMPLATE_CHOICE_H_
#define TESSERA_ARCH_TEMPLATE_CHOICE_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Whether a list at this place stands for a choice: where files have one value.
bool IsBareChoice(const Node& node, std::string_view path, std::string_view key);

// The values of {choose: [...]}.
Result<std::vector<Node>> ChosenValues(const Node& list);

// The values of {from: 16K, to: 1M, times: 2}.
Result<std::vector<Node>> RangeValues(const Node& node);

// A number; `what` is the key that it belongs to.
Result<double> NumberIn(const Node& node, std::string_view what);

// An error about the first key of a choice that is not known.
Result<void> CheckChoiceKeys(const Node& node, std::initializer_list<std::string_view> known);

// The name after `as`.
Result<std::string> LabelIn(const Node& node);

}  // namespace tessera

#endif  // TESSERA_ARCH_TEMPLATE_CHOICE_H_
