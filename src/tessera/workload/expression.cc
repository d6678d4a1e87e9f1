// A recursive-descent evaluator with checked arithmetic.
#include "tessera/workload/expression.h"

#include <optional>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

class Evaluator {
 public:
  Evaluator(std::string_view text, const std::map<std::string, int64_t>& parameters)
      : text_(text), parameters_(parameters) {}

  Result<int64_t> Run() {
    const Result<int64_t> value = Sum();
    if (!value) return value;
    SkipBlanks();
    if (at_ != text_.size()) {
      return ErrorAt(at_, ErrorKind::kSyntax,
                     fmt::format("unexpected {} in an expression", Quoted(text_.substr(at_))));
    }
    return value;
  }

 private:
  // Parentheses and signs nest; a limit keeps the recursion from the stack's end.
  static constexpr int kMaxDepth = 32;

  static Error ErrorAt(size_t at, ErrorKind kind, std::string message, std::string hint = "") {
    return Error{.kind = kind,
                 .message = std::move(message),
                 .where = {.column = static_cast<int64_t>(at) + 1},
                 .hint = std::move(hint)};
  }

  void SkipBlanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
  }

  // The next operator if it is one of `set`, which is then behind us.
  std::optional<char> Take(std::string_view set) {
    SkipBlanks();
    if (at_ == text_.size() || set.find(text_[at_]) == std::string_view::npos) return std::nullopt;
    return text_[at_++];
  }

  Result<int64_t> Sum() {
    Result<int64_t> left = Product();
    while (left) {
      const std::optional<char> op = Take("+-");
      if (!op) return left;
      const size_t op_at = at_ - 1;
      const Result<int64_t> right = Product();
      if (!right) return right;
      left = Finish(*op == '+' ? Checked(*left) + *right : Checked(*left) - *right, op_at);
    }
    return left;
  }

  Result<int64_t> Product() {
    Result<int64_t> left = Factor();
    while (left) {
      const std::optional<char> op = Take("*/");
      if (!op) return left;
      const size_t op_at = at_ - 1;
      const Result<int64_t> right = Factor();
      if (!right) return right;
      left = *op == '*' ? Finish(Checked(*left) * *right, op_at) : Divide(*left, *right, op_at);
    }
    return left;
  }

  static Result<int64_t> Finish(Checked value, size_t op_at) {
    if (value.ok()) return value.value();
    return ErrorAt(op_at, ErrorKind::kOverflow, "the expression does not fit in 64 bits");
  }

  static Result<int64_t> Divide(int64_t left, int64_t right, size_t op_at) {
    if (right == 0) return ErrorAt(op_at, ErrorKind::kBadValue, "division by zero");
    if (right == -1) return Finish(Checked(0) - left, op_at);  // the one division that overflows
    if (left % right != 0) {
      return ErrorAt(op_at, ErrorKind::kBadValue,
                     fmt::format("{} / {} is not an integer", left, right));
    }
    return left / right;
  }

  Result<int64_t> Factor() {
    SkipBlanks();
    const size_t begin = at_;
    if (depth_ >= kMaxDepth) {
      return ErrorAt(begin, ErrorKind::kSyntax,
                     fmt::format("an expression nested more than {} levels deep", kMaxDepth));
    }
    if (const std::optional<char> sign = Take("+-")) {
      ++depth_;
      const Result<int64_t> value = Factor();
      --depth_;
      if (!value || *sign == '+') return value;
      return Finish(Checked(0) - *value, begin);
    }
    if (Take("(")) {
      ++depth_;
      const Result<int64_t> value = Sum();
      --depth_;
      if (!value) return value;
      if (!Take(")")) return ErrorAt(at_, ErrorKind::kSyntax, "expected ')' in an expression");
      return value;
    }
    return Word();
  }

  Result<int64_t> Word() {
    const size_t begin = at_;
    while (at_ < text_.size() && (IsLetter(text_[at_]) || IsDigit(text_[at_]) || text_[at_] == '.'))
      ++at_;
    const std::string_view word = text_.substr(begin, at_ - begin);
    if (word.empty()) {
      const std::string found = at_ == text_.size() ? "nothing" : Quoted(text_.substr(at_));
      return ErrorAt(begin, ErrorKind::kSyntax,
                     fmt::format("expected a number or a parameter, found {}", found));
    }
    if (IsDigit(word[0]) || word[0] == '.') {
      const Result<int64_t> value = ParseInt(word);
      if (!value) return ErrorAt(begin, value.error().kind, value.error().message);
      return value;
    }
    const auto parameter = parameters_.find(std::string(word));
    if (parameter != parameters_.end()) return parameter->second;
    std::vector<std::string_view> names;
    for (const auto& [name, value] : parameters_) names.push_back(name);
    return ErrorAt(begin, ErrorKind::kUnknownName,
                   fmt::format("{} is neither an integer nor a parameter", Quoted(word)),
                   DidYouMean(word, names));
  }

  const std::string_view text_;
  const std::map<std::string, int64_t>& parameters_;
  size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

Result<int64_t> EvaluateExpression(std::string_view text,
                                   const std::map<std::string, int64_t>& parameters) {
  return Evaluator(text, parameters).Run();
}

bool IsParameterName(std::string_view text) {
  if (text.empty() || !IsLetter(text[0])) return false;
  for (const char c : text) {
    if (!IsLetter(c) && !IsDigit(c)) return false;
  }
  return true;
}

}  // namespace tessera
