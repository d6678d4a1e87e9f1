// The caches of tessera profile beside cachegrind's, on the addresses of a sampling phase.
//   cache_trace write FILE MODEL AGENTS REPLAY  trains a little, writes the addresses that two
//   rounds
//                                               of sampling touch, and prints what they miss here
//   cache_trace replay FILE                     reads those addresses, for cachegrind to count
// A replay also reads the list of addresses itself, one entry before each: what is printed counts
// these reads, too. cachegrind has two levels of data caches, so that levels are compared in pairs:
// the first one with the second, and the first one with the last.
#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "tessera/part.h"
#include "tessera/result.h"
#include "tessera/rl/cache_model.h"
#include "tessera/rl/profile_run.h"
#include "tessera/rl/profiler.h"
#include "tessera/train.h"

namespace tessera {
namespace {

// Addresses that are equal modulo this lie in the same set of every cache.
constexpr uint64_t kSame = uint64_t{1} << 24;

Result<std::vector<uint64_t>> Sampled(const CacheModel& model, const std::string& agents,
                                      const std::string& replay, CacheCounts& counts) {
  Profiler profiler(nullptr);
  TrainingConfig config;
  config.env_settings = {{"agents", agents}};
  config.settings = {{"replay", replay}};
  const Result<Training> training = MakeTraining(config, /*threads=*/1, &profiler);
  if (!training) return training.error();
  CacheSimulator caches(model);
  std::vector<uint64_t> addresses;
  caches.set_trace(&addresses);
  const Result<void> ran =
      ProfileRun(*training->env, *training->learner, profiler,
                 {.fill = 20'000, .rounds = 1, .seed = config.seed, .caches = &caches});
  if (!ran) return ran.error();
  counts = caches.counts();
  return addresses;
}

// The same addresses close together, as offsets from a multiple of kSame; sets stay what they were.
std::vector<uint64_t> Compact(const std::vector<uint64_t>& addresses) {
  std::map<uint64_t, uint64_t> most;  // by region: the last address
  for (const uint64_t address : addresses) {
    uint64_t& last = most[address / CacheSimulator::kRegionBytes];
    last = std::max(last, address);
  }
  std::map<uint64_t, uint64_t> base;
  uint64_t free = 0;
  for (const auto& [region, last] : most) {
    const uint64_t first = region * CacheSimulator::kRegionBytes;
    base[region] = (free + kSame - 1) / kSame * kSame + first % kSame;
    free = base[region] + (last - first) + 64;
  }
  std::vector<uint64_t> offsets;
  for (const uint64_t address : addresses) {
    const uint64_t region = address / CacheSimulator::kRegionBytes;
    offsets.push_back(base[region] + address - region * CacheSimulator::kRegionBytes);
  }
  return offsets;
}

uint64_t TableAt(const std::vector<uint64_t>& offsets) {
  return (*std::ranges::max_element(offsets) / kSame + 1) * kSame;
}

// What a replay misses in the first two levels of a model.
CacheCounts Replayed(const std::vector<uint64_t>& offsets, const CacheModel& model) {
  CacheSimulator caches(model);
  // Touch adds the beginning of region 0: as far as sets go, nothing.
  const uint64_t shift = kSame - CacheSimulator::kRegionBytes % kSame, table = TableAt(offsets);
  for (size_t i = 0; i < offsets.size(); ++i) {
    caches.Touch(0, static_cast<int64_t>(shift + table + 8 * i), 8);
    caches.Touch(0, static_cast<int64_t>(shift + offsets[i]), 1);
  }
  return caches.counts();
}

Result<void> Write(const std::string& file, const std::string& name, const std::string& agents,
                   const std::string& replay) {
  const Result<const CacheModel*> model = FindCacheModel(name);
  if (!model) return model.error();
  CacheCounts counts;
  const Result<std::vector<uint64_t>> addresses = Sampled(**model, agents, replay, counts);
  if (!addresses) return addresses.error();
  const std::vector<uint64_t> offsets = Compact(*addresses);
  std::FILE* const out = std::fopen(file.c_str(), "wb");
  if (out == nullptr || std::fwrite(offsets.data(), 8, offsets.size(), out) != offsets.size() ||
      std::fclose(out) != 0) {
    return Error{.kind = ErrorKind::kIo, .message = "cannot write " + file};
  }
  CacheModel last = **model;
  last.l2 = last.last;
  const CacheCounts second = Replayed(offsets, **model), third = Replayed(offsets, last);
  fmt::print("{{\"addresses\":{},\"l1\":{},\"l2\":{},\"last\":{}}}\n", offsets.size(),
             second.l1_misses, second.l2_misses, third.l2_misses);
  return {};
}

// Reads so much else that no cache holds what was written before.
[[gnu::noinline]] uint64_t Forget() {
  constexpr size_t kBytes = size_t{64} << 20;
  const std::vector<char> other(kBytes, 1);
  uint64_t sum = 0;
  for (size_t i = 0; i < kBytes; i += 64) {
    sum += static_cast<uint64_t>(*static_cast<const volatile char*>(other.data() + i));
  }
  return sum;
}

// Two reads per address and nothing else: what cachegrind counts in this function is the trace.
[[gnu::noinline]] uint64_t ReadAll(const uint64_t* table, size_t count, const char* area) {
  uint64_t sum = 0;
  for (size_t i = 0; i < count; ++i) {
    sum += static_cast<uint64_t>(*static_cast<const volatile char*>(area + table[i]));
  }
  return sum;
}

Result<void> Replay(const std::string& file) {
  const Result<std::string> text = ReadFile(file);
  if (!text) return text.error();
  std::vector<uint64_t> offsets(text->size() / 8);
  std::copy_n(text->data(), offsets.size() * 8, reinterpret_cast<char*>(offsets.data()));
  const uint64_t table = TableAt(offsets), bytes = table + 8 * offsets.size();
  void* const mapped = mmap(nullptr, bytes + kSame, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return Error{.kind = ErrorKind::kIo, .message = "no memory"};
  const uint64_t at = (reinterpret_cast<uint64_t>(mapped) + kSame - 1) / kSame * kSame;
  char* const area = reinterpret_cast<char*>(at);
  std::copy(offsets.begin(), offsets.end(), reinterpret_cast<uint64_t*>(area + table));
  const uint64_t forgotten = Forget();
  const auto* const list = reinterpret_cast<const uint64_t*>(area + table);
  fmt::print("{} {}\n", forgotten, ReadAll(list, offsets.size(), area));
  return {};
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  tessera::Result<void> done =
      tessera::Error{.message = "cache_trace write FILE MODEL AGENTS REPLAY | replay FILE"};
  if (words.size() == 5 && words[0] == "write") {
    done = tessera::Write(words[1], words[2], words[3], words[4]);
  } else if (words.size() == 2 && words[0] == "replay") {
    done = tessera::Replay(words[1]);
  }
  if (done) return 0;
  fmt::print(stderr, "{}\n", tessera::ToString(done.error()));
  return 2;
}
