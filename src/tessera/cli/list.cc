// tessera list: what there is to choose from, read from the registries.
#include <array>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tessera/arch/format.h"
#include "tessera/cli/command.h"
#include "tessera/cli/commands.h"
#include "tessera/cost/models.h"
#include "tessera/report/accelerator_report.h"
#include "tessera/workload/format.h"

namespace tessera {
namespace {

struct ListArguments {
  std::string what;
};

Table CommandTable() {
  Table table({"name", "summary"});
  for (const Command* command : Commands()) table.Add(command->name, command->summary);
  return table;
}

Table FormatTable() {
  Table table({"name", "of", "reads", "writes", "extensions", "summary"});
  const auto add = [&](std::string_view of, const auto& format) {
    table.Add(format.name, of, format.read != nullptr, format.write != nullptr,
              fmt::format("{}", fmt::join(format.extensions, " ")), format.summary);
  };
  for (const NetworkFormat* format : NetworkFormats()) add("networks", *format);
  for (const AcceleratorFormat* format : AcceleratorFormats()) add("accelerators", *format);
  return table;
}

Table AcceleratorTable() {
  Table table({"name", "size", "model", "source"});
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    const Result<Accelerator> accelerator = LoadAccelerator(std::string(preset.name));
    if (!accelerator) continue;  // a test reads every preset
    table.Add(preset.name, SizeText(*accelerator), accelerator->hierarchy ? "loopnest" : "maestro",
              accelerator->source);
  }
  return table;
}

Table ModelTable() {
  Table table({"name", "summary"});
  for (const CostModelInfo* model : CostModels()) table.Add(model->name, model->summary);
  return table;
}

// Everything that can be listed. A new registry is one line here.
struct Listing {
  std::string_view name;
  Table (*table)();
};
constexpr std::array kListings = {
    Listing{"formats", FormatTable},
    Listing{"accelerators", AcceleratorTable},
    Listing{"models", ModelTable},
    Listing{"commands", CommandTable},
};

std::vector<std::string> ListingNames() {
  std::vector<std::string> names;
  for (const Listing& listing : kListings) names.emplace_back(listing.name);
  return names;
}

std::vector<Flag> Flags(ListArguments& arguments) {
  return {{.name = "WHAT",
           .target = &arguments.what,
           .help = "what to list",
           .required = true,
           .choices = ListingNames,
           .closed = true}};
}

Result<void> Run(const ListArguments& arguments, Context& context) {
  for (const Listing& listing : kListings) {
    if (listing.name == arguments.what) return context.output.Show(listing.table(), listing.name);
  }
  return {};
}

}  // namespace

extern const Command kListCommand = {
    .name = "list",
    .summary = "what there is to choose from",
    .examples = {{"tessera list formats", "file formats that can be read and written"},
                 {"tessera list accelerators", "built-in machines"},
                 {"tessera list models --json", "cost models, for a program"}},
    .bind = Bind<ListArguments, Flags, Run>};

}  // namespace tessera
