// Networks: layers by the sizes of their loops, with how often each occurs; the graph that connects
// them; and the files that they are read from and written to.
//
//   const Result<Network> zoo = LoadNetwork("resnet18");     // ships with Tessera
//   const Result<Network> file = LoadNetwork("model.onnx");  // or MAESTRO, GAMMA, Timeloop, YAML
//   const Result<Network> own = MakeNetwork("mine", {{.name = "fc", .layer = {...}}});
//
// Contract of everything here: pure functions; any thread may call them. Only functions that take a
// path touch files.
#ifndef TESSERA_NETWORK_H_
#define TESSERA_NETWORK_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// ---- Layers ------------------------------------------------------------------------------------
//
// One layer of a network as mappers see it: the sizes of its loops, nothing about its weights.

enum class LayerType : uint8_t {
  kConv,            // 2-D convolution, depthwise and grouped ones included
  kTransposedConv,  // 2-D transposed convolution
  kFullyConnected,  // N rows times a K x C weight matrix
  kMatmul,          // H products of an M x K with a K x N matrix, both activations
};

// A pair of values for the vertical (Y, R, P) and the horizontal (X, S, Q) axis.
struct Pair {
  int64_t y = 1;
  int64_t x = 1;
  friend bool operator==(const Pair&, const Pair&) = default;
};

struct Padding {
  int64_t top = 0;
  int64_t left = 0;
  int64_t bottom = 0;
  int64_t right = 0;
  friend bool operator==(const Padding&, const Padding&) = default;
};

// Fields are the dimensions by the names users see; a field that a type does not use stays at its
// default, so that equal layers compare equal:
//   conv, transposed   n k c y x r s stride dilation pad groups (transposed: output_pad) bias
//   fully connected    n k c bias
//   matmul             h m n k (k is the contraction)
// c and k count all groups together; y and x are the unpadded input size.
struct Layer {
  LayerType type = LayerType::kConv;
  bool bias = false;
  int64_t h = 1, m = 1;
  int64_t n = 1, k = 1, c = 1, y = 1, x = 1, r = 1, s = 1;
  int64_t groups = 1;
  Pair stride = {};
  Pair dilation = {};
  Padding pad = {};
  Pair output_pad = {0, 0};
  TensorBits bits = {};  // of its tensors; not given: those of the machine

  friend bool operator==(const Layer&, const Layer&) = default;
};

// No size may be larger; every format's 32-bit readers can hold it.
inline constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;

// Whether the layer makes sense: sizes in 1..kMaxSize, groups that divide c and k, a kernel that
// fits into the padded input, and counts (MACs, tensors) that fit in 64 bits. The error names the
// dimension; its `where` is empty, for the caller to fill in.
Result<void> Validate(const Layer& layer);

// Everything below needs a layer that Validate accepts.

Pair OutputSize(const Layer& layer);  // P and Q; 1, 1 for matrix products

// Multiply-accumulates. Padding counts as data; transposed convolutions count
// N*C*Y*X*(K/groups)*R*S.
int64_t Macs(const Layer& layer);

int64_t InputElements(const Layer& layer);   // matmul: the M x K operand
int64_t WeightElements(const Layer& layer);  // matmul: the K x N operand, an activation
int64_t OutputElements(const Layer& layer);
int64_t Parameters(const Layer& layer);  // weights and biases; 0 for matmul

bool IsDepthwise(const Layer& layer);  // a convolution with one input channel per group

// "conv", "dwconv" (depthwise), "trconv", "fc" or "gemm".
std::string_view TypeName(const Layer& layer);
inline constexpr std::array<std::string_view, 5> kLayerTypeNames = {"conv", "dwconv", "trconv",
                                                                    "fc", "gemm"};

// The layer's dimensions in the order of its type, output size included for convolutions:
// N K C Y X R S P Q; N K C; H M N K.
struct NamedSize {
  std::string_view name;
  int64_t size;
};
std::vector<NamedSize> Dimensions(const Layer& layer);

// "conv N1 K64 C3 Y224 X224 R7 S7 P112 Q112 stride 2 pad 3", for messages and tables.
std::string ToString(const Layer& layer);

struct LayerHash {
  size_t operator()(const Layer& layer) const;
};

// ---- Graphs ------------------------------------------------------------------------------------
//
// How the layers of a network are connected: nodes in execution order, and the tensors that they
// read and write (docs/graphs.md). Plain data; a graph without nodes means that its source does not
// say how the layers are connected.

enum class TensorKind : uint8_t {
  kActivation,  // written by one node
  kInput,       // of the network; no node writes it
  kOutput,      // of the network; written by one node, which may be followed by others
  kWeight,      // a weight matrix or another constant; no node writes it
  kCache,       // of keys and values: what earlier steps wrote, or what this one adds to it
};
inline constexpr std::array<std::string_view, 5> kTensorKindNames = {"activation", "input",
                                                                     "output", "weight", "cache"};

struct GraphTensor {
  std::string name = {};            // unique in its graph
  std::vector<int64_t> shape = {};  // outermost first: N C Y X of images; sizes are at least 1
  TensorKind kind = TensorKind::kActivation;
  int64_t bits = 0;  // per word; 0: those of the machine

  friend bool operator==(const GraphTensor&, const GraphTensor&) = default;
};

int64_t Words(const GraphTensor& tensor);

// A node does one of three things:
//   MACs     `layer` is the entry of Network::layers of which it is an occurrence; type is that of
//            the layer: conv, dwconv, trconv, fc, gemm. It reads its activations first (gemm: the
//            M x K operand, then the K x N one), then its weight. Biases are no tensors.
//   moves    a vector node: maxpool, avgpool, add, mul, concat, softmax, norm, resize, embedding,
//   ...
//            reads each input once and writes each output once.
//   nothing  a view: its output is (a part of, or a repetition of) its first input under another
//            name: reshape, flatten, transpose, identity, slice, expand, and elementwise functions
//            of one tensor, which run on the way out of its producer: relu, scale, quantise, ...
// A concatenation is listed as a vector node; where all that it reads and writes has one home, it
// is a view.
struct GraphNode {
  std::string name = {};  // unique in its graph
  std::string type = {};
  std::vector<int32_t> inputs = {};   // indices of tensors
  std::vector<int32_t> outputs = {};  // one or more
  int32_t layer = -1;                 // index into Network::layers; -1: no MACs
  bool view = false;

  // Of pooling; {1, 1} and no padding otherwise. Other reductions have the number of elements that
  // become one as kernel.y.
  Pair kernel = {};
  Pair stride = {};
  Pair dilation = {};
  Padding pad = {};

  bool macs() const { return layer >= 0; }
  bool vector() const { return layer < 0 && !view; }

  friend bool operator==(const GraphNode&, const GraphNode&) = default;
};

struct Graph {
  std::vector<GraphTensor> tensors = {};
  std::vector<GraphNode> nodes = {};  // in execution order

  bool empty() const { return nodes.empty(); }
  friend bool operator==(const Graph&, const Graph&) = default;
};

// Operations of a vector node: words of its outputs, for pooling and other reductions times the
// window, for softmax and norm times 3; 0 for the other nodes.
int64_t VectorElements(const Graph& graph, const GraphNode& node);

// Who writes and reads each tensor, by its index, and what it is another name of.
struct GraphLinks {
  std::vector<int32_t> producer = {};                // the node; -1: none
  std::vector<std::vector<int32_t>> consumers = {};  // nodes, in order, each once
  std::vector<int32_t> root = {};  // behind all views; the tensor itself where it is no alias
};
GraphLinks Links(const Graph& graph);

// The most words of activations that are alive at the same time, inputs and outputs of the network
// included, weights and caches not. A tensor lives from its producer (an input: from the start) to
// the last consumer of it and of its aliases (an output: to the end); concatenations are views.
int64_t PeakLiveWords(const Graph& graph);

// ---- Networks ----------------------------------------------------------------------------------
//
// A network: its layers with how often each occurs. Layers of equal sizes are one entry, because a
// mapping found for one of them holds for all.

// What the elements of a layer's tensors are in the file that it comes from: "float32", "int8",
// ...; "mixed" where occurrences differ, empty where nothing is known. No cost depends on it,
// unless SetBits makes widths of it.
struct ElementTypes {
  std::string inputs = {}, weights = {}, outputs = {};

  bool known() const { return !inputs.empty() || !weights.empty() || !outputs.empty(); }
  friend bool operator==(const ElementTypes&, const ElementTypes&) = default;
};

struct NetworkLayer {
  std::string name = {};               // of the first occurrence; unique in its network
  Layer layer = {};                    // valid
  int64_t count = 1;                   // occurrences
  std::vector<std::string> also = {};  // names of further occurrences, where they have one
  ElementTypes types = {};

  friend bool operator==(const NetworkLayer&, const NetworkLayer&) = default;
};

// One step of a language model: what its network stands for.
struct LanguageStep {
  std::string phase = {};   // "prefill" or "decode"; "encode" of models without a cache
  std::string causal = {};  // "full": every query meets every key; "triangle": as the mask has it
  int64_t batch = 1, seq = 1, past = 0;
  int64_t bits = 16;       // of weights, activations and cache
  int64_t parameters = 0;  // of all nodes with MACs, experts that the step does not use included
  int64_t kv_bytes = 0;    // of the cache after the step

  friend bool operator==(const LanguageStep&, const LanguageStep&) = default;
};

struct Network {
  std::string name = {};
  std::string source = {};   // where the sizes come from, for people; may be empty
  std::string variant = {};  // "gamma": no strides, modelled at input size; otherwise empty
  int64_t batch = 1;
  std::vector<NetworkLayer> layers = {};  // in the order of first occurrence

  // Operators of an imported graph that carry no MACs, and those that the importer does not know,
  // with how often each occurs.
  std::map<std::string, int64_t> ignored = {};
  std::map<std::string, int64_t> unknown = {};

  Graph graph = {};                       // without nodes where the source has no edges
  std::optional<LanguageStep> step = {};  // of language models

  friend bool operator==(const Network&, const Network&) = default;
};

// Whether a network's graph makes sense: names are there and unique; every index is one of a
// tensor; tensors have one producer, or none, as their kind says, and are read or an output of the
// network; a node comes after the producers of what it reads; a layer's tensors have its sizes,
// other nodes' tensors fit each other; and every layer occurs as often as its entry says. Parts
// that do not hang together are allowed. Linear in the graph's size; fine for a network without a
// graph. The error names node or tensor; its `where` is empty.
Result<void> ValidateGraph(const Network& network);

// A network from layers that are at hand, with their names and counts; layers of equal sizes become
// one entry. The errors are those of Validate, with the layer's name in front, and totals that do
// not fit in 64 bits.
Result<Network> MakeNetwork(std::string name, const std::vector<NetworkLayer>& layers);

int64_t TotalMacs(const Network& network);
int64_t TotalParameters(const Network& network);
int64_t TotalLayers(const Network& network);  // occurrences

// The entry that `selector` names: a layer's name (any occurrence's), or its 1-based index.
Result<const NetworkLayer*> FindLayer(const Network& network, std::string_view selector);

// The network with one of its layers only, and so without a graph.
Network OnlyLayer(Network network, const NetworkLayer& layer);

// Gives all layers of a network widths: "file" (what the data types of its file have), "machine"
// (none, so that the machine's count), one number, widths by name, or several of these with commas
// between: "file,outputs=16". What is named replaces what layers have. Layers that become equal are
// one entry afterwards. Errors: bad widths, and data types that are not known or differ.
Result<void> SetBits(std::string_view request, Network& network);

// ---- File formats ------------------------------------------------------------------------------
//
// A format is a pair of functions between bytes and networks; which one a file has follows from its
// name and contents.

// A value for a name: a number, or a word where the name is a choice (phase=decode).
struct Binding {
  int64_t number = 0;
  std::string word = {};  // empty: a number

  Binding() = default;
  Binding(int64_t number_in) : number(number_in) {}           // NOLINT: 3 is a binding
  Binding(int number_in) : number(number_in) {}               // NOLINT
  Binding(std::string word_in) : word(std::move(word_in)) {}  // NOLINT: "decode" is one, too
  Binding(const char* word_in) : word(word_in) {}             // NOLINT
  friend bool operator==(const Binding&, const Binding&) = default;
};
std::string ToString(const Binding& binding);

// Values for names that stand for sizes: symbolic dimensions of ONNX graphs, parameters of native
// networks, settings of language models. A name that the network does not have is an error.
using Bindings = std::map<std::string, Binding>;

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

// "seq=384,phase=decode" as bindings.
Result<Bindings> ParseBindings(std::string_view text);

// A network by zoo name ("resnet18", "bert-base:seq=384") or by path: the NETWORK argument of
// every command. `bindings` add to those in the name. A zoo name goes before a file of that name
// (write ./resnet18 for the file), and a file may have a colon in its name.
Result<Network> LoadNetwork(const std::string& name_or_path, const Bindings& bindings = {});

// ---- The zoo -----------------------------------------------------------------------------------
//
// The networks that ship with Tessera, in its native formats.

using ZooFile = EmbeddedFile;  // the name is the network's; the contents are YAML

// All zoo networks, sorted by name.
std::span<const ZooFile> Zoo();

// Reads one of them; unknown names get a hint.
Result<Network> LoadZooNetwork(std::string_view name, const Bindings& bindings = {});

// The parameters of one of them with their defaults: batch, seq, ...
Result<Bindings> ZooParameters(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_NETWORK_H_
