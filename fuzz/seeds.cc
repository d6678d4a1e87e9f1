// Writes seeds for the fuzzers into the folder that the command line names: the first layers of
// every zoo network, in every format that can be written, MAESTRO files with a mapping, a VTA
// program, and checkpoints.
#include <array>
#include <string>
#include <string_view>

#include "small_training.h"
#include "tessera/base/file.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/trainer.h"
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/program.h"

namespace {

constexpr size_t kLayers = 3;  // small inputs are mutated faster

constexpr std::string_view kMapping = R"(Constant Tile 4;
Network Net {
  Layer CONV1 { // a comment
    Type: CONV
    Stride { X: 2, Y: 2 }
    Dimensions { K: 64, C: 3, R: 3, S: 3, Y': 28, X: 57 }
    Dataflow {
      TemporalMap(Tile,Tile) K;
      SpatialMap(Sz(R),1) Y';
      Cluster(Sz(S), P);
      SpatialMap(1,1) C;
    }
  }
  Layer GEMM { Type: GEMM Dimensions { M: 4, N: 5, K: 6 } Dataflow { SpatialMap(1,1) M } }
}
)";

constexpr std::string_view kVtaProgram = R"(.config default_1x16
.memory 0x1000 12288
.output 0x3000 128
.uops 0x2000
  0 0 0
  1 1 1
.code 0x1000
  LOAD.UOP dram=2048 size=2x1
  GEMM.RESET uop=0..2 iter=1x4 dst=0,2
  LOAD.INP dram=512 size=3x2 stride=5 pad=1,1,1,1
  LOAD.WGT dram=32 size=2x1 push_next
  GEMM uop=0..2 iter=1x4 dst=0,2 src=0,3 pop_prev
  ALU.ADD uop=0..2 iter=1x4 dst=0,2 src=0,2 imm=3 push_next
  STORE.OUT dram=800 size=4x2 stride=4 pop_prev push_prev
  NOP.COMPUTE pop_next
  FINISH
)";

// One of each kind that vta_rows_fuzz tells apart by the first byte.
constexpr std::array<std::string_view, 4> kVtaRows = {
    R"({"id":"p","config":"default_1x16","dram":{"base":4096,"size":8192,"fill":0,"segments":[)"
    R"({"addr":4096,"name":"uop","hex":"00000000"}]},"insn_addr":8192,)"
    R"("insns_hex":["00000000000000000000000000000003"],"out":{"addr":4096,"size":16},)"
    R"("rtl_alt":[{"rd_delay":4,"beat_gap":2,"b_delay":1}]})",
    R"({"id":"c","layer":{"h":9,"w":9,"ci":20,"co":32,"k":3,"stride":1,"pad":1},"knobs":)"
    R"({"tile_h":9,"tile_w":9,"tile_ci":1,"tile_co":1,"oc_nthread":2,"h_nthread":1}})",
    R"({"id":"e","config":"b1_8x8_tiny","kind":"uop","fields":{"dst":1,"src":2,"wgt":3}})",
    R"({"id":"d","config":"b1_32x32","kind":"insn","hex":"00000000000000000000000000000003"})"};

void Save(const std::string& folder, const std::string& name, std::string_view contents) {
  TESSERA_CHECK(tessera::MakeFolder(folder).ok());
  TESSERA_CHECK(tessera::WriteFileAtomically(folder + "/" + name, contents).ok());
}

// A checkpoint after a few steps, behind the byte that tells checkpoint_fuzz the learner.
std::string CheckpointSeed(bool on_policy) {
  using namespace tessera;
  Result<Training> training = MakeTraining(SmallTraining(on_policy), /*threads=*/1, nullptr);
  TESSERA_CHECK(training.ok());
  Trainer trainer(*training->env, *training->learner, nullptr, {.window = 2});
  trainer.Start(1);
  for (int step = 0; step < 9; ++step) TESSERA_CHECK(trainer.Step().ok());
  TensorWriter writer;
  trainer.Save(writer);
  return (on_policy ? "\1" : std::string(1, '\0')) + writer.Bytes();
}

}  // namespace

int main(int argc, char** argv) {
  using namespace tessera;
  TESSERA_CHECK(argc == 2);
  const std::string corpus = argv[1];
  for (const ZooFile& file : Zoo()) {
    Result<Network> network = LoadZooNetwork(file.name);
    TESSERA_CHECK(network.ok());
    if (network->layers.size() > kLayers) {
      network->layers.resize(kLayers);
      network->graph = {};  // It names layers that are gone.
    }
    for (const NetworkFormat* format : NetworkFormats()) {
      if (format->write == nullptr) continue;
      const Result<Export> exported = format->write(*network);
      TESSERA_CHECK(exported.ok());
      const ExportedFile& first = exported->files.front();
      const std::string name(file.name);
      Save(corpus + "/network_" + std::string(format->name) + "_fuzz", name, first.contents);
      if (format->name == "maestro") Save(corpus + "/maestro_file_fuzz", name, first.contents);
      if (format->name == "timeloop") Save(corpus + "/document_fuzz", name, first.contents);
    }
    Save(corpus + "/document_fuzz", "native-" + std::string(file.name),
         file.contents.substr(0, 1000));
  }
  Save(corpus + "/maestro_file_fuzz", "mapping", kMapping);
  Save(corpus + "/network_maestro_fuzz", "mapping", kMapping);
  Save(corpus + "/vta_fuzz", "text", kVtaProgram);
  const Result<vta::Program> program = vta::ParseAssembly(kVtaProgram, "seed");
  TESSERA_CHECK(program.ok());
  Save(corpus + "/vta_fuzz", "container", vta::WriteContainer(*program));
  for (size_t kind = 0; kind < kVtaRows.size(); ++kind) {
    Save(corpus + "/vta_rows_fuzz", std::string(1, static_cast<char>('0' + kind)),
         static_cast<char>(kind) + std::string(kVtaRows[kind]));
  }
  Save(corpus + "/checkpoint_fuzz", "maddpg", CheckpointSeed(/*on_policy=*/false));
  Save(corpus + "/checkpoint_fuzz", "mappo", CheckpointSeed(/*on_policy=*/true));
  return 0;
}
