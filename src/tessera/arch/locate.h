// Finds the line that a complaint of Validate is about: its messages start with the part and the
// field, "GLB: entries is -1, ...".
#ifndef TESSERA_ARCH_LOCATE_H_
#define TESSERA_ARCH_LOCATE_H_

#include <string>
#include <vector>

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera {

// A part of an accelerator (a level, the MACs, the PE array) and where it stands in its file.
struct NamedPart {
  std::string name;
  const Node* node;
};

// `error` with the place of the field, or of the part, or of the root.
Error Locate(Error error, const Node& root, const std::vector<NamedPart>& parts);

}  // namespace tessera

#endif  // TESSERA_ARCH_LOCATE_H_
