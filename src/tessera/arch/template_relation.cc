// Parses relations by recursive descent into postfix steps.
#include "tessera/arch/template_relation.h"

#include <array>
#include <cctype>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "tessera/arch/template_values.h"
#include "tessera/base/text.h"

namespace tessera {

class RelationParser {
 public:
  RelationParser(const Node& node, const TemplateRelation::Lookup& lookup)
      : node_(node), lookup_(lookup), text_(node.scalar) {}

  Result<TemplateRelation> Parse() {
    TemplateRelation relation;
    relation.text_ = std::string(text_);
    if (Result<void> left = Sum(relation.left_); !left) return left.error();
    Skip();
    constexpr std::array<std::string_view, 6> kComparisons = {"<=", ">=", "==", "!=", "<", ">"};
    for (const std::string_view comparison : kComparisons) {
      if (!text_.substr(at_).starts_with(comparison)) continue;
      relation.comparison_ = comparison;
      at_ += comparison.size();
      break;
    }
    if (relation.comparison_.empty()) return Wrong("expected a comparison: < <= > >= == !=");
    if (Result<void> right = Sum(relation.right_); !right) return right.error();
    Skip();
    if (at_ < text_.size()) return Wrong("nothing may follow the second side");
    return relation;
  }

 private:
  using Steps = std::vector<TemplateRelation::Step>;
  using Kind = TemplateRelation::Kind;

  void Skip() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  Where Here() const {
    Where where = node_.where();
    // Text in quotes starts after the first of them.
    where.column += static_cast<int64_t>(at_) + (node_.quoted ? 1 : 0);
    return where;
  }

  Error Wrong(std::string message) const {
    return {.kind = ErrorKind::kSyntax,
            .message = std::move(message),
            .where = Here(),
            .hint = "for example: rows * columns <= 1024"};
  }

  // Terms of one precedence, from the left.
  template <typename Part>
  Result<void> Chain(Steps& steps, std::string_view operators, const Part& part) {
    if (Result<void> first = part(); !first) return first;
    while (true) {
      Skip();
      if (at_ == text_.size() || operators.find(text_[at_]) == std::string_view::npos) return {};
      const char operation = text_[at_++];
      if (Result<void> next = part(); !next) return next;
      steps.push_back({.kind = Kind::kOperator, .operation = operation});
    }
  }

  Result<void> Sum(Steps& steps) {
    return Chain(steps, "+-", [&] { return Product(steps); });
  }
  Result<void> Product(Steps& steps) {
    return Chain(steps, "*/", [&] { return Atom(steps); });
  }

  Result<void> Atom(Steps& steps) {
    Skip();
    if (at_ == text_.size()) return Wrong("expected a number or a name at the end");
    if (text_[at_] == '(') return InParentheses(steps);
    const size_t begin = at_;
    const auto is_word = [&](size_t i) {
      const auto c = static_cast<unsigned char>(text_[i]);
      return std::isalnum(c) != 0 || c == '_' || c == '.';
    };
    // A minus between letters belongs to the name: L-2 is one, L - 2 is not.
    while (at_ < text_.size() &&
           (is_word(at_) || (text_[at_] == '-' && at_ > begin && at_ + 1 < text_.size() &&
                             is_word(at_ - 1) && is_word(at_ + 1)))) {
      ++at_;
    }
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) return Wrong("expected a number or a name");
    if (std::isdigit(static_cast<unsigned char>(word[0])) != 0) {
      const std::optional<double> number = ParseNumber(word);
      if (!number) {
        at_ = begin;
        return Wrong(fmt::format("{} is not a number", Quoted(word)));
      }
      steps.push_back({.kind = Kind::kNumber, .number = *number});
      return {};
    }
    const size_t end = at_;
    at_ = begin;
    const Result<size_t> name = lookup_(word, Here());
    at_ = end;
    if (!name) return name.error();
    steps.push_back({.kind = Kind::kName, .name = *name});
    return {};
  }

  Result<void> InParentheses(Steps& steps) {
    // Deep nesting would exhaust the stack.
    constexpr int kDeepest = 50;
    if (++depth_ > kDeepest) return Wrong("parentheses are nested too deeply");
    ++at_;
    if (Result<void> inner = Sum(steps); !inner) return inner;
    Skip();
    if (at_ == text_.size() || text_[at_] != ')') return Wrong("expected ')'");
    ++at_;
    --depth_;
    return {};
  }

  const Node& node_;
  const TemplateRelation::Lookup& lookup_;
  const std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0;
};

Result<TemplateRelation> TemplateRelation::Parse(const Node& node, const Lookup& lookup) {
  if (node.kind != Node::Kind::kScalar) {
    return node.ErrorHere(ErrorKind::kBadValue, "expected a relation",
                          "for example: rows * columns <= 1024");
  }
  return RelationParser(node, lookup).Parse();
}

double TemplateRelation::Value(const std::vector<Step>& steps,
                               const std::function<double(size_t)>& value) const {
  std::vector<double> stack;
  for (const Step& step : steps) {
    if (step.kind != Kind::kOperator) {
      stack.push_back(step.kind == Kind::kNumber ? step.number : value(step.name));
      continue;
    }
    const double b = stack.back();
    stack.pop_back();
    double& a = stack.back();
    switch (step.operation) {
      case '+': a += b; break;
      case '-': a -= b; break;
      case '*': a *= b; break;
      default: a /= b;
    }
  }
  return stack.back();
}

bool TemplateRelation::Holds(const std::function<double(size_t)>& value) const {
  const double a = Value(left_, value), b = Value(right_, value);
  if (!std::isfinite(a) || !std::isfinite(b)) return false;
  if (comparison_ == "<=") return a <= b;
  if (comparison_ == ">=") return a >= b;
  if (comparison_ == "==") return a == b;
  if (comparison_ == "!=") return a != b;
  return comparison_ == "<" ? a < b : a > b;
}

}  // namespace tessera
