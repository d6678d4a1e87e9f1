// Files of named arrays: checkpoints. The format is safetensors, which Python reads without
// Tessera: a little-endian length, a JSON header with type, shape and place of every array, then
// the arrays themselves. The header's metadata has the CRC-32 of each array, which is checked when
// the array is read.
#ifndef TESSERA_BASE_TENSOR_FILE_H_
#define TESSERA_BASE_TENSOR_FILE_H_

#include <concepts>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/base/result.h"

namespace tessera {

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
  // AtomicFile.
  Result<void> Write(const std::string& path, std::string_view token = {}) const;
  // What Write writes.
  std::string Bytes() const;

 private:
  struct Entry {
    std::string name;
    TensorType type;
    std::vector<int64_t> shape;
    std::span<const std::byte> bytes;
  };
  void AddBytes(std::string name, TensorType type, std::span<const std::byte> bytes, int64_t count,
                std::vector<int64_t> shape);
  std::string Head() const;  // everything before the arrays

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
  Result<int64_t> ReadInt(std::string_view name) const;
  Result<double> ReadDouble(std::string_view name) const;
  // Number of values of an array.
  Result<int64_t> Count(std::string_view name) const;

 private:
  struct State;
  explicit TensorReader(std::unique_ptr<State> state);
  Result<void> ReadBytes(std::string_view name, TensorType type, std::span<std::byte> bytes) const;

  std::unique_ptr<State> state_;
};

}  // namespace tessera

#endif  // TESSERA_BASE_TENSOR_FILE_H_
