// The best schedules of layers, found once each however many rows ask for them.
#ifndef TESSERA_VTA_BATCH_BEST_TABLE_H_
#define TESSERA_VTA_BATCH_BEST_TABLE_H_

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "tessera/result.h"
#include "tessera/vta/codegen/best.h"

namespace tessera::vta {

// Contract:
//   Threads    any number at a time; a layer that another thread is searching is waited for.
//   Ownership  results stay valid as long as the table.
class BestTable {
 public:
  explicit BestTable(const TimingParameters& timing = {}) : timing_(timing) {}

  const Result<BestConv>& Get(const ConvShape& shape, const Config& config);

 private:
  struct Entry {
    std::once_flag once;
    std::optional<Result<BestConv>> best;
  };
  const TimingParameters timing_;
  std::mutex mutex_;
  std::map<std::string, std::unique_ptr<Entry>> entries_;
};

}  // namespace tessera::vta

#endif  // TESSERA_VTA_BATCH_BEST_TABLE_H_
