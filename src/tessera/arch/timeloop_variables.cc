// A recursive-descent evaluator in doubles, which hold every size exactly.
#include "tessera/arch/timeloop_variables.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera::timeloop {
namespace {

constexpr int kMaxDepth = 32;  // of parentheses, and of variables that need variables

bool IsNameStart(char c) { return std::isalpha(static_cast<unsigned char>(c)) != 0 || c == '_'; }
bool IsNamePart(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

class Scope;

// What a text is worth: nothing if it is no expression over names that are known.
class Evaluator {
 public:
  Evaluator(std::string_view text, Scope& scope, int depth)
      : text_(text), scope_(scope), depth_(depth) {}

  std::optional<double> Run() {
    const std::optional<double> value = Sum();
    Skip();
    return at_ == text_.size() ? value : std::nullopt;
  }

  // Whether there was anything to compute: a number alone stays as it is written.
  bool computed() const { return computed_; }

 private:
  void Skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool Take(std::string_view token) {
    Skip();
    if (text_.substr(at_, token.size()) != token) return false;
    at_ += token.size();
    return true;
  }

  std::optional<double> Sum() {
    std::optional<double> left = Product();
    while (left) {
      const bool plus = Take("+");
      if (!plus && !Take("-")) return left;
      computed_ = true;
      const std::optional<double> right = Product();
      if (!right) return right;
      left = plus ? *left + *right : *left - *right;
    }
    return left;
  }

  std::optional<double> Product() {
    std::optional<double> left = Power();
    while (left) {
      Skip();
      if (text_.substr(at_, 2) == "**") return left;
      const bool whole = Take("//"), over = !whole && Take("/"),
                 rest = !whole && !over && Take("%");
      if (!whole && !over && !rest && !Take("*")) return left;
      computed_ = true;
      const std::optional<double> right = Power();
      if (!right) return right;
      if (whole) {
        left = std::floor(*left / *right);
      } else if (rest) {
        left = *left - *right * std::floor(*left / *right);
      } else {
        left = over ? *left / *right : *left * *right;
      }
    }
    return left;
  }

  std::optional<double> Power() {
    const std::optional<double> base = Unary();
    if (!base || !Take("**")) return base;
    computed_ = true;
    const std::optional<double> exponent = Nested([&] { return Power(); });
    return exponent ? std::optional(std::pow(*base, *exponent)) : std::nullopt;
  }

  std::optional<double> Unary() {
    if (Take("-")) {
      const std::optional<double> value = Nested([&] { return Unary(); });
      return value ? std::optional(-*value) : std::nullopt;
    }
    if (Take("+")) return Nested([&] { return Unary(); });
    if (Take("(")) {
      computed_ = true;
      const std::optional<double> value = Nested([&] { return Sum(); });
      return value && Take(")") ? value : std::nullopt;
    }
    Skip();
    if (at_ == text_.size()) return std::nullopt;
    return IsNameStart(text_[at_]) ? Name() : Number();
  }

  template <typename Parse>
  std::optional<double> Nested(const Parse& parse) {
    if (++depth_ > kMaxDepth) return std::nullopt;
    const std::optional<double> value = parse();
    --depth_;
    return value;
  }

  std::optional<double> Number() {
    size_t end = at_;
    while (end < text_.size() && (IsNamePart(text_[end]) || text_[end] == '.' ||
                                  ((text_[end] == '-' || text_[end] == '+') && end > at_ &&
                                   (text_[end - 1] == 'e' || text_[end - 1] == 'E')))) {
      ++end;
    }
    const Result<Decimal> number = Decimal::Parse(text_.substr(at_, end - at_));
    if (!number) return std::nullopt;
    at_ = end;
    return number->ToDouble();
  }

  std::optional<double> Name();
  std::optional<double> Call(std::string_view name);

  const std::string_view text_;
  Scope& scope_;
  int depth_;
  size_t at_ = 0;
  bool computed_ = false;
};

// Names that an expression may use: those of a map, then variables.
class Scope {
 public:
  Scope(const Node* variables, const Node* own) : variables_(variables), own_(own) {}

  // `self` is the entry that is being computed, which does not mean itself.
  const Node* Find(std::string_view name) const {
    for (const Node* map : {own_, variables_}) {
      if (map == nullptr) continue;
      for (const Node::Entry& entry : map->entries) {
        if (entry.key != name || &entry.value == self_) continue;
        if (entry.value.kind == Node::Kind::kScalar) return &entry.value;
      }
    }
    return nullptr;
  }

  std::optional<double> Value(std::string_view name, int depth) {
    const Node* node = Find(name);
    if (node == nullptr || depth > kMaxDepth) {
      circle_ = circle_ || node != nullptr;
      return std::nullopt;
    }
    const Node* before = std::exchange(self_, node);
    const std::optional<double> value = Evaluator(node->scalar, *this, depth + 1).Run();
    self_ = before;
    return value;
  }

  void Compute(const Node* self) { self_ = self; }
  bool circle() const { return circle_; }

 private:
  const Node* variables_;
  const Node* own_;
  const Node* self_ = nullptr;
  bool circle_ = false;
};

std::optional<double> Evaluator::Name() {
  size_t end = at_;
  while (end < text_.size() && IsNamePart(text_[end])) ++end;
  const std::string_view name = text_.substr(at_, end - at_);
  at_ = end;
  computed_ = true;
  if (Take("(")) return Call(name);
  return scope_.Value(name, depth_);
}

std::optional<double> Evaluator::Call(std::string_view name) {
  std::vector<double> values;
  do {
    const std::optional<double> value = Nested([&] { return Sum(); });
    if (!value) return std::nullopt;
    values.push_back(*value);
  } while (Take(","));
  if (!Take(")")) return std::nullopt;
  if (name == "min") return *std::min_element(values.begin(), values.end());
  if (name == "max") return *std::max_element(values.begin(), values.end());
  if (name == "pow" && values.size() == 2) return std::pow(values[0], values[1]);
  if (values.size() != 1) return std::nullopt;
  if (name == "ceil") return std::ceil(values[0]);
  if (name == "floor") return std::floor(values[0]);
  if (name == "round") return std::nearbyint(values[0]);  // half to even, as in Python
  if (name == "int") return std::trunc(values[0]);
  if (name == "abs") return std::abs(values[0]);
  if (name == "sqrt") return std::sqrt(values[0]);
  if (name == "log2") return std::log2(values[0]);
  return std::nullopt;
}

std::string TextOf(double value) {
  constexpr double kExact = 9007199254740992.0;  // 2^53
  if (value == std::floor(value) && std::abs(value) < kExact) {
    return fmt::format("{}", static_cast<int64_t>(value));
  }
  return fmt::format("{}", value);
}

Result<void> ResolveMap(const Node* variables, Node& map) {
  const Node original = map;  // so that an entry means what was written, not what came of it
  Scope scope(variables, &original);
  for (size_t i = 0; i < map.entries.size(); ++i) {
    Node& node = map.entries[i].value;
    if (node.kind != Node::Kind::kScalar) continue;
    // A name alone may stand for a text, too.
    scope.Compute(&original.entries[i].value);
    if (const Node* named = scope.Find(node.scalar)) {
      node.scalar = named->scalar;
      node.quoted = named->quoted;
    }
    Evaluator evaluator(node.scalar, scope, 0);
    const std::optional<double> value = evaluator.Run();
    if (scope.circle()) {
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("{} depends on itself", Quoted(map.entries[i].key)));
    }
    if (!value || !evaluator.computed()) continue;
    if (!std::isfinite(*value)) {
      return node.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("{} is not a number", Quoted(node.scalar)));
    }
    node.scalar = TextOf(*value);
    node.quoted = false;
  }
  return {};
}

Result<void> ResolveBelow(const Node* variables, Node& node) {
  for (Node& item : node.items) {
    if (Result<void> ok = ResolveBelow(variables, item); !ok) return ok;
  }
  for (Node::Entry& entry : node.entries) {
    const bool values = entry.key == "attributes" || entry.key == "spatial";
    const bool map = entry.value.kind == Node::Kind::kMap;
    Result<void> ok =
        values && map ? ResolveMap(variables, entry.value) : ResolveBelow(variables, entry.value);
    if (!ok) return ok;
  }
  return {};
}

}  // namespace

Result<void> ResolveVariables(Node& root) {
  const Node* found = root.Find("variables");
  const std::optional<Node> variables = found == nullptr ? std::nullopt : std::optional(*found);
  for (Node::Entry& entry : root.entries) {
    if (entry.key != "architecture" && entry.key != "arch") continue;
    Result<void> ok = ResolveBelow(variables ? &*variables : nullptr, entry.value);
    if (!ok) return ok;
  }
  return {};
}

}  // namespace tessera::timeloop
