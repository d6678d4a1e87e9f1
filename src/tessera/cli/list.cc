// tessera list: what there is to choose from, read from the registries.
#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/accelerator.h"
#include "tessera/cli/choices.h"
#include "tessera/cli/command.h"
#include "tessera/cli/commands.h"
#include "tessera/cooptimize.h"
#include "tessera/cost.h"
#include "tessera/env.h"
#include "tessera/map.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/report/accelerator_report.h"
#include "tessera/runs.h"
#include "tessera/search.h"
#include "tessera/train.h"
#include "tessera/vta.h"

namespace tessera {
namespace {

constexpr std::string_view kRuns = "runs";  // the one list that is read from a disk

struct ListArguments {
  std::string what;
  std::string name;
};

// One thing of a list.
struct Item {
  std::string_view name;
  std::vector<Cell> cells;  // of the list's columns after "name"
  std::vector<ParameterInfo> parameters = {};
};

std::vector<Item> FormatItems() {
  std::vector<Item> items;
  const auto add = [&](std::string_view of, const auto& format) {
    items.push_back({format.name,
                     {of, format.read != nullptr, format.write != nullptr,
                      fmt::format("{}", fmt::join(format.extensions, " ")), format.summary}});
  };
  for (const NetworkFormat* format : NetworkFormats()) add("networks", *format);
  for (const AcceleratorFormat* format : AcceleratorFormats()) add("accelerators", *format);
  return items;
}

std::vector<Item> AcceleratorItems() {
  std::vector<Item> items;
  for (const EmbeddedFile& preset : AcceleratorPresets()) {
    const Result<Accelerator> accelerator = LoadAccelerator(std::string(preset.name));
    if (!accelerator) continue;  // a test reads every preset
    items.push_back(
        {preset.name,
         {SizeText(*accelerator), DefaultCostModel(*accelerator).name, accelerator->source}});
  }
  return items;
}

std::vector<Item> ModelItems() {
  std::vector<Item> items;
  for (const CostModelInfo* model : CostModels()) {
    items.push_back({model->name, {model->summary}, model->parameters()});
  }
  return items;
}

std::vector<Item> MethodItems() {
  std::vector<Item> items;
  for (const MethodList* list : {&SearchMethods(), &ProofMethods(), &coopt::JointMethods()}) {
    for (const MethodInfo* method : *list) {
      items.push_back({method->name, {WorksOn(*method), method->summary}, method->parameters});
    }
  }
  return items;
}

std::vector<Item> DataflowItems() {
  std::vector<Item> items;
  for (const DataflowRecipe& recipe : DataflowRecipes()) {
    items.push_back({recipe.name, {recipe.summary}});
  }
  return items;
}

std::vector<Item> EnvItems() {
  std::vector<Item> items;
  for (const EnvInfo* env : Envs()) items.push_back({env->name, {env->summary}, env->parameters()});
  return items;
}

std::vector<Item> AlgorithmItems() {
  std::vector<Item> items;
  for (const LearnerInfo* learner : Learners()) {
    std::string presets;
    for (const Preset& preset : learner->presets()) {
      presets += fmt::format("{}{}", presets.empty() ? "" : " ", preset.name);
    }
    items.push_back({learner->name, {presets, learner->summary}, learner->parameters()});
  }
  return items;
}

std::vector<Item> SamplerItems() {
  std::vector<Item> items;
  for (const ReplaySampler& sampler : ReplaySamplers()) {
    items.push_back({sampler.name,
                     {sampler.changes_distribution, sampler.summary, sampler.distribution},
                     sampler.parameters});
  }
  return items;
}

std::vector<Item> VtaItems() {
  std::vector<Item> items;
  for (const vta::Config& config : vta::ConfigPresets()) {
    const vta::Area area = EstimateArea(config);
    items.push_back(
        {config.name,
         {fmt::format("{}x{}x{}", config.batch(), config.block_in(), config.block_out()), area.macs,
          area.sram_bits / 8192, ConfigId(config)}});
  }
  return items;
}

std::vector<Item> PolicyItems() {
  static const std::vector<PolicyInfo> kPolicies = Policies();
  std::vector<Item> items;
  for (const PolicyInfo& policy : kPolicies) {
    items.push_back({policy.name,
                     {policy.model, policy.seed, policy.command, policy.data_hash, policy.sha256,
                      policy.bytes, policy.summary}});
  }
  return items;
}

std::vector<Item> CommandItems() {
  std::vector<Item> items;
  for (const Command* command : Commands()) items.push_back({command->name, {command->summary}});
  return items;
}

// Folders of runs in a folder, or the one that it is.
Result<void> ShowRuns(const std::string& folder, Output& output) {
  namespace fs = std::filesystem;
  std::vector<std::string> paths;
  std::error_code code;
  if (fs::exists(folder + "/run.json", code)) paths.push_back(folder);
  fs::directory_iterator at(folder, code);
  for (; !code && at != fs::directory_iterator(); at.increment(code)) {
    if (fs::exists(at->path() / "run.json", code)) paths.push_back(at->path().string());
    code.clear();
  }
  if (code) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot read the folder: {}", code.message()),
                 .where = {.file = folder}};
  }
  std::sort(paths.begin(), paths.end());
  Table table({"run", "kind", "state", "seed", "version", "what"});
  for (const std::string& path : paths) {
    const Result<RunDirectory> run = RunDirectory::ReadOnly(path);
    const Result<const RunKind*> kind = run ? KindOf(*run) : run.error();
    if (!kind) {
      table.Add(path, Cell(), "unreadable", Cell(), Cell(), Printable(ToString(kind.error())));
      continue;
    }
    const RunHeader& header = run->header();
    table.Add(path, header.kind, header.ended() ? "ended" : "open", header.seed,
              Printable(header.origin.version), Printable((*kind)->line(*run)));
  }
  return output.Show(table, "runs");
}

// Everything that can be listed. A new registry is one line here.
struct Listing {
  std::string_view name;
  std::vector<std::string> columns;  // after "name"
  std::vector<Item> (*items)();
};

const std::vector<Listing>& Listings() {
  static const std::vector<Listing> kListings = {
      {"formats", {"of", "reads", "writes", "extensions", "summary"}, FormatItems},
      {"accelerators", {"size", "model", "source"}, AcceleratorItems},
      {"models", {"summary"}, ModelItems},
      {"dataflows", {"summary"}, DataflowItems},
      {"methods", {"works_on", "summary"}, MethodItems},
      {"envs", {"summary"}, EnvItems},
      {"algorithms", {"presets", "summary"}, AlgorithmItems},
      {"samplers", {"changes_distribution", "summary", "distribution"}, SamplerItems},
      {"vta", {"batch x in x out", "macs", "sram_kib", "id"}, VtaItems},
      {"policies",
       {"model", "seed", "command", "data_hash", "sha256", "bytes", "summary"},
       PolicyItems},
      {"commands", {"summary"}, CommandItems},
  };
  return kListings;
}

std::vector<Flag> Flags(ListArguments& arguments) {
  return {{.name = "WHAT",
           .target = &arguments.what,
           .help = "what to list",
           .required = true,
           .choices =
               [] {
                 std::vector<std::string> names = NamesOf(Listings());
                 names.emplace_back(kRuns);
                 return names;
               },
           .closed = true},
          {.name = "NAME",
           .target = &arguments.name,
           .help = "only this one, with its parameters where it has any; of runs: the folder that "
                   "they are in"}};
}

Table ParameterTable(const std::vector<ParameterInfo>& parameters) {
  Table table({"parameter", "type", "default", "range", "meaning"});
  for (const ParameterInfo& parameter : parameters) {
    table.Add(parameter.name, TypeName(parameter), ToString(parameter.fallback),
              RangeText(parameter), parameter.text);
  }
  return table;
}

Json ItemJson(const Listing& listing, const Item& item) {
  Json json = {{"name", item.name}};
  for (size_t i = 0; i < item.cells.size(); ++i) json[listing.columns[i]] = item.cells[i].ForJson();
  if (!item.parameters.empty()) json["parameters"] = ToJson(ParameterTable(item.parameters));
  return json;
}

// The items to show: all, or those of the name (formats may share one).
Result<std::vector<Item>> Chosen(const Listing& listing, const std::string& name) {
  std::vector<Item> chosen = listing.items();
  if (name.empty()) return chosen;
  std::vector<std::string_view> names;
  for (const Item& item : chosen) names.push_back(item.name);
  std::erase_if(chosen, [&](const Item& item) { return item.name != name; });
  if (!chosen.empty()) return chosen;
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("{} is not among the {}", Quoted(name), listing.name),
               .hint = DidYouMean(name, names)};
}

Result<void> ShowListing(const Listing& listing, const std::string& name, Output& output) {
  const Result<std::vector<Item>> items = Chosen(listing, name);
  if (!items) return items.error();
  std::vector<std::string> columns = {"name"};
  columns.insert(columns.end(), listing.columns.begin(), listing.columns.end());
  Table table(columns);
  Json list = Json::array();
  for (const Item& item : *items) {
    std::vector<Cell> row = {item.name};
    row.insert(row.end(), item.cells.begin(), item.cells.end());
    table.AddRow(std::move(row));
    list.push_back(ItemJson(listing, item));
  }
  output.Set(listing.name, std::move(list));
  if (output.json()) return {};
  if (Result<void> shown = output.Show(table); !shown) return shown;
  if (name.empty() || items->front().parameters.empty()) return {};
  if (Result<void> shown = output.ShowText("\n"); !shown) return shown;
  return output.Show(ParameterTable(items->front().parameters));
}

Result<void> Run(const ListArguments& arguments, Context& context) {
  if (arguments.what == kRuns) {
    return ShowRuns(arguments.name.empty() ? "." : arguments.name, context.output);
  }
  for (const Listing& listing : Listings()) {
    if (listing.name == arguments.what) return ShowListing(listing, arguments.name, context.output);
  }
  return {};
}

}  // namespace

extern const Command kListCommand = {
    .name = "list",
    .summary = "what there is to choose from",
    .examples = {{"tessera list formats", "file formats that can be read and written"},
                 {"tessera list accelerators", "built-in machines"},
                 {"tessera list methods random", "a search method with its parameters"},
                 {"tessera list models --json", "cost models, for a program"},
                 {"tessera list runs DIR", "runs in a folder: kind, state and what they are"}},
    .bind = Bind<ListArguments, Flags, Run>};

}  // namespace tessera
