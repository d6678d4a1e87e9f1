// Descriptors of the methods that MapNetwork carries out itself: search/exact has no proposals to
// make and nothing to observe.
#include "tessera/map.h"

namespace tessera {
namespace {

constexpr std::string_view kWhat = "search method";

}  // namespace

const MethodInfo& AutoMethod() {
  static const MethodInfo kMethod = {
      .name = "auto",
      .summary = "a short search, then proofs, layer after layer, within a budget of map",
      .proves = true};
  return kMethod;
}

const MethodInfo& ExactMethod() {
  static const MethodInfo kMethod = {
      .name = "exact",
      .summary = "branch and bound of map: the optimum of every layer, with its proof",
      .proves = true};
  return kMethod;
}

const MethodList& ProofMethods() {
  static const MethodList kList(kWhat, {&AutoMethod(), &ExactMethod()});
  return kList;
}

const MethodList& MapMethods() {
  static const MethodList kList = [] {
    std::vector<const MethodInfo*> methods(SearchMethods().begin(), SearchMethods().end());
    methods.insert(methods.end(), ProofMethods().begin(), ProofMethods().end());
    return MethodList(kWhat, std::move(methods));
  }();
  return kList;
}

}  // namespace tessera
