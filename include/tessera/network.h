// Networks: layers by the sizes of their loops, with how often each occurs, and the files that they
// are read from and written to.
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
#include <span>
#include <string>
#include <string_view>
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

// ---- Networks ----------------------------------------------------------------------------------
//
// A network: its layers with how often each occurs. Layers of equal sizes are one entry, because a
// mapping found for one of them holds for all.

struct NetworkLayer {
  std::string name = {};               // of the first occurrence; unique in its network
  Layer layer = {};                    // valid
  int64_t count = 1;                   // occurrences
  std::vector<std::string> also = {};  // names of further occurrences, where they have one

  friend bool operator==(const NetworkLayer&, const NetworkLayer&) = default;
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

  friend bool operator==(const Network&, const Network&) = default;
};

// A network from layers that are at hand, with their names and counts; layers of equal sizes become
// one entry. The errors are those of Validate, with the layer's name in front, and totals that do
// not fit in 64 bits.
Result<Network> MakeNetwork(std::string name, const std::vector<NetworkLayer>& layers);

int64_t TotalMacs(const Network& network);
int64_t TotalParameters(const Network& network);
int64_t TotalLayers(const Network& network);  // occurrences

// The entry that `selector` names: a layer's name (any occurrence's), or its 1-based index.
Result<const NetworkLayer*> FindLayer(const Network& network, std::string_view selector);

// ---- File formats ------------------------------------------------------------------------------
//
// A format is a pair of functions between bytes and networks; which one a file has follows from its
// name and contents.

// Values for names that stand for sizes: symbolic dimensions of ONNX graphs, parameters of native
// networks. A name that the network does not have is an error.
using Bindings = std::map<std::string, int64_t>;

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

// A network by zoo name ("resnet18", "bert-base:seq=384") or by path: the NETWORK argument of
// every command. `bindings` add to those in the name. A zoo name goes before a file of that name
// (write ./resnet18 for the file), and a file may have a colon in its name.
Result<Network> LoadNetwork(const std::string& name_or_path, const Bindings& bindings = {});

// ---- The zoo -----------------------------------------------------------------------------------
//
// The networks that ship with Tessera, in its native format.

using ZooFile = EmbeddedFile;  // the name is the network's; the contents are native YAML

// All zoo networks, sorted by name.
std::span<const ZooFile> Zoo();

// Reads one of them; unknown names get a hint.
Result<Network> LoadZooNetwork(std::string_view name, const Bindings& bindings = {});

// The parameters of one of them with their defaults: batch, seq, ...
Result<Bindings> ZooParameters(std::string_view name);

}  // namespace tessera

#endif  // TESSERA_NETWORK_H_
