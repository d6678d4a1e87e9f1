// The compression function of FIPS 180-4, and files in parts.
#include "tessera/base/sha256.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstring>

#include <fmt/format.h>

#include "tessera/base/stop.h"

namespace tessera {
namespace {

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t BigEndian(const unsigned char* bytes) {
  return uint32_t{bytes[0]} << 24 | uint32_t{bytes[1]} << 16 | uint32_t{bytes[2]} << 8 |
         uint32_t{bytes[3]};
}

uint32_t Mixed(uint32_t x, int a, int b, int c) {
  return std::rotr(x, a) ^ std::rotr(x, b) ^ std::rotr(x, c);
}

}  // namespace

void Sha256::AddBlock(const unsigned char* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = BigEndian(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
    const uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
    w[i] = w[i - 16] + s0 + w[i - 7] + s1;
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t t1 = h + Mixed(e, 6, 11, 25) + ((e & f) ^ (~e & g)) + kRounds[i] + w[i];
    const uint32_t t2 = Mixed(a, 2, 13, 22) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> after = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += after[i];
}

Sha256& Sha256::Add(std::string_view bytes) {
  total_bytes_ += bytes.size();
  while (!bytes.empty()) {
    if (rest_size_ == 0 && bytes.size() >= rest_.size()) {
      AddBlock(reinterpret_cast<const unsigned char*>(bytes.data()));
      bytes.remove_prefix(rest_.size());
      continue;
    }
    const size_t taken = std::min(bytes.size(), rest_.size() - rest_size_);
    std::memcpy(rest_.data() + rest_size_, bytes.data(), taken);
    bytes.remove_prefix(taken);
    rest_size_ += taken;
    if (rest_size_ < rest_.size()) break;
    AddBlock(rest_.data());
    rest_size_ = 0;
  }
  return *this;
}

std::string Sha256::Hex() {
  const uint64_t bits = total_bytes_ * 8;
  std::string tail = "\x80";
  while ((total_bytes_ + tail.size()) % 64 != 56) tail += '\0';
  for (int shift = 56; shift >= 0; shift -= 8) tail += static_cast<char>(bits >> shift);
  Add(tail);
  std::string hex;
  for (const uint32_t word : state_) hex += fmt::format("{:08x}", word);
  return hex;
}

std::string Sha256Hex(std::string_view bytes) { return Sha256().Add(bytes).Hex(); }

Result<std::string> Sha256OfFile(const std::string& path, bool stops) {
  const auto failed = [&](std::string_view what) {
    return Error{.kind = ErrorKind::kIo,
                 .message = fmt::format("cannot {}: {}", what, std::strerror(errno)),
                 .where = {.file = path}};
  };
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return failed("open");
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {  // a pipe would never end
    ::close(descriptor);
    return Error{.kind = ErrorKind::kIo, .message = "not a regular file", .where = {.file = path}};
  }
  Sha256 hash;
  std::string chunk(size_t{1} << 16, '\0');
  ssize_t got = 0;
  do {
    got = ::read(descriptor, chunk.data(), chunk.size());
    if (got > 0) hash.Add(std::string_view(chunk).substr(0, static_cast<size_t>(got)));
  } while ((got > 0 || (got < 0 && errno == EINTR)) && !(stops && StopRequested()));
  const Error error = failed("read");
  ::close(descriptor);
  if (stops && StopRequested()) return Interrupted("comparing files");
  if (got < 0) return error;
  return hash.Hex();
}

}  // namespace tessera
