// Speed of model `loopnest`: evaluations per second on one core, for the mappings of the golden
// files. The baseline is timeloop-model 3.0.3 in process, measured once on a machine like this.
#include <map>
#include <string>
#include <vector>

#include "harness.h"
#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/cost/loopnest/evaluation.h"
#include "tessera/cost/loopnest/loopnest.h"
#include "tessera/cost/loopnest/row.h"
#include "tessera/part.h"

namespace tessera::bench {
namespace {

using loopnest::Evaluate;
using loopnest::ExactResult;
using loopnest::NestError;
using loopnest::Prepare;
using loopnest::Row;
using loopnest::Semantics;
using loopnest::Setup;
using loopnest::TimeloopResult;
using loopnest::Workspace;

// Mappings of one layer on one machine.
struct Batch {
  LoopProblem problem;
  Hierarchy machine;
  std::vector<LoopMapping> mappings;
};

bool IsAccepted(const Setup& setup, const LoopMapping& mapping, Workspace& workspace) {
  Evaluate(setup, mapping, workspace);
  if (workspace.nest_error.kind != NestError::Kind::kNone) return false;
  return setup.semantics == Semantics::kExact
             ? workspace.exact.status == ExactResult::Status::kOk
             : workspace.timeloop.status == TimeloopResult::Status::kOk;
}

// Accepted mappings of the golden rows whose machine and layer have these names.
std::vector<Batch> GoldenBatches(const std::string& machine, const std::string& layer_prefix,
                                 Semantics semantics) {
  const Result<std::string> text =
      ReadFile(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/timeloop/train.jsonl.gz");
  TESSERA_CHECK(text.ok());
  std::map<std::string, Batch> batches;
  Workspace workspace;
  for (const std::string_view line : Split(*text, '\n')) {
    // Names first: parsing all rows takes longer than the benchmark.
    if (line.find("\"" + machine + "\"") == std::string_view::npos ||
        line.find("\"" + layer_prefix) == std::string_view::npos) {
      continue;
    }
    const Result<Node> node = ParseJson(line, "train");
    TESSERA_CHECK(node.ok());
    const Result<Row> row = loopnest::ReadRow(*node);
    TESSERA_CHECK(row.ok());
    Batch& batch = batches[ToString(row->problem)];
    batch.problem = row->problem;
    batch.machine = *row->machine.hierarchy;
    const Result<Setup> setup = Prepare(row->problem, batch.machine, semantics);
    if (IsAccepted(*setup, row->mapping, workspace)) batch.mappings.push_back(row->mapping);
  }
  std::vector<Batch> list;
  for (auto& [name, batch] : batches) list.push_back(std::move(batch));
  return list;
}

// The same mappings with inner factors changed so that they do not divide; the outermost level
// takes what is left.
std::vector<Batch> MakeImperfect(std::vector<Batch> batches) {
  CounterRng rng(1, StreamId("bench.loopnest"));
  Workspace workspace;
  for (Batch& batch : batches) {
    const Result<Setup> setup = Prepare(batch.problem, batch.machine, Semantics::kExact);
    std::vector<LoopMapping> imperfect;
    for (LoopMapping mapping : batch.mappings) {
      const auto dims = static_cast<size_t>(batch.problem.num_dimensions);
      for (size_t d = 0; d < dims; ++d) {
        for (LoopLevel& level : mapping.view()) {
          for (int32_t* factor : {&level.temporal[d], &level.spatial[d]}) {
            if (*factor > 2 && rng.UniformInt(2) == 0) *factor -= 1;
          }
        }
        mapping.levels[static_cast<size_t>(mapping.num_levels) - 1].temporal[d] = 0;
      }
      if (IsAccepted(*setup, mapping, workspace) && !workspace.nest.perfect) {
        imperfect.push_back(mapping);
      }
    }
    batch.mappings = std::move(imperfect);
  }
  return batches;
}

void MeasureBatches(Harness& harness, const std::string& name, const std::vector<Batch>& batches,
                    Semantics semantics, const std::string& baseline) {
  std::vector<Setup> setups;
  double mappings = 0;
  for (const Batch& batch : batches) {
    setups.push_back(*Prepare(batch.problem, batch.machine, semantics));
    mappings += static_cast<double>(batch.mappings.size());
  }
  Workspace workspace;
  harness.Measure(
      name, "evaluations", mappings,
      [&] {
        for (size_t b = 0; b < batches.size(); ++b) {
          for (const LoopMapping& mapping : batches[b].mappings) {
            Evaluate(setups[b], mapping, workspace);
          }
        }
        Keep(workspace);
      },
      baseline);
}

void Nests(Harness& harness, const std::vector<Batch>& batches, const std::string& baseline) {
  double mappings = 0;
  for (const Batch& batch : batches) mappings += static_cast<double>(batch.mappings.size());
  loopnest::Nest nest;
  harness.Measure(
      "  of which the mapping's loops", "evaluations", mappings,
      [&] {
        for (const Batch& batch : batches) {
          for (const LoopMapping& mapping : batch.mappings) {
            loopnest::MakeExactNest(batch.problem, mapping, nest);
            Keep(nest);
          }
        }
      },
      baseline);
}

// Through the interface that searches use, on all threads of a pool.
void Threads(Harness& harness, const std::vector<Batch>& batches, int threads,
             const std::string& baseline) {
  const Batch* largest = &batches[0];
  for (const Batch& batch : batches) {
    if (batch.mappings.size() > largest->mappings.size()) largest = &batch;
  }
  const auto model = MakeLoopnestModel(largest->problem, largest->machine);
  TESSERA_CHECK(model.ok());
  std::vector<Mapping> mappings;
  while (mappings.size() < 4096) {
    mappings.insert(mappings.end(), largest->mappings.begin(), largest->mappings.end());
  }
  ThreadPool pool(threads);
  BatchEvaluator evaluator(**model, pool);
  std::vector<Cost> costs(mappings.size());
  harness.Measure(
      threads == 1 ? "EvaluateBatch, 1 thread" : "EvaluateBatch, one thread per core",
      "evaluations", static_cast<double>(mappings.size()),
      [&] { evaluator.EvaluateBatch(mappings, costs); }, baseline);
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;
  Harness harness(argc, argv);
  const std::string source = "timeloop-model 3.0.3 in process, one core, from specs";
  harness.Quote("timeloop-model, Eyeriss", "evaluations", 72, source);
  const auto eyeriss = GoldenBatches("eyeriss256", "resnet18", Semantics::kTimeloop3);
  const auto eyeriss_exact = GoldenBatches("eyeriss256", "resnet18", Semantics::kExact);
  MeasureBatches(harness, "ResNet-18 on Eyeriss, timeloop3", eyeriss, Semantics::kTimeloop3,
                 "timeloop-model, Eyeriss");
  MeasureBatches(harness, "ResNet-18 on Eyeriss, timeloop4", eyeriss, Semantics::kTimeloop4,
                 "timeloop-model, Eyeriss");
  MeasureBatches(harness, "ResNet-18 on Eyeriss, exact", eyeriss_exact, Semantics::kExact,
                 "timeloop-model, Eyeriss");
  Nests(harness, eyeriss_exact, "ResNet-18 on Eyeriss, exact");
  MeasureBatches(harness, "ResNet-18 on Eyeriss, exact, imperfect factors",
                 MakeImperfect(eyeriss_exact), Semantics::kExact, "timeloop-model, Eyeriss");
  harness.Quote("timeloop-model, 1024-way fan-out", "evaluations", 3.4, source);
  const auto fan = GoldenBatches("bigfan3", "resnet18", Semantics::kTimeloop3);
  const auto fan_exact = GoldenBatches("bigfan3", "resnet18", Semantics::kExact);
  MeasureBatches(harness, "ResNet-18, 1024-way fan-out, timeloop3", fan, Semantics::kTimeloop3,
                 "timeloop-model, 1024-way fan-out");
  MeasureBatches(harness, "ResNet-18, 1024-way fan-out, exact", fan_exact, Semantics::kExact,
                 "timeloop-model, 1024-way fan-out");
  MeasureBatches(harness, "ResNet-18, 1024-way fan-out, exact, imperfect", MakeImperfect(fan_exact),
                 Semantics::kExact, "timeloop-model, 1024-way fan-out");
  Threads(harness, eyeriss_exact, 1, "ResNet-18 on Eyeriss, exact");
  Threads(harness, eyeriss_exact, 0, "EvaluateBatch, 1 thread");
  return harness.Finish();
}
