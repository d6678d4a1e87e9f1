// Explanations of model `maestro` are there to be checked by hand. Here a program does it: every
// equation with numbers in the text of many random problems must hold.
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "maestro_random.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/explain.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {
namespace {

// Numbers, sizes such as C4 and Y'1, + - * /, parentheses, max, int and ceil. Reads as far as it
// makes sense.
class Formula {
 public:
  explicit Formula(std::string_view text) : text_(text) {}

  std::optional<double> Read() {
    return Chain("+-", [this] { return Term(); });
  }

 private:
  std::optional<double> Term() {
    return Chain("*/", [this] { return Atom(); });
  }

  template <typename Operand>
  std::optional<double> Chain(std::string_view operators, const Operand& operand) {
    std::optional<double> value = operand();
    while (value) {
      const size_t before = at_;
      const char op = Next();
      if (op == 0 || operators.find(op) == std::string_view::npos) break;
      ++at_;
      const std::optional<double> right = operand();
      if (!right) {
        at_ = before;
        break;
      }
      value = op == '+'   ? *value + *right
              : op == '-' ? *value - *right
              : op == '*' ? *value * *right
                          : *value / *right;
    }
    return value;
  }

  std::optional<double> Atom() {
    for (const std::string_view name : {"max(", "int(", "ceil(", "("}) {
      if (Next() != 0 && text_.substr(at_).starts_with(name)) return Call(name);
    }
    if (std::isupper(Next()) != 0) {
      ++at_;
      if (at_ < text_.size() && text_[at_] == '\'') ++at_;
      if (at_ == text_.size() || std::isdigit(text_[at_]) == 0) return std::nullopt;
    }
    const std::string rest(text_.substr(at_));
    char* end = nullptr;
    const double value = std::strtod(rest.c_str(), &end);
    if (end == rest.c_str() || std::isalpha(rest[0]) != 0) return std::nullopt;
    at_ += static_cast<size_t>(end - rest.c_str());
    return value;
  }

  std::optional<double> Call(std::string_view name) {
    at_ += name.size();
    std::optional<double> value = Read();
    while (value && Next() == ',') {
      ++at_;
      const std::optional<double> other = Read();
      if (!other) return std::nullopt;
      value = std::max(*value, *other);
    }
    if (!value || Next() != ')') return std::nullopt;
    ++at_;
    if (name == "int(") return std::trunc(*value);
    return name == "ceil(" ? std::ceil(*value) : *value;
  }

  char Next() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }

  std::string_view text_;
  size_t at_ = 0;
};

// Checks "... 36 = Y3*X3 * (2 + 2)" and returns how many equations there were.
int CheckEquations(std::string_view part) {
  size_t sign = part.find(" = ");
  if (sign == std::string_view::npos) return 0;
  const std::string_view left = part.substr(0, sign);
  const size_t blank = left.rfind(' ');
  const std::string_view number = blank == std::string_view::npos ? left : left.substr(blank + 1);
  const std::optional<double> value = Formula(number).Read();
  const std::optional<double> formula = Formula(part.substr(sign + 3)).Read();
  if (!value || !formula) return 0;
  EXPECT_NEAR(*value, *formula, 1e-9 * std::max(1.0, std::abs(*value))) << part;
  return 1;
}

int CheckText(const std::string& text) {
  int equations = 0;
  for (const std::string_view line : Split(text, '\n')) {
    size_t begin = 0;
    for (size_t i = 0; i <= line.size(); ++i) {
      if (i < line.size() && std::string_view(";[]").find(line[i]) == std::string_view::npos)
        continue;
      equations += CheckEquations(line.substr(begin, i - begin));
      begin = i + 1;
    }
  }
  return equations;
}

void CheckExplanations(Taste taste, uint64_t count) {
  int explained = 0, equations = 0;
  for (uint64_t i = 0; i < count && !testing::Test::HasFailure(); ++i) {
    const MaestroProblem problem = RandomMaestroProblem(5, i, taste);
    const Result<Workload> workload = MakeWorkload(problem.declaration);
    ASSERT_TRUE(workload) << workload.error();
    const Result<std::string> text =
        Explain(*workload, problem.array, problem.version, "random", problem.dataflow);
    if (!text || text->size() > 300'000) continue;
    ++explained;
    equations += CheckText(*text);
    if (testing::Test::HasFailure()) ADD_FAILURE() << *text;
  }
  EXPECT_GT(explained, static_cast<int>(count) / 6);
  EXPECT_GT(equations, 100 * explained);
}

TEST(MaestroExplain, EveryEquationOfSensibleProblemsHolds) {
  CheckExplanations(Taste::kSensible, 200);
}

TEST(MaestroExplain, EveryEquationOfCarelessProblemsHolds) {
  CheckExplanations(Taste::kCareless, 300);
}

TEST(MaestroExplain, TheCheckerFindsMistakes) {
  EXPECT_EQ(Formula("Y'3*X2 * (2 + 3*int(7 / 2)) - 1 words").Read(), 65);
  EXPECT_EQ(Formula("max(1, ceil(9 / 2), 3)  [lanes]").Read(), 5);
  EXPECT_EQ(Formula("words").Read(), std::nullopt);
  EXPECT_EQ(CheckText("a 3 = 1 + 2  [b 6 = 2*3]; c = words"), 2);
}

}  // namespace
}  // namespace tessera::maestro
