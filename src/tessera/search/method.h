// What is known of a search method by name. A method is one file that ends in a declaration of its
// name, summary and parameters, and one line in methods.cc. Command line, --help, docs, Python and
// the conformance tests read that list.
#ifndef TESSERA_SEARCH_METHOD_H_
#define TESSERA_SEARCH_METHOD_H_

#include <concepts>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/base/parameter.h"
#include "tessera/base/result.h"
#include "tessera/search/searcher.h"
#include "tessera/space/decision_space.h"

namespace tessera {

// The task that a searcher is made for.
struct SearchSetup {
  // Outlives the searcher.
  const DecisionSpace& space;

  // Equal seeds give equal proposals. Default: 1.
  uint64_t seed = 1;

  // Samples that the run may take; schedules and shares refer to it. Default: 20'000.
  int64_t samples = 20'000;

  // Good points of similar problems, best first, translated into this space; methods that can use
  // them do. Default: none.
  std::vector<Point> hints = {};
};

struct SearcherInfo {
  std::string_view name;     // "random", as in --method
  std::string_view summary;  // one line for lists and --help
  std::vector<ParameterInfo> parameters;
  std::function<Result<std::unique_ptr<Searcher>>(const SearchSetup&, const Assignments&)> make;
};

// Declares a method: `Method` is made from a setup and its options, either by its constructor or,
// where that can fail, by Result<std::unique_ptr<Searcher>> Method::Make.
template <typename Method, typename Options>
SearcherInfo DeclareMethod(std::string_view name, std::string_view summary,
                           const ParameterList<Options>& parameters) {
  return {.name = name,
          .summary = summary,
          .parameters = Describe(parameters),
          .make = [name, parameters](const SearchSetup& setup, const Assignments& assignments)
              -> Result<std::unique_ptr<Searcher>> {
            const Result<Options> options =
                ReadOptions("method " + std::string(name), parameters, assignments);
            if (!options) return options.error();
            if constexpr (requires { Method::Make(setup, *options); }) {
              return Method::Make(setup, *options);
            } else {
              return std::unique_ptr<Searcher>(std::make_unique<Method>(setup, *options));
            }
          }};
}

// All methods, in the order of `tessera list methods`.
std::span<const SearcherInfo> SearchMethods();

Result<const SearcherInfo*> FindSearchMethod(std::string_view name);

// A method with settings as users write it: "ga", "ga:population=50:elites=5".
struct MethodChoice {
  const SearcherInfo* method = nullptr;
  Assignments assignments = {};

  std::string ToString() const;
  Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup) const {
    return method->make(setup, assignments);
  }
};

// Unknown methods and parameters and values out of range are errors with a hint.
Result<MethodChoice> ParseMethodChoice(std::string_view text);

}  // namespace tessera

#endif  // TESSERA_SEARCH_METHOD_H_
