// Structured text input, YAML or JSON, as a tree whose every node knows where it stands. All
// readers of such files go through here, so limits and messages are the same everywhere.
#ifndef TESSERA_BASE_DOCUMENT_H_
#define TESSERA_BASE_DOCUMENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// One node of a document. Children are owned; copying copies the tree.
struct Node {
  enum class Kind { kNull, kScalar, kSequence, kMap };
  struct Entry;

  Kind kind = Kind::kNull;
  std::string file = {};
  int64_t line = 0, column = 0;
  std::string tag = {};          // "!Component", where the file has one
  std::string scalar = {};       // kScalar
  bool quoted = false;           // kScalar: written in quotes, so never a number
  std::vector<Node> items = {};  // kSequence
  std::vector<Entry> entries;    // kMap, in file order, keys unique

  Where where() const { return {.file = file, .line = line, .column = column}; }

  // The value of a key, or nullptr.
  const Node* Find(std::string_view key) const;

  // An error at this node.
  Error ErrorHere(ErrorKind kind, std::string message, std::string hint = "") const;

  // Typed values; errors name the place and quote what was found.
  Result<std::string> AsString() const;
  Result<int64_t> AsInt() const;
  Result<int64_t> AsInt(int64_t least, int64_t most) const;
  Result<double> AsDouble() const;
  Result<Decimal> AsDecimal() const;
  Result<bool> AsBool() const;
};

struct Node::Entry {
  std::string key;
  Where key_where;
  Node value;
};

struct DocumentLimits {
  // Nesting of sequences and maps. Default: 64.
  int64_t max_depth = 64;

  // Nodes, those of repeated aliases counted again: stops alias bombs. Default: 2'000'000.
  int64_t max_nodes = 2'000'000;
};

// Parses one document from `text`; `file` is what messages call it. Errors: syntax, duplicate
// keys, more than one document, exceeded limits. JSON is read by the same parser.
Result<Node> ParseDocument(std::string_view text, const std::string& file,
                           const DocumentLimits& limits = {});

// Reads a map's keys one by one and then complains about those that nobody asked for:
//
//   MapReader reader(node, "layer");
//   const Node* type = reader.Find("type");
//   ...
//   if (Result<void> done = reader.Finish(); !done) return done.error();
class MapReader {
 public:
  // `what` names the map in messages. The node must outlive the reader.
  MapReader(const Node& node, std::string what);

  // An error unless the node is a map.
  Result<void> Check() const;

  // The value of a key, or nullptr if the file does not have it.
  const Node* Find(std::string_view key);

  // The value of a key that must be there.
  Result<const Node*> Require(std::string_view key);

  // An error unless the key 'format' is there and names the format that this version reads.
  Result<void> RequireFormat(std::string_view name);

  // An error at the first key that was never asked for, with the nearest one that was.
  Result<void> Finish() const;

 private:
  const Node& node_;
  const std::string what_;
  std::vector<std::string> asked_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_DOCUMENT_H_
