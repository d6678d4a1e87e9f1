// Grouping of losses into lines that people can read.
#include "tessera/workload/losses.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/file.h"

namespace tessera {

void Losses::Add(const std::string& what, const std::string& layer) {
  auto entry = std::find_if(entries_.begin(), entries_.end(),
                            [&](const auto& known) { return known.first == what; });
  if (entry == entries_.end()) entry = entries_.insert(entry, {what, {}});
  entry->second.push_back(layer);
}

void Losses::Add(const std::string& what) { entries_.push_back({what, {}}); }

void Losses::AddHeader(const Network& network) {
  if (!network.source.empty()) Add("the network's source");
  if (!network.ignored.empty()) Add("the list of operators without MACs");
  if (!network.unknown.empty()) Add("the list of operators that were not understood");
  if (!network.graph.empty()) Add("the graph: which layer reads what others write");
  if (network.step) Add("the step of the language model");
  const bool types = std::ranges::any_of(
      network.layers, [](const NetworkLayer& entry) { return entry.types.known(); });
  if (types) Add("the data types of tensors");
  const bool bits = std::ranges::any_of(
      network.layers, [](const NetworkLayer& entry) { return entry.layer.bits.known(); });
  if (bits) Add("the bits of tensors");
}

std::vector<std::string> Losses::Lines() const {
  constexpr size_t kNamed = 3;
  std::vector<std::string> lines;
  for (const auto& [what, layers] : entries_) {
    if (layers.empty()) {
      lines.push_back(what);
      continue;
    }
    const std::span<const std::string> named(layers.data(), std::min(kNamed, layers.size()));
    std::string line = fmt::format("{}: {}", what, fmt::join(named, ", "));
    if (const size_t more = layers.size() - named.size(); more > 0) {
      line += fmt::format(" and {} more {}", more, more == 1 ? "layer" : "layers");
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Error TooManyLayers(const Network& network) {
  return Error{.kind = ErrorKind::kUnsupported,
               .message = fmt::format("the network's {} layers, one by one, do not fit into a text "
                                      "file of {} bytes",
                                      TotalLayers(network), kMaxTextBytes)};
}

}  // namespace tessera
