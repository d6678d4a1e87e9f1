// The three sets of rules under which model `loopnest` counts, and its options.
#ifndef TESSERA_COST_LOOPNEST_SEMANTICS_H_
#define TESSERA_COST_LOOPNEST_SEMANTICS_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tessera::loopnest {

enum class Semantics : uint8_t {
  kExact,      // what walking the loop nest with sets of elements gives
  kTimeloop3,  // timeloop-model 3.0.3, bit for bit
  kTimeloop4,  // the same with the stride rule of v4; not checked against a v4 binary
};
inline constexpr std::array<std::string_view, 3> kSemanticsNames = {"exact", "timeloop3",
                                                                    "timeloop4"};

inline std::optional<Semantics> FindSemantics(std::string_view name) {
  for (size_t i = 0; i < kSemanticsNames.size(); ++i) {
    if (kSemanticsNames[i] == name) return static_cast<Semantics>(i);
  }
  return std::nullopt;
}

}  // namespace tessera::loopnest

namespace tessera {

struct LoopnestOptions {
  loopnest::Semantics semantics = loopnest::Semantics::kExact;  // Default: kExact.
};

}  // namespace tessera

#endif  // TESSERA_COST_LOOPNEST_SEMANTICS_H_
