#include "tessera/workload/copy.h"

#include <algorithm>
#include <utility>

namespace tessera {

bool IsZooNetwork(const std::string& name_or_path) {
  const std::string name = name_or_path.substr(0, name_or_path.find(':'));
  return std::ranges::find(Zoo(), name, &ZooFile::name) != Zoo().end();
}

Result<std::string> NetworkText(const Network& network) {
  const Result<const NetworkFormat*> format = FindNetworkFormat("yaml");
  if (!format) return format.error();
  Result<Export> text = (*format)->write(network);
  if (!text) return text.error();
  return std::move(text->files.front().contents);
}

Result<std::string> NetworkCopy(const std::string& name_or_path) {
  const Result<Network> network = LoadNetwork(name_or_path);
  if (!network) return network.error();
  return NetworkText(*network);
}

}  // namespace tessera
