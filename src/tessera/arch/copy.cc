#include "tessera/arch/copy.h"

#include <algorithm>

#include "tessera/accelerator.h"

namespace tessera {

bool IsPreset(const std::string& name_or_path) {
  return std::ranges::find(AcceleratorPresets(), name_or_path, &EmbeddedFile::name) !=
         AcceleratorPresets().end();
}

Result<std::string> AcceleratorCopy(const std::string& name_or_path) {
  const Result<Accelerator> machine = LoadAccelerator(name_or_path);
  if (!machine) return machine.error();
  return AcceleratorText(*machine);
}

}  // namespace tessera
