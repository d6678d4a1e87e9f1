// The manifest.json that `tessera compile --out` writes, read back: which programs there are, in
// which order, and where each takes its inputs from. With it a compiled network runs from its
// files.
#ifndef TESSERA_VTA_NETWORK_MANIFEST_H_
#define TESSERA_VTA_NETWORK_MANIFEST_H_

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/program.h"

namespace tessera::vta {

// One program of a compiled network.
struct ManifestEntry {
  std::string name = {};
  std::string program = {};  // file, beside the manifest
  int64_t count = 1;         // occurrences in the network

  // Of whole networks only: whose outputs it takes and where they go. "image" is the network's
  // input, which the program holds itself.
  struct Input {
    std::string from = {};
    Region region = {};
  };
  std::vector<Input> inputs = {};

  // Sizes of the output, to bring it into the layout of inputs; 0 where the manifest has none.
  int64_t n = 0, channels = 0, pixels = 0;
};

struct Manifest {
  std::string network = {};
  std::vector<ManifestEntry> programs = {};
  std::vector<std::string> host_steps = {};  // not on VTA
};

// Keys that say nothing about running are not looked at.
Result<Manifest> ParseManifest(std::string_view text, const std::string& file);

// Outputs by step, each (n, channels, pixels).
using StepOutputs = std::map<std::string, std::vector<int8_t>>;

// Writes the inputs of `entry` into its program. `sizes` are the entries that gave the outputs.
// The error is for inputs that nothing before has given or whose size differs.
Result<void> FeedInputs(const ManifestEntry& entry, const Manifest& manifest,
                        const StepOutputs& outputs, Program& program);

// The output of a finished program; the error is for a region that does not hold it.
Result<std::vector<int8_t>> TakeOutput(const ManifestEntry& entry, const Program& program);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_MANIFEST_H_
