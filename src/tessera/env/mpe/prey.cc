// The prey controllers that public implementations use.
#include "tessera/env/mpe/prey.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include <fmt/format.h>

namespace tessera {
namespace {

double DistanceTo(const double* a, double x, double y) { return std::hypot(a[0] - x, a[1] - y); }

// Away from the nearest predator and off the walls, with a force of at most one per coordinate. It
// is not multiplied by the prey's acceleration, so that predators can win.
void Flee(const MpeWorld& world, MpeState state, int64_t prey, CounterRng& /*rng*/,
          double force[2]) {
  const double* const p = state.positions + 2 * prey;
  double best = std::numeric_limits<double>::infinity(), dx = 0, dy = 0;
  for (int64_t n = 0; n < world.predators; ++n) {
    const double x = p[0] - state.positions[2 * n], y = p[1] - state.positions[2 * n + 1];
    if (x * x + y * y >= best) continue;
    best = x * x + y * y;
    dx = x;
    dy = y;
  }
  const double distance = std::sqrt(best);
  const double away[2] = {distance > 0 ? dx / distance : 0, distance > 0 ? dy / distance : 0};
  for (int d = 0; d < 2; ++d) {
    const double wall = std::abs(p[d]) > 0.9 ? 2 * std::copysign(1.0, p[d]) : 0;
    force[d] = std::clamp(away[d] - wall, -1.0, 1.0);
  }
}

// A soft action drawn uniformly from the simplex.
void Random(const MpeWorld& world, MpeState /*state*/, int64_t prey, CounterRng& rng,
            double force[2]) {
  double weights[kMpeActionSize], sum = 0;
  for (double& weight : weights) sum += weight = -std::log1p(-rng.Uniform());
  float action[kMpeActionSize];
  for (size_t i = 0; i < kMpeActionSize; ++i) action[i] = static_cast<float>(weights[i] / sum);
  DecodeVector(world, prey, std::span<const float>(action), force);
}

// The score of going straight to `offset`: distance to predators at the end (kMin: to the nearest
// one) or summed over the way; below zero if a point of the way touches one.
enum class Score { kMin, kSum };

double ScoreOf(const MpeWorld& world, MpeState state, int64_t prey, Score score, double dx,
               double dy) {
  constexpr int kWayPoints = 5;
  const double* const p = state.positions + 2 * prey;
  double total = 0, nearest = std::numeric_limits<double>::infinity();
  for (int i = 1; i <= kWayPoints; ++i) {
    if (score == Score::kMin && i < kWayPoints) continue;
    const double part = static_cast<double>(i) / kWayPoints;
    for (int64_t n = 0; n < world.predators; ++n) {
      const double distance =
          DistanceTo(state.positions + 2 * n, p[0] + part * dx, p[1] + part * dy);
      if (distance < world.size(n) + world.size(prey)) return -1;
      total += distance;
      nearest = std::min(nearest, distance);
    }
  }
  return score == Score::kMin ? nearest : total;
}

// The best of 100 points of the unit disc around the prey; its offset is the force.
template <Score kScore>
void WayPoints(const MpeWorld& world, MpeState state, int64_t prey, CounterRng& rng,
               double force[2]) {
  constexpr int kSamples = 100;
  double best = 0;
  force[0] = force[1] = 0;  // stays so if every way is blocked
  for (int i = 0; i < kSamples; ++i) {
    const double radius = std::sqrt(rng.Uniform()), angle = 2 * std::numbers::pi * rng.Uniform();
    const double dx = radius * std::cos(angle), dy = radius * std::sin(angle);
    const double score = ScoreOf(world, state, prey, kScore, dx, dy);
    if (score <= best) continue;
    best = score;
    force[0] = dx;
    force[1] = dy;
  }
}

constexpr PreyController kControllers[] = {
    {"flee", "away from the nearest predator and the walls with a force of at most one", Flee,
     cuda::PreyMotion::kFlee},
    {"random", "random soft actions at full acceleration", Random, cuda::PreyMotion::kRandom},
    {"waypoints-min", "the sampled point that is farthest from its nearest predator",
     WayPoints<Score::kMin>},
    {"waypoints-sum", "the sampled way with the largest distances to all predators",
     WayPoints<Score::kSum>},
    {"learned", "prey are agents and learn as predators do", nullptr},
};

}  // namespace

std::span<const PreyController> PreyControllers() { return kControllers; }

Result<const PreyController*> FindPreyController(std::string_view name) {
  std::vector<std::string_view> names;
  for (const PreyController& controller : kControllers) {
    if (controller.name == name) return &controller;
    names.push_back(controller.name);
  }
  return Error{.kind = ErrorKind::kUnknownName,
               .message = fmt::format("unknown prey controller '{}'", name),
               .hint = DidYouMean(name, std::span<const std::string_view>(names))};
}

}  // namespace tessera
