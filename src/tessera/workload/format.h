// The file formats of networks. A format is one file that defines a NetworkFormat, and one line in
// format.cc; `tessera list formats`, `check`, `convert` and the conformance tests find it there.
#ifndef TESSERA_WORKLOAD_FORMAT_H_
#define TESSERA_WORKLOAD_FORMAT_H_

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"
#include "tessera/workload/network.h"

namespace tessera {

// Values for names that stand for sizes: symbolic dimensions of ONNX graphs, parameters of native
// networks. A name that the network does not have is an error.
using Bindings = std::map<std::string, int64_t>;

struct ExportedFile {
  std::string name;  // relative to the folder that the user chose; no path separators
  std::string contents;
};

struct Export {
  std::vector<ExportedFile> files;
  std::vector<std::string> lost;  // one line for each thing that the format cannot hold
};

// Contract of a format:
//   Threads      both functions are pure; any thread may call them.
//   Errors       bad input gives an Error with file and, where the format has lines, line and
//                column; nothing is capped, skipped or defaulted silently.
//   Round trip   what `write` does not list under `lost` survives write and read.
struct NetworkFormat {
  std::string_view name;                     // as in convert --to
  std::string_view summary;                  // one line for lists and --help
  std::vector<std::string_view> extensions;  // of files that it reads, with the dot
  // Whether the contents look like this format: decides between formats that share an extension,
  // and for files without a known one. Null: yes for its extensions, no for others.
  bool (*recognises)(std::string_view bytes);
  // Null where the direction is not supported. `file` is the name for messages.
  Result<Network> (*read)(std::string_view bytes, const std::string& file,
                          const Bindings& bindings);
  Result<Export> (*write)(const Network& network);
};

// All formats, in the order of `tessera list formats`.
std::span<const NetworkFormat* const> NetworkFormats();

Result<const NetworkFormat*> FindNetworkFormat(std::string_view name);

// Reads a network file; the format follows from the extension and, where several share one, from
// the contents.
Result<Network> ReadNetwork(const std::string& path, const Bindings& bindings = {});

// The same for a file whose bytes are at hand; `path` gives the extension and names it in messages.
Result<Network> ParseNetwork(std::string_view bytes, const std::string& path,
                             const Bindings& bindings = {});

// "seq=384,past=0" as bindings.
Result<Bindings> ParseBindings(std::string_view text);

// An error if there are bindings, for formats whose files have no names to bind.
Result<void> RefuseBindings(const Bindings& bindings, const std::string& file);

// A network by zoo name ("resnet18", "bert-base:seq=384") or by path: the NETWORK argument of
// every command. `bindings` add to those in the name. A zoo name goes before a file of that name
// (write ./resnet18 for the file), and a file may have a colon in its name.
Result<Network> LoadNetwork(const std::string& name_or_path, const Bindings& bindings = {});

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_FORMAT_H_
