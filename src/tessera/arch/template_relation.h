// Relations between numbers of a machine template: "rows * columns <= 1024".
#ifndef TESSERA_ARCH_TEMPLATE_RELATION_H_
#define TESSERA_ARCH_TEMPLATE_RELATION_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Numbers, names, + - * /, parentheses and one comparison: < <= > >= == !=.
class TemplateRelation {
 public:
  // The number by which `value` below knows a name; the error says what names there are.
  using Lookup = std::function<Result<size_t>(std::string_view name, const Where& where)>;

  // `node` holds the text; errors point into it.
  static Result<TemplateRelation> Parse(const Node& node, const Lookup& lookup);

  // Whether it holds for these values of its names. What divides by 0 does not hold.
  bool Holds(const std::function<double(size_t)>& value) const;

  const std::string& text() const { return text_; }

 private:
  friend class RelationParser;
  enum class Kind : uint8_t { kNumber, kName, kOperator };
  struct Step {
    Kind kind = Kind::kNumber;
    double number = 0;
    size_t name = 0;
    char operation = '+';
  };
  double Value(const std::vector<Step>& steps, const std::function<double(size_t)>& value) const;

  std::string text_;
  std::vector<Step> left_, right_;  // postfix
  std::string comparison_;
};

}  // namespace tessera

#endif  // TESSERA_ARCH_TEMPLATE_RELATION_H_
