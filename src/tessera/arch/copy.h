// Accelerators as a run keeps them.
#ifndef TESSERA_ARCH_COPY_H_
#define TESSERA_ARCH_COPY_H_

#include <string>

#include "tessera/result.h"

namespace tessera {

// Whether an ACCELERATOR argument is a preset; otherwise it is a file.
bool IsPreset(const std::string& name_or_path);

// What a copy of it holds, which needs no other file.
Result<std::string> AcceleratorCopy(const std::string& name_or_path);

}  // namespace tessera

#endif  // TESSERA_ARCH_COPY_H_
