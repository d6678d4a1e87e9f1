// The ring of joint replay records, as host and device both keep it: which slot a step goes to and
// which slots it drops. A lane (one environment) has its transitions in time order; an episode is
// closed by a slot that holds an observation only.
#ifndef TESSERA_CUDA_REPLAY_RING_H_
#define TESSERA_CUDA_REPLAY_RING_H_

#include <cstdint>

#ifdef __CUDACC__
#define TESSERA_HOST_DEVICE __host__ __device__
#else
#define TESSERA_HOST_DEVICE
#endif

namespace tessera {

// What a slot of a buffer holds. Only transitions are sampled.
enum class SlotKind : uint8_t {
  kEmpty = 0,       // nothing, or an observation that ends an episode
  kTransition = 1,  // the episode goes on
  kTerminated = 2,  // a transition into a terminal state
  kTruncated = 3,   // a transition into a state where the episode was cut
};

struct ReplayLane {
  int64_t head = 0;         // where the next transition goes
  int64_t first = 0;        // the oldest slot that still counts
  int64_t used = 0;         // slots from first to head
  int64_t transitions = 0;  // among them
  int64_t newest = -1;
  bool wrapped = false;
  bool open = false;  // the head already holds the observation that the next transition starts from
};

struct RingShape {
  int64_t lane_slots = 0, lane_capacity = 0;
};

// Slots that one step writes, counted over all lanes.
struct RingStep {
  int64_t start;  // gets the observation before the step; -1 if it is there already
  int64_t slot;   // gets actions and rewards: the transition
  int64_t next;   // gets the observation after the step
};

// Drops the oldest slots until `count` more fit, and one more transition. drop(slot) is told.
template <typename Drop>
TESSERA_HOST_DEVICE void MakeRoom(const RingShape& shape, int64_t index, int64_t count,
                                  ReplayLane& lane, SlotKind* kinds, const Drop& drop) {
  while (lane.used > 0 &&
         (lane.used + count > shape.lane_slots - 1 || lane.transitions >= shape.lane_capacity)) {
    const int64_t slot = index * shape.lane_slots + lane.first;
    if (kinds[slot] != SlotKind::kEmpty) {
      --lane.transitions;
      drop(slot);
      kinds[slot] = SlotKind::kEmpty;
    }
    --lane.used;
    if (++lane.first == shape.lane_slots) lane.first = 0;
  }
}

TESSERA_HOST_DEVICE inline void Advance(const RingShape& shape, ReplayLane& lane) {
  ++lane.used;
  if (++lane.head == shape.lane_slots) {
    lane.head = 0;
    lane.wrapped = true;
  }
}

// Makes room for one step of lane `index` whose transition is of `kind`, and says what goes where.
template <typename Drop>
TESSERA_HOST_DEVICE RingStep AppendStep(const RingShape& shape, int64_t index, SlotKind kind,
                                        ReplayLane& lane, SlotKind* kinds, const Drop& drop) {
  const int64_t base = index * shape.lane_slots;
  RingStep step{-1, 0, 0};
  if (!lane.open) {
    MakeRoom(shape, index, 1, lane, kinds, drop);
    step.start = base + lane.head;
  }
  MakeRoom(shape, index, 2, lane, kinds, drop);  // the record itself and the next observation
  step.slot = base + lane.head;
  kinds[step.slot] = kind;
  ++lane.transitions;
  lane.newest = step.slot;
  Advance(shape, lane);
  step.next = base + lane.head;
  kinds[step.next] = SlotKind::kEmpty;
  lane.open = kind == SlotKind::kTransition;
  if (!lane.open) Advance(shape, lane);
  return step;
}

}  // namespace tessera

#endif  // TESSERA_CUDA_REPLAY_RING_H_
