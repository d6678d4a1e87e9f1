#include "tessera/workload/copy.h"

#include <algorithm>

#include "tessera/network.h"

namespace tessera {

bool IsZooNetwork(const std::string& name_or_path) {
  const std::string name = name_or_path.substr(0, name_or_path.find(':'));
  return std::ranges::find(Zoo(), name, &ZooFile::name) != Zoo().end();
}

Result<std::string> NetworkCopy(const std::string& name_or_path) {
  const Result<const NetworkFormat*> format = FindNetworkFormat("yaml");
  if (!format) return format.error();
  const Result<Network> network = LoadNetwork(name_or_path);
  if (!network) return network.error();
  Result<Export> text = (*format)->write(*network);
  if (!text) return text.error();
  return std::move(text->files.front().contents);
}

}  // namespace tessera
