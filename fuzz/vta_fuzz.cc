// VTA programs: any bytes as a container or as assembly text give a program or an error; a program
// can be checked, run and timed, and its text form reads back as the same program.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta.h"
#include "tessera/vta/check/static.h"
#include "tessera/vta/isa/assembly.h"
#include "tessera/vta/sim/cycles.h"

namespace {

using namespace tessera;
using namespace tessera::vta;

void Exercise(Program program) {
  TESSERA_CHECK(ParseContainer(WriteContainer(program), "again").ok());
  const Result<Program> text = ParseAssembly(WriteAssembly(program), "again");
  TESSERA_CHECK(text.ok() && text->dram == program.dram && text->insn_count == program.insn_count);
  const Result<CheckReport> report = CheckAndRun(program, {.max_tile_ops = 100'000});
  const std::vector<Instruction> instructions = DecodeInstructions(program);
  if (!report || HasErrors(CheckStatic(instructions, program))) return;
  CycleSimulator simulator(program.config);
  (void)simulator.Run(instructions);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size > 1 << 16) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  if (Result<Program> program = ParseContainer(bytes, "input")) Exercise(*std::move(program));
  const Result<Program> program = ParseAssembly(bytes, "input");
  if (program && program->dram.size() <= 1 << 20) Exercise(*program);
  return 0;
}
