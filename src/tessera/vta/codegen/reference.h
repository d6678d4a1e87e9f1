// The reference schedule template: the loop order, tokens and instruction order that tuning on VTA
// is usually judged by. codegen/best.h is what to use for speed.
#ifndef TESSERA_VTA_CODEGEN_REFERENCE_H_
#define TESSERA_VTA_CODEGEN_REFERENCE_H_

#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"
#include "tessera/vta/codegen/conv.h"

namespace tessera::vta {

// Why knobs cannot be generated: the first rule they break. An empty name means that they can.
struct Verdict {
  // factors, vthread, inp_sram, wgt_sram, acc_sram, acc_hazard, uops or insns.
  std::string_view reason = {};
  std::string explanation = {};  // the violated inequality

  bool valid() const { return reason.empty(); }
};

// Decides before any code is generated. The shape must be valid.
Verdict CheckKnobs(const ConvShape& shape, const Knobs& knobs, const Config& config);

// The program for knobs that CheckKnobs accepts. An epilogue without bias leaves its load and
// addition out; everything else is as described in docs/vta.md.
Kernel GenerateReference(const ConvShape& shape, const Knobs& knobs, const Config& config,
                         const Epilogue& epilogue = {});

// All knobs that divide the layer's sizes, valid or not, in lexicographic order.
std::vector<Knobs> KnobSpace(const ConvShape& shape, const Config& config);

}  // namespace tessera::vta

#endif  // TESSERA_VTA_CODEGEN_REFERENCE_H_
