// Energy tables in both spellings.
#include "tessera/arch/energy_table.h"

#include <algorithm>
#include <array>
#include <initializer_list>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Energy = std::optional<Decimal> ComponentEnergy::*;

// ------------------------------------------------------------------------- Tessera's own tables

struct OwnField {
  std::string_view name;
  Energy field;
};
constexpr std::array<OwnField, 8> kOwnFields = {{{"compute", &ComponentEnergy::compute_pj},
                                                 {"read", &ComponentEnergy::read_pj},
                                                 {"fill", &ComponentEnergy::fill_pj},
                                                 {"update", &ComponentEnergy::update_pj},
                                                 {"address", &ComponentEnergy::address_pj},
                                                 {"hop", &ComponentEnergy::hop_pj},
                                                 {"router", &ComponentEnergy::router_pj},
                                                 {"ingress", &ComponentEnergy::ingress_pj}}};

Result<Decimal> ReadEnergy(const Node& node) {
  const Result<Decimal> energy = node.AsDecimal();
  if (!energy || energy->mantissa() >= 0) return energy;
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("an energy is {}, but must not be "
                                                          "negative",
                                                          energy->ToString()));
}

Result<ComponentEnergy> ReadOwn(const Node::Entry& entry) {
  ComponentEnergy component{.name = entry.key, .where = entry.key_where};
  MapReader reader(entry.value, fmt::format("component {}", Quoted(entry.key)));
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  if (const Node* access = reader.Find("access")) {
    const Result<Decimal> energy = ReadEnergy(*access);
    if (!energy) return energy.error();
    component.read_pj = component.fill_pj = component.update_pj = *energy;
  }
  for (const OwnField& field : kOwnFields) {
    const Node* node = reader.Find(field.name);
    if (node == nullptr) continue;
    const Result<Decimal> energy = ReadEnergy(*node);
    if (!energy) return energy.error();
    component.*field.field = *energy;
  }
  if (Result<void> ok = reader.Finish(); !ok) return ok.error();
  return component;
}

Result<EnergyTable> ReadOwnTable(const Node& node) {
  EnergyTable table;
  MapReader reader(node, "energy_table");
  if (Result<void> ok = reader.Check(); !ok) return ok.error();
  for (const Node::Entry& entry : node.entries) {
    Result<ComponentEnergy> component = ReadOwn(entry);
    if (!component) return component.error();
    table.components.push_back(std::move(*component));
  }
  return table;
}

// --------------------------------------------------------------------------------- Accelergy's

// An action with the largest of its energies.
struct Action {
  std::string name;
  Decimal energy;
};

Result<void> AddAction(const std::string& name, const Node& node, std::vector<Action>& actions) {
  const Node* energy_node = node.Find("energy");
  if (energy_node == nullptr) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("action {} has no 'energy'", Quoted(name)));
  }
  const Result<Decimal> energy = ReadEnergy(*energy_node);
  if (!energy) return energy.error();
  for (Action& known : actions) {
    if (known.name != name) continue;
    if (energy->ToDouble() > known.energy.ToDouble()) known.energy = *energy;
    return {};
  }
  actions.push_back({name, *energy});
  return {};
}

// Version 0.3 and later: a list of {name, arguments, energy}.
Result<std::vector<Action>> ReadActionList(const Node& node) {
  std::vector<Action> actions;
  for (const Node& item : node.items) {
    const Node* name = item.Find("name");
    if (name == nullptr) return item.ErrorHere(ErrorKind::kBadValue, "an action without 'name'");
    if (Result<void> ok = AddAction(name->scalar, item, actions); !ok) return ok.error();
  }
  return actions;
}

// Before it: a map from action to {arguments, energy}, or to a list of them.
Result<std::vector<Action>> ReadActionMap(const Node& node) {
  std::vector<Action> actions;
  for (const Node::Entry& entry : node.entries) {
    if (entry.value.kind == Node::Kind::kSequence) {
      for (const Node& item : entry.value.items) {
        if (Result<void> ok = AddAction(entry.key, item, actions); !ok) return ok.error();
      }
    } else if (Result<void> ok = AddAction(entry.key, entry.value, actions); !ok) {
      return ok.error();
    }
  }
  return actions;
}

std::optional<Decimal> First(const std::vector<Action>& actions,
                             std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    const auto found = std::ranges::find(actions, name, &Action::name);
    if (found != actions.end()) return found->energy;
  }
  return std::nullopt;
}

ComponentEnergy MakeComponent(const std::string& path, const Where& where,
                              const std::vector<Action>& actions) {
  return {.name = ComponentOfPath(path),
          .where = where,
          .compute_pj = First(actions, {"mac_random", "mac", "compute", "multiply"}),
          .read_pj = First(actions, {"random_read", "read", "access"}),
          .fill_pj = First(actions, {"random_fill", "fill", "write", "access"}),
          .update_pj = First(
              actions, {"random_update", "update", "random_fill", "fill", "write", "access"})};
}

Result<EnergyTable> ReadErt(const Node& ert) {
  EnergyTable table;
  const Node* tables = ert.Find("tables");
  if (tables == nullptr) return ert.ErrorHere(ErrorKind::kBadValue, "an ERT without 'tables'");
  for (const Node& item : tables->items) {
    const Node* name = item.Find("name");
    const Node* actions = item.Find("actions");
    if (name == nullptr || actions == nullptr) {
      return item.ErrorHere(ErrorKind::kBadValue, "a table of an ERT needs 'name' and 'actions'");
    }
    const Result<std::vector<Action>> read = ReadActionList(*actions);
    if (!read) return read.error();
    table.components.push_back(MakeComponent(name->scalar, item.where(), *read));
  }
  for (const Node::Entry& entry : tables->entries) {
    const Result<std::vector<Action>> read = ReadActionMap(entry.value);
    if (!read) return read.error();
    table.components.push_back(MakeComponent(entry.key, entry.key_where, *read));
  }
  return table;
}

// -------------------------------------------------------------------------------------- applying

void Set(const std::optional<Decimal>& from, Decimal& to) {
  if (from) to = *from;
}

bool Apply(const ComponentEnergy& component, Hierarchy& hierarchy) {
  if (component.name == hierarchy.arithmetic.name) {
    Set(component.compute_pj, hierarchy.arithmetic.mac_pj);
    return true;
  }
  for (MemoryLevel& level : hierarchy.levels) {
    if (level.name != component.name) continue;
    Set(component.read_pj, level.read_pj);
    Set(component.fill_pj, level.fill_pj);
    Set(component.update_pj, level.update_pj);
    Set(component.address_pj, level.address_pj);
    Set(component.hop_pj, level.network.hop_pj);
    Set(component.router_pj, level.network.router_pj);
    Set(component.ingress_pj, level.network.ingress_pj);
    return true;
  }
  return false;
}

}  // namespace

std::string ComponentOfPath(const std::string& path) {
  // Dots inside of brackets do not separate.
  size_t begin = 0;
  int depth = 0;
  for (size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '[') ++depth;
    if (path[i] == ']') --depth;
    if (path[i] == '.' && depth == 0) begin = i + 1;
  }
  const std::string name = path.substr(begin);
  return name.substr(0, name.find('['));
}

Result<EnergyTable> ParseEnergyTable(const Node& document) {
  if (const Node* own = document.Find("energy_table")) return ReadOwnTable(*own);
  if (const Node* ert = document.Find("ERT")) return ReadErt(*ert);
  return document.ErrorHere(ErrorKind::kBadValue, "the file has neither 'energy_table' nor 'ERT'",
                            "write energy_table: {MAC: {compute: 1}, DRAM: {access: 200}}");
}

Result<EnergyTable> ReadEnergyTable(const std::string& path) {
  const Result<std::string> bytes = ReadFile(path);
  if (!bytes) return bytes.error();
  const Result<std::string> text = ToText(*bytes, path);
  if (!text) return text.error();
  const Result<Node> document = ParseDocument(*text, path);
  if (!document) return document.error();
  return ParseEnergyTable(*document);
}

Result<std::vector<std::string>> ApplyEnergyTable(const EnergyTable& table,
                                                  Accelerator& accelerator) {
  std::vector<std::string> notes;
  if (!accelerator.hierarchy) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("{} has no memory hierarchy to give energies to",
                                        Quoted(accelerator.name))};
  }
  Hierarchy& hierarchy = *accelerator.hierarchy;
  bool any = false;
  for (const ComponentEnergy& component : table.components) {
    if (Apply(component, hierarchy)) {
      any = true;
      // What the architecture left open is said now.
      std::erase_if(accelerator.notes, [&](const std::string& note) {
        return note.starts_with(component.name + ": no vector-access-energy") ||
               note.starts_with(component.name + ": no energy");
      });
    } else {
      notes.push_back(fmt::format("energy of {}: the machine has no such level", component.name));
    }
  }
  if (any) return notes;
  std::vector<std::string_view> names = {hierarchy.arithmetic.name};
  for (const MemoryLevel& level : hierarchy.levels) names.push_back(level.name);
  return Error{.kind = ErrorKind::kUnknownName,
               .message = "no component of the energy table is a level of the machine",
               .where = table.components.empty() ? Where{} : table.components.front().where,
               .hint = fmt::format("known: {}", fmt::join(names, ", "))};
}

std::string WriteErt(const Hierarchy& hierarchy) {
  std::string text = "ERT:\n  version: 0.3\n  tables:\n";
  const auto action = [](std::string_view name, const Decimal& energy) {
    return fmt::format("    - {{name: {}, arguments: {{}}, energy: {}}}\n", name,
                       energy.ToString());
  };
  text += fmt::format("  - name: {}\n    actions:\n{}", YamlScalar(hierarchy.arithmetic.name),
                      action("compute", hierarchy.arithmetic.mac_pj));
  for (const MemoryLevel& level : hierarchy.levels) {
    text += fmt::format("  - name: {}\n    actions:\n{}{}{}", YamlScalar(level.name),
                        action("read", level.read_pj), action("write", level.fill_pj),
                        action("update", level.update_pj));
  }
  return text;
}

Result<std::vector<std::string>> ApplyEnergyFile(const std::string& path,
                                                 Accelerator& accelerator) {
  const Result<EnergyTable> table = ReadEnergyTable(path);
  if (!table) return table.error();
  return ApplyEnergyTable(*table, accelerator);
}

}  // namespace tessera
