// nlohmann's event parser turned into Node trees.
#include "tessera/base/json.h"

#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

// Builds the tree top-down: the stack holds the open collections, and nodes stay where they are
// because only the last child of each grows.
class Builder final : public nlohmann::json_sax<nlohmann::json> {
 public:
  Builder(const std::string& file, int64_t line, const DocumentLimits& limits)
      : file_(file), line_(line), limits_(limits) {}

  Node TakeRoot() { return std::move(root_); }
  const Error& error() const { return error_; }

  bool null() override { return Add({}); }
  bool boolean(bool value) override { return AddScalar(value ? "true" : "false"); }
  bool number_integer(number_integer_t value) override { return AddScalar(std::to_string(value)); }
  bool number_unsigned(number_unsigned_t value) override {
    return AddScalar(std::to_string(value));
  }
  bool number_float(number_float_t /*value*/, const string_t& text) override {
    // The parser writes the decimal point of the program's locale over that of the file.
    std::string number = text;
    const size_t point = number.find_first_not_of("+-0123456789eE");
    if (point != std::string::npos) number[point] = '.';
    return AddScalar(std::move(number));
  }
  bool string(string_t& value) override { return AddScalar(std::move(value), /*quoted=*/true); }
  bool binary(binary_t& /*value*/) override { return false; }
  bool start_object(std::size_t /*size*/) override { return Open(Node::Kind::kMap); }
  bool start_array(std::size_t /*size*/) override { return Open(Node::Kind::kSequence); }
  bool end_object() override { return Close(); }
  bool end_array() override { return Close(); }
  bool key(string_t& name) override {
    if (open_.back()->Find(name) != nullptr) {
      return Fail(ErrorKind::kSyntax, fmt::format("key {} occurs twice", Quoted(name)));
    }
    open_.back()->entries.push_back({.key = std::move(name), .key_where = Place(), .value = {}});
    return true;
  }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*exception*/) override {
    error_ = {.kind = ErrorKind::kSyntax,
              .message = "this is not JSON",
              .where = {.file = file_, .line = line_, .column = static_cast<int64_t>(position)}};
    return false;
  }

 private:
  Where Place() const { return {.file = file_, .line = line_}; }

  bool Fail(ErrorKind kind, std::string message) {
    error_ = {.kind = kind, .message = std::move(message), .where = Place()};
    return false;
  }

  bool AddScalar(std::string text, bool quoted = false) {
    Node node;
    node.kind = Node::Kind::kScalar;
    node.scalar = std::move(text);
    node.quoted = quoted;
    return Add(std::move(node));
  }

  // Puts a node where the next value belongs.
  bool Add(Node node) {
    if (++nodes_ > limits_.max_nodes) {
      return Fail(ErrorKind::kBadValue, fmt::format("more than {} values", limits_.max_nodes));
    }
    node.file = file_;
    node.line = line_;
    last_ = Slot();
    *last_ = std::move(node);
    return true;
  }

  Node* Slot() {
    if (open_.empty()) return &root_;
    Node& parent = *open_.back();
    if (parent.kind == Node::Kind::kMap) return &parent.entries.back().value;
    return &parent.items.emplace_back();
  }

  bool Open(Node::Kind kind) {
    if (std::ssize(open_) >= limits_.max_depth) {
      return Fail(ErrorKind::kBadValue, fmt::format("nested more than {} deep", limits_.max_depth));
    }
    Node node;
    node.kind = kind;
    if (!Add(std::move(node))) return false;
    open_.push_back(last_);
    return true;
  }

  bool Close() {
    open_.pop_back();
    return true;
  }

  const std::string& file_;
  const int64_t line_;
  const DocumentLimits limits_;
  Node root_;
  std::vector<Node*> open_;
  Node* last_ = nullptr;
  int64_t nodes_ = 0;
  Error error_;
};

}  // namespace

Result<Node> ParseJson(std::string_view text, const std::string& file, int64_t line,
                       const DocumentLimits& limits) {
  Builder builder(file, line, limits);
  if (!nlohmann::json::sax_parse(text, &builder)) return builder.error();
  return builder.TakeRoot();
}

}  // namespace tessera
