// Machines of a template: which combinations of its values are one, and the files of those.
#include "tessera/arch/template.h"

#include <algorithm>
#include <functional>
#include <utility>

#include <fmt/format.h>

#include "tessera/arch/level_component.h"
#include "tessera/arch/template_nodes.h"
#include "tessera/arch/template_values.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kLeftOut = "!left-out";  // tag of a key that a machine does not have

// Removes keys that the machine does not have.
void RemoveLeftOut(Node& node) {
  std::erase_if(node.entries, [](const Node::Entry& entry) { return entry.value.tag == kLeftOut; });
  for (Node::Entry& entry : node.entries) RemoveLeftOut(entry.value);
  for (Node& item : node.items) RemoveLeftOut(item);
}

Node* LevelsOf(Node& root) {
  Node* const hierarchy = FindIn(root, "hierarchy");
  return hierarchy == nullptr ? nullptr : FindIn(*hierarchy, "levels");
}

}  // namespace

std::string TemplateField::Text(size_t value) const {
  const Node& node = values[value];
  return node.kind == Kind::kNull ? "none" : FlowText(node);
}

std::optional<double> TemplateField::Number(size_t value) const {
  const Node& node = values[value];
  if (node.kind != Kind::kScalar || node.quoted) return std::nullopt;
  return ParseNumber(node.scalar);
}

MachineTemplate::Choice MachineTemplate::At(int64_t number) const {
  Choice choice(fields_.size());
  for (size_t i = fields_.size(); i-- > 0;) {
    const int64_t size = std::ssize(fields_[i].values);
    choice[i] = static_cast<int32_t>(number % size);
    number /= size;
  }
  return choice;
}

int64_t MachineTemplate::NumberOf(const Choice& choice) const {
  int64_t number = 0;
  for (size_t i = 0; i < fields_.size(); ++i) {
    number = number * std::ssize(fields_[i].values) + choice[i];
  }
  return number;
}

// Steps that lead to levels which the choice leaves out.
std::vector<std::vector<size_t>> MachineTemplate::LevelsLeftOut(const Choice& choice) const {
  std::vector<std::vector<size_t>> left_out;
  for (const Place& place : places_) {
    if (!IsPresence(place.steps)) continue;
    const auto value = static_cast<size_t>(choice[place.field]);
    if (!IsBool(fields_[place.field].values[value], false)) continue;
    left_out.emplace_back(place.steps.begin(), place.steps.end() - 1);
  }
  return left_out;
}

bool MachineTemplate::IsPresence(const std::vector<size_t>& steps) const {
  const Node* node = &root_;
  std::string_view key;
  for (const size_t step : steps) {
    if (node->kind == Kind::kMap) {
      key = node->entries[step].key;
      node = &node->entries[step].value;
    } else {
      key = "";
      node = &node->items[step];
    }
  }
  return key == kPresent;
}

bool MachineTemplate::Has(const Choice& choice) const {
  const std::vector<std::vector<size_t>> left_out = LevelsLeftOut(choice);
  if (!left_out.empty()) {
    const auto inside = [&](const Place& place) {
      return !IsPresence(place.steps) &&
             std::ranges::any_of(left_out, [&](const std::vector<size_t>& level) {
               return std::equal(level.begin(), level.end(), place.steps.begin(),
                                 place.steps.begin() + static_cast<ptrdiff_t>(std::min(
                                                           level.size(), place.steps.size())));
             });
    };
    for (size_t i = 0; i < fields_.size(); ++i) {
      if (choice[i] == 0) continue;
      const bool matters = std::ranges::any_of(
          places_, [&](const Place& place) { return place.field == i && !inside(place); });
      if (!matters) return false;
    }
  }
  const auto value = [&](size_t i) {
    const Named& named = numbers_[i];
    if (!named.field) return named.number;
    const auto chosen = static_cast<size_t>(choice[*named.field]);
    return named.times * *fields_[*named.field].Number(chosen);
  };
  return std::ranges::all_of(
      relations_, [&](const TemplateRelation& relation) { return relation.Holds(value); });
}

Node MachineTemplate::Fill(const Choice& choice) const {
  Node root = root_;
  for (const Place& place : places_) {
    const TemplateField& field = fields_[place.field];
    const auto chosen = static_cast<size_t>(choice[place.field]);
    Node value = field.values[chosen];
    if (value.kind == Kind::kNull) value.tag = kLeftOut;
    if (place.times != 1) value.scalar = NumberText(*field.Number(chosen) * place.times);
    NodeAt(root, place.steps) = std::move(value);
  }
  if (Node* const levels = LevelsOf(root)) {
    std::erase_if(levels->items, [](const Node& level) {
      const Node* const present = level.Find(kPresent);
      return present != nullptr && IsBool(*present, false);
    });
    for (Node& level : levels->items) {
      std::erase_if(level.entries, [](const Node::Entry& entry) {
        return entry.key == kPresent && IsBool(entry.value, true);
      });
    }
  }
  RemoveLeftOut(root);
  if (Node* const name = FindIn(root, "name"); name != nullptr && !fields_.empty()) {
    name->scalar = fmt::format("{}-{}", name_, NumberOf(choice) + 1);
  }
  const std::function<void(Node&)> plain = [&](Node& node) {
    node = Plain(std::move(node));
    for (Node::Entry& entry : node.entries) {
      if (entry.key != "name") plain(entry.value);
    }
    for (Node& item : node.items) plain(item);
  };
  plain(root);
  return root;
}

std::string MachineTemplate::FileOf(const Choice& choice) const { return FileText(Fill(choice)); }

Result<TemplateMachine> MachineTemplate::Machine(const Choice& choice) const {
  Result<Accelerator> accelerator = AcceleratorOf(Fill(choice));
  if (!accelerator) return accelerator.error();
  if (!accelerator->hierarchy) {
    return root_.ErrorHere(ErrorKind::kBadValue, "a template has a hierarchy",
                           "model loopnest, whose mappings are proved, prices hierarchies");
  }
  return Measured(*std::move(accelerator));
}

}  // namespace tessera
