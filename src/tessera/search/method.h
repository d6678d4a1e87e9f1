// What is known of a method by name: one descriptor for every method of the program, whether it
// searches one space, decides hardware and schedules together, or proves. A method is one file that
// ends in a declaration of its name, summary, capabilities and parameters, and one line in the list
// of its folder (search/methods.cc, coopt/methods.cc, mapper/methods.cc). Command line, --help,
// docs, Python and the conformance tests read those lists.
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

// The other kind of searcher, whose points are accelerators with a schedule for every layer. Named
// here because a descriptor says of every method how it is made; defined in coopt/searcher.h.
namespace coopt {
class JointSearcher;
struct JointSetup;
}  // namespace coopt

// The task that a searcher is made for.
struct SearchSetup {
  // Outlives the searcher.
  const DecisionSpace& space;

  // Equal seeds give equal proposals. Default: 1.
  uint64_t seed = 1;

  // Samples that the run may take; schedules and shares refer to it. Default: 20'000.
  int64_t samples = 20'000;

  // Good points of similar problems, best first, translated into this space; for methods that take
  // hints. Default: none.
  std::vector<Point> hints = {};
};

template <typename Made, typename Setup>
using MakeMethod =
    std::function<Result<std::unique_ptr<Made>>(const Setup& setup, const Assignments& settings)>;

struct MethodInfo {
  std::string_view name;     // "random", as in --method
  std::string_view summary;  // one line for lists and --help
  std::vector<ParameterInfo> parameters = {};

  // Whether it makes use of SearchSetup::hints. Default: false.
  bool takes_hints = false;

  // Whether it ends with a proof that nothing is better. Default: false.
  bool proves = false;

  // Parameters whose values are names of files; they have to travel with a run. Default: none.
  std::vector<std::string_view> file_parameters = {};

  // The method of one space that this one is for hardware and schedules together. Default: none.
  std::string_view joint_version_of = {};

  // How it is made; empty where it does not work on such a problem. A method without either is
  // carried out by the command that offers it.
  MakeMethod<Searcher, SearchSetup> make = {};
  MakeMethod<coopt::JointSearcher, coopt::JointSetup> make_joint = {};
};

// "one space", "hardware and schedules" or "proof": what a method works on.
std::string_view WorksOn(const MethodInfo& method);

template <typename Made, typename Setup, typename Method, typename Options>
MakeMethod<Made, Setup> MakerOf(std::string_view name, const ParameterList<Options>& parameters) {
  return [name, parameters](const Setup& setup,
                            const Assignments& settings) -> Result<std::unique_ptr<Made>> {
    const Result<Options> options =
        ReadOptions("method " + std::string(name), parameters, settings);
    if (!options) return options.error();
    if constexpr (requires { Method::Make(setup, *options); }) {
      return Method::Make(setup, *options);
    } else {
      return std::unique_ptr<Made>(std::make_unique<Method>(setup, *options));
    }
  };
}

// Declares a method, with its name, summary and capabilities in `info`. `Method` is made from a
// setup and its options, either by its constructor or, where that can fail, by
// Result<std::unique_ptr<Searcher>> Method::Make.
template <typename Method, typename Options>
MethodInfo DeclareMethod(MethodInfo info, const ParameterList<Options>& parameters) {
  info.parameters = Describe(parameters);
  if constexpr (std::derived_from<Method, Searcher>) {
    info.make = MakerOf<Searcher, SearchSetup, Method>(info.name, parameters);
  } else {
    info.make_joint =
        MakerOf<coopt::JointSearcher, coopt::JointSetup, Method>(info.name, parameters);
  }
  return info;
}

// Methods that a command offers, in the order of `tessera list methods`.
class MethodList {
 public:
  // `what` names their kind in messages: "search method". The methods outlive the list.
  MethodList(std::string_view what, std::vector<const MethodInfo*> methods)
      : what_(what), methods_(std::move(methods)) {}

  auto begin() const { return methods_.begin(); }
  auto end() const { return methods_.end(); }
  std::vector<std::string> Names() const;
  Result<const MethodInfo*> Find(std::string_view name) const;

 private:
  std::string_view what_;
  std::vector<const MethodInfo*> methods_;
};

std::vector<const MethodInfo*> PointersTo(std::span<const MethodInfo> methods);

// The methods of one space.
const MethodList& SearchMethods();

// A method with settings as users write it: "ga", "ga:population=50:elites=5".
struct MethodChoice {
  const MethodInfo* method = nullptr;
  Assignments assignments = {};

  std::string ToString() const;

  // The values of settings that name files, to be read or written.
  std::vector<std::string*> Files();

  // A searcher of one space. The method has `make`.
  Result<std::unique_ptr<Searcher>> Make(const SearchSetup& setup) const {
    return method->make(setup, assignments);
  }
};

// Unknown methods and parameters and values out of range are errors with a hint.
Result<MethodChoice> ParseMethodChoice(std::string_view text,
                                       const MethodList& methods = SearchMethods());

}  // namespace tessera

#endif  // TESSERA_SEARCH_METHOD_H_
