// Energies of a machine from a file of their own, so that one architecture can be priced with
// several technologies: Tessera's tables, and the reference tables (ERT) that Accelergy writes.
#ifndef TESSERA_ARCH_ENERGY_TABLE_H_
#define TESSERA_ARCH_ENERGY_TABLE_H_

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/accelerator.h"
#include "tessera/base/document.h"
#include "tessera/part.h"
#include "tessera/result.h"

namespace tessera {

// pJ of one component; what the table does not say stays as it is.
struct ComponentEnergy {
  std::string name = {};  // of a level, or of the MACs
  Where where = {};
  std::optional<Decimal> compute_pj = {};                               // per MAC
  std::optional<Decimal> read_pj = {}, fill_pj = {}, update_pj = {};    // per vector access
  std::optional<Decimal> address_pj = {};                               // per address
  std::optional<Decimal> hop_pj = {}, router_pj = {}, ingress_pj = {};  // per word
};

struct EnergyTable {
  std::vector<ComponentEnergy> components = {};
};

// Reads either kind of document:
//
//   energy_table:                      ERT:
//     MAC: {compute: 0.56}               version: 0.3
//     GLB: {access: 29.6, hop: 0.02}     tables:
//     RF: {read: 0.3, fill: 0.4,         - name: chip.PE[0..15].RF[0..3]
//          update: 0.4}                    actions:
//                                          - {name: read, arguments: {}, energy: 0.3}
//
// `access` sets read, fill and update. Of an ERT the last part of a name counts, without its
// indices; of several entries of an action the largest, as in Timeloop. Reads are random_read or
// read, fills random_fill, fill or write, updates random_update, update, random_fill, fill or
// write, operations mac_random, mac, compute or multiply: the first that is there.
Result<EnergyTable> ParseEnergyTable(const Node& document);
Result<EnergyTable> ReadEnergyTable(const std::string& path);

// Sets the energies of a machine. An ERT lists every component of a chip, so those that the machine
// does not have are no error but notes; if none fits, that is one. Returns the notes.
Result<std::vector<std::string>> ApplyEnergyTable(const EnergyTable& table,
                                                  Accelerator& accelerator);

// The component at the end of a path: "chip.PE[0..15].RF[0..3]" is RF.
std::string ComponentOfPath(const std::string& path);

// The energies of a hierarchy as an ERT.
std::string WriteErt(const Hierarchy& hierarchy);

}  // namespace tessera

#endif  // TESSERA_ARCH_ENERGY_TABLE_H_
