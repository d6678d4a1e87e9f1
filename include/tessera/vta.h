// VTA, an open accelerator with a matrix unit and software-managed buffers: hardware configurations
// of it, and programs for it that are compiled from layers, checked, run bit by bit and timed cycle
// by cycle. docs/vta.md describes the machine, the formats and where the cycle counts come from.
//
//   const Result<vta::CompiledLayer> conv = vta::CompileLayer(layer, {});
//   if (!conv) return conv.error();
//   Result<vta::Program> program = vta::Link(*conv, vta::RandomConvData(conv->shape, true, 1));
//   if (!program) return program.error();
//   const Result<vta::Simulation> run = vta::Simulate(*program);
//
// Contract of everything here:
//   Threads      functions may be called from any number of threads, each with its own arguments.
//   Determinism  results are functions of the arguments, seeds included; threads change nothing.
//   Errors       are values; nothing is printed. Only functions that take a path or a folder touch
//                files, and a file appears under its name whole or not at all.
#ifndef TESSERA_VTA_H_
#define TESSERA_VTA_H_

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/network.h"
#include "tessera/result.h"

namespace tessera::vta {

// ---- The machine -------------------------------------------------------------------------------

// What an instruction can address. The values are those of the instructions' memory_type field.
enum class Memory : uint8_t { kUop = 0, kWgt = 1, kInp = 2, kAcc = 3, kOut = 4, kAcc8Bit = 5 };

// How wide the matrix unit is and how large the buffers are: base-2 logarithms, under the names of
// vta_config.json. It decides the instruction format too, so programs of different configurations
// never mix. Data are int8, accumulators int32: the only widths that were ever built.
struct Config {
  std::string name = "default_1x16";
  std::string target = "sim";  // kept for people; nothing here depends on it
  std::string hw_ver = "0.0.2";
  int log_batch = 0;
  int log_block_in = 4;
  int log_block_out = 4;
  int log_uop_buff_size = 15;  // bytes, as the next three
  int log_inp_buff_size = 15;
  int log_wgt_buff_size = 18;
  int log_acc_buff_size = 17;

  int64_t batch() const { return int64_t{1} << log_batch; }
  int64_t block_in() const { return int64_t{1} << log_block_in; }
  int64_t block_out() const { return int64_t{1} << log_block_out; }
  int64_t macs() const { return batch() * block_in() * block_out(); }

  // Base-2 logarithms of buffer depths in tiles (micro-ops for UOP). OUT is as deep as ACC.
  int log_uop_depth() const { return log_uop_buff_size - 2; }
  int log_inp_depth() const { return log_inp_buff_size - log_batch - log_block_in; }
  int log_wgt_depth() const { return log_wgt_buff_size - log_block_out - log_block_in; }
  int log_acc_depth() const { return log_acc_buff_size - log_batch - log_block_out - 2; }

  int64_t Depth(Memory memory) const;      // in tiles
  int64_t TileBytes(Memory memory) const;  // of one tile in DRAM
  bool IsDefaultSize() const;              // the sizes whose cycle counts were verified on RTL

  friend bool operator==(const Config&, const Config&) = default;
};

// Refuses sizes that the instruction format cannot hold; the error quotes the violated inequality.
Result<void> Validate(const Config& config);

// "default", a preset's name, a config id, or a path to vta_config.json. The result is valid.
Result<Config> LoadConfig(const std::string& name_or_path);
std::span<const Config> ConfigPresets();

// "1x16_i8w8a32_15_15_18_17", TVM's name for a configuration; "1x16x32_..." where the blocks
// differ.
std::string ConfigId(const Config& config);

// What an area estimate rests on. The defaults are round numbers for a 45 nm process.
struct AreaAssumptions {
  // One int8 multiplier with its int32 adder. Default: 420.
  double mac_um2 = 420;

  // One SRAM bit with its share of decoders and sense amplifiers. Default: 0.55.
  double sram_bit_um2 = 0.55;
};

// Counts are exact; area_um2 is counts times assumptions and knows nothing of wiring, control or
// the DMA engines.
struct Area {
  int64_t macs = 0;
  int64_t sram_bits = 0;  // UOP, INP, WGT, ACC and OUT
  double area_um2 = 0;
};
Area EstimateArea(const Config& config, const AreaAssumptions& assumptions = {});

// The timing rules as parameters. The defaults are the published Chisel design with its 64-bit bus
// and simulated memory; with them and the default configuration cycle counts are exact, with
// anything else they extrapolate the rules.
struct TimingParameters {
  int64_t read_delay_cycles = 16;      // from a request at the head of an idle memory to its data
  int64_t beat_gap_cycles = 1;         // per beat on the read bus
  int64_t write_ack_delay_cycles = 0;  // extra, before a write is acknowledged
  int64_t bus_bytes = 8;               // per beat; a power of two
  int64_t max_burst_beats = 256;       // bursts also end at multiples of this times bus_bytes
  int64_t max_outstanding_bursts = 16;
  int64_t gemm_startup_cycles = 6;   // of a GEMM beyond one per tile operation
  int64_t alu_startup_cycles = 6;    // of an ALU instruction beyond its tile operations
  int64_t alu_immediate_cycles = 1;  // per tile operation with an immediate,
  int64_t alu_register_cycles = 2;   // and with a register operand
  int64_t store_tile_cycles = 1;     // per stored tile beyond its beats
  int64_t fetch_batch = 128;         // instructions fetched at once
  int64_t queue_depth = 512;         // instructions that each stage's queue holds
  int64_t max_tokens = 255;          // where a token counter stops counting

  friend bool operator==(const TimingParameters&, const TimingParameters&) = default;
};

// Refuses parameters outside their ranges, by name.
Result<void> Validate(const TimingParameters& parameters);

// ---- Programs ----------------------------------------------------------------------------------

// A range of byte addresses.
struct Region {
  uint64_t address = 0;
  uint64_t bytes = 0;
  friend bool operator==(const Region&, const Region&) = default;
};

// Everything that a run needs: the DRAM image, the instructions inside it, and where the result is.
struct Program {
  Config config = {};
  uint64_t dram_base = 0;          // address of dram[0]
  std::vector<uint8_t> dram = {};  // all memory that the program may touch
  uint64_t insn_addr = 0;
  int64_t insn_count = 0;
  Region out = {};

  friend bool operator==(const Program&, const Program&) = default;
};

// Refuses an invalid configuration and regions outside the image. Programs that were loaded,
// assembled or linked are valid; functions without a Result need one that is.
Result<void> Validate(const Program& program);

// The bytes of a region of the image; the region must lie in it.
std::span<const uint8_t> Bytes(const Program& program, const Region& region);

// A program from a file, binary or assembly text, told apart by the contents; and into a binary
// file, whose folder must exist. Reading accepts exactly what writing produces.
Result<Program> LoadProgram(const std::string& path);
Result<void> SaveProgram(const Program& program, const std::string& path);

struct AssemblyOptions {
  // Writes the memory image too; without it the text cannot be assembled again. Default: true.
  bool data = true;
};

// The text form. Words that no instruction encodes are written as ".word HEX", so that
// ParseAssembly gives back the same program, byte for byte. `file` is for error messages.
std::string WriteAssembly(const Program& program, const AssemblyOptions& options = {});
Result<Program> ParseAssembly(std::string_view text, const std::string& file);
std::vector<std::string> InstructionTexts(const Program& program);  // "GEMM uop=0..4 ...", ...

// ---- Checking and running ----------------------------------------------------------------------

enum class Severity : uint8_t { kError, kWarning };

// In the order in which they are looked for: a program with several defects is described by the
// first of its errors, or by its first warning.
enum class Defect : uint8_t {
  kMissingFinish,  // no FINISH instruction, or others after the last one
  kBadOpcode,      // opcode without a meaning
  kBadMemoryType,  // a memory that this instruction cannot reach
  kBadAluOpcode,
  kIllegalDependence,  // a token from or to a stage that does not exist
  kZeroRows,           // columns to transfer, but no rows
  kStorePadding,       // padding on a STORE
  kSramRange,          // tiles beyond the end of a buffer
  kDramRange,          // bytes outside the memory image
  kUopRange,           // micro-ops beyond the end of their buffer
  kFinishFlags,        // warning: tokens on FINISH
  kFinishNotLast,      // warning: FINISH, and other instructions after it
  kEmptyIteration,     // warning: a loop of no rounds, which hardware takes for 16384
  kFinishEarly,        // FINISH may run before a LOAD or STORE has
  kTokenDeadlock,      // an instruction waits for a token that never comes
  kTokensLeftOver,     // warning: pushed and never popped
  kTileIndexRange,     // a computed tile index beyond the end of its buffer
  kRace,               // two stages meet at one place and no token orders them
  kUninitialisedRead,  // a tile or micro-op that nothing has written
};
std::string_view DefectName(Defect defect);  // "token_deadlock", as JSON output names it

struct Diagnostic {
  Defect defect = Defect::kMissingFinish;
  Severity severity = Severity::kError;
  int64_t insn = -1;       // index; -1 in an empty program
  int64_t with_insn = -1;  // races: the other instruction
  std::string message = {};
};
std::string ToString(const Diagnostic& diagnostic);  // "error: instruction 3: race: ..."

// What an execution moved and computed.
struct ExecutionCounts {
  int64_t load_bytes[6] = {};  // by Memory; padding moves nothing
  int64_t store_bytes = 0;
  int64_t gemm_tile_ops = 0;  // without resets
  int64_t reset_tile_ops = 0;
  int64_t alu_tile_ops = 0;

  friend bool operator==(const ExecutionCounts&, const ExecutionCounts&) = default;
};

struct CheckOptions {
  // Looks for races and uninitialised reads; off, a program is only run. Default: true.
  bool memory = true;

  // Programs with more tile operations are refused rather than run for hours. Default: 10^9.
  int64_t max_tile_ops = 1'000'000'000;

  // Gives up with kInterrupted when somebody asks to stop (Ctrl-C). Default: false, because what a
  // stopped search has found is still checked.
  bool may_stop = false;
};

struct CheckReport {
  // Errors before warnings, each group in the order of Defect and then of instructions.
  std::vector<Diagnostic> diagnostics = {};

  // Why hardware may give another result, with the instruction in front; empty means portable.
  std::vector<std::string> not_portable = {};

  // Of a program without errors; then the image of the program holds its results.
  ExecutionCounts counts = {};

  bool ok() const {
    return diagnostics.empty() || diagnostics.front().severity == Severity::kWarning;
  }
};

// Says everything that is wrong with a program (fields, tokens, tile indices, races between
// stages, uninitialised reads, portability) and runs it; stores go into its image. The error is for
// programs that are not run at all: invalid regions or too many tile operations.
Result<CheckReport> CheckAndRun(Program& program, const CheckOptions& options = {});

// ---- Cycles ------------------------------------------------------------------------------------

// The in-order units that execute instructions. Each works through its own queue; tokens are all
// that orders one against another.
enum class Stage : uint8_t { kLoad = 0, kCompute = 1, kStore = 2 };
inline constexpr int kNumStages = 3;
std::string_view StageName(Stage stage);  // "LOAD"

// How a stage spent the cycles up to the program's end.
struct StageUse {
  int64_t instructions = 0;
  int64_t busy_cycles = 0;   // executing, bus_cycles included
  int64_t token_cycles = 0;  // an instruction is there, a token is not
  int64_t fetch_cycles = 0;  // no instruction yet, though one will come
  int64_t bus_cycles = 0;    // executing a LOAD that waits for others on the read bus

  friend bool operator==(const StageUse&, const StageUse&) = default;
};

struct CycleReport {
  int64_t cycles = 0;                       // the cycle in which the first FINISH is done
  int64_t read_bursts = 0, read_beats = 0;  // instruction fetch included
  int64_t write_bursts = 0, write_beats = 0;
  int64_t acc_writes = 0;                        // tile operations
  std::array<StageUse, kNumStages> stages = {};  // by Stage

  friend bool operator==(const CycleReport&, const CycleReport&) = default;
};

// First and last cycle of an instruction in its stage; -1 where it never got there.
struct InstructionTime {
  int64_t start = -1;
  int64_t done = -1;
  friend bool operator==(const InstructionTime&, const InstructionTime&) = default;
};

struct SimulateOptions {
  // Default: the published design.
  TimingParameters timing = {};

  // Writes Simulation::trace. Default: false.
  bool trace = false;

  // Characters per line of Simulation::timeline; 0 draws none. Default: 0.
  int64_t timeline_columns = 0;
};

struct Simulation {
  CheckReport check = {};

  // Why a program without errors has no times: hardware would never finish it (it loses tokens).
  std::optional<Error> stuck = std::nullopt;

  // Of programs without errors that finish.
  CycleReport report = {};
  std::vector<InstructionTime> times = {};  // by instruction
  std::string trace = {};     // trace events as JSON for ui.perfetto.dev; a cycle is a microsecond
  std::string timeline = {};  // a line per stage: '#' mostly busy, '+' partly, '.' idle
};

// CheckAndRun, then the time of every instruction. The errors are those of CheckAndRun and of
// timing parameters out of range; what is wrong inside the program is in the result.
Result<Simulation> Simulate(Program& program, const SimulateOptions& options = {});

// ---- Compiling one layer -----------------------------------------------------------------------

// A dense 2-D convolution: no groups, no dilation.
struct ConvShape {
  int64_t n = 1, ci = 1, co = 1;
  int64_t h = 1, w = 1;
  int64_t kh = 1, kw = 1;
  int64_t stride_h = 1, stride_w = 1;
  int64_t pad_top = 0, pad_left = 0, pad_bottom = 0, pad_right = 0;

  int64_t oh() const { return (h + pad_top + pad_bottom - kh) / stride_h + 1; }
  int64_t ow() const { return (w + pad_left + pad_right - kw) / stride_w + 1; }

  friend bool operator==(const ConvShape&, const ConvShape&) = default;
};

// out = clip((sum >> shift) + bias, low, high).
struct Epilogue {
  int32_t shift = 8;
  bool bias = true;
  int32_t low = 0;  // 0 is ReLU, -128 none
  int32_t high = 127;

  friend bool operator==(const Epilogue&, const Epilogue&) = default;
};

struct CompileOptions {
  // Must be valid. Default: the published 1x16 design.
  Config config = {};

  // What happens to the sums before they are stored. Default: shift by 8, bias, ReLU.
  Epilogue epilogue = {};

  // What schedules are timed with. Default: the published design.
  TimingParameters timing = {};

  // "auto" searches; "tile_h=4,tile_w=28,..." are knobs of the reference template, and
  // "tiled:tile_h=8,..." a schedule of the improved generator. Default: auto.
  std::string schedule = "auto";

  // Whether "auto" means the reference template at its best knobs. Default: false, the improved
  // generator; its programs never take more cycles than the template's at any valid knobs.
  bool reference_only = false;
};

struct Kernel;  // instructions and micro-ops without data

struct CompiledLayer {
  ConvShape shape = {};
  std::string schedule = {};  // as CompileOptions takes it
  CycleReport report = {};
  int64_t gemm_floor_cycles = 0;  // of a matrix unit that never waits, padding counted as data
  int64_t instructions = 0, uops = 0;
  int64_t dram_read_bytes = 0, dram_write_bytes = 0;
  int64_t evaluations = 1;                         // programs that were timed to find it
  std::shared_ptr<const Kernel> kernel = nullptr;  // what Link needs
};

// A convolution, or a fully connected layer as a 1x1 convolution over a row of inputs. The errors:
// layers that VTA cannot run (grouped, depthwise, dilated, kernels over 11, ...), schedules that do
// not exist or do not fit, with the violated limit.
Result<CompiledLayer> CompileLayer(const Layer& layer, const CompileOptions& options);
Result<CompiledLayer> CompileConv(const ConvShape& shape, const CompileOptions& options);

struct ConvData {
  std::vector<int8_t> input = {};    // (n, ci, h, w)
  std::vector<int8_t> weights = {};  // (co, ci, kh, kw)
  std::vector<int32_t> bias = {};    // (co), empty without bias
};

// Random data, a function of (shape, seed): int8 over its whole range, biases from -128 to 127.
ConvData RandomConvData(const ConvShape& shape, bool bias, uint64_t seed);

// The layer with its data in a memory image, ready to run. The errors: data of other sizes than the
// layer's, and biases that the code cannot encode (the matrix unit adds them as products of int8
// numbers).
Result<Program> Link(const CompiledLayer& layer, const ConvData& data);

// The output of a finished program that was linked for this shape, (n, co, oh, ow), and what it
// must be: the slow, obvious convolution.
std::vector<int8_t> UnpackConvOutput(const Program& program, const ConvShape& shape);
std::vector<int8_t> ReferenceConv(const ConvShape& shape, const ConvData& data,
                                  const Epilogue& epilogue);

// ---- Networks ----------------------------------------------------------------------------------

struct NetworkOptions {
  // Configuration, timing, generator and, of CompileNetwork, epilogue and schedule.
  CompileOptions compile = {};

  // Of the data in the programs. Default: 1.
  uint64_t seed = 1;

  // Runs every program and compares its output; a difference is an error of kind kInternal.
  // CompileWhole always does. Default: false.
  bool verify = false;

  // Threads that search schedules. Default: 0 (one per core).
  int threads = 0;

  // Where programs and manifest.json go; made if it does not exist. Default: empty (nowhere).
  std::string folder = {};
};

// Layers one by one, each with random data.
struct CompiledNetwork {
  struct Entry {
    std::string name = {};
    int64_t count = 1;  // occurrences in the network
    CompiledLayer layer = {};
  };
  std::vector<Entry> layers = {};
  std::vector<Error> skipped = {};  // layers that were not compiled, with their names and reasons
  int64_t cycles = 0;               // of all occurrences
  std::string manifest = {};        // manifest.json; empty if nothing could be compiled
};
Result<CompiledNetwork> CompileNetwork(const Network& network, const NetworkOptions& options);

// Convolutions (fully connected layers among them), additions, max pooling and ReLU run on VTA, the
// others on the host, as users of VTA do it; a concatenation is only a matter of where data lie.
enum class StepKind : uint8_t {
  kConv,
  kAdd,
  kMaxPool,
  kRelu,
  kConcat,
  kAveragePool,
  kClassifier,
};
std::string_view StepKindName(StepKind kind);  // "conv", "add", "max_pool", ...
bool RunsOnVta(StepKind kind);

struct StepRun {
  std::string name = {};
  StepKind kind = StepKind::kConv;
  int64_t values = 0;           // of its output, all equal to plain arithmetic
  int64_t distinct_values = 0;  // how many different ones: 1 would prove nothing

  // On VTA only.
  std::string schedule = {};
  CycleReport report = {};
  ExecutionCounts counts = {};
};

// A quantised network with its graph, additions and pooling included: every step was run
// on the outputs of the steps before it, and every value compared with plain arithmetic.
struct NetworkRun {
  std::vector<StepRun> steps = {};
  int64_t cycles = 0;                // on VTA, one step after another
  std::vector<int32_t> scores = {};  // of the classifier, or the last step's output without one
  std::string manifest = {};         // manifest.json
};

// The network's graph may have convolutions that are dense, fully connected layers, max and average
// pooling, additions of two tensors, concatenations of channels, ReLU and views; the error names
// all nodes that VTA has no code for, with the reasons.
Result<NetworkRun> CompileWhole(const Network& network, const NetworkOptions& options);

// The programs of a folder that CompileNetwork or CompileWhole wrote, in the manifest's order.
struct FolderRun {
  struct Entry {
    std::string name = {};
    int64_t count = 1;
    int64_t instructions = 0;
    CycleReport report = {};
    bool portable = true;
  };
  std::string network = {};
  std::vector<Entry> programs = {};
  int64_t cycles = 0;                        // of all occurrences
  std::vector<std::string> host_steps = {};  // not on VTA
};

// Runs them from their files. Where the manifest knows the connections, each program works on what
// the programs before it computed. A defective program is an error.
Result<FolderRun> SimulateFolder(const std::string& folder, const TimingParameters& timing = {});

// ---- Rows of many questions --------------------------------------------------------------------

// Which schedule a convolution row is answered with.
enum class RowGenerator : uint8_t {
  kAsAsked,    // the row's knobs in the reference template; the fastest schedule if it has none
  kReference,  // the row's knobs in the reference template; a row without them is an error
  kBest,       // the fastest schedule of the row's layer, wherever its knobs are valid or absent
};

// Answers rows of JSON with one JSON object each, without line ends, that has the row's id; the
// rows' keys are in docs/vta.md. Rows need only their questions: answers that they may hold are not
// read.
//   Threads  any number may ask one object; a layer that several rows ask for is searched once.
//   Errors   for rows that ask nothing: no JSON, a key missing, an unknown configuration. Their
//            place is `where`.
class RowAnswers {
 public:
  // Rows may name presets and the configurations of the file `configs` (empty: none):
  // {"default": {...}, "others": [{...}, ...]}, each with a "name" and the keys of vta_config.json
  // under "log2". Other keys are descriptions and not read.
  static Result<RowAnswers> Make(const std::string& configs = {},
                                 const TimingParameters& timing = {});
  RowAnswers(RowAnswers&&) noexcept;
  RowAnswers& operator=(RowAnswers&&) noexcept;
  ~RowAnswers();

  // A program record: result, cycles, per-instruction times, defects, portability.
  Result<std::string> ToProgram(std::string_view row, const Where& where) const;

  // A convolution row: validity, cycles and traffic of a schedule.
  Result<std::string> ToConv(std::string_view row, RowGenerator generator,
                             const Where& where) const;

  // An encoding row: fields to bits, and bits to fields.
  Result<std::string> ToEncode(std::string_view row, const Where& where) const;
  Result<std::string> ToDecode(std::string_view row, const Where& where) const;

 private:
  struct State;
  explicit RowAnswers(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_H_
