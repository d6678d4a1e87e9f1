// What the parts of Tessera are made of, and what your own cost model, searcher or environment is
// made of in turn: settings that are declared once, random numbers that do not depend on threads,
// threads that do not change results, exact decimals, bits of tensors, and files of arrays.
//
//   struct WalkOptions {
//     int64_t redraws = 8;
//   };
//   const ParameterList<WalkOptions> kParameters = {
//       {"redraws", &WalkOptions::redraws, Range{0, 10'000}, "tries for a legal first point"}};
#ifndef TESSERA_PART_H_
#define TESSERA_PART_H_

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "tessera/result.h"

// Lists of parts in which a new part is one line: a list macro names type and variable of each
// part,
//
//   #define TESSERA_ENVS(PART) PART(EnvInfo, kNavigationEnv) PART(EnvInfo, kMappingEnv)
//   TESSERA_ENVS(TESSERA_DECLARE_PART)
//   constexpr const EnvInfo* kEnvs[] = {TESSERA_ENVS(TESSERA_PART_ADDRESS)};
//
// declares the parts, which are defined in files of their own, and lists their addresses.
#define TESSERA_DECLARE_PART(type, name) extern const type name;
#define TESSERA_PART_ADDRESS(type, name) &name,

// For parts that are made when they are first asked for: functions without arguments.
#define TESSERA_DECLARE_MAKER(type, name) type name();
#define TESSERA_MADE_PART(type, name) name(),

namespace tessera {

// ---- Words for the values of an enum -----------------------------------------------------------
//
// Words for the values of an enum: one table per enum, `constexpr std::array<std::string_view, n>`
// in the order of its values, that --help, files and messages all read.

// The position of a word in a table. The error is about `what`: "unknown objective 'latnecy'; did
// you mean 'latency'?", of kind kUsage.
Result<size_t> FindPosition(std::string_view what, std::string_view word,
                            std::span<const std::string_view> names);

// The value of an enum that a word names.
template <typename Enum, size_t kCount>
Result<Enum> FindName(std::string_view what, std::string_view word,
                      const std::array<std::string_view, kCount>& names) {
  const Result<size_t> position = FindPosition(what, word, names);
  if (!position) return position.error();
  return static_cast<Enum>(*position);
}

// The word for a value.
template <typename Enum, size_t kCount>
constexpr std::string_view NameOf(Enum value, const std::array<std::string_view, kCount>& names) {
  return names[static_cast<size_t>(value)];
}

// ---- Settings of a registered part -------------------------------------------------------------
//
// The settings of a cost model, a search method or an environment, declared once beside its options
// struct: --help, docs and bindings read name, type, default, range and text from the declaration,
// and values given as text are checked against it.

// Limits of a number, both allowed.
struct Range {
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
};

// The words that a text may be; none: any text.
using Choices = std::vector<std::string>;

using ParameterValue = std::variant<bool, int64_t, double, std::string>;

// One parameter as people and bindings see it.
struct ParameterInfo {
  std::string name;
  ParameterValue fallback;  // the value if none is given; its type is the parameter's
  Range range;              // of numbers
  Choices choices;          // of texts
  std::string text;
  std::string placeholder = {};  // of the value in --help ("SECONDS"); empty: as its type
};

std::string_view TypeName(const ParameterInfo& info);  // "bool", "int", "float" or "text"
std::string RangeText(const ParameterInfo& info);      // "0..10000", "single|ward", or nothing
std::string ToString(const ParameterValue& value);     // ParseValue reads it back

// A value of the parameter's type within its range; errors name the parameter and the rule.
Result<ParameterValue> ParseValue(const ParameterInfo& info, std::string_view text);

// Name and value as a user wrote them.
using Assignments = std::vector<std::pair<std::string, std::string>>;

// A parameter tied to a field of `Options`, whose default it takes from there.
template <typename Options>
class Parameter {
 public:
  Parameter(std::string name, int64_t Options::*field, Range range, std::string text)
      : Parameter(std::move(name), field, range, Choices{}, std::move(text)) {}
  Parameter(std::string name, double Options::*field, Range range, std::string text)
      : Parameter(std::move(name), field, range, Choices{}, std::move(text)) {}
  Parameter(std::string name, bool Options::*field, std::string text)
      : Parameter(std::move(name), field, Range{}, Choices{}, std::move(text)) {}
  Parameter(std::string name, std::string Options::*field, Choices choices, std::string text)
      : Parameter(std::move(name), field, Range{}, std::move(choices), std::move(text)) {}

  // An enum, by the words of its table.
  template <typename Enum, size_t kCount>
    requires std::is_enum_v<Enum>
  Parameter(std::string name, Enum Options::*field,
            const std::array<std::string_view, kCount>& names, std::string text)
      : info_{.name = std::move(name),
              .fallback = std::string(names[static_cast<size_t>(Options().*field)]),
              .range = {},
              .choices = Choices(names.begin(), names.end()),
              .text = std::move(text)},
        set_([field, names](Options& options, const ParameterValue& value) {
          const auto found = std::find(names.begin(), names.end(), std::get<std::string>(value));
          options.*field = static_cast<Enum>(found - names.begin());
        }) {}

  // The same with a placeholder for its value.
  Parameter Of(std::string placeholder) && {
    info_.placeholder = std::move(placeholder);
    return std::move(*this);
  }

  const ParameterInfo& info() const { return info_; }

  // `value` has this parameter's type.
  void Set(Options& options, const ParameterValue& value) const { set_(options, value); }

 private:
  template <typename Value>
  Parameter(std::string name, Value Options::*field, Range range, Choices choices, std::string text)
      : info_{.name = std::move(name),
              .fallback = Options().*field,
              .range = range,
              .choices = std::move(choices),
              .text = std::move(text)},
        set_([field](Options& options, const ParameterValue& value) {
          options.*field = std::get<Value>(value);
        }) {}

  ParameterInfo info_;
  std::function<void(Options&, const ParameterValue&)> set_;
};

template <typename Options>
using ParameterList = std::vector<Parameter<Options>>;

template <typename Options>
std::vector<ParameterInfo> Describe(const ParameterList<Options>& parameters) {
  std::vector<ParameterInfo> infos;
  for (const Parameter<Options>& parameter : parameters) infos.push_back(parameter.info());
  return infos;
}

// The parameter that `name` names, as an index into `infos`. `part` is what has them ("method
// random"), for the message.
Result<size_t> FindParameter(std::string_view part, const std::vector<ParameterInfo>& infos,
                             std::string_view name);

// Options with the given values and otherwise their defaults. A name that does not exist, a value
// out of range and a name given twice are errors.
template <typename Options>
Result<Options> ReadOptions(std::string_view part, const ParameterList<Options>& parameters,
                            const Assignments& assignments) {
  const std::vector<ParameterInfo> infos = Describe(parameters);
  std::vector<bool> given(infos.size());
  Options options;
  for (const auto& [name, text] : assignments) {
    const Result<size_t> index = FindParameter(part, infos, name);
    if (!index) return index.error();
    if (given[*index]) {
      return Error{.kind = ErrorKind::kUsage,
                   .message = std::string(part) + ": parameter '" + name + "' is given twice"};
    }
    given[*index] = true;
    const Result<ParameterValue> value = ParseValue(infos[*index], text);
    if (!value) return value.error();
    parameters[*index].Set(options, *value);
  }
  return options;
}

// ---- Exact decimals ----------------------------------------------------------------------------
//
// A decimal number as it was written: 0.3 is 3/10, not the nearest double. Bandwidths and energies
// of machines are kept this way, so that exact rules can be computed exactly.

// mantissa * 10^exponent, without trailing zeros in the mantissa (0 is 0 * 10^0). Every double's
// shortest decimal form fits; so do integers of up to 18 digits.
class Decimal {
 public:
  constexpr Decimal() = default;
  constexpr Decimal(int64_t value) : Decimal(value, 0) {}  // NOLINT: implicit, 16 means 16
  // The decimal with the fewest digits that reads back as `value`; value is finite.
  static Decimal FromDouble(double value);
  static Result<Decimal> Parse(std::string_view text);

  int64_t mantissa() const { return mantissa_; }
  int exponent() const { return exponent_; }
  double ToDouble() const;
  std::string ToString() const;  // Parse(ToString()) is the same number

  // Smallest integer not below, and largest integer not above, count / *this, for count >= 0 and
  // *this > 0; both saturate at the largest 64-bit integer.
  int64_t CeilQuotient(int64_t count) const;
  int64_t FloorQuotient(int64_t count) const;

  friend bool operator==(const Decimal&, const Decimal&) = default;

 private:
  constexpr Decimal(int64_t mantissa, int exponent) : mantissa_(mantissa), exponent_(exponent) {
    while (mantissa_ != 0 && mantissa_ % 10 == 0) {
      mantissa_ /= 10;
      ++exponent_;
    }
    if (mantissa_ == 0) exponent_ = 0;
  }

  int64_t mantissa_ = 0;
  int exponent_ = 0;
};

// ---- Bits of tensors ---------------------------------------------------------------------------
//
// How many bits an element of a layer's weights, inputs, outputs and partial sums has. Networks and
// accelerators may say so (docs/cost-loopnest.md, "Bits per tensor"); where nobody does, an element
// takes one word of whatever level holds it.

// 0: not given.
struct TensorBits {
  int32_t weights = 0;       // a matrix product: of its second operand, K x N
  int32_t inputs = 0;        // a matrix product: of its first operand, M x K
  int32_t outputs = 0;       // where they are at home, which is the outermost level
  int32_t partial_sums = 0;  // of outputs at all levels further in; not given: as outputs

  bool known() const { return (weights | inputs | outputs | partial_sums) != 0; }
  friend bool operator==(const TensorBits&, const TensorBits&) = default;
};

// No width may be larger.
inline constexpr int32_t kMostTensorBits = 1024;

// The fields by the names that files and flags have for them.
struct TensorBitsField {
  std::string_view name;
  int32_t TensorBits::*field;
};
inline constexpr std::array<TensorBitsField, 4> kTensorBitsFields = {{
    {"weights", &TensorBits::weights},
    {"inputs", &TensorBits::inputs},
    {"outputs", &TensorBits::outputs},
    {"partial_sums", &TensorBits::partial_sums},
}};

// What `first` gives, and what it does not give from `second`.
TensorBits Either(const TensorBits& first, const TensorBits& second);

// Whether all widths are 0 or in 1..kMostTensorBits; the error's `where` is empty.
Result<void> Validate(const TensorBits& bits);

// "weights=4,inputs=8", of the widths that are given; and back. One number stands for weights,
// inputs and outputs.
std::string ToString(const TensorBits& bits);
Result<TensorBits> ParseTensorBits(std::string_view text);

// ---- Random numbers ----------------------------------------------------------------------------
//
// Counter-based random numbers (Philox 4x32-10). A draw is a pure function of (seed, stream, step,
// index of the draw), so a result does not depend on threads, and a resumed run draws what it
// would have drawn.

// One block of Philox 4x32-10 as published by Salmon, Moraes, Dror and Shaw (SC 2011).
std::array<uint32_t, 4> Philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key);

// The number of a named stream: StreamId("search.random"), or StreamId("agent", 3) for one of many.
// Names keep streams apart that would otherwise share small numbers by accident.
constexpr uint64_t StreamId(std::string_view name, uint64_t index = 0) {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  for (int byte = 0; byte < 8; ++byte)
    hash = (hash ^ ((index >> (8 * byte)) & 0xff)) * 0x100000001b3u;
  return hash;
}

// The draws of one (seed, stream, step). Cheap to make and to copy; holds no shared state.
// Satisfies UniformRandomBitGenerator, but use the members below: the standard's distributions
// differ between libraries.
class CounterRng {
 public:
  using result_type = uint64_t;

  CounterRng(uint64_t seed, uint64_t stream, uint64_t step = 0);

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  uint64_t operator()() { return Bits64(); }

  uint32_t Bits32();
  uint64_t Bits64();
  double Uniform();                   // [0, 1), 53 bits
  int64_t UniformInt(int64_t bound);  // 0 .. bound-1, exactly uniform; bound > 0
  double Normal();                    // mean 0, deviation 1

  // The Philox key of this stream, for code that makes many blocks at once.
  std::array<uint32_t, 2> key() const { return key_; }

  template <typename T>
  void Shuffle(std::span<T> items) {
    for (size_t i = items.size(); i > 1; --i) {
      std::swap(items[i - 1], items[static_cast<size_t>(UniformInt(static_cast<int64_t>(i)))]);
    }
  }

 private:
  std::array<uint32_t, 2> key_;
  uint64_t step_;
  uint64_t block_ = 0;  // blocks drawn so far
  unsigned used_ = 4;   // words of buffer_ handed out
  std::array<uint32_t, 4> buffer_{};
};

// ---- Threads -----------------------------------------------------------------------------------
//
// Threads for batches of independent work, with results that do not depend on how many there are.

// Contract:
//   Threads      ParallelFor is called by one thread at a time, never from inside `body`.
//   Determinism  chunk boundaries depend on (count, chunk) alone. A body that writes only what
//                belongs to its own indices therefore gives the same result on any number of
//                threads; sums of floats are kept by chunk and added in the order of the chunks.
//   Errors       what `body` throws ends its worker's part of the job; ParallelFor throws the first
//                of it once all workers are done. Only a lack of memory is worth it.
class ThreadPool {
 public:
  // Work on the half-open range [begin, end); `worker` is 0 .. threads()-1, for scratch space.
  using Body = std::function<void(int64_t begin, int64_t end, int worker)>;

  // threads = 0 takes one per core this process may use. The calling thread is one of them.
  explicit ThreadPool(int threads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const;

  // Calls body for every chunk of [0, count) and returns when all are done.
  void ParallelFor(int64_t count, int64_t chunk, const Body& body);

 private:
  struct Shared;
  std::unique_ptr<Shared> shared_;
};

// ---- Files of named arrays ---------------------------------------------------------------------
//
// Files of named arrays: checkpoints. The format is safetensors, which Python reads without
// Tessera: a little-endian length, a JSON header with type, shape and place of every array, then
// the arrays themselves. The header's metadata has the CRC-32 of each array, which is checked when
// the array is read.

enum class TensorType { kF32, kF64, kI64, kU64, kU32, kU8 };

template <typename T>
concept TensorValue =
    std::same_as<T, float> || std::same_as<T, double> || std::same_as<T, int64_t> ||
    std::same_as<T, uint64_t> || std::same_as<T, uint32_t> || std::same_as<T, uint8_t>;

template <TensorValue T>
constexpr TensorType TensorTypeOf() {
  if constexpr (std::same_as<T, float>) return TensorType::kF32;
  if constexpr (std::same_as<T, double>) return TensorType::kF64;
  if constexpr (std::same_as<T, int64_t>) return TensorType::kI64;
  if constexpr (std::same_as<T, uint64_t>) return TensorType::kU64;
  if constexpr (std::same_as<T, uint32_t>) return TensorType::kU32;
  return TensorType::kU8;
}

// Collects arrays and writes them in one go. Arrays are not copied: they must stay as they are
// until Write returns. Names are unique, and of letters, digits, '.', '_' and '-'.
class TensorWriter {
 public:
  // An empty shape means one dimension.
  template <TensorValue T>
  void Add(std::string name, std::span<const T> values, std::vector<int64_t> shape = {}) {
    AddBytes(std::move(name), TensorTypeOf<T>(), std::as_bytes(values), std::ssize(values),
             std::move(shape));
  }
  template <TensorValue T>
  void Add(std::string name, std::span<T> values, std::vector<int64_t> shape = {}) {
    Add(std::move(name), std::span<const T>(values), std::move(shape));
  }
  // A single number, which is copied.
  void AddInt(std::string name, int64_t value);
  void AddDouble(std::string name, double value);

  // Replaces the file at `path`, or leaves it as it is and returns an error. `token` as in
  // WriteFileAtomically.
  Result<void> Write(const std::string& path, std::string_view token = {}) const;
  // What Write writes.
  std::string Bytes() const;
  std::string Head() const;  // everything before the arrays

 private:
  struct Entry {
    std::string name;
    TensorType type;
    std::vector<int64_t> shape;
    std::span<const std::byte> bytes;
  };
  void AddBytes(std::string name, TensorType type, std::span<const std::byte> bytes, int64_t count,
                std::vector<int64_t> shape);

  std::vector<Entry> entries_;
  std::set<std::string> names_;
  std::deque<int64_t> ints_;  // deques: references stay valid
  std::deque<double> doubles_;
};

// A file of arrays, mapped into memory.
class TensorReader {
 public:
  static Result<TensorReader> Open(const std::string& path);
  TensorReader(TensorReader&&) noexcept;
  TensorReader& operator=(TensorReader&&) noexcept;
  ~TensorReader();

  bool Has(std::string_view name) const;
  std::vector<std::string> Names() const;

  // Copies an array into `values`; a missing name, another type, another number of values or
  // another checksum is an error that names the array.
  template <TensorValue T>
  Result<void> Read(std::string_view name, std::span<T> values) const {
    return ReadBytes(name, TensorTypeOf<T>(), std::as_writable_bytes(values));
  }
  // The same, and every value must be from least to most; NaN never is. A checksum says nothing
  // about who wrote a file, so whatever is an index, a count or a choice is read this way.
  template <TensorValue T>
  Result<void> ReadWithin(std::string_view name, std::span<T> values, T least, T most) const {
    if (Result<void> read = Read(name, values); !read) return read;
    for (const T value : values) {
      if (!(value >= least && value <= most)) {
        return OutOfRange(name, static_cast<double>(value), static_cast<double>(least),
                          static_cast<double>(most));
      }
    }
    return {};
  }
  // One number from least to most.
  Result<int64_t> ReadIntWithin(std::string_view name, int64_t least, int64_t most) const;
  // One that counts something: steps, samples, rounds.
  Result<int64_t> ReadCounter(std::string_view name) const {
    return ReadIntWithin(name, 0, kMostCounted);
  }
  // Any number, such as a seed.
  Result<int64_t> ReadInt(std::string_view name) const;
  Result<double> ReadDouble(std::string_view name) const;
  // Number of values of an array.
  Result<int64_t> Count(std::string_view name) const;

  // No program counts further, and products of counts with what is left fit into 64 bits.
  static constexpr int64_t kMostCounted = int64_t{1} << 48;

 private:
  struct State;
  Error OutOfRange(std::string_view name, double value, double least, double most) const;
  explicit TensorReader(std::unique_ptr<State> state);
  Result<void> ReadBytes(std::string_view name, TensorType type, std::span<std::byte> bytes) const;

  std::unique_ptr<State> state_;
};

// ---- Stopping ----------------------------------------------------------------------------------

inline constexpr int kInterruptedExitCode = 130;

// Whether somebody asked to stop. Long work polls this between steps; any thread may ask, and so
// may a signal handler.
bool StopRequested();

// Asks to stop, and returns whether somebody had asked before.
bool RequestStop();

// Forgets a request.
void ResetStop();

// ---- Text and files ----------------------------------------------------------------------------
//
// What readers and writers of files share with those of Tessera.

std::string_view Trim(std::string_view text);  // without blanks, tabs and line ends around it
std::vector<std::string_view> Split(std::string_view text, char separator);

// A decimal integer and nothing else: "64", "-3", "+7". Fractions, exponents, other bases, blanks
// and values outside 64 bits are errors (kBadValue, kOverflow) that quote the text.
Result<int64_t> ParseInt(std::string_view text);

// A finite decimal number and nothing else: "0.5", "1e-3".
Result<double> ParseDouble(std::string_view text);

// 1814073344 -> "1,814,073,344".
std::string WithThousands(int64_t value);

// The same for a sum of whole numbers that may exceed 64 bits, of which six digits are then shown.
std::string WholeText(double value);

// `text` with everything escaped that a terminal, an editor or an XML reader would take for more
// than a character: control characters ("\\x1b", "\\u009b"), marks that turn the direction of
// writing, and what is not UTF-8. For names that come from elsewhere.
std::string Printable(std::string_view text);

// The same for a text of several lines: line ends and tabs stay.
std::string PrintableLines(std::string_view text);

// `text` cut after about `max` bytes, with a word about how much is missing.
std::string Shortened(std::string_view text, size_t max);

// `text` in quotes for an error message: made printable, and cut after about `max` bytes.
std::string Quoted(std::string_view text, size_t max = 40);

struct ReadLimits {
  // Larger files are refused before anything is read; also the limit on what a .gz may unpack to.
  // Default: 2 GiB - 1, the most that a protobuf message can hold.
  int64_t max_bytes = (int64_t{1} << 31) - 1;
};

// The bytes of a regular file; a gzip file (by its first two bytes) is unpacked. A missing file, a
// directory or a file over the limit is an error of kind kIo that names the path. "-" and pipes
// such as /dev/stdin are read to their end.
Result<std::string> ReadFile(const std::string& path, const ReadLimits& limits = {});

// Checks that `bytes` can be text: not empty, at most 64 MiB, no UTF-16 or UTF-32 byte order
// mark, no NUL, valid UTF-8. Returns it without a UTF-8 byte order mark and with CRLF turned into
// LF.
Result<std::string> ToText(std::string bytes, const std::string& path);

// ReadFile followed by ToText; larger files are refused before they are read.
Result<std::string> ReadTextFile(const std::string& path);

// Replaces `path` by `contents`: readers see the old file or the new one, never a part, even after
// a crash. The folder must exist. On failure the old file is untouched and no temporary remains.
// With a token the temporary has a name that its writer knows, for folders with one writer.
Result<void> WriteFileAtomically(const std::string& path, std::string_view contents,
                                 std::string_view token = {});

// Makes a folder and its parents; an existing one is fine.
Result<void> MakeFolder(const std::string& path);

// Files of a folder that belong together: all of them appear, or none does. Makes the folder if
// need be; one that a run is writing to is an error.
struct ExportedFile {
  std::string name;  // relative to the folder that the user chose; no path separators
  std::string contents;
};
Result<void> WriteTogether(const std::string& folder, std::span<const ExportedFile> files);

// Bytes that this process may still take, of the machine, its container and its own limit; and a
// number of bytes for people: "12.3 GiB".
int64_t AvailableMemoryBytes();
std::string MemoryText(double bytes);

// "net" of "folder/net.yaml" and of "net.yaml.gz".
std::string FileStem(const std::string& path);

// ---- Data files in the library -----------------------------------------------------------------
//
// Networks and accelerators that ship with Tessera are compiled in: a program needs no data folder.

struct EmbeddedFile {
  std::string_view name;  // without folder and extension: "resnet18"
  std::string_view contents;
};

}  // namespace tessera

#endif  // TESSERA_PART_H_
