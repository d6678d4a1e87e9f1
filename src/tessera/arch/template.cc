// Templates: finds the choices of a file, and fills them in.
#include "tessera/arch/template.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>

#include "tessera/arch/level_component.h"
#include "tessera/arch/template_values.h"
#include "tessera/base/checked.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

constexpr std::string_view kAcceleratorFormat = "tessera-accelerator-1";
constexpr std::string_view kTemplateFormat = "tessera-template-1";
constexpr std::string_view kLeftOut = "!left-out";  // tag of a key that a machine does not have
constexpr std::string_view kPresent = "present";    // of a level that may be left out
constexpr int64_t kMostCombinations = 1'000'000'000'000;

constexpr double kUm2PerMm2 = 1e6;

struct LimitName {
  std::string_view name;
  std::optional<double> MachineLimits::*limit;
  double unit;  // of the name, in that of the limit
};
constexpr std::array kLimitNames = {
    LimitName{"area_mm2", &MachineLimits::area_um2, kUm2PerMm2},
    LimitName{"area_um2", &MachineLimits::area_um2, 1},
    LimitName{"power_w", &MachineLimits::power_w, 1},
    LimitName{"sram_bytes", &MachineLimits::sram_bytes, 1},
    LimitName{"aspect", &MachineLimits::aspect, 1},
};

Node ScalarLike(const Node& like, std::string text) {
  Node node;
  node.kind = Kind::kScalar;
  node.file = like.file;
  node.line = like.line;
  node.column = like.column;
  node.scalar = std::move(text);
  return node;
}

// 16K as files have it; what is no number stays.
Node Plain(Node node) {
  if (node.kind != Kind::kScalar || node.quoted) return node;
  const bool has_prefix = !node.scalar.empty() && std::string_view("KMG").find(
                                                      node.scalar.back()) != std::string_view::npos;
  if (!has_prefix) return node;
  if (const std::optional<double> number = ParseNumber(node.scalar))
    node.scalar = NumberText(*number);
  return node;
}

std::string ScalarText(const Node& node) {
  const bool number = ParseNumber(node.scalar).has_value();
  if (!node.quoted && number) return node.scalar;
  const std::string text = YamlScalar(node.scalar);
  return node.quoted && !text.starts_with('"') ? fmt::format("\"{}\"", text) : text;
}

// On one line.
std::string FlowText(const Node& node) {
  std::string text;
  switch (node.kind) {
    case Kind::kNull: return "~";
    case Kind::kScalar: return ScalarText(node);
    case Kind::kSequence:
      for (const Node& item : node.items) text += (text.empty() ? "" : ", ") + FlowText(item);
      return "[" + text + "]";
    case Kind::kMap: break;
  }
  for (const Node::Entry& entry : node.entries) {
    text += fmt::format("{}{}: {}", text.empty() ? "" : ", ", YamlScalar(entry.key),
                        FlowText(entry.value));
  }
  return "{" + text + "}";
}

// A document with a line for every key of the first two levels, and for every item below them.
std::string FileText(const Node& root) {
  std::string text;
  for (const Node::Entry& entry : root.entries) {
    if (entry.value.kind != Kind::kMap || entry.key == "constraints") {
      text += fmt::format("{}: {}\n", YamlScalar(entry.key), FlowText(entry.value));
      continue;
    }
    text += fmt::format("{}:\n", YamlScalar(entry.key));
    for (const Node::Entry& inner : entry.value.entries) {
      const bool list = inner.value.kind == Kind::kSequence && !inner.value.items.empty() &&
                        inner.value.items[0].kind == Kind::kMap;
      text +=
          fmt::format("  {}:{}\n", YamlScalar(inner.key), list ? "" : " " + FlowText(inner.value));
      if (!list) continue;
      for (const Node& item : inner.value.items) text += fmt::format("  - {}\n", FlowText(item));
    }
  }
  return text;
}

// The name of an item of a list, or its number from 1.
std::string ItemName(const Node& item, size_t index) {
  const Node* name = item.Find("name");
  return name != nullptr && name->kind == Kind::kScalar ? name->scalar
                                                        : fmt::format("{}", index + 1);
}

// The path of a key, without the part that all paths have.
std::string Join(const std::string& path, std::string_view key) {
  if (path.empty() && key == "hierarchy") return "";
  return path.empty() ? std::string(key) : fmt::format("{}.{}", path, key);
}

Node& NodeAt(Node& root, std::span<const size_t> steps) {
  Node* node = &root;
  for (const size_t step : steps) {
    node = node->kind == Kind::kMap ? &node->entries[step].value : &node->items[step];
  }
  return *node;
}

bool IsBool(const Node& node, bool value) {
  return node.kind == Kind::kScalar && !node.quoted && node.scalar == (value ? "true" : "false");
}

// Whether a list at this place stands for a choice: where files have one value.
bool IsBareChoice(const Node& node, std::string_view path, std::string_view key) {
  if (node.kind != Kind::kSequence || key == "keep" || key == "notes") return false;
  if (path.starts_with("constraints")) return false;
  return !node.items.empty() && std::ranges::all_of(node.items, [](const Node& item) {
    return item.kind == Kind::kScalar;
  });
}

// The values of {choose: [...]}.
Result<std::vector<Node>> ChosenValues(const Node& list) {
  if (list.kind != Kind::kSequence) {
    return list.ErrorHere(ErrorKind::kBadValue, "choose is a list of values",
                          "for example {choose: [16K, 32K, 64K]}");
  }
  if (list.items.empty()) return list.ErrorHere(ErrorKind::kBadValue, "there is nothing to choose");
  if (list.items.size() > kMostValues) {
    return list.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("more than {} values to choose from", kMostValues));
  }
  std::vector<Node> values;
  std::set<std::string> texts;
  for (const Node& item : list.items) {
    const bool nested = std::ranges::any_of(
        item.items, [](const Node& inner) { return inner.kind != Kind::kScalar; });
    if (item.kind == Kind::kMap || nested) {
      return item.ErrorHere(ErrorKind::kBadValue, "a choice is between values or lists of them");
    }
    values.push_back(Plain(item));
    if (!texts.insert(FlowText(values.back())).second) {
      return item.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("{} is there twice", FlowText(values.back())));
    }
  }
  return values;
}

Result<double> NumberIn(const Node& node, std::string_view what) {
  std::optional<double> number;
  if (node.kind == Kind::kScalar && !node.quoted) number = ParseNumber(node.scalar);
  if (number) return *number;
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("{} is a number", what),
                        "for example 64K or 0.5; K is 1,024");
}

// The values of {from: 16K, to: 1M, times: 2}.
Result<std::vector<Node>> RangeValues(const Node& node) {
  std::optional<double> from, to, times, step;
  const std::pair<std::string_view, std::optional<double>*> keys[] = {
      {"from", &from}, {"to", &to}, {"times", &times}, {"step", &step}};
  for (const auto& [key, value] : keys) {
    const Node* found = node.Find(key);
    if (found == nullptr) continue;
    const Result<double> number = NumberIn(*found, key);
    if (!number) return number.error();
    *value = *number;
  }
  if (!from || !to) {
    return node.ErrorHere(ErrorKind::kBadValue, "a range has both from and to",
                          "for example {from: 16K, to: 1M, times: 2}");
  }
  const Result<std::vector<double>> range = RangeOf(*from, *to, times, step);
  if (!range) {
    return node.ErrorHere(ErrorKind::kBadValue, range.error().message, range.error().hint);
  }
  std::vector<Node> values;
  for (const double value : *range) values.push_back(ScalarLike(node, NumberText(value)));
  return values;
}

Result<void> CheckKeys(const Node& node, std::initializer_list<std::string_view> known) {
  for (const Node::Entry& entry : node.entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("{} does not belong to a choice", Quoted(entry.key)),
                 .where = entry.key_where,
                 .hint = "a choice has choose, or from, to and times or step; and as"};
  }
  return {};
}

bool IsLabel(std::string_view text) {
  const auto letter = [](char c) { return (c | 0x20) >= 'a' && (c | 0x20) <= 'z'; };
  return !text.empty() && letter(text[0]) && std::ranges::all_of(text, [&](char c) {
    return letter(c) || c == '_' || (c >= '0' && c <= '9');
  });
}

Result<std::string> LabelIn(const Node& node) {
  if (node.kind == Kind::kScalar && !node.quoted && IsLabel(node.scalar)) return node.scalar;
  return node.ErrorHere(ErrorKind::kBadValue, "as is a name of letters, digits and _",
                        "for example {choose: [8, 16], as: rows}, and elsewhere {as: rows}");
}

// Removes keys that the machine does not have.
void RemoveLeftOut(Node& node) {
  std::erase_if(node.entries, [](const Node::Entry& entry) { return entry.value.tag == kLeftOut; });
  for (Node::Entry& entry : node.entries) RemoveLeftOut(entry.value);
  for (Node& item : node.items) RemoveLeftOut(item);
}

Node* FindIn(Node& node, std::string_view key) {
  for (Node::Entry& entry : node.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Node* LevelsOf(Node& root) {
  Node* const hierarchy = FindIn(root, "hierarchy");
  return hierarchy == nullptr ? nullptr : FindIn(*hierarchy, "levels");
}

double SramBytes(const Hierarchy& hierarchy) {
  double bytes = 0;
  for (size_t i = 0; i + 1 < hierarchy.levels.size(); ++i) {
    const MemoryLevel& level = hierarchy.levels[i];
    bytes += static_cast<double>(level.entries.value_or(0)) * static_cast<double>(level.word_bits) /
             8 * static_cast<double>(level.instances());
  }
  return bytes;
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

bool MachineLimits::Set(std::string_view name, double most) {
  for (const LimitName& known : kLimitNames) {
    if (known.name != name) continue;
    this->*known.limit = most * known.unit;
    return true;
  }
  return false;
}

std::vector<std::string_view> MachineLimits::Names() {
  std::vector<std::string_view> names;
  for (const LimitName& known : kLimitNames) names.push_back(known.name);
  return names;
}

std::string MachineLimits::Broken(const TemplateMachine& machine) const {
  const auto broken = [](std::string_view name, double have, const std::optional<double>& most,
                         double unit) {
    if (!most || have <= *most) return std::string();
    return fmt::format("{} {:.6g} > {:.6g}", name, have / unit, *most / unit);
  };
  for (const std::string& text : {broken("area_mm2", machine.area_um2, area_um2, kUm2PerMm2),
                                  broken("sram_bytes", machine.sram_bytes, sram_bytes, 1),
                                  broken("aspect", machine.aspect, aspect, 1)}) {
    if (!text.empty()) return text;
  }
  return {};
}

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

Result<MachineTemplate> MachineTemplate::Vary(std::string_view text, const std::string& file,
                                              const std::vector<Variation>& variations) {
  Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  for (const auto& [path, values] : variations) {
    Node* node = FindIn(*root, "hierarchy");
    if (path.starts_with("constraints.") || path.starts_with("pe_array.") || node == nullptr) {
      node = &*root;
    }
    // Most machines ask nothing of mappings, which can be varied all the same.
    if (path.starts_with("constraints.") && FindIn(*root, "constraints") == nullptr) {
      Node none = ScalarLike(*root, "");
      none.kind = Kind::kMap;
      root->entries.push_back({"constraints", root->where(), std::move(none)});
    }
    const auto wrong = [&](std::string_view part, const std::vector<std::string>& known) {
      return Error{.kind = ErrorKind::kUnknownName,
                   .message = fmt::format("{} has no {}, which {} names", file, Quoted(part), path),
                   .hint = fmt::format("there are {}", fmt::join(known, ", "))};
    };
    const std::vector<std::string_view> parts = Split(path, '.');
    for (size_t i = 0; i < parts.size(); ++i) {
      const bool last = i + 1 == parts.size();
      Node* next = nullptr;
      std::vector<std::string> known;
      for (size_t k = 0; k < node->items.size(); ++k) {
        known.push_back(ItemName(node->items[k], k));
        if (known.back() == parts[i]) next = &node->items[k];
      }
      for (Node::Entry& entry : node->entries) {
        known.push_back(entry.key);
        if (entry.key == parts[i]) next = &entry.value;
      }
      if (next == nullptr && last && node->kind == Kind::kMap) {
        node->entries.push_back({std::string(parts[i]), node->where(), Node{}});
        next = &node->entries.back().value;
      }
      if (next == nullptr) return wrong(parts[i], known);
      node = next;
    }
    if (node->kind == Kind::kMap || !node->items.empty()) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = fmt::format("{} is no single value", path),
                   .hint = "name a number, such as levels.GLB.entries"};
    }
    Node list = ScalarLike(*node, "");
    list.kind = Kind::kSequence;
    for (const std::string& value : values) {
      list.items.push_back(ScalarLike(*node, value));
      if (value == "none") list.items.back().kind = Kind::kNull;
    }
    Node choice = ScalarLike(*node, "");
    choice.kind = Kind::kMap;
    choice.entries.push_back({"choose", node->where(), std::move(list)});
    *node = std::move(choice);
  }
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
    if (Result<void> keys = CheckKeys(node, {"choose", "as"}); !keys) return keys.error();
    Result<std::vector<Node>> values = ChosenValues(*choose);
    if (!values) return values.error();
    field.values = *std::move(values);
  } else if (range) {
    if (Result<void> keys = CheckKeys(node, {"from", "to", "times", "step", "as"}); !keys) {
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
  if (Result<void> keys = CheckKeys(node, {"as", "times"}); !keys) return keys.error();
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
    const std::string inner = Join(path, entry.key);
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
    const std::string inner = Join(path, ItemName(node.items[i], i));
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
    ListNumbers(node.entries[i].value, Join(path, node.entries[i].key), steps);
    steps.pop_back();
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    steps.push_back(i);
    ListNumbers(node.items[i], Join(path, ItemName(node.items[i], i)), steps);
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
  TemplateMachine machine{.accelerator = *std::move(accelerator)};
  if (!machine.accelerator.hierarchy) {
    return root_.ErrorHere(ErrorKind::kBadValue, "a template has a hierarchy",
                           "model loopnest, whose mappings are proved, prices hierarchies");
  }
  const Hierarchy& hierarchy = *machine.accelerator.hierarchy;
  machine.area_um2 = KnownAreaUm2(hierarchy);
  machine.sram_bytes = SramBytes(hierarchy);
  const double x = static_cast<double>(hierarchy.arithmetic.mesh_x);
  const double y = static_cast<double>(hierarchy.arithmetic.mesh_y);
  machine.aspect = std::max(x / y, y / x);
  return machine;
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
