// yaml-cpp's event parser turned into Node trees; the only file that knows yaml-cpp.
#include "tessera/base/document.h"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <yaml-cpp/emitterstyle.h>
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

// Thrown from inside yaml-cpp's callbacks to leave it; never crosses ParseDocument.
struct Stop {
  Error error;
};

// Builds the tree bottom-up: the open collections are a stack, a finished node goes into the top.
class Builder final : public YAML::EventHandler {
 public:
  Builder(const std::string& file, const DocumentLimits& limits) : file_(file), limits_(limits) {}

  Node TakeRoot() { return std::move(root_); }
  bool has_root() const { return has_root_; }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (has_root_) Fail(mark, ErrorKind::kSyntax, "more than one document in the file");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Place(MakeNode(mark, Node::Kind::kNull), anchor);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      Fail(mark, ErrorKind::kSyntax, "an alias stands inside the value it refers to");
    }
    CountNodes(mark, found->second.size);
    Node copy = found->second.node;
    Place(std::move(copy), YAML::NullAnchor);
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& value) override {
    Node node = MakeNode(mark, Node::Kind::kScalar);
    node.scalar = value;
    node.quoted = tag == "!";  // yaml-cpp's mark of a quoted scalar
    TakeTag(tag, node);
    Place(std::move(node), anchor);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value /*style*/) override {
    Node node = MakeNode(mark, Node::Kind::kSequence);
    TakeTag(tag, node);
    Open(std::move(node), anchor, mark);
  }
  void OnSequenceEnd() override { Close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value /*style*/) override {
    Node node = MakeNode(mark, Node::Kind::kMap);
    TakeTag(tag, node);
    Open(std::move(node), anchor, mark);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct OpenNode {
    Node node;
    YAML::anchor_t anchor;
    int64_t nodes_before;
    bool has_key = false;
    std::string key = {};
    Where key_where = {};
    std::map<std::string, Where> keys = {};  // for duplicates without a quadratic scan
  };
  struct Anchored {
    Node node;
    int64_t size;
  };

  [[noreturn]] void Fail(const YAML::Mark& mark, ErrorKind kind, std::string message) const {
    throw Stop{Error{.kind = kind,
                     .message = std::move(message),
                     .where = {.file = file_, .line = mark.line + 1, .column = mark.column + 1}}};
  }

  // yaml-cpp writes "?" and "!" for nodes without a tag.
  static void TakeTag(const std::string& tag, Node& node) {
    if (tag.size() > 1) node.tag = tag;
  }

  Node MakeNode(const YAML::Mark& mark, Node::Kind kind) {
    CountNodes(mark, 1);
    Node node;
    node.kind = kind;
    node.file = file_;
    node.line = mark.line + 1;
    node.column = mark.column + 1;
    return node;
  }

  void CountNodes(const YAML::Mark& mark, int64_t count) {
    nodes_ += count;
    if (nodes_ > limits_.max_nodes) {
      Fail(mark, ErrorKind::kBadValue,
           fmt::format("more than {} values, repeated aliases included", limits_.max_nodes));
    }
  }

  void Open(Node node, YAML::anchor_t anchor, const YAML::Mark& mark) {
    if (std::ssize(open_) >= limits_.max_depth) {
      Fail(mark, ErrorKind::kBadValue,
           fmt::format("nested more than {} levels deep", limits_.max_depth));
    }
    open_.push_back({.node = std::move(node), .anchor = anchor, .nodes_before = nodes_ - 1});
  }

  void Close() {
    OpenNode closed = std::move(open_.back());
    open_.pop_back();
    if (closed.anchor != YAML::NullAnchor) {
      anchors_[closed.anchor] = {closed.node, nodes_ - closed.nodes_before};
    }
    Place(std::move(closed.node), YAML::NullAnchor);
  }

  void Place(Node node, YAML::anchor_t anchor) {
    if (anchor != YAML::NullAnchor) anchors_[anchor] = {node, 1};
    if (open_.empty()) {
      root_ = std::move(node);
      has_root_ = true;
      return;
    }
    OpenNode& parent = open_.back();
    if (parent.node.kind == Node::Kind::kSequence) {
      parent.node.items.push_back(std::move(node));
    } else if (!parent.has_key) {
      TakeKey(parent, node);
    } else {
      parent.node.entries.push_back(
          {std::move(parent.key), std::move(parent.key_where), std::move(node)});
      parent.has_key = false;
    }
  }

  void TakeKey(OpenNode& parent, const Node& node) const {
    if (node.kind != Node::Kind::kScalar) {
      throw Stop{node.ErrorHere(ErrorKind::kSyntax, "a key must be plain text")};
    }
    const auto [known, fresh] = parent.keys.emplace(node.scalar, node.where());
    if (!fresh) {
      throw Stop{
          node.ErrorHere(ErrorKind::kSyntax, fmt::format("duplicate key {}, first on line {}",
                                                         Quoted(node.scalar), known->second.line))};
    }
    parent.key = node.scalar;
    parent.key_where = node.where();
    parent.has_key = true;
  }

  const std::string& file_;
  const DocumentLimits limits_;
  std::vector<OpenNode> open_;
  std::map<YAML::anchor_t, Anchored> anchors_;
  int64_t nodes_ = 0;
  Node root_;
  bool has_root_ = false;
};

std::string_view KindName(const Node& node) {
  switch (node.kind) {
    case Node::Kind::kNull: return "nothing";
    case Node::Kind::kScalar: return "a value";
    case Node::Kind::kSequence: return "a list";
    case Node::Kind::kMap: return "a map";
  }
  return "";
}

Error Expected(const Node& node, std::string_view what) {
  const std::string found =
      node.kind == Node::Kind::kScalar ? Quoted(node.scalar) : std::string(KindName(node));
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("expected {}, found {}", what, found));
}

std::string WithArticle(std::string_view noun) {
  const bool vowel = !noun.empty() && std::string_view("aeiou").find(noun[0]) < 5;
  return fmt::format("{} {}", vowel ? "an" : "a", noun);
}

// Turns an error about a scalar's text into one at the scalar's place.
Error At(const Node& node, const Error& error) {
  return node.ErrorHere(error.kind, error.message, error.hint);
}

}  // namespace

const Node* Node::Find(std::string_view key) const {
  for (const Entry& entry : entries) {
    if (entry.key == key) return &entry.value;
  }
  return nullptr;
}

Error Node::ErrorHere(ErrorKind error_kind, std::string message, std::string hint) const {
  return Error{
      .kind = error_kind, .message = std::move(message), .where = where(), .hint = std::move(hint)};
}

Result<std::string> Node::AsString() const {
  if (kind != Kind::kScalar) return Expected(*this, "text");
  return scalar;
}

Result<int64_t> Node::AsInt() const {
  if (kind != Kind::kScalar || quoted) return Expected(*this, "an integer");
  const Result<int64_t> value = ParseInt(scalar);
  if (!value) return At(*this, value.error());
  return value;
}

Result<int64_t> Node::AsInt(int64_t least, int64_t most) const {
  const Result<int64_t> value = AsInt();
  if (!value || (*value >= least && *value <= most)) return value;
  return ErrorHere(ErrorKind::kBadValue, fmt::format("{} is outside {}..{}", *value, least, most));
}

Result<double> Node::AsDouble() const {
  if (kind != Kind::kScalar || quoted) return Expected(*this, "a number");
  const Result<double> value = ParseDouble(scalar);
  if (!value) return At(*this, value.error());
  return value;
}

Result<Decimal> Node::AsDecimal() const {
  if (kind != Kind::kScalar || quoted) return Expected(*this, "a number");
  const Result<Decimal> value = Decimal::Parse(scalar);
  if (!value) return At(*this, value.error());
  return value;
}

Result<bool> Node::AsBool() const {
  if (kind == Kind::kScalar && !quoted) {
    if (scalar == "true" || scalar == "True") return true;
    if (scalar == "false" || scalar == "False") return false;
  }
  return Expected(*this, "true or false");
}

Result<Node> ParseDocument(std::string_view text, const std::string& file,
                           const DocumentLimits& limits) {
  // yaml-cpp throws on syntax errors; this is where its exceptions end.
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    Builder builder(file, limits);
    while (parser.HandleNextDocument(builder)) {
    }
    if (!builder.has_root()) {
      return Error{.kind = ErrorKind::kSyntax,
                   .message = "the file holds no values",
                   .where = {.file = file}};
    }
    return builder.TakeRoot();
  } catch (const Stop& stop) {
    return stop.error;
  } catch (const YAML::Exception& exception) {
    return Error{
        .kind = ErrorKind::kSyntax,
        .message = exception.msg,
        .where = {
            .file = file, .line = exception.mark.line + 1, .column = exception.mark.column + 1}};
  }
}

MapReader::MapReader(const Node& node, std::string what) : node_(node), what_(std::move(what)) {}

Result<void> MapReader::Check() const {
  if (node_.kind == Node::Kind::kMap) return {};
  return Expected(node_, fmt::format("a map of the keys of {}", WithArticle(what_)));
}

const Node* MapReader::Find(std::string_view key) {
  asked_.emplace_back(key);
  return node_.Find(key);
}

Result<const Node*> MapReader::Require(std::string_view key) {
  const Node* value = Find(key);
  if (value != nullptr) return value;
  return node_.ErrorHere(ErrorKind::kBadValue, fmt::format("{} without '{}'", what_, key));
}

Result<void> MapReader::RequireFormat(std::string_view name) {
  const Result<const Node*> node = Require("format");
  if (!node) {
    Error error = node.error();
    error.hint = fmt::format("the file starts with 'format: {}'", name);
    return error;
  }
  const Result<std::string> format = (*node)->AsString();
  if (!format) return format.error();
  if (*format == name) return {};
  return (*node)->ErrorHere(ErrorKind::kUnsupported,
                            fmt::format("unknown format {}", Quoted(*format)),
                            fmt::format("this version reads {}", name));
}

Result<void> MapReader::Finish() const {
  for (const Node::Entry& entry : node_.entries) {
    if (std::find(asked_.begin(), asked_.end(), entry.key) == asked_.end()) {
      return Error{
          .kind = ErrorKind::kUnknownName,
          .message = fmt::format("unknown key {} in {}", Quoted(entry.key), WithArticle(what_)),
          .where = entry.key_where,
          .hint = DidYouMean(entry.key, asked_)};
    }
  }
  return {};
}

}  // namespace tessera
