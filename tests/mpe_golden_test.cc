// Recorded episodes of the original particle environments and of MPE2 1.1.1, recomputed from their
// starts or seeds and their actions alone: every position, velocity, observation and navigation
// reward bit for bit, the boundary penalty of predator_prey to one unit in the last place.
#include <cmath>
#include <string>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"
#include "tessera/env.h"

namespace tessera {
namespace {

using Json = nlohmann::ordered_json;

std::vector<Json> Episodes(const std::string& name) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/tests/golden/" + name;
  const Result<std::string> text = ReadFile(path);
  EXPECT_TRUE(text.ok()) << text.error();
  std::vector<Json> episodes;
  if (!text.ok()) return episodes;
  for (const std::string_view line : Split(*text, '\n')) {
    if (!line.empty()) episodes.push_back(Json::parse(line));
  }
  return episodes;
}

// The episode with what a replay needs and nothing else.
Json Stripped(const Json& episode, bool keep_start) {
  Json row = episode;
  row.erase("obs0");
  if (!keep_start) {
    row.erase("pos");
    row.erase("lm");
  }
  for (Json& step : row["steps"]) step = Json{{"a", step["a"]}};
  return row;
}

bool WithinOneUlp(double a, double b) { return a == b || std::nextafter(a, b) == b; }

void ExpectRewards(const Json& episode, const Json& expected, const Json& got) {
  if (episode["scenario"] == "cooperative_navigation") {
    EXPECT_EQ(expected, got);
    return;
  }
  ASSERT_EQ(expected.size(), got.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    EXPECT_TRUE(WithinOneUlp(expected[i].get<double>(), got[i].get<double>()))
        << expected[i] << " " << got[i];
  }
}

void ExpectReplays(const Json& episode, bool keep_start) {
  SCOPED_TRACE(episode["id"].get<std::string>());
  const Result<std::string> line = ReplayEpisode(Stripped(episode, keep_start).dump(), {});
  ASSERT_TRUE(line.ok()) << line.error();
  const Json replayed = Json::parse(*line);
  for (const auto& [key, value] : episode.items()) {
    if (key == "steps") continue;
    EXPECT_EQ(value, replayed[key]) << key;
  }
  ASSERT_EQ(episode["steps"].size(), replayed["steps"].size());
  for (size_t t = 0; t < episode["steps"].size(); ++t) {
    SCOPED_TRACE(t);
    const Json& expected = episode["steps"][t];
    const Json& got = replayed["steps"][t];
    for (const auto& [key, value] : expected.items()) {
      if (key == "r") continue;
      EXPECT_EQ(value, got[key]) << key;
    }
    ExpectRewards(episode, expected["r"], got["r"]);
    EXPECT_TRUE(got.contains("o"));
  }
}

TEST(MpeGolden, OpenaiEpisodesReplay) {
  const std::vector<Json> episodes = Episodes("mpe/train.jsonl.gz");
  EXPECT_EQ(episodes.size(), 60u);
  for (const Json& episode : episodes) ExpectReplays(episode, /*keep_start=*/true);
}

TEST(MpeGolden, Mpe2EpisodesReplayFromTheirSeeds) {
  const std::vector<Json> episodes = Episodes("mpe2/train.jsonl.gz");
  EXPECT_EQ(episodes.size(), 40u);
  for (const Json& episode : episodes) {
    ExpectReplays(episode, /*keep_start=*/true);
    ExpectReplays(episode, /*keep_start=*/false);
  }
}

}  // namespace
}  // namespace tessera
