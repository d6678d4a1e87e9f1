// Templates as they are read: finds the choices of a file, the labels that tie numbers together,
// and what is asked of both.
#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/template.h"
#include "tessera/arch/template_choice.h"
#include "tessera/arch/template_nodes.h"
#include "tessera/arch/template_values.h"
#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kAcceleratorFormat = "tessera-accelerator-1";
constexpr std::string_view kTemplateFormat = "tessera-template-1";
constexpr int64_t kMostCombinations = 1'000'000'000'000;

}  // namespace

Result<MachineTemplate> MachineTemplate::Parse(std::string_view text, const std::string& file) {
  const Result<std::string> read = ToText(std::string(text), file);
  if (!read) return read.error();
  Result<Node> root = ParseDocument(*read, file);
  if (!root) return root.error();
  if (root->line == 0) root->line = root->column = 1;  // of an empty file
  MachineTemplate made;
  made.file_ = file;
  made.root_ = *std::move(root);
  if (Result<void> done = made.Read(); !done) return done.error();
  return made;
}

Result<void> MachineTemplate::Read() {
  if (root_.kind != Kind::kMap) {
    return root_.ErrorHere(ErrorKind::kSyntax, "a template is a map with format, name, hierarchy",
                           "start it with 'format: tessera-accelerator-1'");
  }
  if (Node* const format = FindIn(root_, "format");
      format != nullptr && format->scalar == kTemplateFormat) {
    format->scalar = kAcceleratorFormat;
  }
  // A list of constraints is about numbers of the machine, a map of them about mappings.
  std::vector<Node> relations;
  std::optional<Node> limits;
  std::erase_if(root_.entries, [&](const Node::Entry& entry) {
    const bool list = entry.key == "constraints" && entry.value.kind != Kind::kMap;
    if (list || entry.key == "require") relations.push_back(entry.value);
    if (entry.key == "limits") limits = entry.value;
    return list || entry.key == "require" || entry.key == "limits";
  });
  const Node* const name = root_.Find("name");
  name_ = name != nullptr ? name->scalar : "";
  std::vector<size_t> steps;
  std::vector<Pending> pending;
  if (Result<void> found = FindChoices(root_, steps, "", pending); !found) return found;
  if (Result<void> added = AddLabels(pending); !added) return added;
  Checked combinations = 1;
  for (const TemplateField& field : fields_) combinations = combinations * std::ssize(field.values);
  if (!combinations.ok() || combinations.value() > kMostCombinations) {
    return root_.ErrorHere(ErrorKind::kOverflow,
                           fmt::format("more than {} combinations", kMostCombinations),
                           "leave out choices, or let numbers move together with as");
  }
  combinations_ = combinations.value();
  ListNumbers(root_, "", steps);
  for (const Node& node : relations) {
    if (Result<void> read = ReadRelations(node); !read) return read;
  }
  if (limits) {
    if (Result<void> read = ReadLimits(*limits); !read) return read;
  }
  return CheckFirst();
}

Result<bool> MachineTemplate::FindChoice(const Node& node, const std::vector<size_t>& steps,
                                         const std::string& path, std::vector<Pending>& pending) {
  const Node* const choose = node.Find("choose");
  const Node* const as = node.Find("as");
  const bool range = node.Find("from") != nullptr;
  if (choose == nullptr && as == nullptr && !range) return false;
  TemplateField field{.path = path, .where = node.where()};
  if (choose != nullptr) {
    if (Result<void> keys = CheckChoiceKeys(node, {"choose", "as"}); !keys) return keys.error();
    Result<std::vector<Node>> values = ChosenValues(*choose);
    if (!values) return values.error();
    field.values = *std::move(values);
  } else if (range) {
    if (Result<void> keys = CheckChoiceKeys(node, {"from", "to", "times", "step", "as"}); !keys) {
      return keys.error();
    }
    Result<std::vector<Node>> values = RangeValues(node);
    if (!values) return values.error();
    field.values = *std::move(values);
  }
  if (as != nullptr) {
    Result<std::string> label = LabelIn(*as);
    if (!label) return label.error();
    field.label = *std::move(label);
  }
  if (!field.values.empty()) {
    if (Result<void> added = AddField(std::move(field), steps); !added) return added.error();
    return true;
  }
  if (Result<void> keys = CheckChoiceKeys(node, {"as", "times"}); !keys) return keys.error();
  Pending place{.steps = steps, .label = as};
  if (const Node* const times = node.Find("times")) {
    const Result<double> number = NumberIn(*times, "times");
    if (!number) return number.error();
    place.times = *number;
  }
  pending.push_back(std::move(place));
  return true;
}

Result<void> MachineTemplate::AddField(TemplateField field, const std::vector<size_t>& steps) {
  for (const TemplateField& other : fields_) {
    if (field.label.empty() || other.label != field.label) continue;
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("two choices are called {}", field.label),
                 .where = field.where,
                 .hint = fmt::format("write {{as: {}}} where the same value belongs", field.label)};
  }
  places_.push_back({.steps = steps, .field = fields_.size()});
  fields_.push_back(std::move(field));
  return {};
}

Result<void> MachineTemplate::FindChoices(const Node& node, std::vector<size_t>& steps,
                                          const std::string& path, std::vector<Pending>& pending) {
  for (size_t i = 0; i < node.entries.size(); ++i) {
    const Node::Entry& entry = node.entries[i];
    const std::string inner = JoinPath(path, entry.key);
    steps.push_back(i);
    if (entry.value.kind == Kind::kMap) {
      const Result<bool> found = FindChoice(entry.value, steps, inner, pending);
      if (!found) return found.error();
      const bool fixed = entry.key == "name" || entry.key == "format";
      if (*found && fixed) {
        return entry.value.ErrorHere(ErrorKind::kBadValue,
                                     fmt::format("{} cannot be chosen", entry.key));
      }
      if (!*found) {
        if (Result<void> below = FindChoices(entry.value, steps, inner, pending); !below) {
          return below;
        }
      }
    } else if (IsBareChoice(entry.value, inner, entry.key)) {
      Result<std::vector<Node>> values = ChosenValues(entry.value);
      if (!values) return values.error();
      Result<void> added = AddField(
          {.path = inner, .values = *std::move(values), .where = entry.value.where()}, steps);
      if (!added) return added;
    } else {
      if (Result<void> below = FindChoices(entry.value, steps, inner, pending); !below) {
        return below;
      }
    }
    steps.pop_back();
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    steps.push_back(i);
    const std::string inner = JoinPath(path, ItemName(node.items[i], i));
    const Result<bool> found = FindChoice(node.items[i], steps, inner, pending);
    if (!found) return found.error();
    if (!*found) {
      if (Result<void> below = FindChoices(node.items[i], steps, inner, pending); !below) {
        return below;
      }
    }
    steps.pop_back();
  }
  return {};
}

Result<void> MachineTemplate::AddLabels(const std::vector<Pending>& pending) {
  std::vector<std::string> labels;
  for (const TemplateField& field : fields_) {
    if (!field.label.empty()) labels.push_back(field.label);
  }
  for (const Pending& place : pending) {
    const auto found = std::ranges::find(fields_, place.label->scalar, &TemplateField::label);
    if (found == fields_.end()) {
      const std::vector<std::string_view> names(labels.begin(), labels.end());
      const std::string hint = DidYouMean(place.label->scalar, names);
      return place.label->ErrorHere(
          ErrorKind::kUnknownName,
          fmt::format("no choice is called {}", Quoted(place.label->scalar)),
          hint.empty() ? "write {choose: [8, 16], as: NAME} where the values are" : hint);
    }
    const bool numbers = [&] {
      for (size_t i = 0; i < found->values.size(); ++i) {
        if (!found->Number(i)) return false;
      }
      return true;
    }();
    if (place.times != 1 && !numbers) {
      return place.label->ErrorHere(
          ErrorKind::kBadValue,
          fmt::format("{} are no numbers, so times means nothing", place.label->scalar));
    }
    places_.push_back({.steps = place.steps,
                       .field = static_cast<size_t>(found - fields_.begin()),
                       .times = place.times});
  }
  return {};
}

void MachineTemplate::ListNumbers(const Node& node, const std::string& path,
                                  std::vector<size_t>& steps) {
  if (const auto place = std::ranges::find(places_, steps, &Place::steps);
      place != places_.end() && !steps.empty()) {
    numbers_.push_back({.path = path, .field = place->field, .times = place->times});
    return;
  }
  if (node.kind == Kind::kScalar && !node.quoted) {
    if (const std::optional<double> number = ParseNumber(node.scalar)) {
      numbers_.push_back({.path = path, .number = *number});
    }
    return;
  }
  for (size_t i = 0; i < node.entries.size(); ++i) {
    steps.push_back(i);
    ListNumbers(node.entries[i].value, JoinPath(path, node.entries[i].key), steps);
    steps.pop_back();
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    steps.push_back(i);
    ListNumbers(node.items[i], JoinPath(path, ItemName(node.items[i], i)), steps);
    steps.pop_back();
  }
}

// A label, a path, or the end of a path that no other number has.
Result<size_t> MachineTemplate::FindNumber(std::string_view name, const Where& where) const {
  std::vector<std::string_view> known;
  std::vector<size_t> ends;
  const std::string end = fmt::format(".{}", name);
  for (size_t i = 0; i < numbers_.size(); ++i) {
    known.push_back(numbers_[i].path);
    if (numbers_[i].path == name) return i;
    if (numbers_[i].path.ends_with(end)) ends.push_back(i);
    const bool labelled =
        numbers_[i].field && numbers_[i].times == 1 && fields_[*numbers_[i].field].label == name;
    if (labelled) return i;
  }
  if (ends.size() == 1) return ends.front();
  for (const TemplateField& field : fields_) known.push_back(field.label);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = ends.empty()
                              ? fmt::format("no number is called {}", Quoted(name))
                              : fmt::format("{} numbers are called {}", ends.size(), Quoted(name)),
               .where = where,
               .hint = ends.empty() ? DidYouMean(name, known) : "write the whole path"};
}

Result<void> MachineTemplate::ReadRelations(const Node& node) {
  if (node.kind != Kind::kSequence) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a list of relations between numbers",
                          "for example [rows * columns <= 1024]");
  }
  for (const Node& item : node.items) {
    Result<TemplateRelation> relation =
        TemplateRelation::Parse(item, [&](std::string_view name, const Where& where) {
          Result<size_t> number = FindNumber(name, where);
          if (!number) return number;
          const Named& named = numbers_[*number];
          if (!named.field) return number;
          const TemplateField& field = fields_[*named.field];
          for (size_t i = 0; i < field.values.size(); ++i) {
            if (field.Number(i)) continue;
            return Result<size_t>(Error{.kind = ErrorKind::kBadValue,
                                        .message = fmt::format("{} is not always a number: {}",
                                                               Quoted(name), field.Text(i)),
                                        .where = where});
          }
          return number;
        });
    if (!relation) return relation.error();
    relations_.push_back(*std::move(relation));
  }
  return {};
}

Result<void> MachineTemplate::ReadLimits(const Node& node) {
  if (node.kind != Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "limits are a map", "for example {area_mm2: 2}");
  }
  for (const Node::Entry& entry : node.entries) {
    const Result<double> most = NumberIn(entry.value, entry.key);
    if (!most) return most.error();
    if (*most <= 0) {
      return entry.value.ErrorHere(ErrorKind::kBadValue,
                                   fmt::format("{} must be above 0", entry.key));
    }
    if (limits_.Set(entry.key, *most)) continue;
    const std::vector<std::string_view> names = MachineLimits::Names();
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("no limit is called {}", Quoted(entry.key)),
                 .where = entry.key_where,
                 .hint = fmt::format("limits are {}", fmt::join(names, ", "))};
  }
  return {};
}

// Whether one of the first combinations with this value is a machine, or none of them is allowed.
bool MachineTemplate::AnyMachineWith(size_t field, int32_t value, int64_t tries) const {
  bool allowed = false;
  for (int64_t i = 0; i < combinations_ && tries > 0; ++i) {
    const Choice choice = At(i);
    if (choice[field] != value) continue;
    --tries;
    if (!Has(choice)) continue;
    if (Machine(choice)) return true;
    allowed = true;
  }
  return !allowed;
}

// What is wrong with all machines, or with all machines of a value, is wrong with the file.
Result<void> MachineTemplate::CheckFirst() const {
  constexpr int64_t kTries = 4096;
  std::optional<Error> first;
  std::optional<Choice> good;
  bool any = false;
  for (int64_t i = 0; i < combinations_ && i < kTries && !good; ++i) {
    const Choice choice = At(i);
    if (!Has(choice)) continue;
    any = true;
    if (const Result<TemplateMachine> machine = Machine(choice)) {
      good = choice;
    } else if (!first) {
      first = machine.error();
    }
  }
  if (!any && combinations_ <= kTries) {
    return root_.ErrorHere(ErrorKind::kInfeasible, "the constraints leave no machine");
  }
  if (!good) return first ? *first : Result<void>();
  // Values with which no machine can be built, whatever the others are.
  for (size_t i = 0; i < fields_.size(); ++i) {
    for (size_t value = 0; value < fields_[i].values.size(); ++value) {
      Choice choice = *good;
      choice[i] = static_cast<int32_t>(value);
      const Result<TemplateMachine> machine = Machine(choice);
      if (machine || AnyMachineWith(i, choice[i], kTries)) continue;
      return machine.error();
    }
  }
  return {};
}

}  // namespace tessera
