// The accelerator that a command line names.
#include "tessera/cli/accelerator_argument.h"

#include "tessera/accelerator.h"
#include "tessera/cli/choices.h"

namespace tessera {

Flag AcceleratorFlag(std::string& accelerator, bool required) {
  return {.name = "--accelerator",
          .target = &accelerator,
          .help = "a preset ('tessera list accelerators') or an accelerator file",
          .value = "A",
          .required = required,
          .choices = AcceleratorNames};
}

std::vector<std::string> AcceleratorNames() { return NamesOf(AcceleratorPresets()); }

}  // namespace tessera
