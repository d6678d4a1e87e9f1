// The choices that model `maestro` leaves to its user.
#ifndef TESSERA_COST_MAESTRO_OPTIONS_H_
#define TESSERA_COST_MAESTRO_OPTIONS_H_

#include <array>
#include <cstdint>
#include <string_view>

namespace tessera {

// Which of MAESTRO's versions to agree with. They differ in two checks (docs/cost-maestro.md).
enum class MaestroVersion : uint8_t { kHead, kPinned };
inline constexpr std::array<std::string_view, 2> kMaestroVersionNames = {"head", "pinned"};

// What a doubtful number means: kStrict makes a mapping with an impossible one infeasible, kCompat
// returns what MAESTRO would print.
enum class MaestroLegality : uint8_t { kStrict, kCompat };
inline constexpr std::array<std::string_view, 2> kMaestroLegalityNames = {"strict", "compat"};

// Which energy is the cost: the one in the CSV file of a MAESTRO run on the layer alone, which has
// no MACs and, with more than one level, no L1, but is what published searches minimise; or that of
// MACs, L1 and L2 of the layer.
enum class MaestroEnergy : uint8_t { kMaestroCsv, kLayer };
inline constexpr std::array<std::string_view, 2> kMaestroEnergyNames = {"maestro-csv", "layer"};

// Whose formula gives area and power from the required buffer sizes. GAMMA and ArchGym replace the
// area alone, because MAESTRO's grows with the bandwidth.
enum class MaestroArea : uint8_t { kMaestro, kGamma, kArchGym };
inline constexpr std::array<std::string_view, 3> kMaestroAreaNames = {"maestro", "gamma",
                                                                      "archgym"};

struct MaestroOptions {
  MaestroVersion version = MaestroVersion::kHead;       // Default: kHead.
  MaestroLegality legality = MaestroLegality::kStrict;  // Default: kStrict.
  MaestroEnergy energy = MaestroEnergy::kMaestroCsv;    // Default: kMaestroCsv.
  MaestroArea area = MaestroArea::kMaestro;             // Default: kMaestro.
};

}  // namespace tessera

#endif  // TESSERA_COST_MAESTRO_OPTIONS_H_
