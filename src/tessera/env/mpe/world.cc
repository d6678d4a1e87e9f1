// Physics, rewards and observations, term by term as the original programs compute them.
#include "tessera/env/mpe/world.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "tessera/env/mpe/numpy_random.h"

namespace tessera {
namespace {

constexpr double kTimeStep = 0.1;
constexpr double kDamping = 0.25;
constexpr double kContactForce = 100;
constexpr double kContactMargin = 0.001;

struct Distance {
  double x, y, squared;
};

Distance Between(const double* a, const double* b) {
  const double x = a[0] - b[0], y = a[1] - b[1];
  return {x, y, x * x + y * y};
}

// log(exp(0) + exp(y)) as NumPy computes it.
double LogAddExp0(double y) {
  if (y == 0) return std::log(2.0);
  return y > 0 ? y + std::log1p(std::exp(-y)) : std::log1p(std::exp(y));
}

// Whether adding a force of at most `bound` to `sum` leaves it as it is: half the distance to the
// next double below is at least |sum| * 2^-54.
bool Absorbs(double sum, double bound) { return std::abs(sum) * 0x1.0p-54 > bound; }

// A contact pushes even at a distance, by k log(1 + exp(-gap/k)), which is tiny beyond a gap of
// some 40 k. It is skipped only where adding it would change no bit, which is nearly always.
bool ContactIsLost(double squared, double reach, const double* a, const double* b) {
  struct Limit {
    double gap, force;
  };
  // Gaps with an upper bound of the force there; from 0.75 on exp() gives exactly zero.
  static constexpr Limit kLimits[] = {{0.75, 0.0}, {0.0601, 1e-27}, {0.0401, 5e-19}};
  for (const Limit& limit : kLimits) {
    const double beyond = reach + limit.gap;
    if (squared <= beyond * beyond) continue;
    return limit.force == 0 ||
           (Absorbs(a[0], limit.force) && Absorbs(a[1], limit.force) &&
            (b == nullptr || (Absorbs(b[0], limit.force) && Absorbs(b[1], limit.force))));
  }
  return false;
}

// Adds the contact force between a and b, where b may be fixed (null force).
void AddContact(const double* position_a, const double* position_b, double reach, double* force_a,
                double* force_b) {
  const Distance d = Between(position_a, position_b);
  if (ContactIsLost(d.squared, reach, force_a, force_b)) return;
  const double distance = std::sqrt(d.squared);
  const double penetration = LogAddExp0(-(distance - reach) / kContactMargin) * kContactMargin;
  const double x = kContactForce * d.x / distance * penetration;
  const double y = kContactForce * d.y / distance * penetration;
  force_a[0] = x + force_a[0];
  force_a[1] = y + force_a[1];
  if (force_b == nullptr) return;
  force_b[0] = -x + force_b[0];
  force_b[1] = -y + force_b[1];
}

void AddContacts(const MpeWorld& world, MpeState state, double* forces) {
  const int64_t agents = world.agents();
  for (int64_t a = 0; a < agents; ++a) {
    const double size = world.size(a);
    for (int64_t b = a + 1; b < agents; ++b) {
      AddContact(state.positions + 2 * a, state.positions + 2 * b, size + world.size(b),
                 forces + 2 * a, forces + 2 * b);
    }
    if (!world.landmarks_collide()) continue;
    for (int64_t l = 0; l < world.landmarks; ++l) {
      AddContact(state.positions + 2 * a, state.landmarks + 2 * l, size + world.landmark_size(),
                 forces + 2 * a, nullptr);
    }
  }
}

bool Touches(const double* a, const double* b, double reach) {
  const Distance d = Between(a, b);
  // The root decides; far pairs need none.
  return d.squared < 1.01 * reach * reach && std::sqrt(d.squared) < reach;
}

// NumPy's sum: pairwise above 128 values, eight interleaved sums above 7.
double NumpySum(std::span<const double> x) {
  const size_t n = x.size();
  if (n < 8) {
    double sum = 0;
    for (const double value : x) sum += value;
    return sum;
  }
  if (n > 128) {
    const size_t half = n / 2 - n / 2 % 8;
    return NumpySum(x.first(half)) + NumpySum(x.subspan(half));
  }
  double s[8];
  std::copy_n(x.begin(), 8, s);
  size_t i = 8;
  for (; i + 8 <= n; i += 8) {
    for (size_t j = 0; j < 8; ++j) s[j] += x[i + j];
  }
  double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

// What leaving the field costs a prey, per coordinate.
template <typename Exp>
double BoundaryPenalty(double coordinate, const Exp& exp) {
  const double x = std::abs(coordinate);
  if (x < 0.9) return 0;
  if (x < 1.0) return (x - 0.9) * 10;
  return std::min(exp(2 * x - 2), 10.0);
}

template <typename Exp>
void WritePredatorPreyRewards(const MpeWorld& world, MpeState state, std::span<double> rewards,
                              const Exp& exp) {
  double team = 0;
  for (int64_t m = world.predators; m < world.agents(); ++m) {
    const double* const prey = state.positions + 2 * m;
    double reward = 0;
    for (int64_t n = 0; n < world.predators; ++n) {
      if (!Touches(state.positions + 2 * n, prey, world.size(n) + world.size(m))) continue;
      team += 10;
      reward -= 10;
    }
    reward -= BoundaryPenalty(prey[0], exp);
    reward -= BoundaryPenalty(prey[1], exp);
    rewards[static_cast<size_t>(m)] = reward;
  }
  std::fill_n(rewards.begin(), world.predators, team);
}

void WriteNavigationRewards(const MpeWorld& world, MpeState state, std::span<double> rewards) {
  double coverage = 0;
  for (int64_t l = 0; l < world.landmarks; ++l) {
    double nearest = Between(state.positions, state.landmarks + 2 * l).squared;
    for (int64_t a = 1; a < world.agents(); ++a) {
      nearest =
          std::min(nearest, Between(state.positions + 2 * a, state.landmarks + 2 * l).squared);
    }
    coverage -= std::sqrt(nearest);
  }
  const bool openai = world.compat == MpeCompat::kOpenai;
  for (int64_t a = 0; a < world.agents(); ++a) {
    double reward = openai ? coverage : 0;
    for (int64_t b = 0; b < world.agents(); ++b) {
      if (b == a && !openai) continue;  // the original counts an agent as touching itself
      if (Touches(state.positions + 2 * b, state.positions + 2 * a,
                  world.size(b) + world.size(a))) {
        reward -= 1;
      }
    }
    if (!openai) reward = coverage * (1 - world.local_ratio) + reward * world.local_ratio;
    rewards[static_cast<size_t>(a)] = reward;
  }
  if (!openai) return;
  const double team = NumpySum(rewards);
  std::fill(rewards.begin(), rewards.end(), team);
}

// Difference of two pushes. In the originals it is taken in the type of the action.
template <typename Value>
void Decode(const MpeWorld& world, int64_t agent, const Value* action, double force[2]) {
  Value a[kMpeActionSize];
  std::copy_n(action, kMpeActionSize, a);
  const bool openai = world.compat == MpeCompat::kOpenai;
  if (!openai) {
    for (Value& value : a) value = std::clamp(value, Value{0}, Value{1});
  }
  const Value x = openai ? a[1] - a[2] : a[2] - a[1];
  const Value y = openai ? a[3] - a[4] : a[4] - a[3];
  force[0] = (0.0 + x) * world.acceleration(agent);
  force[1] = (0.0 + y) * world.acceleration(agent);
}

}  // namespace

double MpeWorld::size(int64_t agent) const {
  if (scenario == MpeScenario::kNavigation) return 0.15;
  return is_predator(agent) ? 0.075 : 0.05;
}

double MpeWorld::acceleration(int64_t agent) const {
  if (scenario == MpeScenario::kNavigation) return 5.0;
  return is_predator(agent) ? 3.0 : 4.0;
}

double MpeWorld::max_speed(int64_t agent) const {
  if (scenario == MpeScenario::kNavigation) return 0;
  return is_predator(agent) ? 1.0 : 1.3;
}

double MpeWorld::landmark_size() const { return scenario == MpeScenario::kNavigation ? 0.05 : 0.2; }

int64_t MpeWorld::observation_size(int64_t agent) const {
  const int64_t others = agents() - 1;
  const int64_t common = 4 + 2 * landmarks + 2 * others;
  if (scenario == MpeScenario::kNavigation) return common + 2 * others;
  return common + 2 * (is_predator(agent) ? prey : prey - 1);
}

Result<void> Check(const MpeWorld& world) {
  constexpr int64_t kMostEntities = 10'000;
  const auto bad = [](std::string message) {
    return Error{.kind = ErrorKind::kBadValue, .message = std::move(message)};
  };
  if (world.predators < 1) {
    return bad(fmt::format("{} agents: a world needs at least one", world.predators));
  }
  if (world.prey < 0) return bad(fmt::format("{} prey: must not be negative", world.prey));
  if (world.landmarks < 0) {
    return bad(fmt::format("{} landmarks: must not be negative", world.landmarks));
  }
  if (world.predators > kMostEntities || world.prey > kMostEntities ||
      world.landmarks > kMostEntities) {
    return bad(fmt::format("more than {} agents, prey or landmarks", kMostEntities));
  }
  if (!(world.local_ratio >= 0 && world.local_ratio <= 1)) {
    return bad(fmt::format("local_ratio {} is outside 0..1", world.local_ratio));
  }
  return {};
}

void DecodeVector(const MpeWorld& world, int64_t agent, std::span<const float> action,
                  double force[2]) {
  Decode(world, agent, action.data(), force);
}

void DecodeVector(const MpeWorld& world, int64_t agent, std::span<const double> action,
                  double force[2]) {
  float rounded[kMpeActionSize];
  bool exact = true;
  for (size_t i = 0; i < kMpeActionSize; ++i) {
    rounded[i] = static_cast<float>(action[i]);
    exact = exact && static_cast<double>(rounded[i]) == action[i];
  }
  if (exact) {
    Decode(world, agent, rounded, force);
  } else {
    Decode(world, agent, action.data(), force);
  }
}

void DecodeChoice(const MpeWorld& world, int64_t agent, int64_t choice, double force[2]) {
  force[0] = choice == 1 ? -1 : choice == 2 ? 1 : 0;
  force[1] = choice == 3 ? -1 : choice == 4 ? 1 : 0;
  force[0] *= world.acceleration(agent);
  force[1] *= world.acceleration(agent);
}

void StepWorld(const MpeWorld& world, double* forces, MpeState state) {
  AddContacts(world, state, forces);
  const bool position_first = world.compat == MpeCompat::kMpe2;
  for (int64_t a = 0; a < world.agents(); ++a) {
    double* const p = state.positions + 2 * a;
    double* const v = state.velocities + 2 * a;
    for (int d = 0; d < 2; ++d) {
      if (position_first) p[d] += v[d] * kTimeStep;
      v[d] = v[d] * (1 - kDamping);
      v[d] += forces[2 * a + d] * kTimeStep;
    }
    const double cap = world.max_speed(a);
    const double speed = cap > 0 ? std::sqrt(v[0] * v[0] + v[1] * v[1]) : 0;
    for (int d = 0; d < 2; ++d) {
      if (speed > cap) v[d] = v[d] / speed * cap;
      if (!position_first) p[d] += v[d] * kTimeStep;
    }
  }
}

void WriteRewards(const MpeWorld& world, MpeState state, std::span<double> rewards) {
  if (world.scenario == MpeScenario::kPredatorPrey) {
    WritePredatorPreyRewards(world, state, rewards, [](double x) { return std::exp(x); });
  } else {
    WriteNavigationRewards(world, state, rewards);
  }
}

void WriteRewards(const MpeWorld& world, MpeState state, std::span<double> rewards,
                  const std::function<double(double)>& exp) {
  if (world.scenario == MpeScenario::kPredatorPrey) {
    WritePredatorPreyRewards(world, state, rewards, exp);
  } else {
    WriteNavigationRewards(world, state, rewards);
  }
}

template <typename Value>
void WriteObservation(const MpeWorld& world, MpeState state, int64_t agent, Value* out) {
  const double* const own = state.positions + 2 * agent;
  const auto put = [&](const double* vector, double x, double y) {
    *out++ = static_cast<Value>(vector[0] - x);
    *out++ = static_cast<Value>(vector[1] - y);
  };
  put(state.velocities + 2 * agent, 0, 0);
  put(own, 0, 0);
  for (int64_t l = 0; l < world.landmarks; ++l) put(state.landmarks + 2 * l, own[0], own[1]);
  for (int64_t b = 0; b < world.agents(); ++b) {
    if (b != agent) put(state.positions + 2 * b, own[0], own[1]);
  }
  if (world.scenario == MpeScenario::kNavigation) {
    std::fill_n(out, 2 * (world.agents() - 1), Value{0});  // what silent agents say
    return;
  }
  for (int64_t b = world.predators; b < world.agents(); ++b) {
    if (b != agent) put(state.velocities + 2 * b, 0, 0);
  }
}

template void WriteObservation(const MpeWorld&, MpeState, int64_t, float*);
template void WriteObservation(const MpeWorld&, MpeState, int64_t, double*);

void DrawSeededStart(const MpeWorld& world, uint64_t seed, MpeState state) {
  if (world.compat == MpeCompat::kMpe2) {
    NumpyPcg64 random(seed);
    DrawStart(world, random, state);
    return;
  }
  NumpyMt19937 random(static_cast<uint32_t>(seed));
  DrawStart(world, random, state);  // the start that building the world uses up
  DrawStart(world, random, state);
}

}  // namespace tessera
