#include "tessera/vta/network/manifest.h"

#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "tessera/base/checked.h"
#include "tessera/base/document.h"
#include "tessera/base/text.h"
#include "tessera/vta/codegen/data.h"

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
  const Result<const Node*> output = RequireKey(step, "output");
  if (!output) return output.error();
  const Result<int64_t> n = RequireInt(**output, "n");
  const Result<int64_t> channels = RequireInt(**output, "channels");
  const Result<int64_t> pixels = RequireInt(**output, "pixels");
  if (!n) return n.error();
  if (!channels) return channels.error();
  if (!pixels) return pixels.error();
  entry.n = *n;
  entry.channels = *channels;
  entry.pixels = *pixels;
  return {};
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
      continue;
    }
    Result<ManifestEntry> entry = ReadEntry(item, steps != nullptr);
    if (!entry) return entry.error();
    manifest.programs.push_back(*std::move(entry));
  }
  return manifest;
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
    if (values == outputs.end() || producer == manifest.programs.end()) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("step {} needs the output of {}, which no step before "
                                          "it gives",
                                          entry.name, Quoted(input.from))};
    }
    if (TiledBytes(*producer, config.batch(), config.block_in()) != input.region.bytes ||
        !InImage(program, input.region.address, input.region.bytes)) {
      return Error{.kind = ErrorKind::kBadValue,
                   .message = fmt::format("the output of {} is not as large as the input of {}",
                                          input.from, entry.name)};
    }
    PackActivations(values->second, producer->n, producer->channels, producer->pixels,
                    config.batch(), config.block_in(), Bytes(program, input.region));
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
