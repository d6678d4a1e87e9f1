// What a mapped step of a language model means to its users: time per token, bytes per token, and
// where it stands under the machine's roofline.
#ifndef TESSERA_REPORT_LLM_REPORT_H_
#define TESSERA_REPORT_LLM_REPORT_H_

#include <optional>
#include <string>

#include "tessera/map.h"
#include "tessera/report/json.h"

namespace tessera {

// All numbers are of the whole step, divided by its tokens where the name says so. A token of
// prefill is one that is read, a token of decode one that is made.
struct LlmFigures {
  int64_t tokens = 1;
  double cycles_per_token = 0;
  double clock_ghz = 1;  // the model's setting
  double tokens_per_second = 0;

  // Words that the outermost memory gives and takes, in bytes of its words.
  double weight_bytes_per_token = 0;
  double cache_bytes_per_token = 0;
  double bytes_per_token = 0;  // all of them

  double macs_per_byte = 0;
  std::optional<double> ridge_macs_per_byte = {};  // above it MACs limit, below it the memory
  double macs_per_cycle = 0, roof_macs_per_cycle = 0;

  bool memory_bound() const { return ridge_macs_per_byte && macs_per_byte < *ridge_macs_per_byte; }
};

// Nothing for networks that are no language models, for machines without a memory hierarchy, and
// where a layer has no mapping.
std::optional<LlmFigures> FiguresOf(const MapJob& job, const NetworkMapping& mapping);

Json ToJson(const LlmFigures& figures);
std::string ToText(const LlmFigures& figures);  // lines

}  // namespace tessera

#endif  // TESSERA_REPORT_LLM_REPORT_H_
