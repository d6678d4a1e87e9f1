#include "tessera/arch/template_nodes.h"

#include <utility>

#include <fmt/format.h>

#include "tessera/arch/template_values.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = Node::Kind;

}  // namespace

Node ScalarLike(const Node& like, std::string text) {
  Node node;
  node.kind = Kind::kScalar;
  node.file = like.file;
  node.line = like.line;
  node.column = like.column;
  node.scalar = std::move(text);
  return node;
}

Node Plain(Node node) {
  if (node.kind != Kind::kScalar || node.quoted) return node;
  const bool has_prefix = !node.scalar.empty() && std::string_view("KMG").find(
                                                      node.scalar.back()) != std::string_view::npos;
  if (!has_prefix) return node;
  if (const std::optional<double> number = ParseNumber(node.scalar))
    node.scalar = NumberText(*number);
  return node;
}

static std::string ScalarText(const Node& node) {
  const bool number = ParseNumber(node.scalar).has_value();
  if (!node.quoted && number) return node.scalar;
  const std::string text = YamlScalar(node.scalar);
  return node.quoted && !text.starts_with('"') ? fmt::format("\"{}\"", text) : text;
}

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

std::string ItemName(const Node& item, size_t index) {
  const Node* name = item.Find("name");
  return name != nullptr && name->kind == Kind::kScalar ? name->scalar
                                                        : fmt::format("{}", index + 1);
}

std::string JoinPath(const std::string& path, std::string_view key) {
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

Node* FindIn(Node& node, std::string_view key) {
  for (Node::Entry& entry : node.entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

}  // namespace tessera
