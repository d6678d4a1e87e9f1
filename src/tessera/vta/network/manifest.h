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
#include "tessera/vta.h"
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

  // Sizes of each input, where a view may stand between producer and program; 0 where the manifest
  // has none: then they are those of the producer.
  int64_t in_n = 0, in_channels = 0, in_pixels = 0;

  // Sizes of the output, to bring it into the layout of inputs; 0 where the manifest has none.
  int64_t n = 0, channels = 0, pixels = 0;
};

// What the host does between programs: a concatenation, or average pooling.
struct ManifestHostStep {
  std::string name = {};
  StepKind kind = StepKind::kConcat;
  std::vector<std::string> inputs = {};
  ConvShape shape = {};  // n of a concatenation; windows of average pooling
  size_t before = 0;     // the programs that run before it
};

struct Manifest {
  std::string network = {};
  std::vector<ManifestEntry> programs = {};
  std::vector<ManifestHostStep> host_work = {};  // those of the host's steps that programs may need
  std::vector<std::string> host_steps = {};      // not on VTA
};

// Keys that say nothing about running are not looked at.
Result<Manifest> ParseManifest(std::string_view text, const std::string& file);

// Outputs by step, each (n, channels, pixels).
using StepOutputs = std::map<std::string, std::vector<int8_t>>;

// Does what the host has to do before the next program.
Result<void> RunHostStep(const ManifestHostStep& step, StepOutputs& outputs);

// Writes the inputs of `entry` into its program.
// The error is for inputs that nothing before has given or whose size differs.
Result<void> FeedInputs(const ManifestEntry& entry, const Manifest& manifest,
                        const StepOutputs& outputs, Program& program);

// The output of a finished program; the error is for a region that does not hold it.
Result<std::vector<int8_t>> TakeOutput(const ManifestEntry& entry, const Program& program);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_NETWORK_MANIFEST_H_
