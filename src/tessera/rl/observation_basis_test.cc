// Bases of small specs, and that everything observed follows from them.
#include "tessera/rl/observation_basis.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

// Two agents on a line with a landmark: each sees itself, the other and the landmark from where it
// is. State: p0, p1, landmark.
EnvSpec Line() {
  EnvSpec spec{.name = "line", .state_size = 3};
  for (int64_t own : {0, 1}) {
    spec.agents.push_back({.name = own == 0 ? "a" : "b", .observation_size = 3});
    spec.observation_maps.push_back(
        {3, {{0, own, 1}, {1, 1 - own, 1}, {1, own, -1}, {2, 2, 1}, {2, own, -1}}});
  }
  return spec;
}

std::vector<double> Observed(const EnvSpec& spec, const std::vector<double>& state) {
  std::vector<double> row(static_cast<size_t>(spec.observation_size()));
  for (size_t a = 0; a < spec.agents.size(); ++a) {
    for (const ObservationMap::Term& term : spec.observation_maps[a].terms) {
      row[static_cast<size_t>(spec.observation_offset(static_cast<int64_t>(a)) + term.input)] +=
          term.factor * state[static_cast<size_t>(term.feature)];
    }
  }
  return row;
}

void ExpectToFollow(const EnvSpec& spec, const std::vector<double>& state) {
  const ObservationBasis basis = FindBasis(spec);
  const std::vector<double> row = Observed(spec, state);
  ASSERT_EQ(basis.inputs.size(), row.size());
  for (size_t n = 0; n < row.size(); ++n) {
    double sum = 0;
    for (const ObservationBasis::Term& term : basis.inputs[n]) {
      sum += term.factor * row[static_cast<size_t>(basis.numbers[static_cast<size_t>(term.index)])];
    }
    EXPECT_DOUBLE_EQ(sum, row[n]) << n;
  }
}

TEST(ObservationBasis, OwnPositionsAndOneViewOfALandmarkAreEnough) {
  EXPECT_EQ(FindBasis(Line()).numbers, (std::vector<int64_t>{0, 3, 2}));
  ExpectToFollow(Line(), {0.25, -1.5, 4});
}

// Nobody sees where it is: only differences are known, and one of them joins the basis as it is.
TEST(ObservationBasis, WhatCannotBeToldApartStaysAsItIs) {
  EnvSpec spec{.name = "differences", .state_size = 2};
  spec.agents = {{.name = "a", .observation_size = 1}, {.name = "b", .observation_size = 2}};
  spec.observation_maps = {{1, {{0, 0, 1}, {0, 1, -1}}}, {2, {{0, 1, 2}, {0, 0, -2}}}};
  const ObservationBasis basis = FindBasis(spec);
  EXPECT_EQ(basis.numbers, (std::vector<int64_t>{0, 1}));
  EXPECT_TRUE(basis.inputs[2].empty()) << "nothing is mapped to it: it is zero";
  ExpectToFollow(spec, {3, 8});
}

TEST(ObservationBasis, WithoutMapsOrWithOffsetsEverythingIsInIt) {
  EnvSpec spec = Line();
  spec.observation_maps[1].offsets = {0, 1, 0};
  EXPECT_EQ(FindBasis(spec).numbers.size(), 6u);
  spec.observation_maps.clear();
  EXPECT_EQ(FindBasis(spec).numbers.size(), 6u);
}

}  // namespace
}  // namespace tessera
