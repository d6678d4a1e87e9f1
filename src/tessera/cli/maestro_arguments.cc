#include "tessera/cli/maestro_arguments.h"

#include <filesystem>
#include <utility>

#include <fmt/format.h>

#include "tessera/arch/format.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/workload/maestro_file.h"

namespace tessera {
namespace {

// MAESTRO reads these and does nothing with them, or they say where it writes what.
constexpr std::array<std::string_view, 25> kWithoutEffect = {"--print_res",
                                                             "--print_res_csv_file",
                                                             "--print_log_file",
                                                             "--msg_print_lv",
                                                             "--dataflow_file",
                                                             "--layer_file",
                                                             "--noc_mc_support",
                                                             "--do_implicit_reduction",
                                                             "--do_fg_sync",
                                                             "--do_reduction_op",
                                                             "--full_buffer",
                                                             "--do_dse",
                                                             "--verbose",
                                                             "--print_design_space",
                                                             "--print_space",
                                                             "--min_num_PEs",
                                                             "--max_num_PEs",
                                                             "--pe_tick",
                                                             "--area_constraint",
                                                             "--power_constraint",
                                                             "--optimization_target",
                                                             "--min_noc_bw",
                                                             "--max_noc_bw",
                                                             "--bw_tick",
                                                             "--output_file"};

std::vector<std::string> Versions() { return {"head", "pinned"}; }
std::vector<std::string> Legalities() { return {"compat", "strict"}; }
std::vector<std::string> Areas() { return {"maestro", "gamma", "archgym"}; }

// The hardware flags with what they set.
struct HardwareFlag {
  std::string_view name;
  std::optional<int64_t> MaestroArguments::*argument;
  int64_t PeArray::*field;
  bool in_file;  // MAESTRO's hardware file overrides it
};
constexpr std::array<HardwareFlag, 8> kHardwareFlags = {{
    {"--num_pes", &MaestroArguments::num_pes, &PeArray::num_pes, true},
    {"--num_simd_lanes", &MaestroArguments::num_simd_lanes, &PeArray::simd_lanes, false},
    {"--noc_bw_cstr", &MaestroArguments::noc_bw, &PeArray::noc_elements_per_cycle, true},
    {"--noc_hops", &MaestroArguments::noc_hops, &PeArray::noc_hops, true},
    {"--noc_hop_latency", &MaestroArguments::noc_hop_latency, &PeArray::noc_hop_latency_cycles,
     true},
    {"--offchip_bw_cstr", &MaestroArguments::offchip_bw, &PeArray::offchip_elements_per_cycle,
     true},
    {"--l1_size_cstr", &MaestroArguments::l1_size, &PeArray::l1_elements, true},
    {"--l2_size_cstr", &MaestroArguments::l2_size, &PeArray::l2_elements, true},
}};

// MAESTRO's defaults, where they differ from those of a PeArray.
constexpr PeArray kMaestroDefaults = {.num_pes = 7, .noc_hop_latency_cycles = 0};

void RemarkIgnored(const MaestroArguments& arguments, Context& context) {
  for (size_t i = 0; i < kWithoutEffect.size(); ++i) {
    if (!arguments.without_effect[i]) continue;
    context.remark(fmt::format("ignored: {} has no effect here", kWithoutEffect[i]));
  }
}

Result<void> CheckSweep(const MaestroArguments& arguments) {
  const auto is_on = [](const std::optional<std::string>& flag) {
    return flag && (*flag == "true" || *flag == "1");
  };
  if (!is_on(arguments.bw_sweep) || !is_on(arguments.top_bw_only)) return {};
  return Error{.kind = ErrorKind::kUnsupported,
               .message = "--bw_sweep with --top_bw_only is not supported",
               .hint = "call tessera evaluate once for each --noc_bw_cstr"};
}

Result<Dataflow> DataflowOf(const MaestroLayer& layer, const MaestroFile& file) {
  using Kind = MaestroDirective::Kind;
  const auto refuse = [&](const MaestroPlace& place, std::string message, std::string hint) {
    return Error{.kind = ErrorKind::kUnsupported,
                 .message = fmt::format("layer {}: {}", Quoted(layer.name), message),
                 .where = file.At(place),
                 .hint = std::move(hint)};
  };
  if (!layer.dataflow) {
    return refuse(layer.place, "no Dataflow",
                  "this is a network without mappings; add a Dataflow to every layer");
  }
  Dataflow dataflow;
  for (const MaestroDirective& d : *layer.dataflow) {
    if (dataflow.full()) {
      return refuse(d.place, fmt::format("more than {} directives", Dataflow::kCapacity), "");
    }
    const auto size = static_cast<int32_t>(d.size), offset = static_cast<int32_t>(d.offset);
    if (d.kind == Kind::kCluster) {
      dataflow.Add(Cluster(size));
      continue;
    }
    const DataflowDim dim = FindDataflowDim(d.dimension).value_or(DataflowDim::kOther);
    dataflow.Add(d.kind == Kind::kSpatialMap ? Spatial(size, offset, dim)
                                             : Temporal(size, offset, dim));
  }
  return dataflow;
}

Result<void> SelectLayer(const std::string& selector, MaestroMappingFile& file) {
  const Result<int64_t> index = ParseInt(selector);
  std::vector<std::string> names;
  for (size_t i = 0; i < file.layers.size(); ++i) {
    names.push_back(file.layers[i].name);
    if (names.back() != selector && !(index && *index == static_cast<int64_t>(i) + 1)) continue;
    file.layers = {file.layers[i]};
    file.places = {file.places[i]};
    return {};
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown layer {}; the file has {}", Quoted(selector),
                                      file.layers.size()),
               .hint = DidYouMean(selector, names)};
}

}  // namespace

std::vector<Flag> MaestroFlags(MaestroArguments& arguments) {
  std::vector<Flag> flags;
  for (const HardwareFlag& flag : kHardwareFlags) {
    flags.push_back(
        {.name = flag.name,
         .target = &(arguments.*flag.argument),
         .help = "as in MAESTRO",
         .value = "N",
         .least = flag.field == &PeArray::noc_hops || flag.field == &PeArray::noc_hop_latency_cycles
                      ? 0.0
                      : 1.0,
         .most = static_cast<double>(PeArray::kUnlimited)});
  }
  flags.push_back({.name = "--maestro-version",
                   .target = &arguments.version,
                   .help = "which MAESTRO to agree with; 'pinned' is the one of GAMMA and ArchGym",
                   .value = "NAME",
                   .choices = Versions,
                   .closed = true});
  flags.push_back({.name = "--legality",
                   .target = &arguments.legality,
                   .help = "'strict' refuses numbers that cannot be true, as searches do",
                   .value = "NAME",
                   .choices = Legalities,
                   .closed = true});
  flags.push_back({.name = "--area",
                   .target = &arguments.area,
                   .help = "whose area formula to use",
                   .value = "NAME",
                   .choices = Areas,
                   .closed = true});
  flags.push_back({.name = "--csv",
                   .target = &arguments.csv,
                   .help = "print MAESTRO's CSV file: its header and columns"});
  for (size_t i = 0; i < kWithoutEffect.size(); ++i) {
    flags.push_back({.name = kWithoutEffect[i],
                     .target = &arguments.without_effect[i],
                     .value = "VALUE",
                     .hidden = true});
  }
  for (const auto& [name, target] : {std::pair("--bw_sweep", &arguments.bw_sweep),
                                     std::pair("--top_bw_only", &arguments.top_bw_only)}) {
    flags.push_back({.name = name, .target = target, .value = "VALUE", .hidden = true});
  }
  return flags;
}

MaestroVersion VersionOf(const MaestroArguments& arguments) {
  return arguments.version == "pinned" ? MaestroVersion::kPinned : MaestroVersion::kHead;
}

MaestroArea AreaOf(const MaestroArguments& arguments) {
  if (arguments.area == "gamma") return MaestroArea::kGamma;
  return arguments.area == "archgym" ? MaestroArea::kArchGym : MaestroArea::kMaestro;
}

Result<PeArray> MaestroHardware(const std::string& file, const MaestroArguments& arguments,
                                Context& context) {
  RemarkIgnored(arguments, context);
  if (Result<void> ok = CheckSweep(arguments); !ok) return ok.error();
  PeArray array = kMaestroDefaults;
  const bool from_file = !file.empty();
  if (from_file) {
    const Result<Accelerator> accelerator = LoadAccelerator(file);
    if (!accelerator) return accelerator.error();
    if (!accelerator->pe_array) {
      return Error{
          .kind = ErrorKind::kUnsupported,
          .message = fmt::format("'{}' has no PE array, which model 'maestro' needs", file),
          .hint = "use an accelerator such as 'maestro-256'"};
    }
    array = *accelerator->pe_array;
    for (const std::string& note : accelerator->notes) context.remark("note: " + note);
  }
  for (const HardwareFlag& flag : kHardwareFlags) {
    const std::optional<int64_t>& value = arguments.*flag.argument;
    if (!value) continue;
    if (from_file && flag.in_file) {
      context.remark(fmt::format("ignored: {}, because --hw says it", flag.name));
      continue;
    }
    array.*flag.field = *value;
  }
  if (Result<void> valid = Validate(Accelerator{.pe_array = array}); !valid) return valid.error();
  return array;
}

Result<MaestroMappingFile> LoadMaestroMapping(const std::string& path,
                                              const std::optional<std::string>& layer_selector) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  const Result<MaestroFile> file = ParseMaestroFile(*text, path);
  if (!file) return file.error();
  MaestroMappingFile loaded;
  for (const MaestroNetwork& network : file->networks) {
    if (loaded.network.empty()) loaded.network = network.name;
    for (const MaestroLayer& layer : network.layers) {
      const Result<Dataflow> dataflow = DataflowOf(layer, *file);
      if (!dataflow) return dataflow.error();
      loaded.layers.push_back(
          {.name = layer.name, .declaration = maestro::Declare(layer), .dataflow = *dataflow});
      loaded.places.push_back(file->At(layer.place));
    }
  }
  if (loaded.network.empty()) loaded.network = std::filesystem::path(path).stem().string();
  if (layer_selector) {
    if (Result<void> ok = SelectLayer(*layer_selector, loaded); !ok) return ok.error();
  }
  return loaded;
}

}  // namespace tessera
