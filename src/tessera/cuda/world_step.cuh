// One step of particle worlds by a block of threads: one thread per agent, each world in shared
// memory. Sums are taken in the order of env/mpe/world.cc; sources that include this are compiled
// without fused products (CMakeLists.txt), so that what differs from the host is the last bit of
// exp and log1p.
#ifndef TESSERA_CUDA_WORLD_STEP_CUH_
#define TESSERA_CUDA_WORLD_STEP_CUH_

#include "tessera/cuda/worlds.cuh"

namespace tessera::cuda {

constexpr int kActionSize = 5;
constexpr double kTimeStep = 0.1, kDamping = 0.25, kContactForce = 100, kContactMargin = 0.001;

__device__ inline double SizeOf(const WorldView& world, int agent) {
  if (world.navigation) return 0.15;
  return agent < world.predators ? 0.075 : 0.05;
}
__device__ inline double AccelerationOf(const WorldView& world, int agent) {
  if (world.navigation) return 5.0;
  return agent < world.predators ? 3.0 : 4.0;
}
__device__ inline double MaxSpeedOf(const WorldView& world, int agent) {
  if (world.navigation) return 0;
  return agent < world.predators ? 1.0 : 1.3;
}

__device__ inline bool Absorbs(double sum, double bound) { return fabs(sum) * 0x1.0p-54 > bound; }

// How near two must be for a contact to matter: their sizes, and where its force is exactly zero.
struct Reach {
  double reach, far_squared;

  __device__ explicit Reach(double sizes)
      : reach(sizes), far_squared((sizes + 0.75) * (sizes + 0.75)) {}
};

// Contacts beyond these distances have forces of less than the bounds.
constexpr double kNearGap = 0.0401, kMiddleGap = 0.0601;
constexpr double kMiddleBound = 5e-19, kFarBound = 1e-27;

// The force of a contact on the one at (x, y) from the other.
__device__ inline double2 ContactForce(double x, double y, double squared, double reach) {
  const double distance = sqrt(squared);
  const double depth = -(distance - reach) / kContactMargin;
  // log1p(z) is z below 2^-54.
  const double log_sum = depth == 0    ? log(2.0)
                         : depth > 0   ? depth + log1p(exp(-depth))
                         : depth < -40 ? exp(depth)
                                       : log1p(exp(depth));
  const double penetration = log_sum * kContactMargin;
  return make_double2(kContactForce * x / distance * penetration,
                      kContactForce * y / distance * penetration);
}

// Adds the force of a contact on the one at `own` unless that would change no bit.
__device__ inline void AddContact(const double* own, const double* other, const Reach& limit,
                                  double* force) {
  const double x = own[0] - other[0], y = own[1] - other[1];
  const double squared = x * x + y * y, reach = limit.reach;
  if (squared > limit.far_squared) return;
  const double near = reach + kNearGap;
  if (squared > near * near) {
    const double middle = reach + kMiddleGap;
    const double bound = squared > middle * middle ? kFarBound : kMiddleBound;
    if (Absorbs(force[0], bound) && Absorbs(force[1], bound)) return;
  }
  const double2 added = ContactForce(x, y, squared, reach);
  force[0] = added.x + force[0];
  force[1] = added.y + force[1];
}

__device__ inline bool Touches(const double* a, const double* b, double reach) {
  const double x = a[0] - b[0], y = a[1] - b[1];
  const double squared = x * x + y * y;
  return squared < 1.01 * reach * reach && sqrt(squared) < reach;
}

__device__ inline double BoundaryPenalty(double coordinate) {
  const double x = fabs(coordinate);
  if (x < 0.9) return 0;
  if (x < 1.0) return (x - 0.9) * 10;
  return fmin(exp(2 * x - 2), 10.0);
}

// NumPy's sum of up to 128 values.
__device__ inline double NumpySum(const double* x, int n) {
  if (n < 8) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += x[i];
    return sum;
  }
  double s[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) s[j] = x[j];
  int i = 8;
  for (; i + 8 <= n; i += 8) {
#pragma unroll
    for (int j = 0; j < 8; ++j) s[j] += x[i + j];
  }
  double sum = ((s[0] + s[1]) + (s[2] + s[3])) + ((s[4] + s[5]) + (s[6] + s[7]));
  for (; i < n; ++i) sum += x[i];
  return sum;
}

// ---- Random starts -----------------------------------------------------------------------------

// MT19937 of one world; words of worlds beside each other lie beside each other.
struct Mt19937 {
  uint32_t* state;
  int64_t stride;

  __device__ inline uint32_t& At(int i) { return state[i * stride]; }
  __device__ inline void Twist() {
    uint32_t current = At(0);
    for (int i = 0; i < 624; ++i) {
      const uint32_t next = i == 623 ? At(0) : At(i + 1);
      const uint32_t y = (current & 0x80000000u) | (next & 0x7fffffffu);
      At(i) = At(i < 227 ? i + 397 : i - 227) ^ (y >> 1) ^ ((y & 1) != 0 ? 0x9908b0dfu : 0);
      current = next;
    }
  }
  __device__ inline uint32_t Bits32(uint32_t& used) {
    if (used >= 624) {
      Twist();
      used = 0;
    }
    uint32_t y = At(static_cast<int>(used++));
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680u;
    y ^= (y << 15) & 0xefc60000u;
    return y ^ (y >> 18);
  }
};

__device__ inline double ToUnit(uint64_t bits53) { return static_cast<double>(bits53) * 0x1.0p-53; }

__device__ inline uint64_t PcgBits(PcgWords& words) {
  __extension__ using Wide = unsigned __int128;
  Wide state = static_cast<Wide>(words.state_high) << 64 | words.state_low;
  const Wide increment = static_cast<Wide>(words.increment_high) << 64 | words.increment_low;
  constexpr Wide kMultiplier = static_cast<Wide>(0x2360ed051fc65da4u) << 64 | 0x4385df649fccf645u;
  state = state * kMultiplier + increment;
  words.state_low = static_cast<uint64_t>(state);
  words.state_high = static_cast<uint64_t>(state >> 64);
  const unsigned rotate = static_cast<unsigned>(words.state_high >> 58);
  const uint64_t folded = words.state_low ^ words.state_high;
  return folded >> rotate | folded << (-rotate & 63);
}

// DrawStart of env/mpe/world.h, by one thread: positions (velocities zero), then landmarks.
__device__ inline void DrawStart(const WorldView& world, int64_t e, double* state) {
  const double range = world.navigation ? 1.0 : 0.9;
  const int moving = 2 * world.agents;
  const auto all = [&](auto unit) {
    for (int i = 0; i < moving; ++i) {
      state[i] = -1 + 2 * unit();
      state[moving + i] = 0;
    }
    for (int i = 0; i < 2 * world.landmarks; ++i) {
      state[2 * moving + i] = -range + (range + range) * unit();
    }
  };
  if (world.mpe2) {
    PcgWords words = world.pcg[e];
    all([&] { return ToUnit(PcgBits(words) >> 11); });
    world.pcg[e] = words;
    return;
  }
  Mt19937 random{world.generators + e, world.worlds};
  uint32_t used = random.At(624);
  all([&] {
    const uint64_t a = random.Bits32(used) >> 5, b = random.Bits32(used) >> 6;
    return ToUnit(a * 67108864u + b);
  });
  random.At(624) = used;
}

// ---- Actions -----------------------------------------------------------------------------------

__device__ inline void DecodeVector(const WorldView& world, int agent, const float* action,
                                    double* force) {
  float a[kActionSize];
#pragma unroll
  for (int i = 0; i < kActionSize; ++i) {
    a[i] = world.mpe2 ? fminf(fmaxf(action[i], 0.0f), 1.0f) : action[i];
  }
  const float x = world.mpe2 ? a[2] - a[1] : a[1] - a[2];
  const float y = world.mpe2 ? a[4] - a[3] : a[3] - a[4];
  force[0] = (0.0 + x) * AccelerationOf(world, agent);
  force[1] = (0.0 + y) * AccelerationOf(world, agent);
}

__device__ inline void DecodeChoice(const WorldView& world, int agent, uint32_t choice,
                                    double* force) {
  const double acceleration = AccelerationOf(world, agent);
  force[0] = choice == 1 ? -acceleration : choice == 2 ? acceleration : 0;
  force[1] = choice == 3 ? -acceleration : choice == 4 ? acceleration : 0;
}

// Away from the nearest predator and off the walls (env/mpe/prey.cc).
__device__ inline void Flee(const WorldView& world, const double* positions, int prey,
                            double* force) {
  const double* const p = positions + 2 * prey;
  double best = INFINITY, dx = 0, dy = 0;
  for (int n = 0; n < world.predators; ++n) {
    const double x = p[0] - positions[2 * n], y = p[1] - positions[2 * n + 1];
    if (x * x + y * y >= best) continue;
    best = x * x + y * y;
    dx = x;
    dy = y;
  }
  const double distance = sqrt(best);
  const double away[2] = {distance > 0 ? dx / distance : 0, distance > 0 ? dy / distance : 0};
  for (int d = 0; d < 2; ++d) {
    const double wall = fabs(p[d]) > 0.9 ? 2 * copysign(1.0, p[d]) : 0;
    force[d] = fmin(fmax(away[d] - wall, -1.0), 1.0);
  }
}

// The key of CounterRng(seed, StreamId("mpe.prey", index)).
__device__ inline PhiloxKey PreyKey(PhiloxKey seed, uint64_t index) {
  constexpr uint64_t kPrime = 0x100000001b3u;
  uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : {'m', 'p', 'e', '.', 'p', 'r', 'e', 'y'}) {
    hash = (hash ^ static_cast<unsigned char>(c)) * kPrime;
  }
  for (int byte = 0; byte < 8; ++byte) hash = (hash ^ ((index >> (8 * byte)) & 0xff)) * kPrime;
  // As CounterRng mixes a stream into its key: one block whose "step" is the key block's constant.
  const uint4 mixed = Philox(seed, 0x7e55e7a0u, hash);
  return {mixed.x, mixed.y};
}

__device__ inline void MoveAtRandom(const WorldView& world, int64_t e, int agent, double* force) {
  const PhiloxKey key =
      PreyKey(world.seed, static_cast<uint64_t>(e * (world.agents - world.predators) + agent));
  double weights[kActionSize], sum = 0;
  for (int i = 0; i < kActionSize; ++i) {
    const uint4 words =
        Philox(key, static_cast<uint64_t>(world.clocks[e]), static_cast<uint64_t>(i / 2));
    const uint64_t bits = i % 2 == 0 ? words.x | static_cast<uint64_t>(words.y) << 32
                                     : words.z | static_cast<uint64_t>(words.w) << 32;
    weights[i] = -log1p(-ToUnit(bits >> 11));
    sum += weights[i];
  }
  float action[kActionSize];
  for (int i = 0; i < kActionSize; ++i) action[i] = static_cast<float>(weights[i] / sum);
  DecodeVector(world, agent, action, force);
}

// ---- Contacts ----------------------------------------------------------------------------------

struct Block {
  double* state;  // of all worlds of the block
  int stride;     // doubles from world to world
  int worlds;     // of the block
  int64_t first;  // world
};

// Those that an agent can touch: all agents, then landmarks among predators and prey.
struct Others {
  const WorldView& world;
  const double* state;
  double own;

  __device__ Others(const WorldView& of, const double* world_state, int a)
      : world(of), state(world_state), own(SizeOf(of, a)) {}
  __device__ int count() const { return world.agents + (world.navigation ? 0 : world.landmarks); }
  __device__ const double* At(int i) const {
    return state + 2 * (i < world.agents ? i : i + world.agents);  // velocities lie in between
  }
  __device__ double ReachOf(int i) const {
    return own + (i < world.agents ? SizeOf(world, i) : 0.2);
  }
  // Calls body(begin, end, reach) for each kind of them.
  template <typename Body>
  __device__ void ForKinds(Body body) const {
    body(0, world.predators, ReachOf(0));
    if (world.navigation) return;
    body(world.predators, world.agents, ReachOf(world.predators));
    body(world.agents, count(), ReachOf(world.agents));
  }
};

__device__ inline void AddContacts(const WorldView& world, const double* state, int a,
                                   double* force) {
  const Others others(world, state, a);
  others.ForKinds([&](int begin, int end, double sizes) {
    const Reach reach(sizes);
    for (int i = begin; i < end; ++i) {
      if (i != a) AddContact(state + 2 * a, others.At(i), reach, force);
    }
  });
}

// Contacts whose forces are needed, of all worlds of a block. Few are, but of a warp's threads
// nearly always one, and the others would wait for its exponentials.
struct ContactQueue {
  static constexpr int kCapacity = 512;
  static constexpr uint32_t kNone = ~0u;
  double2 force[kCapacity];
  uint32_t task[kCapacity];
  int count;
};

// Computes the forces of contacts first + i on agent a for the bits i of `mask`, by all T threads,
// and calls use(forces), in the order of bits, if there are any.
template <int T, typename Use>
__device__ inline void ComputeContacts(const WorldView& world, const Block& block,
                                       ContactQueue& queue, int w, int a, int first, uint64_t mask,
                                       Use use) {
  constexpr int kCapacity = ContactQueue::kCapacity;
  bool waits = mask != 0;
  if (!__syncthreads_or(waits)) return;
  do {
    if (threadIdx.x == 0) queue.count = 0;
    __syncthreads();
    int base = kCapacity;
    if (waits) {
      const int count = __popcll(mask);
      base = atomicAdd(&queue.count, count);
      if (base + count <= kCapacity) {
        int slot = base;
        for (uint64_t bits = mask; bits != 0; bits &= bits - 1) {
          const uint32_t other = static_cast<uint32_t>(first + __ffsll(bits) - 1);
          queue.task[slot++] =
              static_cast<uint32_t>(w) << 16 | static_cast<uint32_t>(a) << 8 | other;
        }
      } else {
        for (int slot = base; slot < kCapacity; ++slot) queue.task[slot] = ContactQueue::kNone;
        base = kCapacity;
      }
    }
    __syncthreads();
    const int tasks = min(queue.count, kCapacity);
    for (int i = threadIdx.x; i < tasks; i += T) {
      const uint32_t task = queue.task[i];
      if (task == ContactQueue::kNone) continue;
      const int agent = task >> 8 & 0xff, other = task & 0xff;
      const double* const state = block.state + static_cast<int>(task >> 16) * block.stride;
      const Others others(world, state, agent);
      const double *const own = state + 2 * agent, *const at = others.At(other);
      const double x = own[0] - at[0], y = own[1] - at[1];
      queue.force[i] = ContactForce(x, y, x * x + y * y, others.ReachOf(other));
    }
    __syncthreads();
    if (base < kCapacity) {
      use(queue.force + base);
      waits = false;
    }
  } while (__syncthreads_or(waits));
}

// A component of a force as contacts are added in their order, without those whose force is known
// to be small only. `pending` bounds what was left out of a sum that is zero otherwise; `lost`: the
// sum's bits depend on what was left out.
struct LazySum {
  double sum, pending = 0;
  bool lost = false;

  // Forces below the bound `largest`, together below `total`.
  __device__ void AddBelow(double largest, double total) {
    if (pending == 0 && Absorbs(sum, largest)) return;
    if (sum != 0) lost = true;
    pending += total;
  }
  __device__ void Add(double value) {
    if (pending > 0) {
      if (!Absorbs(value, pending)) lost = true;
      pending = 0;
    }
    sum = value + sum;
  }
  // The sum becomes a change of a speed that is `speed` without it.
  __device__ bool Known(double speed) const {
    return !lost && (pending == 0 || Absorbs(speed, pending));
  }
};

// Contacts of one agent, 64 at a time: those within reach of a force that may be large, of one
// below either bound, or of none.
struct ContactMasks {
  uint64_t near = 0, middle = 0, far = 0;

  __device__ ContactMasks(const Others& others, int a, int first) {
    const double own[2] = {others.state[2 * a], others.state[2 * a + 1]};
    others.ForKinds([&](int begin, int end, double reach) {
      const double far_squared = (reach + 0.75) * (reach + 0.75);
      const double middle_squared = (reach + kMiddleGap) * (reach + kMiddleGap);
      const double near_squared = (reach + kNearGap) * (reach + kNearGap);
      for (int i = max(begin, first); i < min(end, first + 64); ++i) {
        const double* const at = others.At(i);
        const double x = own[0] - at[0], y = own[1] - at[1];
        const double squared = x * x + y * y;
        if (i == a || squared > far_squared) continue;
        const uint64_t bit = uint64_t{1} << (i - first);
        if (squared > middle_squared) {
          far |= bit;
        } else if (squared > near_squared) {
          middle |= bit;
        } else {
          near |= bit;
        }
      }
    });
  }
};

// As AddContacts, by all T threads of a block. First with bounds instead of small forces; agents
// whose sums depend on these, as those at rest, get all.
template <int T>
__device__ inline void QueueContacts(const WorldView& world, const Block& block,
                                     ContactQueue& queue, bool active, int w, int a,
                                     const double* v, double* force) {
  const Others others(world, block.state + (active ? w : 0) * block.stride, active ? a : 0);
  LazySum sums[2] = {{force[0]}, {force[1]}};
  const auto none = ContactMasks(others, 0, others.count());
  for (int first = 0; first < others.count(); first += 64) {
    const ContactMasks masks = active ? ContactMasks(others, a, first) : none;
    // Near ones one by one, those between them together.
    const auto add = [&](const double2* forces) {
      uint64_t left = ~uint64_t{0};
      for (uint64_t bits = masks.near; left != 0; bits &= bits - 1) {
        const uint64_t before = left & (bits != 0 ? (bits & -bits) - 1 : ~uint64_t{0});
        const int middle = __popcll(masks.middle & before), far = __popcll(masks.far & before);
        if (middle + far > 0) {
          const double total = middle * kMiddleBound + far * kFarBound;
          for (LazySum& sum : sums) sum.AddBelow(middle > 0 ? kMiddleBound : kFarBound, total);
        }
        if (bits == 0) return;
        sums[0].Add(forces->x);
        sums[1].Add(forces->y);
        ++forces;
        left = ~uint64_t{0} << 1 << (__ffsll(bits) - 1);
      }
    };
    if (masks.near == 0) add(nullptr);
    ComputeContacts<T>(world, block, queue, w, a, first, masks.near, add);
  }
  const bool known =
      !active || (sums[0].Known(v[0] * (1 - kDamping)) && sums[1].Known(v[1] * (1 - kDamping)));
  double all[2] = {force[0], force[1]};
  for (int first = 0; first < others.count(); first += 64) {
    const ContactMasks masks = known ? none : ContactMasks(others, a, first);
    const uint64_t mask = masks.near | masks.middle | masks.far;
    ComputeContacts<T>(world, block, queue, w, a, first, mask, [&](const double2* forces) {
      for (int i = 0; i < __popcll(mask); ++i) {
        all[0] = forces[i].x + all[0];
        all[1] = forces[i].y + all[1];
      }
    });
  }
  force[0] = known ? sums[0].sum : all[0];
  force[1] = known ? sums[1].sum : all[1];
}

// ---- One step ----------------------------------------------------------------------------------

// Shared memory of one world: its state and a zero, rewards, distances to landmarks.
__host__ __device__ inline int WorldDoubles(int size, int agents, int landmarks) {
  return (size + 1 + agents + landmarks) | 1;  // odd: worlds side by side do not share banks
}

__device__ inline void Integrate(const WorldView& world, int agent, const double* force, double* p,
                                 double* v) {
  for (int d = 0; d < 2; ++d) {
    if (world.mpe2) p[d] += v[d] * kTimeStep;
    v[d] = v[d] * (1 - kDamping);
    v[d] += force[d] * kTimeStep;
  }
  const double cap = MaxSpeedOf(world, agent), squared = v[0] * v[0] + v[1] * v[1];
  // The root decides; who is clearly slower needs none.
  const double speed = cap > 0 && squared > 0.999 * cap * cap ? sqrt(squared) : 0;
  for (int d = 0; d < 2; ++d) {
    if (speed > cap) v[d] = v[d] / speed * cap;
    if (!world.mpe2) p[d] += v[d] * kTimeStep;
  }
}

// Rewards of all agents to `rewards`, by the threads of one world; all threads of the block call.
__device__ inline void Rewards(const WorldView& world, bool active, int a, const double* state,
                               double* rewards, double* nearest) {
  const double* const own = state + 2 * a;
  if (!world.navigation) {
    if (active && a >= world.predators) {
      double reward = 0;
      for (int n = 0; n < world.predators; ++n) {
        if (Touches(state + 2 * n, own, SizeOf(world, n) + SizeOf(world, a))) reward -= 10;
      }
      rewards[a] = reward;
    }
    __syncthreads();
    double team = 0;
    if (active && a < world.predators) {
      for (int m = world.predators; m < world.agents; ++m) team -= rewards[m];
    }
    __syncthreads();
    if (!active) return;
    if (a < world.predators) {
      rewards[a] = team;
    } else if (a < world.actors) {  // nobody asks for the others
      rewards[a] -= BoundaryPenalty(own[0]);
      rewards[a] -= BoundaryPenalty(own[1]);
    }
    return;
  }
  const double* const landmarks = state + 4 * world.agents;
  if (active) {
    for (int l = a; l < world.landmarks; l += world.agents) {
      double least = INFINITY;
      for (int b = 0; b < world.agents; ++b) {
        const double x = state[2 * b] - landmarks[2 * l],
                     y = state[2 * b + 1] - landmarks[2 * l + 1];
        least = fmin(least, x * x + y * y);
      }
      nearest[l] = sqrt(least);
    }
  }
  __syncthreads();
  double reward = 0;
  if (active) {
    double coverage = 0;
    for (int l = 0; l < world.landmarks; ++l) coverage -= nearest[l];
    reward = world.mpe2 ? 0 : coverage;
    const double reach = SizeOf(world, 0) + SizeOf(world, 0);
    for (int b = 0; b < world.agents; ++b) {
      if (b == a && world.mpe2) continue;
      if (Touches(state + 2 * b, own, reach)) reward -= 1;
    }
    if (world.mpe2) reward = coverage * (1 - world.local_ratio) + reward * world.local_ratio;
    rewards[a] = reward;
  }
  if (world.mpe2) return;
  __syncthreads();
  const double team = active ? NumpySum(rewards, world.agents) : 0;
  __syncthreads();
  if (active) rewards[a] = team;
}

__device__ inline float ObservedAt(const WorldView& world, const double* state, int i) {
  const ObservedNumber number = world.observed_numbers[i];
  const double plus = state[number.plus < 0 ? world.size : number.plus];
  return static_cast<float>(plus - state[number.minus < 0 ? world.size : number.minus]);
}

// The compact state has velocities first.
__device__ inline float StateAt(const WorldView& world, const double* state, int i) {
  const int moving = 2 * world.agents;
  return static_cast<float>(state[i < moving ? moving + i : i < 2 * moving ? i - moving : i]);
}

// Number i of what a record holds before the actions.
__device__ inline float BaseAt(const WorldView& world, bool compact, const double* state, int i) {
  return compact ? StateAt(world, state, i) : ObservedAt(world, state, i);
}

// Walks over [worlds x width] numbers with all T threads of a block, without a division per number.
template <int T>
struct Walk {
  __device__ inline Walk(int row_width) : width(row_width) {
    world = static_cast<int>(threadIdx.x) / width;
    at = static_cast<int>(threadIdx.x) - world * width;
    worlds_per_step = T / width;
    rest = T - worlds_per_step * width;
  }
  __device__ inline void Next() {
    world += worlds_per_step;
    at += rest;
    if (at >= width) {
      at -= width;
      ++world;
    }
  }

  const int width;
  int world, at, worlds_per_step, rest;
};

template <int T>
__device__ inline void WriteViews(const WorldView& world, const Block& block) {
  __syncthreads();
  float* const observations = world.observations + block.first * world.observed;
  int i = threadIdx.x;
  for (Walk<T> walk(world.observed); walk.world < block.worlds; walk.Next(), i += T) {
    observations[i] = ObservedAt(world, block.state + walk.world * block.stride, walk.at);
  }
  double* const state = world.state + block.first * world.size;
  float* const states = world.states != nullptr ? world.states + block.first * world.size : nullptr;
  i = threadIdx.x;
  for (Walk<T> walk(world.size); walk.world < block.worlds; walk.Next(), i += T) {
    const double* const from = block.state + walk.world * block.stride;
    state[i] = from[walk.at];
    if (states != nullptr) states[i] = StateAt(world, from, walk.at);
  }
}

template <int T>
__device__ inline void LoadWorlds(const WorldView& world, const Block& block) {
  int i = threadIdx.x;
  for (Walk<T> walk(world.size); walk.world < block.worlds; walk.Next(), i += T) {
    block.state[walk.world * block.stride + walk.at] = world.state[block.first * world.size + i];
  }
  for (int w = threadIdx.x; w < block.worlds; w += T) {
    block.state[w * block.stride + world.size] = 0;
  }
  __syncthreads();
}

__device__ inline Block MakeBlock(const WorldView& world, double* memory, int worlds_per_block) {
  Block block;
  block.state = memory;
  block.stride = WorldDoubles(world.size, world.agents, world.landmarks);
  block.first = int64_t{blockIdx.x} * worlds_per_block;
  block.worlds = static_cast<int>(min(int64_t{worlds_per_block}, world.worlds - block.first));
  return block;
}

// One step of every world becomes one of every lane. `state` is the one after it.
template <int T>
__device__ inline void Store(const WorldView& world, const ReplayView& replay, const Block& block,
                             const RingStep* steps, const ActionSource& actions, bool before) {
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int w = warp; w < block.worlds; w += T / 32) {
    const RingStep& step = steps[w];
    const double* const state = block.state + w * block.stride;
    const int64_t slot = before ? step.start : step.next;
    if (slot >= 0) {
      float* const to = replay.records + slot * replay.record;
      for (int i = lane; i < replay.base; i += 32) to[i] = BaseAt(world, replay.compact, state, i);
    }
    if (before) continue;
    float* const to = replay.records + step.slot * replay.record + replay.base;
    const int count = world.actors * kActionSize;
    const float* const from = actions.vectors + (block.first + w) * count;
    const double* const rewards = state + world.size + 1;
    for (int i = lane; i < count; i += 32) to[i] = from[i];
    for (int i = lane; i < world.actors; i += 32) to[count + i] = static_cast<float>(rewards[i]);
  }
}

// The same for rows of a rollout.
template <int T>
__device__ inline void Store(const WorldView& world, const RolloutRows& rollout, const Block& block,
                             bool before) {
  const int64_t first =
      static_cast<int64_t>(*rollout.step + static_cast<uint64_t>(rollout.offset)) * world.worlds +
      block.first;
  float* const to = (before ? rollout.now : rollout.next) + first * world.observed;
  int i = threadIdx.x;
  for (Walk<T> walk(world.observed); walk.world < block.worlds; walk.Next(), i += T) {
    to[i] = ObservedAt(world, block.state + walk.world * block.stride, walk.at);
  }
  if (before) return;
  i = threadIdx.x;
  for (Walk<T> walk(rollout.units); walk.world < block.worlds; walk.Next(), i += T) {
    const double* const rewards = block.state + walk.world * block.stride + world.size + 1;
    const int start = rollout.member_first[walk.at], end = rollout.member_first[walk.at + 1];
    double sum = 0;
    for (int a = start; a < end; ++a) sum += static_cast<float>(rewards[a]);
    rollout.rewards[first * rollout.units + i] = static_cast<float>(sum / (end - start));
  }
  for (int w = threadIdx.x; w < block.worlds; w += T) {
    const bool ends = world.steps[block.first + w] + 1 >= world.horizon;
    rollout.ends[first + w] = ends ? 2 : 0;  // EpisodeEnd::kTruncated
  }
}

// One step of the block's worlds, which are in shared memory; those that end start anew. Views are
// not written. Contract: all T threads call; w and a are the thread's world and agent; `queue` is
// looked at if kQueued.
template <int T, bool kQueued>
__device__ inline void StepShared(const WorldView& world, const ActionSource& actions,
                                  const ReplayView& replay, const Block& block,
                                  RingStep* ring_steps, ContactQueue* queue, int w, int a) {
  const bool active = w < block.worlds && a < world.agents;
  const bool leads = active && a == 0;
  const int64_t e = block.first + w;
  double* const state = block.state + (active ? w : 0) * block.stride;
  const bool ends = active && world.steps[e] + 1 >= world.horizon;
  if (replay.keep) {
    if (leads) {
      const auto drop = [&](int64_t slot) {
        if (replay.tree != nullptr) replay.tree[replay.leaves + slot] = 0;
      };
      ring_steps[w] =
          AppendStep(replay.shape, e, ends ? SlotKind::kTruncated : SlotKind::kTransition,
                     replay.lanes[e], replay.kinds, drop);
      if (replay.tree != nullptr) replay.tree[replay.leaves + ring_steps[w].slot] = *replay.top;
    }
    __syncthreads();
    Store<T>(world, replay, block, ring_steps, actions, /*before=*/true);
  }
  const bool rolls_out = replay.rollout.now != nullptr;
  if (rolls_out) Store<T>(world, replay.rollout, block, /*before=*/true);
  double p[2] = {}, v[2] = {}, force[2] = {};
  if (active) {
    if (a >= world.actors) {
      if (world.prey_at_random) {
        MoveAtRandom(world, e, a, force);
      } else {
        Flee(world, state, a, force);
      }
    } else if (actions.vectors != nullptr) {
      DecodeVector(world, a, actions.vectors + (e * world.actors + a) * kActionSize, force);
    } else {
      const uint4 words =
          Philox(actions.key, actions.step, static_cast<uint64_t>(e * world.actors + a));
      DecodeChoice(world, a, __umulhi(words.x, 5u), force);
    }
    p[0] = state[2 * a];
    p[1] = state[2 * a + 1];
    v[0] = state[2 * (world.agents + a)];
    v[1] = state[2 * (world.agents + a) + 1];
    if constexpr (!kQueued) AddContacts(world, state, a, force);
  }
  if constexpr (kQueued) QueueContacts<T>(world, block, *queue, active, w, a, v, force);
  if (active) Integrate(world, a, force, p, v);
  __syncthreads();
  if (active) {
    for (int d = 0; d < 2; ++d) {
      state[2 * a + d] = p[d];
      state[2 * (world.agents + a) + d] = v[d];
    }
  }
  __syncthreads();
  double* const rewards = state + world.size + 1;
  Rewards(world, active, a, state, rewards, rewards + world.agents);
  if (active && a < world.actors) {
    world.rewards[e * world.actors + a] = static_cast<float>(rewards[a]);
  }
  if (replay.running != nullptr) {
    __syncthreads();
    if (replay.keep) Store<T>(world, replay, block, ring_steps, actions, /*before=*/false);
    if (rolls_out) Store<T>(world, replay.rollout, block, /*before=*/false);
    if (leads) {
      // As Trainer::CountRewards: agent by agent on top of what has run up.
      double running = replay.running[e];
      for (int i = 0; i < world.actors; ++i) running += static_cast<float>(rewards[i]);
      // All worlds end their episodes at the same step, in their order.
      if (ends) {
        const int64_t before = (world.clocks[e] + 1) / world.horizon - 1;
        const int64_t episode = before * world.worlds + e;
        replay.ring[episode % replay.window] = running;
        running = 0;
      }
      replay.running[e] = running;
    }
    __syncthreads();
  }
  if (leads) {
    if (ends) DrawStart(world, e, state);
    if (e == 0 && replay.acts != nullptr) ++*replay.acts;
    world.steps[e] = ends ? 0 : world.steps[e] + 1;
    ++world.clocks[e];
  }
  __syncthreads();
}

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_WORLD_STEP_CUH_
