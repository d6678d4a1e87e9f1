// The list of methods that choose hardware, one line each, and how a choice becomes a searcher.
#include "tessera/coopt/methods.h"

#include <array>

#include <fmt/format.h>

#include "tessera/coopt/layer_searchers.h"
#include "tessera/part.h"

namespace tessera::coopt {

// In the order of `tessera list methods`.
#define TESSERA_JOINT_METHODS(PART)   \
  PART(MethodInfo, DcocMethod)        \
  PART(MethodInfo, AutotvmMethod)     \
  PART(MethodInfo, ChameleonMethod)   \
  PART(MethodInfo, JointPpoMethod)    \
  PART(MethodInfo, JointGaMethod)     \
  PART(MethodInfo, JointRandomMethod) \
  PART(MethodInfo, ExhaustiveMethod)

TESSERA_JOINT_METHODS(TESSERA_DECLARE_MAKER)

namespace {

constexpr std::string_view kWhat = "co-optimization method";

const MethodInfo* JointVersionOf(const MethodInfo& method) {
  for (const MethodInfo* joint : JointMethods()) {
    if (joint->joint_version_of == method.name) return joint;
  }
  return nullptr;
}

std::string NamesOfJointMethods() {
  std::string names;
  for (const MethodInfo* method : JointMethods()) {
    if (method->make_joint) names += fmt::format("{}{}", names.empty() ? "" : ", ", method->name);
  }
  return names;
}

}  // namespace

const MethodList& JointMethods() {
  static const std::array kMethods = {TESSERA_JOINT_METHODS(TESSERA_MADE_PART)};
  static const MethodList kList(kWhat, PointersTo(kMethods));
  return kList;
}

const MethodList& CooptMethods() {
  static const MethodList kList = [] {
    std::vector<const MethodInfo*> methods(JointMethods().begin(), JointMethods().end());
    methods.insert(methods.end(), SearchMethods().begin(), SearchMethods().end());
    return MethodList(kWhat, std::move(methods));
  }();
  return kList;
}

Result<std::unique_ptr<JointSearcher>> MakeSearcher(const MethodChoice& choice,
                                                    const JointSetup& setup) {
  const MethodInfo& method = *choice.method;
  if (method.make_joint) return method.make_joint(setup, choice.assignments);
  if (method.make && setup.problem.hardware().fixed()) return MakeLayerSearchers(choice, setup);
  if (const MethodInfo* joint = JointVersionOf(method)) {
    return joint->make_joint(setup, choice.assignments);
  }
  return Error{.kind = ErrorKind::kUsage,
               .message = fmt::format("method {} does not decide hardware", method.name),
               .hint = fmt::format("keep one with --hardware, or use {}", NamesOfJointMethods())};
}

}  // namespace tessera::coopt
