// Dataflows print as MAESTRO writes them and read back; bad text is reported where it stands.
#include "tessera/mapping.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using enum DataflowDim;

Dataflow Sample() {
  Dataflow dataflow;
  dataflow.Add(Spatial(1, 1, kK));
  dataflow.Add(Temporal(3, 1, kYOut));
  dataflow.Add(Cluster(64));
  dataflow.Add(Spatial(1, 1, kC));
  return dataflow;
}

TEST(Dataflow, PrintsAsMaestroWritesIt) {
  EXPECT_EQ(ToString(Sample()),
            "SpatialMap(1,1) K; TemporalMap(3,1) Y'; Cluster(64,P); SpatialMap(1,1) C;");
  EXPECT_EQ(ToIndentedString(Sample(), "  "),
            "  SpatialMap(1,1) K;\n  TemporalMap(3,1) Y';\n  Cluster(64,P);\n"
            "  SpatialMap(1,1) C;\n");
}

TEST(Dataflow, ReadsWhatItPrints) {
  for (const std::string& text : {ToString(Sample()), ToIndentedString(Sample(), "\t")}) {
    const Result<Dataflow> dataflow = ParseDataflow(text);
    ASSERT_TRUE(dataflow) << dataflow.error();
    EXPECT_EQ(*dataflow, Sample());
    EXPECT_EQ(DataflowHash{}(*dataflow), DataflowHash{}(Sample()));
  }
}

TEST(Dataflow, DiffersInEveryPart) {
  const Dataflow sample = Sample();
  for (const std::string_view other : {
           "SpatialMap(1,1) K; TemporalMap(3,1) Y'; Cluster(64,P);",
           "SpatialMap(1,1) K; TemporalMap(3,2) Y'; Cluster(64,P); SpatialMap(1,1) C;",
           "SpatialMap(1,1) K; TemporalMap(2,1) Y'; Cluster(64,P); SpatialMap(1,1) C;",
           "SpatialMap(1,1) K; TemporalMap(3,1) Y; Cluster(64,P); SpatialMap(1,1) C;",
           "TemporalMap(1,1) K; TemporalMap(3,1) Y'; Cluster(64,P); SpatialMap(1,1) C;",
       }) {
    const Result<Dataflow> dataflow = ParseDataflow(other);
    ASSERT_TRUE(dataflow) << dataflow.error();
    EXPECT_FALSE(*dataflow == sample) << other;
    EXPECT_NE(DataflowHash{}(*dataflow), DataflowHash{}(sample)) << other;
  }
}

TEST(Dataflow, ReportsBadText) {
  const struct {
    std::string_view text, message;
  } cases[] = {
      {"SpatialMap(1,1) KK", "f:1:17: unknown dimension 'KK'; did you mean 'K'?"},
      {"SpatialMap(1,1) K\nTemporal(2,2) C",
       "f:2:1: unknown directive 'Temporal'; did you mean 'TemporalMap'?"},
      {"SpatialMap(0,1) K", "f:1:12: size is 0, but must be in 1..2147483647"},
      {"SpatialMap(1,-1) K", "f:1:14: offset is -1, but must be in 1..2147483647"},
      {"Cluster(2147483648,P)", "f:1:9: size is 2147483648, but must be in 1..2147483647"},
      {"Cluster(4,Q)", "f:1:11: cluster letter is 'Q', but must be P or L"},
      {"TemporalMap(4,4)",
       "f:1:17: the text ends where a dimension is expected; write SpatialMap(size,offset) DIM, "
       "TemporalMap(size,offset) DIM or Cluster(size,P)"},
  };
  for (const auto& [text, message] : cases) {
    const Result<Dataflow> dataflow = ParseDataflow(text, "f");
    ASSERT_FALSE(dataflow) << text;
    EXPECT_EQ(ToString(dataflow.error()), message);
  }
  std::string many;
  for (size_t i = 0; i <= Dataflow::kCapacity; ++i) many += "TemporalMap(1,1) K;";
  const Result<Dataflow> dataflow = ParseDataflow(many);
  ASSERT_FALSE(dataflow);
  EXPECT_EQ(dataflow.error().message, "more than 64 directives");
}

}  // namespace
}  // namespace tessera
