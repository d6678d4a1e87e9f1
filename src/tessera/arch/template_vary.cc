// What-if without a template: values of an accelerator file become choices.
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/arch/template.h"
#include "tessera/arch/template_nodes.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

}  // namespace

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
    // Nor do most say how wide elements are.
    if (path.starts_with("bits.")) {
      if (FindIn(*root, "bits") != nullptr) {
        node = &*root;
      } else if (FindIn(*node, "bits") == nullptr) {
        Node none = ScalarLike(*root, "");
        none.kind = Kind::kMap;
        node->entries.push_back({"bits", root->where(), std::move(none)});
      }
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

}  // namespace tessera
