// Machine templates: accelerator files of Tessera's own format in which any value may be a choice
// (docs/explore.md). A machine of a template is the same file with the choices filled in, read by
// the reader of accelerator files.
//
//   arithmetic: {mesh_x: {choose: [8, 16], as: columns}, ...}
//   levels:
//   - {name: RF, entries: {choose: [128, 256]}, mesh_x: {as: columns}, ...}
//   - {name: GLB, entries: {from: 16K, to: 1M, times: 2}, ...}
#ifndef TESSERA_ARCH_TEMPLATE_H_
#define TESSERA_ARCH_TEMPLATE_H_

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/arch/machine_limits.h"
#include "tessera/arch/template_relation.h"
#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// Something that can be chosen.
struct TemplateField {
  std::string path = {};          // "levels.GLB.entries"
  std::string label = {};         // of `as`; may be empty
  std::vector<Node> values = {};  // scalars, lists, or null for a key that is then left out
  Where where = {};

  std::string Text(size_t value) const;              // "65536", "[Weights]", "none"
  std::optional<double> Number(size_t value) const;  // of numbers
};

// Contract: const members may be called by any number of threads. A choice is a position in the
// values of every field, in the order of the file.
class MachineTemplate {
 public:
  using Choice = std::vector<int32_t>;

  // Errors: with line and column.
  static Result<MachineTemplate> Parse(std::string_view text, const std::string& file);

  // An accelerator file in which the values at these paths are choices: what-if without a template.
  // Values are texts such as 65536.
  using Variation = std::pair<std::string, std::vector<std::string>>;
  static Result<MachineTemplate> Vary(std::string_view text, const std::string& file,
                                      const std::vector<Variation>& variations);

  const std::string& name() const { return name_; }
  std::span<const TemplateField> fields() const { return fields_; }
  const MachineLimits& limits() const { return limits_; }

  // Combinations of all values, numbered from 0; the last field changes fastest.
  int64_t combinations() const { return combinations_; }
  Choice At(int64_t number) const;
  int64_t NumberOf(const Choice& choice) const;

  // Whether a combination is a machine of its own: values of levels that are left out count once,
  // and relations between numbers hold.
  bool Has(const Choice& choice) const;

  // The file of a machine, and the machine. Errors: machines that cannot be, such as meshes that do
  // not divide each other.
  std::string FileOf(const Choice& choice) const;
  Result<TemplateMachine> Machine(const Choice& choice) const;

 private:
  // Where a field's value goes: entries and items from the root on.
  struct Place {
    std::vector<size_t> steps = {};
    size_t field = 0;
    double times = 1;
  };
  // A place whose label may be that of a later field.
  struct Pending {
    std::vector<size_t> steps = {};
    const Node* label = nullptr;
    double times = 1;
  };
  // A number that relations may name: of a field, or one that does not change.
  struct Named {
    std::string path = {};
    std::optional<size_t> field = {};
    double times = 1, number = 0;
  };

  MachineTemplate() = default;
  Result<void> Read();
  Result<void> FindChoices(const Node& node, std::vector<size_t>& steps, const std::string& path,
                           std::vector<Pending>& pending);
  Result<bool> FindChoice(const Node& node, const std::vector<size_t>& steps,
                          const std::string& path, std::vector<Pending>& pending);
  Result<void> AddField(TemplateField field, const std::vector<size_t>& steps);
  Result<void> AddLabels(const std::vector<Pending>& pending);
  Result<void> ReadRelations(const Node& node);
  Result<void> ReadLimits(const Node& node);
  void ListNumbers(const Node& node, const std::string& path, std::vector<size_t>& steps);
  Result<size_t> FindNumber(std::string_view name, const Where& where) const;
  Result<void> CheckFirst() const;
  bool AnyMachineWith(size_t field, int32_t value, int64_t tries) const;
  Node Fill(const Choice& choice) const;
  std::vector<std::vector<size_t>> LevelsLeftOut(const Choice& choice) const;
  bool IsPresence(const std::vector<size_t>& steps) const;

  std::string name_, file_;
  Node root_;
  std::vector<TemplateField> fields_;
  std::vector<Place> places_;
  std::vector<Named> numbers_;
  std::vector<TemplateRelation> relations_;
  MachineLimits limits_;
  int64_t combinations_ = 1;
};

}  // namespace tessera

#endif  // TESSERA_ARCH_TEMPLATE_H_
