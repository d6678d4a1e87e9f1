// The file formats of accelerators, and the ACCELERATOR argument of every command. A format is one
// file that defines an AcceleratorFormat, and one line in format.cc; `tessera list formats`,
// `check` and the conformance tests find it there.
#ifndef TESSERA_ARCH_FORMAT_H_
#define TESSERA_ARCH_FORMAT_H_

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/arch/accelerator.h"
#include "tessera/base/embedded.h"
#include "tessera/base/result.h"

namespace tessera {

// Contract of a format:
//   Threads      the functions are pure; any thread may call them.
//   Errors       bad input gives an Error with file, line and column; what is not used or had to be
//                assumed is in Accelerator::notes, nothing else is skipped or defaulted.
//   Validity     Validate accepts what `read` returns.
//   Round trip   reading what `write` gives yields an equal accelerator.
struct AcceleratorFormat {
  std::string_view name;
  std::string_view summary;                  // one line for lists and --help
  std::vector<std::string_view> extensions;  // of files that it reads, with the dot
  bool (*recognises)(std::string_view bytes);
  // `file` is the name for messages.
  Result<Accelerator> (*read)(std::string_view bytes, const std::string& file);
  std::string (*write)(const Accelerator& accelerator);  // null where it cannot be written
};

// All formats, in the order of `tessera list formats`.
std::span<const AcceleratorFormat* const> AcceleratorFormats();

// The format that the contents look like, or null.
const AcceleratorFormat* RecogniseAccelerator(std::string_view bytes);

// Reads an accelerator file; the format follows from the contents.
Result<Accelerator> ReadAccelerator(const std::string& path);

// The same for a file whose bytes are at hand; `path` names it in messages.
Result<Accelerator> ParseAccelerator(std::string_view bytes, const std::string& path);

// The machines that ship with Tessera: the files of data/accelerators, compiled into the library,
// sorted by name.
std::span<const EmbeddedFile> AcceleratorPresets();

// An accelerator by preset name ("eyeriss-256") or by path. A preset goes before a file of that
// name; write ./eyeriss-256 for the file.
Result<Accelerator> LoadAccelerator(const std::string& name_or_path);

}  // namespace tessera

#endif  // TESSERA_ARCH_FORMAT_H_
