// A row is read as the row of a mapping that has no loops yet.
#include "tessera/search/exact/row.h"

#include <utility>

#include "tessera/cost.h"
#include "tessera/cost/loopnest/row.h"

namespace tessera::exact {
namespace {

Node Map(std::vector<Node::Entry> entries) {
  Node node{.kind = Node::Kind::kMap, .entries = {}};
  node.entries = std::move(entries);
  return node;
}

// {levels: [{keep: [...]}, ...]}, one per level of the machine; all tensors where the row says
// nothing.
Node EmptyMapping(const Node& row) {
  const Node* keep = row.Find("keep");
  const Node* arch = row.Find("arch");
  const Node* levels = arch == nullptr ? nullptr : arch->Find("levels");
  Node list{.kind = Node::Kind::kSequence, .entries = {}};
  const size_t count = keep != nullptr     ? keep->items.size()
                       : levels != nullptr ? levels->items.size()
                                           : 0;
  for (size_t i = 0; i < count; ++i) {
    std::vector<Node::Entry> level;
    if (keep != nullptr) level.push_back({"keep", {}, keep->items[i]});
    list.items.push_back(Map(std::move(level)));
  }
  return Map({{"levels", {}, std::move(list)}});
}

}  // namespace

Result<ProblemRow> ReadProblemRow(const Node& node) {
  if (node.kind != Node::Kind::kMap) {
    return node.ErrorHere(ErrorKind::kBadValue, "a row must be an object");
  }
  Node whole = node;
  std::erase_if(whole.entries, [](const Node::Entry& entry) { return entry.key == "mapping"; });
  whole.entries.push_back({"mapping", node.where(), EmptyMapping(node)});
  Result<loopnest::Row> row = loopnest::ReadRow(whole);
  if (!row) return row.error();
  return ProblemRow{.id = row->id,
                    .problem = row->problem,
                    .machine = std::move(row->machine),
                    .keep = KeepSets(row->mapping)};
}

}  // namespace tessera::exact
