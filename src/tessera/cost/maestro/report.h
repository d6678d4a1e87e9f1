// What is reported of an analysed layer: MAESTRO's CSV columns, energies, area, power and legality
// flags (c.9).
#ifndef TESSERA_COST_MAESTRO_REPORT_H_
#define TESSERA_COST_MAESTRO_REPORT_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "tessera/accelerator.h"
#include "tessera/cost.h"
#include "tessera/cost/maestro/analysis.h"
#include "tessera/cost/maestro/options.h"
#include "tessera/cost/maestro/workload.h"

namespace tessera::maestro {

// Energy of a layer in units of one MAC, as in MAESTRO's screen report: all accesses of this layer.
struct LayerEnergy {
  double mac = 0;
  double l1 = 0;
  double l2 = 0;
  double total() const { return mac + l1 + l2; }
};
inline constexpr double kMacPj = 0.23;  // energy of one MAC

LayerEnergy EnergyOf(const Analysis& analysis);

// The energies that a cost counts, in units of one MAC; arrays are by tensor: input, filter,
// output.
struct EnergyParts {
  double mac = 0;
  std::array<double, 3> l1 = {}, l2 = {};
};
EnergyParts PartsOf(const Analysis& analysis, MaestroEnergy energy);

// The energy that MAESTRO writes into its CSV file, in nJ: no MACs, no reads of outputs from L2,
// and the L1 accesses of the previous layer of the file, unless the mapping has a single level.
// `previous` is null for the first layer.
double CsvEnergyNj(const Analysis& analysis, const Analysis* previous);

// Required buffer sizes in elements, all tensors; 32 bits, as MAESTRO adds them.
int64_t L1Required(const Analysis& analysis);  // per PE
int64_t L2Required(const Analysis& analysis);

struct Power {
  double pe_mw = 0, l1_mw = 0, l2_mw = 0, noc_mw = 0;
  double total_mw() const { return pe_mw + l1_mw + l2_mw + noc_mw; }
};
Power PowerOf(const Analysis& analysis, const PeArray& array);
double AreaUm2(const Analysis& analysis, const PeArray& array, MaestroArea formula);

CostFlags FlagsOf(const Workload& workload, const PeArray& array, const Analysis& analysis);

// The rule of strict legality that the flags break, or none.
Violation CheckStrict(const Workload& workload, const PeArray& array, const Analysis& analysis,
                      CostFlags flags);

// MAESTRO's CSV columns after the two names. A column is an integer or a float.
inline constexpr size_t kColumns = 50;
using Column = std::variant<int64_t, double>;
std::array<Column, kColumns> ColumnsOf(const Workload& workload, const PeArray& array,
                                       const Analysis& analysis, double csv_energy_nj);

// The header line of MAESTRO's CSV file, blanks included, and a row, both without line end. Floats
// have 6 significant digits; NaN is "-nan".
std::string_view CsvHeader();
std::string CsvRow(std::string_view network, std::string_view layer,
                   const std::array<Column, kColumns>& columns);

// The 50 names, trimmed; the second "Compute Delay (Min)" of the header is called what it is, Max.
std::span<const std::string_view, kColumns> ColumnNames();

}  // namespace tessera::maestro

#endif  // TESSERA_COST_MAESTRO_REPORT_H_
