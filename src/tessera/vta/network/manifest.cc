#include "tessera/vta/network/manifest.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/document.h"
#include "tessera/base/text.h"
#include "tessera/vta/codegen/data.h"
#include "tessera/vta/network/host.h"

namespace tessera::vta {
namespace {

constexpr int64_t kMost = int64_t{1} << 40;
constexpr std::string_view kImage = "image";

Result<const Node*> RequireKey(const Node& node, std::string_view key) {
  if (const Node* found = node.Find(key)) return found;
  return node.ErrorHere(ErrorKind::kBadValue, fmt::format("the manifest lacks '{}' here", key));
}

Result<std::string> RequireText(const Node& node, std::string_view key) {
  const Result<const Node*> found = RequireKey(node, key);
  if (!found) return found.error();
  return (*found)->AsString();
}

Result<int64_t> RequireInt(const Node& node, std::string_view key) {
  const Result<const Node*> found = RequireKey(node, key);
  if (!found) return found.error();
  return (*found)->AsInt(0, kMost);
}

Result<Region> FindTensor(const Node& step, std::string_view name) {
  const Result<const Node*> tensors = RequireKey(step, "tensors");
  if (!tensors) return tensors.error();
  for (const Node& tensor : (*tensors)->items) {
    const Result<std::string> its_name = RequireText(tensor, "name");
    if (!its_name) return its_name.error();
    if (*its_name != name) continue;
    const Result<int64_t> address = RequireInt(tensor, "address");
    if (!address) return address.error();
    const Result<int64_t> bytes = RequireInt(tensor, "bytes");
    if (!bytes) return bytes.error();
    return Region{static_cast<uint64_t>(*address), static_cast<uint64_t>(*bytes)};
  }
  return step.ErrorHere(ErrorKind::kBadValue, fmt::format("no tensor '{}'", name));
}

Result<void> ReadSizes(const Node& node, int64_t& n, int64_t& channels, int64_t& pixels) {
  const std::pair<std::string_view, int64_t*> fields[] = {
      {"n", &n}, {"channels", &channels}, {"pixels", &pixels}};
  for (const auto& [key, value] : fields) {
    const Result<int64_t> number = RequireInt(node, key);
    if (!number) return number.error();
    *value = *number;
  }
  return {};
}

Result<void> ReadConnections(const Node& step, ManifestEntry& entry) {
  const Result<const Node*> inputs = RequireKey(step, "inputs");
  if (!inputs) return inputs.error();
  for (const Node& input : (*inputs)->items) {
    const Result<std::string> from = input.AsString();
    if (!from) return from.error();
    const Result<Region> region = FindTensor(step, entry.inputs.empty() ? "input" : "second_input");
    if (!region) return region.error();
    entry.inputs.push_back({*from, *region});
  }
  if (const Node* input = step.Find("input")) {
    if (Result<void> read = ReadSizes(*input, entry.in_n, entry.in_channels, entry.in_pixels);
        !read) {
      return read;
    }
  }
  const Result<const Node*> output = RequireKey(step, "output");
  if (!output) return output.error();
  return ReadSizes(**output, entry.n, entry.channels, entry.pixels);
}

// A step of the host that programs may need; nothing for the others.
Result<std::optional<ManifestHostStep>> ReadHostStep(const Node& item, const std::string& name,
                                                     size_t before) {
  const Node* const kind = item.Find("kind");
  const Node* const window = item.Find("window");
  const bool concat = kind != nullptr && kind->scalar == StepKindName(StepKind::kConcat);
  if (!concat && window == nullptr) return std::optional<ManifestHostStep>();
  ManifestHostStep step{
      .name = name, .kind = concat ? StepKind::kConcat : StepKind::kAveragePool, .before = before};
  const Result<const Node*> inputs = RequireKey(item, "inputs"), input = RequireKey(item, "input");
  if (!inputs) return inputs.error();
  if (!input) return input.error();
  for (const Node& from : (*inputs)->items) {
    const Result<std::string> text = from.AsString();
    if (!text) return text.error();
    step.inputs.push_back(*text);
  }
  ConvShape& shape = step.shape;
  int64_t pixels = 0;
  if (Result<void> read = ReadSizes(**input, shape.n, shape.ci, pixels); !read) return read.error();
  shape.co = shape.ci;
  if (concat) return std::optional(std::move(step));
  const std::pair<std::string_view, int64_t*> fields[] = {{"h", &shape.h},
                                                          {"w", &shape.w},
                                                          {"kh", &shape.kh},
                                                          {"kw", &shape.kw},
                                                          {"stride_h", &shape.stride_h},
                                                          {"stride_w", &shape.stride_w}};
  for (const auto& [key, value] : fields) {
    const Result<int64_t> number = RequireInt(*window, key);
    if (!number) return number.error();
    *value = *number;
  }
  const bool fits = std::min({shape.stride_h, shape.stride_w, shape.kh, shape.kw}) >= 1 &&
                    shape.kh <= shape.h && shape.kw <= shape.w;
  if (!fits) return window->ErrorHere(ErrorKind::kBadValue, "a window that does not fit its image");
  return std::optional(std::move(step));
}

Result<ManifestEntry> ReadEntry(const Node& node, bool connected) {
  ManifestEntry entry;
  const Result<std::string> name = RequireText(node, "name");
  if (!name) return name.error();
  entry.name = *name;
  const Result<std::string> program = RequireText(node, "program");
  if (!program) return program.error();
  if (program->find('/') != std::string::npos) {
    return node.ErrorHere(ErrorKind::kBadValue,
                          fmt::format("program {} is not beside the manifest", Quoted(*program)));
  }
  entry.program = *program;
  if (const Node* count = node.Find("count")) {
    const Result<int64_t> number = count->AsInt(1, kMost);
    if (!number) return number.error();
    entry.count = *number;
  }
  if (connected) {
    if (Result<void> read = ReadConnections(node, entry); !read) return read.error();
  }
  return entry;
}

// Bytes of (n, channels, pixels) in tiles; nothing if that is no size of a tensor.
std::optional<uint64_t> TiledBytes(const ManifestEntry& entry, int64_t batch, int64_t block) {
  if (entry.n < 1 || entry.channels < 1 || entry.pixels < 1) return std::nullopt;
  const Checked bytes = Checked(CeilDiv(entry.n, batch) * batch) *
                        (CeilDiv(entry.channels, block) * block) * entry.pixels;
  if (!bytes.ok()) return std::nullopt;
  return static_cast<uint64_t>(bytes.value());
}

}  // namespace

Result<Manifest> ParseManifest(std::string_view text, const std::string& file) {
  const Result<Node> node = ParseDocument(text, file);
  if (!node) return node.error();
  Manifest manifest;
  const Result<std::string> network = RequireText(*node, "network");
  if (!network) return network.error();
  manifest.network = *network;
  const Node* steps = node->Find("steps");
  const Node* list = steps != nullptr ? steps : node->Find("layers");
  if (list == nullptr) {
    return node->ErrorHere(ErrorKind::kBadValue, "the manifest has neither 'steps' nor 'layers'");
  }
  for (const Node& item : list->items) {
    const Node* on = item.Find("on");
    if (on != nullptr && on->scalar == "host") {
      const Result<std::string> name = RequireText(item, "name");
      if (!name) return name.error();
      manifest.host_steps.push_back(*name);
      Result<std::optional<ManifestHostStep>> step =
          ReadHostStep(item, *name, manifest.programs.size());
      if (!step) return step.error();
      if (*step) manifest.host_work.push_back(**std::move(step));
      continue;
    }
    Result<ManifestEntry> entry = ReadEntry(item, steps != nullptr);
    if (!entry) return entry.error();
    manifest.programs.push_back(*std::move(entry));
  }
  return manifest;
}

Result<void> RunHostStep(const ManifestHostStep& step, StepOutputs& outputs) {
  std::vector<std::span<const int8_t>> parts;
  for (const std::string& name : step.inputs) {
    const auto found = outputs.find(name);
    // Only what programs need has to be there: they will say what they miss.
    if (found == outputs.end()) return {};
    parts.push_back(found->second);
  }
  if (step.kind == StepKind::kConcat) {
    outputs[step.name] = JoinChannels(std::max<int64_t>(step.shape.n, 1), parts);
    return {};
  }
  const ConvShape& shape = step.shape;
  const Checked count = Checked(shape.n) * shape.ci * shape.h * shape.w;
  if (parts.size() != 1 || !count.ok() || count.value() != std::ssize(parts[0])) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("the input of {} is not as large as the manifest says", step.name)};
  }
  outputs[step.name] = AveragePool(shape, parts[0]);
  return {};
}

Result<void> FeedInputs(const ManifestEntry& entry, const Manifest& manifest,
                        const StepOutputs& outputs, Program& program) {
  const Config& config = program.config;
  for (const ManifestEntry::Input& input : entry.inputs) {
    if (input.from == kImage) continue;
    const auto values = outputs.find(input.from);
    const auto producer =
        std::find_if(manifest.programs.begin(), manifest.programs.end(),
                     [&](const ManifestEntry& other) { return other.name == input.from; });
    const bool known = entry.in_n > 0 || producer != manifest.programs.end();
    if (values == outputs.end() || !known) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("step {} needs the output of {}, which no step before "
                                          "it gives",
                                          entry.name, Quoted(input.from))};
    }
    ManifestEntry sizes;
    sizes.n = entry.in_n > 0 ? entry.in_n : producer->n;
    sizes.channels = entry.in_n > 0 ? entry.in_channels : producer->channels;
    sizes.pixels = entry.in_n > 0 ? entry.in_pixels : producer->pixels;
    const Checked count = Checked(sizes.n) * sizes.channels * sizes.pixels;
    if (TiledBytes(sizes, config.batch(), config.block_in()) != input.region.bytes || !count.ok() ||
        count.value() != std::ssize(values->second) ||
        !InImage(program, input.region.address, input.region.bytes)) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("the output of {} is not as large as the input of {}",
                                          input.from, entry.name)};
    }
    PackActivations(values->second, sizes.n, sizes.channels, sizes.pixels, config.batch(),
                    config.block_in(), Bytes(program, input.region));
  }
  return {};
}

Result<std::vector<int8_t>> TakeOutput(const ManifestEntry& entry, const Program& program) {
  const Config& config = program.config;
  if (TiledBytes(entry, config.batch(), config.block_out()) != program.out.bytes) {
    return Error{.kind = ErrorKind::kBadValue,
                 .message = fmt::format("the output of {} is not as large as the manifest says",
                                        entry.name)};
  }
  return UnpackActivations(Bytes(program, program.out), entry.n, entry.channels, entry.pixels,
                           config.batch(), config.block_out());
}

}  // namespace tessera::vta
