// One component of a Timeloop architecture: its attributes turned into a memory level or into the
// MACs, by the rules of Timeloop itself.
#ifndef TESSERA_ARCH_TIMELOOP_LEVEL_H_
#define TESSERA_ARCH_TIMELOOP_LEVEL_H_

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera::timeloop {

// Which rule gives the words per access where only a width is given: in version 0.4 all words of
// the width are one block; before it they are a cluster of instances.
enum class Dialect { kBefore04, k04 };

// The attributes of one component. Names match with '-' and '_' alike; an attribute of the
// component hides one that it inherits from its containers.
class Attributes {
 public:
  // `what` names the component in notes. The nodes must outlive this.
  Attributes(std::string what, const Node& own, const std::vector<const Node*>& inherited = {});

  // The value of the first of `names` that is there and not null, or nullptr.
  const Node* Find(std::initializer_list<std::string_view> names);

  Result<void> Read(std::initializer_list<std::string_view> names, int64_t& value);
  Result<void> Read(std::initializer_list<std::string_view> names, std::optional<int64_t>& value);
  Result<void> Read(std::initializer_list<std::string_view> names, Decimal& value);
  Result<void> Read(std::initializer_list<std::string_view> names, std::optional<Decimal>& value);

  // A note for each of the component's own attributes that nobody asked for.
  void ListUnused(std::vector<std::string>& notes) const;

 private:
  std::string what_;
  const Node& own_;
  std::vector<const Node*> inherited_;
  std::vector<std::string_view> asked_;
};

// Instances of a component, as far as the place in the file says.
struct Placement {
  int64_t instances = 1;
  // Set where the file fixes the mesh (version 0.4); otherwise attributes may.
  std::optional<int64_t> mesh_x = std::nullopt, mesh_y = std::nullopt;
};

// What kind of component a class name stands for.
enum class ComponentKind { kStorage, kCompute, kOther };
ComponentKind KindOfClass(std::string_view class_name);

// `class_name` may be empty (flat files have none).
Result<MemoryLevel> ReadLevel(const std::string& name, const std::string& class_name,
                              Attributes& attributes, const Placement& placement, Dialect dialect,
                              const Node& node, std::vector<std::string>& notes);

Result<Arithmetic> ReadArithmetic(const std::string& name, Attributes& attributes,
                                  const Placement& placement, const Node& node,
                                  std::vector<std::string>& notes);

}  // namespace tessera::timeloop

#endif  // TESSERA_ARCH_TIMELOOP_LEVEL_H_
