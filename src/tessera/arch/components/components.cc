// All components, one line each.
#include <array>

#include <fmt/format.h>

#include "tessera/arch/components/component.h"
#include "tessera/part.h"

namespace tessera {

#define TESSERA_COMPONENTS(PART)         \
  PART(ComponentInfo, kSramComponent)    \
  PART(ComponentInfo, kRegfileComponent) \
  PART(ComponentInfo, kMacComponent)     \
  PART(ComponentInfo, kAdderComponent)   \
  PART(ComponentInfo, kDramComponent)    \
  PART(ComponentInfo, kWireComponent)

TESSERA_COMPONENTS(TESSERA_DECLARE_PART)

std::span<const EmbeddedFile> ComponentFiles();  // made by the build from data/components

namespace {

constexpr double kSmallestNm = 22, kLargestNm = 90;

void Times(std::optional<double>& value, double factor) {
  if (value) *value *= factor;
}

}  // namespace

std::span<const ComponentInfo* const> Components() {
  static const std::array kComponents = {TESSERA_COMPONENTS(TESSERA_PART_ADDRESS)};
  return kComponents;
}

Result<const ComponentInfo*> FindComponent(std::string_view name) {
  std::vector<std::string_view> names;
  for (const ComponentInfo* component : Components()) {
    if (component->name == name) return component;
    names.push_back(component->name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown component {}", Quoted(name)),
               .hint = DidYouMean(name, names)};
}

ComponentFile ComponentData(std::string_view name) {
  for (const EmbeddedFile& file : ComponentFiles()) {
    if (file.name == name) return ReadComponentFile(file.contents);
  }
  constexpr bool kEveryComponentNamesAFileOfData = false;
  TESSERA_CHECK(kEveryComponentNamesAFileOfData);
  return {};
}

Result<void> ScaleToNode(double from_nm, double to_nm, ComponentCost& cost) {
  if (!(to_nm >= kSmallestNm && to_nm <= kLargestNm)) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("node_nm is {}, but must be from {} to {}", to_nm,
                                        kSmallestNm, kLargestNm)};
  }
  if (to_nm == from_nm) return {};
  const double factor = to_nm / from_nm;
  for (std::optional<double>* energy : {&cost.read_pj, &cost.write_pj, &cost.op_pj}) {
    Times(*energy, factor);
  }
  Times(cost.area_um2, factor * factor);
  cost.scaling += fmt::format("; energies times {}/{} nm, areas times its square", to_nm, from_nm);
  return {};
}

}  // namespace tessera
