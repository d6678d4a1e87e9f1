// What the two halves of `tessera compile` share: layers one by one (compile.cc), and a whole
// network with its connections (compile_whole.cc).
#ifndef TESSERA_CLI_COMPILE_H_
#define TESSERA_CLI_COMPILE_H_

#include <optional>
#include <string>

#include "tessera/base/result.h"
#include "tessera/cli/command.h"
#include "tessera/cli/network_argument.h"
#include "tessera/report/json.h"
#include "tessera/vta/codegen/compile.h"

namespace tessera {

struct CompileArguments {
  NetworkArgument network;
  std::string vta = "default";
  std::string schedule = "auto";
  std::optional<std::string> generator;
  int64_t shift = 8;
  bool verify = false;
  bool whole = false;
  std::string batch;
  std::string configs;
  vta::TimingParameters timing;
};

// Configuration, timing and generator; the error is --vta's.
Result<vta::CompileOptions> CompileOptionsOf(const CompileArguments& arguments);

// The name of the program of entry `index` (from 0): "01-layer1.0.conv1.vta". The number keeps
// names apart that differ only in odd characters.
std::string ProgramFile(size_t index, const std::string& name);

// Where a kernel's tensors lie, for manifests.
Json TensorsJson(const vta::Kernel& kernel);

// Into an existing folder.
Result<void> WriteProgram(const std::string& folder, const std::string& file,
                          const vta::Program& program);
Result<void> WriteManifest(const std::string& folder, const Json& manifest);

// --whole: every step of the network, run and compared with plain arithmetic.
Result<void> CompileWhole(const CompileArguments& arguments, Context& context);

}  // namespace tessera

#endif  // TESSERA_CLI_COMPILE_H_
