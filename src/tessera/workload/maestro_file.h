// MAESTRO's `.m` files as they are written: networks, layers, dimensions and dataflow directives,
// each with its place, before anybody asks what they mean. The network importer and the MAESTRO
// cost model both start from here.
#ifndef TESSERA_WORKLOAD_MAESTRO_FILE_H_
#define TESSERA_WORKLOAD_MAESTRO_FILE_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/result.h"

namespace tessera {

enum class MaestroType : uint8_t { kConv, kDsconv, kNgconv, kTrconv, kGemm };
std::string_view ToString(MaestroType type);  // "CONV", "DSCONV", ...

// Every dimension name of the language; names in the values below are views of these, so they
// stay valid without the file's text. Y' and X' are output sizes.
inline constexpr std::array<std::string_view, 11> kMaestroDimensions = {
    "N", "K", "C", "R", "S", "Y", "X", "Y'", "X'", "G", "M"};

// A place in the file that MaestroFile::name names; both count from 1.
struct MaestroPlace {
  int64_t line = 0;
  int64_t column = 0;
};

// A dimension with its size, or with its stride.
struct MaestroDimension {
  std::string_view name = {};
  int64_t size = 1;  // 1 to 2^31 - 1
  MaestroPlace place = {};
};

struct MaestroDirective {
  enum class Kind : uint8_t { kTemporalMap, kSpatialMap, kCluster };
  Kind kind = Kind::kTemporalMap;
  int64_t size = 1;                 // 1 to 2^31 - 1, Sz() and constants resolved
  int64_t offset = 1;               // 1 to 2^31 - 1; maps only
  std::string_view dimension = {};  // maps only; not necessarily one that the layer declares
  MaestroPlace place = {};
};

struct MaestroLayer {
  std::string name = {};  // empty if the file gives none; not necessarily unique
  MaestroPlace place = {};
  MaestroType type = MaestroType::kConv;
  std::vector<MaestroDimension> dimensions = {};  // in file order, each once, all of the type
  std::vector<MaestroDimension> strides = {};     // of declared dimensions; others are 1
  std::optional<std::vector<MaestroDirective>> dataflow = {};  // none: a model without mapping

  const MaestroDimension* Find(std::string_view dimension) const;  // nullptr if not declared
  int64_t StrideOf(std::string_view dimension) const;
};

struct MaestroNetwork {
  std::string name = {};  // empty if the file gives none
  MaestroPlace place = {};
  std::vector<MaestroLayer> layers = {};
};

struct MaestroFile {
  std::string name = {};                      // what messages call the file
  std::vector<MaestroNetwork> networks = {};  // at least one, each with at least one layer

  Where At(const MaestroPlace& place) const {
    return {.file = name, .line = place.line, .column = place.column};
  }
};

// Parses a file; `text` is what base/file.h's ToText returns.
//
// As loose as MAESTRO about decoration: blanks and any of `, - > ( ) : ;` only separate. Looser
// where MAESTRO is fussy without reason: braces need no blanks around them, a layer may state its
// type, strides and dimensions in any order, a name may hold '-', and // starts a comment anywhere.
// An error, with place and hint, where MAESTRO crashes or reads something else than is written: a
// minus before a number, numbers with letters, sizes of 0, the types and blocks that it knows but
// cannot read (FC, LSTM, POOL, Accelerator), a repeated dimension, Y beside Y', a stride of a
// dimension that the layer does not declare, a cluster letter other than P and L. Left to the
// caller: whether the layer has the dimensions that its type needs, and whether the dataflow makes
// sense.
//
// Pure; any thread; time linear in the text.
Result<MaestroFile> ParseMaestroFile(std::string_view text, const std::string& file);

}  // namespace tessera

#endif  // TESSERA_WORKLOAD_MAESTRO_FILE_H_
