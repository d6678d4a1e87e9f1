// Places for errors that were found after parsing.
#include "tessera/arch/locate.h"

#include <algorithm>

namespace tessera {
namespace {

const Node* FindField(const Node& part, std::string_view field) {
  if (const Node* value = part.Find(field)) return value;
  const Node* network = part.Find("network");
  return network == nullptr ? nullptr : network->Find(field);
}

}  // namespace

Error Locate(Error error, const Node& root, const std::vector<NamedPart>& parts) {
  error.where = root.where();
  // The last one: of two levels with the same name, the second is the mistake.
  const auto part = std::find_if(parts.rbegin(), parts.rend(), [&](const NamedPart& candidate) {
    return error.message.starts_with(candidate.name + ": ");
  });
  if (part == parts.rend()) return error;
  error.where = part->node->where();
  std::string_view field = std::string_view(error.message).substr(part->name.size() + 2);
  field = field.substr(0, field.find(' '));
  if (const Node* value = FindField(*part->node, field)) error.where = value->where();
  return error;
}

}  // namespace tessera
