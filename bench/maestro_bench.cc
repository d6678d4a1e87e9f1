// Speed of model `maestro`: evaluations per second on one core, for the mappings of the golden
// files. Baselines: the original program, measured once on a machine like this, one process per
// mapping as GAMMA and ArchGym run it; and a plain model without tables and memory, in the same
// run.
#include <time.h>

#include <algorithm>
#include <string>
#include <vector>

#include "harness.h"
#include "maestro_oracle.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/batch.h"
#include "tessera/cost/maestro/maestro.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/result.h"

namespace tessera::bench {
namespace {

using maestro::Analyser;
using maestro::Analysis;
using maestro::BatchRow;

double ThreadCpuSeconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// The rows of a golden file that hold `mark`.
std::vector<BatchRow> GoldenRows(const std::string& name, const std::string& mark) {
  const Result<std::string> text =
      ReadFile(std::string(TESSERA_SOURCE_DIR) + "/tests/golden/maestro/" + name);
  TESSERA_CHECK(text.ok());
  std::vector<BatchRow> rows;
  for (const std::string_view line : Split(*text, '\n')) {
    if (line.find(mark) == std::string_view::npos) continue;
    const Result<BatchRow> row = maestro::ReadRow(line, {});
    TESSERA_CHECK(row.ok());
    if (!row->refusal) rows.push_back(*row);
  }
  return rows;
}

std::vector<BatchRow> Family(const std::string& name) {
  return GoldenRows("train.jsonl.gz", "\"fam\":\"" + name + "\"");
}

std::vector<maestro::Workload> WorkloadsOf(const std::vector<BatchRow>& rows) {
  std::vector<maestro::Workload> workloads;
  for (const BatchRow& row : rows) {
    workloads.push_back(*maestro::MakeWorkload(row.layers[0].declaration));
  }
  return workloads;
}

void Analyses(Harness& harness, const std::string& family, const std::string& baseline) {
  const std::vector<BatchRow> rows = Family(family);
  const std::vector<maestro::Workload> workloads = WorkloadsOf(rows);
  Analyser analyser;
  harness.Measure(
      "analysis, family " + family, "evaluations", static_cast<double>(rows.size()),
      [&] {
        Analysis analysis;
        for (size_t i = 0; i < rows.size(); ++i) {
          analyser.Run(workloads[i], rows[i].array, rows[i].version, rows[i].layers[0].dataflow,
                       analysis);
          Keep(analysis);
        }
      },
      baseline);
}

// The same by the CPU time of this thread, best of many rounds: what other work on the machine
// takes is left out.
void CpuTime(Harness& harness) {
  const std::vector<BatchRow> rows = Family("gamma2");
  const std::vector<maestro::Workload> workloads = WorkloadsOf(rows);
  Analyser analyser;
  Analysis analysis;
  double best_seconds = 1e9;
  for (int round = 0; round < 40; ++round) {
    const double begin = ThreadCpuSeconds();
    for (size_t i = 0; i < rows.size(); ++i) {
      analyser.Run(workloads[i], rows[i].array, rows[i].version, rows[i].layers[0].dataflow,
                   analysis);
      Keep(analysis);
    }
    best_seconds = std::min(best_seconds, ThreadCpuSeconds() - begin);
  }
  harness.Quote("analysis, family gamma2, CPU time", "evaluations",
                static_cast<double>(rows.size()) / best_seconds, "best of 40 rounds");
}

// Cost with energy, area, power, flags and strict legality, as searches ask for it.
void Costs(Harness& harness, const std::string& baseline) {
  const std::vector<BatchRow> rows = Family("gamma2");
  std::vector<std::unique_ptr<CostModel>> models;
  std::vector<Mapping> mappings;
  for (const BatchRow& row : rows) {
    models.push_back(*MakeMaestroModel(row.layers[0].declaration, row.array, {}));
    mappings.emplace_back(row.layers[0].dataflow);
  }
  const auto workspace = models[0]->MakeWorkspace();
  harness.Measure(
      "strict cost, family gamma2", "evaluations", static_cast<double>(rows.size()),
      [&] {
        for (size_t i = 0; i < rows.size(); ++i) {
          Keep(models[i]->Evaluate(mappings[i], *workspace));
        }
      },
      baseline);
}

void PlainModel(Harness& harness, const std::string& name) {
  std::vector<BatchRow> rows = Family("gamma2");
  rows.resize(40);
  harness.Measure(name, "evaluations", static_cast<double>(rows.size()), [&] {
    for (const BatchRow& row : rows) {
      Keep(EvaluateByTheBook(row.layers[0].declaration, row.array, row.version,
                             row.layers[0].dataflow));
    }
  });
}

void Threads(Harness& harness, int threads, const std::string& baseline) {
  const std::vector<BatchRow> rows = Family("gamma2");
  // All mappings on one layer: many do not suit it, as in a search.
  const auto model = *MakeMaestroModel(rows[0].layers[0].declaration, rows[0].array, {});
  std::vector<Mapping> mappings;
  for (const BatchRow& row : rows) mappings.emplace_back(row.layers[0].dataflow);
  std::vector<Cost> costs(mappings.size());
  ThreadPool pool(threads);
  BatchEvaluator evaluator(*model, pool);
  harness.Measure(
      "batch of one layer, " + std::to_string(threads) + " threads", "evaluations",
      static_cast<double>(mappings.size()),
      [&] {
        evaluator.EvaluateBatch(mappings, costs);
        Keep(costs);
      },
      baseline);
}

void WholeFiles(Harness& harness) {
  for (const std::string name : {"net-Resnet50_kcp_ws", "net-Transformer_Complete"}) {
    const std::vector<BatchRow> rows = GoldenRows("networks.jsonl.gz", "\"" + name + "\"");
    const BatchRow& row = rows[0];
    Analyser analyser;
    harness.Measure(name + ", " + std::to_string(row.layers.size()) + " layers", "files", 1, [&] {
      Keep(maestro::EvaluateNetwork(row.layers, row.array, row.version, analyser));
    });
  }
}

}  // namespace
}  // namespace tessera::bench

int main(int argc, char** argv) {
  using namespace tessera::bench;  // NOLINT: main is at home here
  Harness harness(argc, argv);
  harness.Quote("MAESTRO as shipped, one process per mapping", "evaluations", 1 / 0.024,
                "docs/cost-maestro.md");
  harness.Quote("MAESTRO at -O2, one process per mapping", "evaluations", 1 / 0.0067,
                "docs/cost-maestro.md");
  const std::string plain = "plain model, family gamma2";
  PlainModel(harness, plain);
  Analyses(harness, "gamma2", plain);
  CpuTime(harness);
  Costs(harness, plain);
  for (const std::string family : {"gamma1", "shipped", "level34", "template", "stride_out"}) {
    Analyses(harness, family, "analysis, family gamma2");
  }
  Threads(harness, 1, "");
  Threads(harness, 2, "batch of one layer, 1 threads");
  WholeFiles(harness);
  return harness.Finish();
}
