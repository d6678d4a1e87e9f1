#include "tessera/cli/maestro_arguments.h"

#include <utility>

#include <fmt/format.h>

#include "tessera/accelerator.h"
#include "tessera/part.h"

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

// The hardware flags with what they set. First names of two are the prefixes that GAMMA and ArchGym
// write for MAESTRO, which takes any.
struct HardwareFlag {
  std::string_view names;
  std::optional<int64_t> MaestroArguments::*argument;
  int64_t PeArray::*field;
  bool in_file;  // MAESTRO's hardware file overrides it
  double least;
  std::string_view help;

  std::string_view name() const { return names.substr(names.find(',') + 1); }
};
constexpr std::array<HardwareFlag, 8> kHardwareFlags = {{
    {"--num_pes", &MaestroArguments::num_pes, &PeArray::num_pes, true, 1,
     "processing elements (default: 7)"},
    {"--num_simd,--num_simd_lanes", &MaestroArguments::num_simd_lanes, &PeArray::simd_lanes, false,
     1, "MACs per cycle and PE (default: 1)"},
    {"--noc_bw,--noc_bw_cstr", &MaestroArguments::noc_bw, &PeArray::noc_elements_per_cycle, true, 1,
     "network on chip, elements per cycle (default: unlimited)"},
    {"--noc_hops", &MaestroArguments::noc_hops, &PeArray::noc_hops, true, 0,
     "hops of a transfer (default: 1)"},
    {"--noc_hop_latency", &MaestroArguments::noc_hop_latency, &PeArray::noc_hop_latency_cycles,
     true, 0, "cycles of a hop (default: 0; a MAESTRO hardware file means 1)"},
    {"--offchip_bw,--offchip_bw_cstr", &MaestroArguments::offchip_bw,
     &PeArray::offchip_elements_per_cycle, true, 1, "off-chip elements per cycle (default: 70000)"},
    {"--l1_size,--l1_size_cstr", &MaestroArguments::l1_size, &PeArray::l1_elements, true, 1,
     "L1 of a PE in elements, for flag L1 (default: unlimited)"},
    {"--l2_size,--l2_size_cstr", &MaestroArguments::l2_size, &PeArray::l2_elements, true, 1,
     "shared L2 in elements, for flag L2 (default: unlimited)"},
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

}  // namespace

std::vector<Flag> MaestroFlags(MaestroArguments& arguments) {
  std::vector<Flag> flags;
  for (const HardwareFlag& flag : kHardwareFlags) {
    flags.push_back({.name = flag.names,
                     .target = &(arguments.*flag.argument),
                     .help = flag.help,
                     .value = "N",
                     .least = flag.least,
                     .most = static_cast<double>(PeArray::kUnlimited)});
  }
  flags.push_back({.name = "--maestro-version",
                   .target = &arguments.choices.version,
                   .help = "which MAESTRO to agree with; 'pinned' is the one of GAMMA and ArchGym",
                   .value = "NAME",
                   .choices = MaestroVersionNames,
                   .closed = true});
  flags.push_back(
      {.name = "--legality",
       .target = &arguments.choices.legality,
       .help = "'strict' refuses numbers that cannot be true and buffers that are too small, as "
               "searches do; 'compat' flags them",
       .value = "NAME",
       .choices = MaestroLegalityNames,
       .closed = true});
  flags.push_back(
      {.name = "--area",
       .target = &arguments.choices.area,
       .help = "whose area formula to use; GAMMA and ArchGym leave the network on chip out",
       .value = "NAME",
       .choices = MaestroAreaNames,
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
      context.remark(fmt::format("ignored: {}, because --hw says it", flag.name()));
      continue;
    }
    array.*flag.field = *value;
  }
  if (Result<void> valid = Validate(Accelerator{.pe_array = array}); !valid) return valid.error();
  return array;
}

}  // namespace tessera
