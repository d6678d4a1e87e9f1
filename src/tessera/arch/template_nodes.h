// Nodes of template files: finding them, changing them, and writing them as text again.
#ifndef TESSERA_ARCH_TEMPLATE_NODES_H_
#define TESSERA_ARCH_TEMPLATE_NODES_H_

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "tessera/base/document.h"

namespace tessera {

inline constexpr std::string_view kPresent = "present";  // key of a level that may be left out

// A value at the place of another.
Node ScalarLike(const Node& like, std::string text);

// 16K as files have it; what is no number stays.
Node Plain(Node node);

// A node on one line.
std::string FlowText(const Node& node);

// A document with a line for every key of the first two levels, and for every item below them.
std::string FileText(const Node& root);

// The name of an item of a list, or its number from 1.
std::string ItemName(const Node& item, size_t index);

// The path of a key, without the part that all paths have.
std::string JoinPath(const std::string& path, std::string_view key);

// Entries of maps and items of lists, from the root on.
Node& NodeAt(Node& root, std::span<const size_t> steps);

bool IsBool(const Node& node, bool value);

// The value of a key, or null.
Node* FindIn(Node& node, std::string_view key);

}  // namespace tessera

#endif  // TESSERA_ARCH_TEMPLATE_NODES_H_
