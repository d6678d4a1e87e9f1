// Look-up of operators by domain and name.
#include "tessera/workload/onnx/operators.h"

#include <algorithm>
#include <cctype>
#include <unordered_map>

#include "tessera/result.h"

namespace tessera::onnx {
namespace {

using Table = std::unordered_map<std::string_view, const Operator*>;

void AddTo(Table& table, std::span<const Operator> operators) {
  for (const Operator& entry : operators) TESSERA_CHECK(table.emplace(entry.name, &entry).second);
}

const Table& DefaultDomain() {
  static const Table* const table = [] {
    auto* const made = new Table();
    for (const auto& operators :
         {ConvolutionOperators(), ProductOperators(), AttentionOperators(), PoolingOperators(),
          ElementwiseOperators(), ConstantOperators(), ReshapeOperators(), SelectOperators(),
          ReduceOperators(), NormalizeOperators(), ResizeOperators(), ControlOperators(),
          RecurrentOperators()}) {
      AddTo(*made, operators);
    }
    return made;
  }();
  return *table;
}

const Table& MicrosoftDomain() {
  static const Table* const table = [] {
    auto* const made = new Table();
    AddTo(*made, MicrosoftOperators());
    return made;
  }();
  return *table;
}

}  // namespace

void SameShape(Op& op) { op.Output(0).dims = op.Input(0).dims; }

const Operator* FindOperator(std::string_view domain, std::string_view name) {
  const bool standard = domain.empty() || domain == "ai.onnx";
  if (!standard && domain != "com.microsoft") return nullptr;
  const Table& table = standard ? DefaultDomain() : MicrosoftDomain();
  const auto found = table.find(name);
  return found == table.end() ? nullptr : found->second;
}

std::string LowerCase(std::string_view name) {
  std::string lower(name);
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return lower;
}

std::vector<std::string> OperatorNamesInLowerCase() {
  std::vector<std::string> names;
  for (const Table* const table : {&DefaultDomain(), &MicrosoftDomain()}) {
    for (const auto& [name, unused] : *table) names.push_back(LowerCase(name));
  }
  return names;
}

}  // namespace tessera::onnx
