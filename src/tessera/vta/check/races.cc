#include "tessera/vta/check/races.h"

#include <algorithm>
#include <map>
#include <string_view>

#include <fmt/format.h>

namespace tessera::vta {
namespace {

// A place with the stage that writes it and a stage that reads it: all pairs that can race.
struct Meeting {
  Space space;
  std::string_view name;
  Stage writer, reader;
};
constexpr Meeting kMeetings[] = {
    {Space::kInp, "INP tiles", Stage::kLoad, Stage::kCompute},
    {Space::kWgt, "WGT tiles", Stage::kLoad, Stage::kCompute},
    {Space::kAcc, "ACC tiles", Stage::kCompute, Stage::kStore},
    {Space::kDram, "bytes of memory", Stage::kStore, Stage::kLoad},
    {Space::kDram, "bytes of memory", Stage::kStore, Stage::kCompute},
};

struct Partner {
  int32_t insn;
  std::string_view place;
};

// Calls body(writer) for the writing instructions that no token orders against `reader`: those
// after the last one surely before it, up to the first one surely after it.
template <typename Body>
void ForEachUnordered(const Order& order, const Meeting& meeting, int32_t reader,
                      const Body& body) {
  const auto& writers = order.stages[static_cast<size_t>(meeting.writer)];
  const size_t reader_stage = static_cast<size_t>(meeting.reader);
  const int32_t reader_place = order.place[static_cast<size_t>(reader)];
  const size_t begin = static_cast<size_t>(
      order.clocks[static_cast<size_t>(reader)][static_cast<size_t>(meeting.writer)]);
  for (size_t i = begin; i < writers.size(); ++i) {
    if (order.clocks[static_cast<size_t>(writers[i])][reader_stage] > reader_place) return;
    body(writers[i]);
  }
}

}  // namespace

void FindRaces(std::span<const Instruction> /*instructions*/, const Order& order,
               std::span<const Access> accesses, std::vector<Diagnostic>& diagnostics) {
  std::map<int32_t, Partner> earliest;  // by the later instruction of a pair
  for (const Meeting& meeting : kMeetings) {
    const size_t space = static_cast<size_t>(meeting.space);
    for (const int32_t reader : order.stages[static_cast<size_t>(meeting.reader)]) {
      const Ranges& reads = accesses[static_cast<size_t>(reader)].reads[space];
      if (reads.empty()) continue;
      ForEachUnordered(order, meeting, reader, [&](int32_t writer) {
        if (!Overlap(accesses[static_cast<size_t>(writer)].writes[space], reads)) return;
        const Partner partner = {std::min(reader, writer), meeting.name};
        const auto [found, is_new] = earliest.emplace(std::max(reader, writer), partner);
        if (!is_new && partner.insn < found->second.insn) found->second = partner;
      });
    }
  }
  for (const auto& [insn, partner] : earliest) {
    diagnostics.push_back({.defect = Defect::kRace,
                           .insn = insn,
                           .with_insn = partner.insn,
                           .message = fmt::format(
                               "no token orders it against instruction {}, which shares {} with it",
                               partner.insn, partner.place)});
  }
}

}  // namespace tessera::vta
