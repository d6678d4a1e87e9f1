// Architectures of Timeloop: flat lists of levels and the trees of versions 0.2 and 0.3, and the
// common part of the tagged node lists of version 0.4 (docs/accelerators.md says which).
#include <algorithm>
#include <filesystem>
#include <iterator>
#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/arch/area_table.h"
#include "tessera/arch/energy_table.h"
#include "tessera/arch/locate.h"
#include "tessera/arch/timeloop_constraints.h"
#include "tessera/arch/timeloop_level.h"
#include "tessera/arch/timeloop_variables.h"
#include "tessera/arch/timeloop_write.h"
#include "tessera/base/checked.h"
#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using timeloop::Attributes;
using timeloop::ComponentKind;
using timeloop::Dialect;
using timeloop::Placement;

constexpr int64_t kMaxInstances = (int64_t{1} << 31) - 1;

// "PE[0..167]" is 168 instances called PE.
struct IndexedName {
  std::string name;
  int64_t count = 1;
};

Result<IndexedName> ReadName(const Node& component) {
  const Node* node = component.Find("name");
  if (node == nullptr) {
    return component.ErrorHere(ErrorKind::kBadValue, "a component without 'name'");
  }
  const Result<std::string> text = node->AsString();
  if (!text) return text.error();
  const size_t bracket = text->find('[');
  if (bracket == std::string::npos) return IndexedName{*text};
  const size_t dots = text->find("..", bracket);
  const bool closed = text->ends_with(']');
  const std::string_view view = *text;
  if (dots != std::string::npos && closed) {
    const Result<int64_t> first = ParseInt(view.substr(bracket + 1, dots - bracket - 1));
    const Result<int64_t> last = ParseInt(view.substr(dots + 2, view.size() - dots - 3));
    if (first && last && *first >= 0 && *last >= *first && *last < kMaxInstances) {
      return IndexedName{text->substr(0, bracket), *last - *first + 1};
    }
  }
  return node->ErrorHere(ErrorKind::kSyntax,
                         fmt::format("cannot read the instances of {}", Quoted(*text)),
                         "write NAME[0..15] for 16 instances");
}

Result<int64_t> Times(const Node& node, int64_t a, int64_t b) {
  const Checked product = Checked(a) * b;
  if (product.ok() && product.value() <= kMaxInstances) return product.value();
  return node.ErrorHere(ErrorKind::kOverflow, fmt::format("more than {} instances", kMaxInstances));
}

std::string TextOf(const Node& map, std::string_view key) {
  const Node* node = map.Find(key);
  return node == nullptr ? "" : node->scalar;
}

// Puts what the merge keys "<<" and "<<<" of a map bring under the map's own keys, all the way
// down.
void ResolveMerges(Node& node) {
  for (Node& item : node.items) ResolveMerges(item);
  for (Node::Entry& entry : node.entries) ResolveMerges(entry.value);
  const auto is_merge = [](const Node::Entry& entry) {
    return entry.key == "<<" || entry.key == "<<<";
  };
  std::vector<Node::Entry> own;
  std::vector<Node> sources;
  for (Node::Entry& entry : node.entries) {
    if (!is_merge(entry)) {
      own.push_back(std::move(entry));
    } else if (entry.value.kind == Node::Kind::kSequence) {
      for (Node& item : entry.value.items) sources.push_back(std::move(item));
    } else {
      sources.push_back(std::move(entry.value));
    }
  }
  node.entries = std::move(own);
  for (Node& source : sources) {
    for (Node::Entry& entry : source.entries) {
      if (node.Find(entry.key) == nullptr) node.entries.push_back(std::move(entry));
    }
  }
}

class Reader {
 public:
  Reader(const Node& root, const std::string& file) : root_(root) {
    accelerator_.name = std::filesystem::path(file).stem().string();
  }

  Result<Accelerator> Read() {
    const Node* architecture = root_.Find("architecture");
    if (architecture == nullptr) architecture = root_.Find("arch");
    if (architecture == nullptr || architecture->kind != Node::Kind::kMap) {
      return root_.ErrorHere(ErrorKind::kBadValue, "a Timeloop file without 'architecture'");
    }
    if (Result<void> ok = ReadArchitecture(*architecture); !ok) return ok.error();
    if (levels_.empty()) {
      return architecture->ErrorHere(ErrorKind::kBadValue, "the architecture has no storage");
    }
    if (!has_macs_) {
      return architecture->ErrorHere(ErrorKind::kBadValue, "the architecture has no compute level",
                                     "add a component of a class such as intmac or compute");
    }
    if (Result<void> ok = ReadConstraints(); !ok) return ok.error();
    ListOtherKeys();
    Hierarchy& hierarchy = accelerator_.hierarchy.emplace();
    hierarchy.arithmetic = macs_;
    const bool all_kept = std::all_of(levels_.begin(), levels_.end(),
                                      [](const Level& level) { return !level.keep.has_value(); });
    // Files go from the outermost level inwards, we go outwards.
    for (auto level = levels_.rbegin(); level != levels_.rend(); ++level) {
      hierarchy.levels.push_back(level->level);
      if (!all_kept) hierarchy.keeps.push_back(level->keep.value_or(AllTensors()));
    }
    if (Result<void> ok = Validate(accelerator_); !ok) {
      return Locate(ok.error(), *architecture, parts_);
    }
    if (Result<void> ok = ReadReferenceTables(); !ok) return ok.error();
    return std::move(accelerator_);
  }

 private:
  struct Level {
    MemoryLevel level;
    std::optional<std::vector<std::string>> keep = std::nullopt;  // none: not restricted
  };

  static std::vector<std::string> AllTensors() {
    return {kTensorNames.begin(), kTensorNames.end()};
  }

  void Note(std::string note) { accelerator_.notes.push_back(std::move(note)); }

  Result<void> ReadArchitecture(const Node& architecture) {
    if (const Node* nodes = architecture.Find("nodes")) {
      Walk walk;
      return ReadNodes(*nodes, walk);
    }
    if (const Node* subtree = architecture.Find("subtree")) {
      // What the front end of version 0.4 hands to Timeloop is a tree, too.
      tree_dialect_ = TextOf(architecture, "version") == "0.4" ? Dialect::k04 : Dialect::kBefore04;
      return ReadSubtree(*subtree, 1);
    }
    if (architecture.Find("storage") != nullptr) return ReadFlat(architecture);
    return architecture.ErrorHere(
        ErrorKind::kUnsupported, "an architecture without 'storage', 'subtree' or 'nodes'",
        "flat levels, trees of version 0.2 and 0.3 and nodes of version 0.4 are read");
  }

  // --- Flat levels: `arithmetic`, and `storage` from the MACs outwards ---------------------------

  Result<void> ReadFlat(const Node& architecture) {
    const Node* storage = architecture.Find("storage");
    if (storage->kind != Node::Kind::kSequence) {
      return storage->ErrorHere(ErrorKind::kBadValue, "expected a list of storage levels");
    }
    for (auto item = storage->items.rbegin(); item != storage->items.rend(); ++item) {
      if (Result<void> ok =
              AddComponent(*item, *item, ComponentKind::kStorage, {}, {}, Dialect::kBefore04);
          !ok) {
        return ok;
      }
    }
    const Node* arithmetic = architecture.Find("arithmetic");
    if (arithmetic == nullptr) return {};
    return AddComponent(*arithmetic, *arithmetic, ComponentKind::kCompute, {}, {},
                        Dialect::kBefore04);
  }

  // --- Trees: `local` components of a node lie outside its `subtree` -----------------------------

  Result<void> ReadSubtree(const Node& subtree, int64_t instances) {
    if (subtree.kind != Node::Kind::kSequence || subtree.items.empty()) {
      return subtree.ErrorHere(ErrorKind::kBadValue, "expected a list with one node of the tree");
    }
    if (subtree.items.size() > 1) {
      return subtree.items[1].ErrorHere(
          ErrorKind::kUnsupported, "a second node beside the first: only a chain can be mapped");
    }
    const Node& node = subtree.items.front();
    const Result<IndexedName> name = ReadName(node);
    if (!name) return name.error();
    const Result<int64_t> inside = Times(node, instances, name->count);
    if (!inside) return inside.error();
    if (const Node* local = node.Find("local")) {
      for (const Node& component : local->items) {
        Result<void> ok = AddClassified(component, {.instances = *inside}, {}, tree_dialect_);
        if (!ok) return ok;
      }
    }
    if (const Node* below = node.Find("subtree")) return ReadSubtree(*below, *inside);
    return {};
  }

  // --- Version 0.4: tagged nodes from the outside in ---------------------------------------------

  struct Mesh {
    int64_t x = 1, y = 1;
  };

  // Where the walk through the nodes stands.
  struct Walk {
    Mesh mesh = {};
    std::vector<const Node*> containers = {};  // attributes that components inherit
    bool spread = false;                       // a fan-out, and no level below it yet
    bool parallel = false;                     // inside !Parallel
  };

  Result<void> ReadNodes(const Node& nodes, Walk& walk) {
    if (nodes.kind != Node::Kind::kSequence) {
      return nodes.ErrorHere(ErrorKind::kBadValue, "expected a list of nodes");
    }
    for (const Node& item : nodes.items) {
      if (Result<void> ok = ReadNode(item, walk); !ok) return ok;
    }
    return {};
  }

  Result<void> ReadNode(const Node& node, Walk& walk) {
    if (node.tag == "!Nothing") return {};
    if (node.tag == "!Parallel" || node.tag == "!Hierarchical" || node.tag == "!Pipelined") {
      const Node* inner = node.Find("nodes");
      if (inner == nullptr)
        return node.ErrorHere(ErrorKind::kBadValue, node.tag + " without nodes");
      const bool before = std::exchange(walk.parallel, node.tag == "!Parallel");
      Result<void> read = ReadNodes(*inner, walk);
      walk.parallel = before;
      return read;
    }
    if (node.tag == "!Container") return ReadContainer(node, walk);
    if (node.tag == "!Component" || node.tag == "!Element") return ReadComponent(node, walk);
    return node.ErrorHere(
        ErrorKind::kUnsupported,
        node.tag.empty() ? "a node without a tag" : fmt::format("unknown tag {}", node.tag),
        "known: !Component, !Container, !Hierarchical, !Parallel, !Pipelined, !Nothing");
  }

  Result<void> ReadContainer(const Node& node, Walk& walk) {
    const Result<IndexedName> name = ReadName(node);
    if (!name) return name.error();
    if (Result<void> ok = FanOut(node, name->name, walk); !ok) return ok;
    if (const Node* attributes = node.Find("attributes")) walk.containers.push_back(attributes);
    return ReadDemands(node, "");
  }

  Result<void> ReadComponent(const Node& node, Walk& walk) {
    const Result<IndexedName> name = ReadName(node);
    if (!name) return name.error();
    const std::string enabled = TextOf(node, "enabled");
    if (enabled == "False" || enabled == "false") {
      Note(fmt::format("{}: not enabled, left out", name->name));
      return {};
    }
    if (Result<void> ok = FanOut(node, name->name, walk); !ok) return ok;
    const size_t levels_before = levels_.size();
    const Placement placement{
        .instances = walk.mesh.x * walk.mesh.y, .mesh_x = walk.mesh.x, .mesh_y = walk.mesh.y};
    // The level that the fan-out belongs to is the last one until this component is added.
    const std::string owner = std::exchange(fan_owner_, "");
    Result<void> added = AddClassified(node, placement, walk.containers, Dialect::k04);
    fan_owner_ = owner;
    if (!added) return added;
    if (levels_.size() == levels_before) return ReadDemands(node, "");
    walk.spread = false;
    if (Result<void> ok = ReadDemands(node, levels_.back().level.name); !ok) return ok;
    return ReadKeep(node, walk.parallel, levels_.back());
  }

  // Multiplies the mesh by the node's `spatial`. Two fan-outs in a row need a level between them
  // that holds nothing, or one set of loops would have to serve both.
  Result<void> FanOut(const Node& node, const std::string& name, Walk& walk) {
    fan_owner_.clear();
    const Node* spatial = node.Find("spatial");
    if (spatial == nullptr) return {};
    Mesh by;
    Attributes attributes(name, *spatial);
    if (Result<void> ok = attributes.Read({"meshX"}, by.x); !ok) return ok;
    if (Result<void> ok = attributes.Read({"meshY"}, by.y); !ok) return ok;
    attributes.ListUnused(accelerator_.notes);
    if (by.x < 1 || by.y < 1) {
      return spatial->ErrorHere(ErrorKind::kBadValue,
                                fmt::format("{}: a mesh of {} x {}", name, by.x, by.y));
    }
    if (by.x == 1 && by.y == 1) return {};
    if (walk.spread || levels_.empty()) {
      AddSpreader(fmt::format("inter_{}_spatial", name), walk.mesh, node);
    }
    const Result<int64_t> x = Times(*spatial, walk.mesh.x, by.x);
    if (!x) return x.error();
    const Result<int64_t> y = Times(*spatial, walk.mesh.y, by.y);
    if (!y) return y.error();
    walk.mesh = {*x, *y};
    walk.spread = true;
    fan_owner_ = levels_.back().level.name;
    return {};
  }

  void AddSpreader(const std::string& name, Mesh mesh, const Node& node) {
    MemoryLevel level{.name = name, .technology = "SRAM", .entries = 0};
    level.mesh_x = mesh.x;
    level.mesh_y = mesh.y;
    parts_.push_back({name, &node});
    levels_.push_back({.level = std::move(level), .keep = std::vector<std::string>()});
    Note(fmt::format("{}: a level that holds nothing, between two fan-outs", name));
  }

  // --- Components
  // ---------------------------------------------------------------------------------

  // A component whose class says what it is.
  Result<void> AddClassified(const Node& node, const Placement& placement,
                             const std::vector<const Node*>& containers, Dialect dialect) {
    const std::string class_name = TextOf(node, "class");
    ComponentKind kind = timeloop::KindOfClass(class_name);
    const Result<IndexedName> name = ReadName(node);
    if (!name) return name.error();
    // A class of the user's own: what it is follows from its parts, and it has defaults.
    std::vector<const Node*> defaults = containers;
    if (const Node* compound = FindCompound(class_name)) {
      if (kind == ComponentKind::kOther) kind = KindOfParts(*compound, 0);
      const Node* attributes = compound->Find("attributes");
      if (attributes != nullptr && attributes->kind == Node::Kind::kMap) {
        defaults.insert(defaults.begin(), attributes);
      }
    }
    if (kind == ComponentKind::kOther) {
      Note(fmt::format("{}: class '{}' is neither storage nor compute, left out", name->name,
                       class_name));
      return {};
    }
    static const Node kNone;
    const Node* attributes = node.Find("attributes");
    return AddComponent(node, attributes == nullptr ? kNone : *attributes, kind, placement,
                        defaults, dialect);
  }

  // A class among the compound components of the file, or null.
  const Node* FindCompound(const std::string& class_name) const {
    for (const std::string_view key : {"components", "compound_components"}) {
      const Node* section = root_.Find(key);
      const Node* classes = section == nullptr ? nullptr : section->Find("classes");
      const Node* list = classes != nullptr ? classes : section;
      if (list == nullptr) continue;
      for (const Node& item : list->items) {
        if (TextOf(item, "name") == class_name) return &item;
      }
    }
    return nullptr;
  }

  // Storage if a part of it is, otherwise compute if a part is.
  ComponentKind KindOfParts(const Node& compound, int depth) const {
    constexpr int kMostDepth = 8;  // of classes made of classes
    ComponentKind kind = ComponentKind::kOther;
    const Node* parts = compound.Find("subcomponents");
    if (parts == nullptr || depth > kMostDepth) return kind;
    for (const Node& part : parts->items) {
      const std::string class_name = TextOf(part, "class");
      ComponentKind own = timeloop::KindOfClass(class_name);
      const Node* nested = FindCompound(class_name);
      if (own == ComponentKind::kOther && nested != nullptr) own = KindOfParts(*nested, depth + 1);
      if (own == ComponentKind::kStorage) return own;
      if (own == ComponentKind::kCompute) kind = own;
    }
    return kind;
  }

  Result<void> AddComponent(const Node& node, const Node& attribute_node, ComponentKind kind,
                            Placement placement, const std::vector<const Node*>& containers,
                            Dialect dialect) {
    const Result<IndexedName> name = ReadName(node);
    if (!name) return name.error();
    if (has_macs_) {
      Note(fmt::format("{}: inside of the MACs, left out", name->name));
      return {};
    }
    const Result<int64_t> instances = Times(node, placement.instances, name->count);
    if (!instances) return instances.error();
    placement.instances = *instances;
    parts_.push_back({name->name, attribute_node.entries.empty() ? &node : &attribute_node});
    Attributes attributes(name->name, attribute_node, containers);
    attributes.Find({"name"});  // flat levels have it among their attributes
    if (kind == ComponentKind::kCompute) {
      Result<Arithmetic> macs =
          timeloop::ReadArithmetic(name->name, attributes, placement, node, accelerator_.notes);
      if (!macs) return macs.error();
      macs_ = std::move(*macs);
      has_macs_ = true;
      return {};
    }
    Result<MemoryLevel> level = timeloop::ReadLevel(name->name, TextOf(node, "class"), attributes,
                                                    placement, dialect, node, accelerator_.notes);
    if (!level) return level.error();
    levels_.push_back({.level = std::move(*level)});
    return {};
  }

  // --- What a level may hold
  // ----------------------------------------------------------------------

  // constraints: {dataspace: {keep: [...], bypass: [...]}} of a 0.4 component. Of components in
  // parallel each holds only what it names.
  Result<void> ReadKeep(const Node& node, bool parallel, Level& level) {
    const Node* constraints = node.Find("constraints");
    const Node* dataspace = constraints == nullptr ? nullptr : constraints->Find("dataspace");
    return dataspace == nullptr ? Result<void>() : ReadKeepLists(*dataspace, parallel, level);
  }

  // What a node demands of mappings; `level` is empty unless it stores something.
  Result<void> ReadDemands(const Node& node, const std::string& level) {
    const Node* constraints = node.Find("constraints");
    if (constraints == nullptr) return {};
    return timeloop::ReadNodeConstraints(*constraints, level, fan_owner_, accelerator_.constraints);
  }

  // `keep_only` lists what stays, `bypass` what does not. `keep` alone restricts nothing, unless it
  // is to be read as `keep_only`.
  Result<void> ReadKeepLists(const Node& map, bool only_kept, Level& level) {
    std::vector<std::string> kept = level.keep.value_or(AllTensors());
    if (const Node* only = map.Find(only_kept ? "keep" : "keep_only")) {
      const Result<std::vector<std::string>> tensors = ReadTensors(*only);
      if (!tensors) return tensors.error();
      std::erase_if(kept, [&](const std::string& tensor) {
        return std::count(tensors->begin(), tensors->end(), tensor) == 0;
      });
    }
    if (const Node* bypass = map.Find("bypass")) {
      const Result<std::vector<std::string>> tensors = ReadTensors(*bypass);
      if (!tensors) return tensors.error();
      std::erase_if(kept, [&](const std::string& tensor) {
        return std::count(tensors->begin(), tensors->end(), tensor) > 0;
      });
    }
    if (kept.size() < kTensorNames.size()) level.keep = std::move(kept);
    return {};
  }

  static Result<std::vector<std::string>> ReadTensors(const Node& node) {
    std::vector<std::string> tensors;
    if (node.kind != Node::Kind::kSequence) {
      return node.ErrorHere(ErrorKind::kBadValue, "expected a list of tensors");
    }
    for (const Node& item : node.items) {
      const Result<std::string> tensor = item.AsString();
      if (!tensor) return tensor.error();
      if (std::count(kTensorNames.begin(), kTensorNames.end(), *tensor) == 0) {
        return item.ErrorHere(ErrorKind::kUnknownName,
                              fmt::format("unknown tensor {}", Quoted(*tensor)),
                              DidYouMean(*tensor, kTensorNames));
      }
      tensors.push_back(*tensor);
    }
    return tensors;
  }

  // Constraints beside the architecture: demands on mappings, and what levels cannot hold.
  Result<void> ReadConstraints() {
    Result<Constraints> demands = timeloop::ReadConstraints(root_, [&](const std::string& target) {
      return target == macs_.name || FindLevel(target) != levels_.end();
    });
    if (!demands) return demands.error();
    Constraints& all = accelerator_.constraints;
    std::ranges::move(demands->demands, std::back_inserter(all.demands));
    for (const std::vector<std::string>& notes : {demands->notes, all.notes}) {
      for (const std::string& note : notes) Note(note);
    }
    all.notes.clear();
    if (Result<void> ok = ReadBypasses(); !ok) return ok;
    // What a level cannot hold need not be demanded of mappings.
    std::erase_if(all.demands, [&](const Constraints::Demand& demand) {
      if (demand.rule != Constraints::Rule::kAllowed || demand.values.front() != "bypass" ||
          demand.decision.ends_with('*')) {
        return false;
      }
      return std::ranges::any_of(levels_, [&](const Level& level) {
        const std::string prefix = fmt::format("keep_{}_", level.level.name);
        return level.keep && demand.decision.starts_with(prefix) &&
               std::ranges::count(*level.keep, demand.decision.substr(prefix.size())) == 0;
      });
    });
    return {};
  }

  std::vector<Level>::iterator FindLevel(const std::string& name) {
    return std::find_if(levels_.begin(), levels_.end(),
                        [&](const Level& level) { return level.level.name == name; });
  }

  Result<void> ReadBypasses() {
    const Node* constraints = root_.Find("architecture_constraints");
    if (constraints == nullptr) constraints = root_.Find("constraints");
    if (constraints == nullptr) return {};
    const Node* targets = constraints->Find("targets");
    const Node& list = targets == nullptr ? *constraints : *targets;
    for (const Node& directive : list.items) {
      const std::string type = TextOf(directive, "type"), target = TextOf(directive, "target");
      const auto level = FindLevel(target);
      const bool bypass = type == "bypass" || type == "dataspace" || type == "datatype";
      if (!bypass || level == levels_.end()) continue;
      if (Result<void> ok = ReadKeepLists(directive, /*only_kept=*/false, *level); !ok) return ok;
    }
    return {};
  }

  // Energies and areas beside the architecture.
  Result<void> ReadReferenceTables() {
    const auto note = [&](const Result<std::vector<std::string>>& notes) -> Result<void> {
      if (!notes) return notes.error();
      for (const std::string& line : *notes) Note(line);
      return {};
    };
    if (root_.Find("ERT") != nullptr) {
      const Result<EnergyTable> table = ParseEnergyTable(root_);
      if (!table) return table.error();
      if (Result<void> ok = note(ApplyEnergyTable(*table, accelerator_)); !ok) return ok;
    }
    if (root_.Find("ART") == nullptr) return {};
    const Result<AreaTable> table = ParseAreaTable(root_);
    if (!table) return table.error();
    return note(ApplyAreaTable(*table, accelerator_));
  }

  void ListOtherKeys() {
    for (const Node::Entry& entry : root_.entries) {
      if (entry.key == "architecture" || entry.key == "arch" || entry.key == "constraints" ||
          entry.key == "architecture_constraints" || entry.key == "mapspace_constraints" ||
          entry.key == "mapspace" || entry.key == "variables" || entry.key == "components" ||
          entry.key == "compound_components" || entry.key == "ERT" || entry.key == "ART" ||
          entry.key == "ERT_summary" || entry.key == "ART_summary") {
        continue;
      }
      Note(fmt::format("'{}' on line {} is not part of the accelerator", entry.key,
                       entry.key_where.line));
    }
  }

  const Node& root_;
  Accelerator accelerator_;
  std::vector<Level> levels_;  // from the outside in
  Arithmetic macs_;
  bool has_macs_ = false;
  std::string fan_owner_;  // the level whose children the node at hand multiplies
  Dialect tree_dialect_ = Dialect::kBefore04;
  std::vector<NamedPart> parts_;
};

Result<Accelerator> ReadTimeloop(std::string_view bytes, const std::string& file) {
  const Result<std::string> text = ToText(std::string(bytes), file);
  if (!text) return text.error();
  Result<Node> root = ParseDocument(*text, file);
  if (!root) return root.error();
  ResolveMerges(*root);
  if (Result<void> resolved = timeloop::ResolveVariables(*root); !resolved) return resolved.error();
  return Reader(*root, file).Read();
}

// A key `architecture` or `arch` at the margin of YAML, or quoted in JSON.
bool Recognises(std::string_view bytes) {
  for (const std::string_view key : {"architecture", "arch"}) {
    for (size_t at = bytes.find(key); at != std::string_view::npos; at = bytes.find(key, at + 1)) {
      const bool quoted = at > 0 && bytes[at - 1] == '"';
      const bool margin = at == 0 || bytes[at - 1] == '\n' || bytes.substr(0, at) == "\xef\xbb\xbf";
      size_t after = at + key.size();
      if (quoted && after < bytes.size() && bytes[after] == '"') ++after;
      after = bytes.find_first_not_of(" \t", after);
      if ((quoted || margin) && after != std::string_view::npos && bytes[after] == ':') return true;
    }
  }
  return false;
}

bool RecognisesNodes(std::string_view bytes) {
  const auto has = [&](std::string_view tag) { return bytes.find(tag) != std::string_view::npos; };
  return Recognises(bytes) && (has("!Component") || has("!Container"));
}

}  // namespace

extern const AcceleratorFormat kTimeloopAcceleratorFormat = {
    .name = "timeloop-arch",
    .summary = "Timeloop architectures: flat levels, trees (0.2, 0.3); writes flat levels",
    .extensions = {".yaml", ".yml", ".json"},
    .recognises = Recognises,
    .read = ReadTimeloop,
    .write = [](const Accelerator& accelerator) {
      return ExportTimeloop(accelerator, TimeloopVersion::k03);
    }};

extern const AcceleratorFormat kTimeloop04AcceleratorFormat = {
    .name = "timeloop-arch-0.4",
    .summary = "Timeloop architectures as tagged nodes (0.4, common part)",
    .extensions = {".yaml", ".yml"},
    .recognises = RecognisesNodes,
    .read = ReadTimeloop,
    .write = [](const Accelerator& accelerator) {
      return ExportTimeloop(accelerator, TimeloopVersion::k04);
    }};

}  // namespace tessera
