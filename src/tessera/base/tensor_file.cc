// safetensors: header with fmt and the JSON reader, data straight from and to memory.
#include "tessera/part.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/result.h"

namespace tessera {
namespace {

struct TypeFacts {
  TensorType type;
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<TypeFacts, 6> kTypes = {{{TensorType::kF32, "F32", 4},
                                              {TensorType::kF64, "F64", 8},
                                              {TensorType::kI64, "I64", 8},
                                              {TensorType::kU64, "U64", 8},
                                              {TensorType::kU32, "U32", 4},
                                              {TensorType::kU8, "U8", 1}}};

const TypeFacts& FactsOf(TensorType type) {
  for (const TypeFacts& facts : kTypes) {
    if (facts.type == type) return facts;
  }
  TESSERA_CHECK(false);
  return kTypes[0];
}

constexpr int64_t kMaxHeaderBytes = int64_t{64} << 20;
constexpr int64_t kLengthBytes = 8;
constexpr std::string_view kMetadata = "__metadata__";

std::string_view AsText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// CRC-32 as eight hexadecimal digits: what the header's metadata has for each array.
std::string ChecksumOf(std::span<const std::byte> bytes) {
  const auto* const first = reinterpret_cast<const Bytef*>(bytes.data());
  return fmt::format("{:08x}", ::crc32_z(0, first, bytes.size()));
}

}  // namespace

void TensorWriter::AddBytes(std::string name, TensorType type, std::span<const std::byte> bytes,
                            int64_t count, std::vector<int64_t> shape) {
  if (shape.empty()) shape = {count};
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  TESSERA_CHECK(product == count);
  TESSERA_CHECK(names_.insert(name).second);
  entries_.push_back({std::move(name), type, std::move(shape), bytes});
}

void TensorWriter::AddInt(std::string name, int64_t value) {
  Add(std::move(name), std::span<const int64_t>(&ints_.emplace_back(value), 1));
}

void TensorWriter::AddDouble(std::string name, double value) {
  Add(std::move(name), std::span<const double>(&doubles_.emplace_back(value), 1));
}

std::string TensorWriter::Head() const {
  std::vector<std::string> checksums;
  for (const Entry& entry : entries_) {
    checksums.push_back(fmt::format(R"("{}":"{}")", entry.name, ChecksumOf(entry.bytes)));
  }
  std::string header = fmt::format(R"({{"{}":{{{}}})", kMetadata, fmt::join(checksums, ","));
  int64_t offset = 0;
  for (const Entry& entry : entries_) {
    const int64_t end = offset + std::ssize(entry.bytes);
    header +=
        fmt::format(R"(,"{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})", entry.name,
                    FactsOf(entry.type).name, fmt::join(entry.shape, ","), offset, end);
    offset = end;
  }
  header += "}";
  while (header.size() % kLengthBytes != 0) header += ' ';  // arrays start at aligned places
  const uint64_t length = header.size();
  return std::string(reinterpret_cast<const char*>(&length), sizeof(length)) + header;
}

std::string TensorWriter::Bytes() const {
  std::string bytes = Head();
  for (const Entry& entry : entries_) bytes += AsText(entry.bytes);
  return bytes;
}

Result<void> TensorWriter::Write(const std::string& path, std::string_view token) const {
  Result<AtomicFile> file = AtomicFile::Create(path, token);
  if (!file) return file.error();
  if (Result<void> done = file->Append(Head()); !done) return done;
  for (const Entry& entry : entries_) {
    if (Result<void> done = file->Append(AsText(entry.bytes)); !done) return done;
  }
  return file->Commit();
}

struct TensorReader::State {
  struct Entry {
    TensorType type;
    int64_t count;
    std::span<const std::byte> bytes;
    std::string checksum = {};  // empty: none was written
  };
  std::string path;
  void* mapped = nullptr;
  size_t size = 0;
  std::map<std::string, Entry, std::less<>> entries;

  ~State() {
    if (mapped != nullptr) ::munmap(mapped, size);
  }
  Error Damaged(std::string message) const {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = "not a checkpoint, or damaged: " + std::move(message),
                 .where = {.file = path}};
  }
  Result<void> Map();
  Result<void> ReadHeader();
  Result<Entry> ReadEntry(const Node& node, std::span<const std::byte> data) const;
};

Result<void> TensorReader::State::Map() {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  struct stat info {};
  const bool known = fd >= 0 && ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode);
  if (known && info.st_size > 0) {
    size = static_cast<size_t>(info.st_size);
    mapped = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) mapped = nullptr;
  }
  const int error = errno;
  if (fd >= 0) ::close(fd);
  if (mapped != nullptr) return {};
  if (known && size == 0) return Damaged("the file is empty");
  return Error{.kind = ErrorKind::kIo,
               .message = fd >= 0 ? "not a regular file"
                                  : fmt::format("cannot open: {}", std::strerror(error)),
               .where = {.file = path}};
}

Result<TensorReader::State::Entry> TensorReader::State::ReadEntry(
    const Node& node, std::span<const std::byte> data) const {
  const Node* type = node.Find("dtype");
  const Node* offsets = node.Find("data_offsets");
  if (type == nullptr || offsets == nullptr || offsets->items.size() != 2) {
    return Damaged("an array without type or place");
  }
  const Result<int64_t> begin = offsets->items[0].AsInt(0, std::ssize(data));
  if (!begin) return begin.error();
  const Result<int64_t> end = offsets->items[1].AsInt(*begin, std::ssize(data));
  if (!end) return Damaged("an array reaches past the end of the file");
  for (const TypeFacts& facts : kTypes) {
    if (facts.name != type->scalar) continue;
    if ((*end - *begin) % facts.bytes != 0) return Damaged("an array of half a value");
    return Entry{facts.type, (*end - *begin) / facts.bytes,
                 data.subspan(static_cast<size_t>(*begin), static_cast<size_t>(*end - *begin))};
  }
  return Damaged(fmt::format("unknown type '{}'", type->scalar));
}

Result<void> TensorReader::State::ReadHeader() {
  const std::span<const std::byte> bytes(static_cast<const std::byte*>(mapped), size);
  uint64_t length = 0;
  if (size < kLengthBytes) return Damaged("too short");
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > size - kLengthBytes || length > static_cast<uint64_t>(kMaxHeaderBytes)) {
    return Damaged("the header does not fit into the file");
  }
  const Result<Node> header = ParseJson(AsText(bytes.subspan(kLengthBytes, length)), path);
  if (!header) return header.error();
  for (const Node::Entry& item : header->entries) {
    if (item.key == kMetadata) continue;
    Result<Entry> entry = ReadEntry(item.value, bytes.subspan(kLengthBytes + length));
    if (!entry) return entry.error();
    entries.emplace(item.key, *entry);
  }
  const Node* const metadata = header->Find(kMetadata);
  if (metadata == nullptr) return {};
  for (const Node::Entry& item : metadata->entries) {
    if (const auto found = entries.find(item.key); found != entries.end()) {
      found->second.checksum = item.value.scalar;
    }
  }
  return {};
}

TensorReader::TensorReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
TensorReader::TensorReader(TensorReader&&) noexcept = default;
TensorReader& TensorReader::operator=(TensorReader&&) noexcept = default;
TensorReader::~TensorReader() = default;

Result<TensorReader> TensorReader::Open(const std::string& path) {
  auto state = std::make_unique<State>();
  state->path = path;
  if (Result<void> mapped = state->Map(); !mapped) return mapped.error();
  if (Result<void> read = state->ReadHeader(); !read) return read.error();
  return TensorReader(std::move(state));
}

bool TensorReader::Has(std::string_view name) const { return state_->entries.contains(name); }

std::vector<std::string> TensorReader::Names() const {
  std::vector<std::string> names;
  for (const auto& [name, entry] : state_->entries) names.push_back(name);
  return names;
}

Result<int64_t> TensorReader::Count(std::string_view name) const {
  const auto found = state_->entries.find(name);
  if (found != state_->entries.end()) return found->second.count;
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("has no array '{}'", name),
               .where = {.file = state_->path},
               .hint = "it was written for another algorithm or another version"};
}

Result<void> TensorReader::ReadBytes(std::string_view name, TensorType type,
                                     std::span<std::byte> bytes) const {
  const Result<int64_t> count = Count(name);
  if (!count) return count.error();
  const State::Entry& entry = state_->entries.find(name)->second;
  if (entry.type != type || entry.bytes.size() != bytes.size()) {
    return Error{
        .kind = ErrorKind::kBadValue,
        .message = fmt::format("array '{}' has {} values of type {}, but {} of type {} are needed",
                               name, entry.count, FactsOf(entry.type).name,
                               std::ssize(bytes) / FactsOf(type).bytes, FactsOf(type).name),
        .where = {.file = state_->path},
        .hint = "the checkpoint belongs to networks or buffers of another shape"};
  }
  if (!entry.checksum.empty() && entry.checksum != ChecksumOf(entry.bytes)) {
    return state_->Damaged(
        fmt::format("array '{}' has another checksum than when it was written", name));
  }
  if (!bytes.empty()) std::memcpy(bytes.data(), entry.bytes.data(), bytes.size());
  return {};
}

Result<int64_t> TensorReader::ReadInt(std::string_view name) const {
  int64_t value = 0;
  if (Result<void> read = Read(name, std::span(&value, 1)); !read) return read.error();
  return value;
}

Result<int64_t> TensorReader::ReadIntWithin(std::string_view name, int64_t least,
                                            int64_t most) const {
  int64_t value = 0;
  if (Result<void> read = ReadWithin(name, std::span(&value, 1), least, most); !read) {
    return read.error();
  }
  return value;
}

Error TensorReader::OutOfRange(std::string_view name, double value, double least,
                               double most) const {
  return Error{.kind = ErrorKind::kBadValue,
               .message = fmt::format("array '{}' has the value {}, but must be in {}..{}", name,
                                      value, least, most),
               .where = {.file = state_->path},
               .hint = "the file is damaged, or belongs to other settings"};
}

Result<double> TensorReader::ReadDouble(std::string_view name) const {
  double value = 0;
  if (Result<void> read = Read(name, std::span(&value, 1)); !read) return read.error();
  return value;
}

}  // namespace tessera
