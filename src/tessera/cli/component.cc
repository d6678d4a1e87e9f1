// tessera component: energy, area, leakage and time of a part, with the source of the numbers.
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/cli/command.h"
#include "tessera/report/component_report.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

struct ComponentArguments {
  ComponentQuestion question;
  bool list = false;
};

std::vector<Flag> Flags(ComponentArguments& arguments) {
  ComponentQuestion& question = arguments.question;
  return {
      {.name = "NAME",
       .target = &question.name,
       .help = "the component: sram, regfile, mac, adder, dram, wire"},
      {.name = "--list", .target = &arguments.list, .help = "all components and what they take"},
      {.name = "--bytes", .target = &question.bytes, .help = "size of a memory", .value = "B"},
      {.name = "--width-bits",
       .target = &question.width_bits,
       .help = "bits of an access, an operand or a word",
       .value = "W"},
      {.name = "--node-nm",
       .target = &question.node_nm,
       .help = "technology node in nanometres",
       .value = "N"},
      {.name = "--kind",
       .target = &question.kind,
       .help = "of arithmetic: int or float; default: int",
       .value = "KIND"},
      {.name = "--type",
       .target = &question.type,
       .help = "of DRAM: ddr4, lpddr4, lpddr5, hbm2, hbm3",
       .value = "TYPE"},
      {.name = "--length-mm",
       .target = &question.length_mm,
       .help = "of a wire; default: 1",
       .value = "L"}};
}

Result<void> Run(const ComponentArguments& arguments, Context& context) {
  if (arguments.list) return context.output.Show(ComponentTable(), "components");
  if (arguments.question.name.empty()) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = "NAME is missing",
                 .hint = "see 'tessera component --list'"};
  }
  Result<ComponentAnswer> answer = AnswerComponent(arguments.question);
  if (!answer) return answer.error();
  if (context.output.json()) {
    context.output.SetAll(std::move(answer->json));
    return {};
  }
  if (Result<void> shown = context.output.Show(answer->table); !shown) return shown;
  return context.output.ShowText(fmt::format("source: {}\n", answer->source));
}

}  // namespace

extern const Command kComponentCommand = {
    .name = "component",
    .summary = "energy, area, leakage and time of a part, with their source",
    .examples = {{"tessera component --list", "all of them and what they take"},
                 {"tessera component sram --bytes 65536 --width-bits 64 --node-nm 22",
                  "a scratchpad, as CACTI computes it"},
                 {"tessera component dram --type hbm2 --width-bits 64 --json",
                  "a transfer of 64 bits, for a program"}},
    .bind = Bind<ComponentArguments, Flags, Run>,
    .details =
        "Accelerator files name components instead of energies (docs/accelerators.md); 'tessera\n"
        "check NAME --explain' shows where every number of a machine comes from. Outside of what\n"
        "was published there is no answer, but an error that says the range.\n"};

}  // namespace tessera
