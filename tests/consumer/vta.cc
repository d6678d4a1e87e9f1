// A layer of ResNet-18 on VTA: compiled, run on random data, compared, timed. Prints the cycles.
#include <cstdio>

#include "tessera/network.h"
#include "tessera/vta.h"

int main() {
  using namespace tessera;
  const Result<Network> network = LoadNetwork("resnet18");
  if (!network) return 1;
  const vta::CompileOptions options;  // the published design, the fastest schedule
  const Result<vta::CompiledLayer> conv = vta::CompileLayer(network->layers[1].layer, options);
  if (!conv) return 2;
  const vta::ConvData data = vta::RandomConvData(conv->shape, options.epilogue.bias, /*seed=*/1);
  Result<vta::Program> program = vta::Link(*conv, data);
  if (!program) return 3;
  const Result<vta::Simulation> run = vta::Simulate(*program);
  if (!run || !run->check.ok() || run->stuck) return 4;
  const bool equal = vta::UnpackConvOutput(*program, conv->shape) ==
                     vta::ReferenceConv(conv->shape, data, options.epilogue);
  std::printf("%lld cycles\n", static_cast<long long>(run->report.cycles));
  return equal ? 0 : 5;
}
