// Mappings priced on the device beside model loopnest on the host: every count and every bit of a
// million of them, then prices per second. scripts/check-cuda runs it.
//
//   cuda_map_bench compare   a million mappings of ten problems, and speed
//   cuda_map_bench small     a few of each: for compute-sanitizer
//   cuda_map_bench profile   one launch of each problem, for Nsight Compute
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>

#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cuda/device.h"
#include "tessera/cuda/map_engine.h"
#include "tessera/cuda/nest_pack.h"
#include "tessera/network.h"
#include "tessera/part.h"
#include "tessera/space.h"

namespace tessera {
namespace {

template <typename T>
T Must(Result<T> result) {
  if (result) return std::move(*result);
  fmt::print(stderr, "cuda_map_bench: {}\n", ToString(result.error()));
  std::exit(1);
}
void Must(const Result<void>& result) {
  if (result) return;
  fmt::print(stderr, "cuda_map_bench: {}\n", ToString(result.error()));
  std::exit(1);
}

double Now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Case {
  std::string machine, network;
  size_t layer;  // from 1
  bool bypass;
};

struct Batch {
  std::vector<LoopMapping> mappings;  // the first ones
  std::vector<uint32_t> words;
  size_t row = 0;
};

Batch SampleMappings(const MappingProblem& problem, const loopnest::Setup& setup,
                     const cuda::NestPlan& plan, size_t count, size_t kept, ThreadPool& pool) {
  Batch batch;
  batch.mappings.resize(kept);
  std::vector<uint32_t> wide(count * cuda::kMostNestWords);
  std::vector<size_t> sizes(count);
  pool.ParallelFor(std::ssize(sizes), 64, [&](int64_t begin, int64_t end, int /*worker*/) {
    loopnest::Nest nest;
    for (auto m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
      CounterRng rng(1, StreamId("cuda_map_bench"), m);
      const Mapping mapping = problem.space().Decode(problem.space().Sample(rng, 1));
      const auto& loops = std::get<LoopMapping>(mapping);
      if (m < kept) batch.mappings[m] = loops;
      loopnest::MakeExactNest(setup.data.problem, loops, nest);
      sizes[m] = cuda::PackNest(nest, loops, plan,
                                {wide.data() + m * cuda::kMostNestWords, cuda::kMostNestWords});
    }
  });
  batch.row = (*std::max_element(sizes.begin(), sizes.end()) + 7) / 8 * 8;  // whole sectors
  batch.words.resize(count * batch.row);
  for (size_t m = 0; m < count; ++m) {
    std::copy_n(wide.data() + m * cuda::kMostNestWords, batch.row,
                batch.words.data() + m * batch.row);
  }
  return batch;
}

struct Agreement {
  std::atomic<int64_t> priced = 0, refused = 0, for_host = 0, unequal = 0;
};

// Every number of every mapping against the host's; returns the host's evaluations per second and
// thread.
double CompareWithHost(const loopnest::Setup& setup, const Batch& batch,
                       std::span<const cuda::NestPrice> prices,
                       std::span<const cuda::NestCounts> counts, ThreadPool& pool,
                       Agreement& agreement) {
  const int levels = setup.machine.num_levels, tensors = setup.data.problem.num_tensors;
  std::atomic<int64_t> nanoseconds = 0;
  pool.ParallelFor(std::ssize(prices), 1024, [&](int64_t begin, int64_t end, int /*worker*/) {
    loopnest::Workspace host;
    double seconds = 0;
    for (auto m = static_cast<size_t>(begin); m < static_cast<size_t>(end); ++m) {
      const double start = Now();
      loopnest::Evaluate(setup, batch.mappings[m], host);
      seconds += Now() - start;
      if (prices[m].status == cuda::NestStatus::kForHost) {
        ++agreement.for_host;
        continue;
      }
      const bool fits = host.exact.status == loopnest::ExactResult::Status::kOk;
      ++(fits ? agreement.priced : agreement.refused);
      bool equal = (prices[m].status == cuda::NestStatus::kPriced) == fits;
      if (fits && equal) {
        equal = prices[m].cycles == host.exact.cycles &&
                std::memcmp(&prices[m].energy_pj, &host.exact.energy, sizeof(double)) == 0;
        for (int i = 0; i < levels * tensors; ++i) {
          const cuda::NestCounts& own =
              counts[m * static_cast<size_t>(levels * tensors) + static_cast<size_t>(i)];
          const loopnest::ExactTensor& tensor = host.exact.levels[i / tensors].tensors[i % tensors];
          const int64_t used = host.nest.used[i / tensors];
          equal = equal && used * own.reads == tensor.reads && used * own.fills == tensor.fills &&
                  used * own.updates == tensor.updates;
        }
      }
      agreement.unequal += equal ? 0 : 1;
    }
    nanoseconds += static_cast<int64_t>(1e9 * seconds);
  });
  return 1e9 * static_cast<double>(prices.size()) / static_cast<double>(nanoseconds);
}

void Run(size_t count, int launches) {
  const Case cases[] = {{"simple3", "resnet18", 2, false},   {"simple3", "resnet18", 1, true},
                        {"simple3", "bert-base", 1, true},   {"eyeriss-256", "resnet18", 2, false},
                        {"eyeriss-256", "alexnet", 1, true}, {"eyeriss-168", "vgg16", 3, false},
                        {"nvdla", "resnet50", 5, false},     {"nvdla", "mobilenet-v2", 2, true},
                        {"simba", "resnet18", 6, true},      {"tpu-128", "vgg16", 2, false}};
  ThreadPool pool(0);
  fmt::print("{:12} {:14} {:>5} {:6} {:>9} {:>8} {:>8} {:>7} {:>9} {:>11} {:>11} {:>10}\n",
             "machine", "network", "layer", "bypass", "mappings", "refused", "for_host", "words",
             "not equal", "prices/s", "with copies", "host, 1 thr");
  Agreement all;
  for (const Case& c : cases) {
    const Network network = Must(LoadNetwork(c.network));
    const auto problem = Must(MappingProblem::Make(
        network.layers[c.layer - 1].layer, Must(LoadAccelerator(c.machine)),
        Must(ChooseCostModel("loopnest")), {.space = {.decide_keep = c.bypass}}));
    const loopnest::Setup setup = Must(loopnest::Prepare(
        problem->loops()->problem, problem->loops()->hierarchy, loopnest::Semantics::kExact));
    const cuda::NestPlan plan = Must(cuda::MakeNestPlan(setup));
    // Ten times as many to fill the device; the first of them are compared.
    const size_t all_of_them = launches > 0 ? 10 * count : count;
    const Batch batch = SampleMappings(*problem, setup, plan, all_of_them, count, pool);
    const auto engine = Must(cuda::MapEngine::Make(plan));
    std::vector<cuda::NestPrice> prices(count);
    std::vector<cuda::NestCounts> counts(count *
                                         static_cast<size_t>(plan.num_levels * plan.num_tensors));
    Must(engine->Price({std::span(batch.words).first(count * batch.row), batch.row}, prices,
                       counts));
    Agreement own;
    const double host_rate = CompareWithHost(setup, batch, prices, counts, pool, own);
    // Without the accesses, as a search asks for prices.
    std::vector<cuda::NestPrice> many(all_of_them);
    Must(engine->Price({batch.words, batch.row}, many));
    const double begin = Now();
    Must(engine->Price({batch.words, batch.row}, many));
    const double with_copies = static_cast<double>(many.size()) / (Now() - begin);
    const double rate =
        static_cast<double>(many.size()) / Must(engine->Measure(std::max(1, launches)));
    fmt::print("{:12} {:14} {:5} {:6} {:9} {:8} {:8} {:7} {:9} {:11.3g} {:11.3g} {:10.3g}\n",
               c.machine, c.network, c.layer, c.bypass, count, own.refused.load(),
               own.for_host.load(), batch.row, own.unequal.load(), rate, with_copies, host_rate);
    std::fflush(stdout);
    all.priced += own.priced;
    all.refused += own.refused;
    all.for_host += own.for_host;
    all.unequal += own.unequal;
  }
  fmt::print(
      "{} mappings: {} priced on the device, {} refused, {} left to the host, {} not equal\n",
      count * std::size(cases), all.priced.load(), all.refused.load(), all.for_host.load(),
      all.unequal.load());
}

int Main(int argc, char** argv) {
  const std::string part = argc > 1 ? argv[1] : "compare";
  const cuda::DeviceInfo device = Must(cuda::FindDevice());
  fmt::print("{}, driver {}, runtime {}\n", device.name, device.driver, device.runtime);
  if (part == "compare") Run(100'000, 20);
  if (part == "small") Run(5'000, 0);  // enough to be sorted
  if (part == "profile") Run(100'000, 0);
  return 0;
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) { return tessera::Main(argc, argv); }
