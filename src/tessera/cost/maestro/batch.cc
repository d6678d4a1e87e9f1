#include "tessera/cost/maestro/batch.h"

#include <cmath>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/json_text.h"
#include "tessera/base/text.h"
#include "tessera/cost/maestro/network.h"
#include "tessera/cost/maestro/report.h"

namespace tessera::maestro {
namespace {

constexpr std::array kTypes = {MaestroType::kConv, MaestroType::kDsconv, MaestroType::kNgconv,
                               MaestroType::kTrconv, MaestroType::kGemm};

struct HardwareKey {
  std::string_view name;
  int64_t PeArray::*field;
};
constexpr std::array<HardwareKey, 8> kHardwareKeys = {{
    {"num_pes", &PeArray::num_pes},
    {"noc_bw", &PeArray::noc_elements_per_cycle},
    {"hops", &PeArray::noc_hops},
    {"hop_lat", &PeArray::noc_hop_latency_cycles},
    {"offchip_bw", &PeArray::offchip_elements_per_cycle},
    {"simd", &PeArray::simd_lanes},
    {"l1", &PeArray::l1_elements},
    {"l2", &PeArray::l2_elements},
}};

// The JSON object of a line. The parser would let the last of two equal keys win.
Result<Json> ParseObject(std::string_view line) {
  std::vector<std::set<std::string>> keys;  // of the objects that are open
  std::optional<std::string> twice;
  const auto watch = [&](int /*depth*/, Json::parse_event_t event, Json& parsed) {
    if (event == Json::parse_event_t::object_start) keys.emplace_back();
    if (event == Json::parse_event_t::object_end) keys.pop_back();
    if (event == Json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second)
      twice = twice.value_or(parsed.get<std::string>());
    return true;
  };
  const auto fail = [](std::string message, size_t column = 0) {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = std::move(message),
                 .where = {.column = static_cast<int64_t>(column)}};
  };
  try {
    Json json = Json::parse(line, watch);
    if (!json.is_object()) return fail("the line is not a JSON object");
    if (twice) return fail(fmt::format("key {} is given twice", Quoted(*twice)));
    return json;
  } catch (const Json::parse_error& error) {
    return fail("the line is not JSON", error.byte);
  } catch (const Json::out_of_range&) {
    return fail("the line has a number that is out of range");
  }
}

// Reads a row. Errors are strings about the form; values that MAESTRO refuses become a refusal.
class RowReader {
 public:
  RowReader(const Json& json, const BatchDefaults& defaults) : json_(json) {
    row_.array = defaults.array;
    row_.version = defaults.version;
  }

  Result<BatchRow> Read() {
    row_.id = json_.contains("id") ? ToLine(json_["id"]) : "null";
    ReadVersion();
    if (json_.contains("hw")) ReadHardware(json_["hw"]);
    row_.whole_file = json_.contains("layers");
    if (!row_.whole_file) {
      ReadLayer(json_);
    } else if (!json_["layers"].is_array()) {
      Fail("'layers' is not a list");
    } else {
      if (json_["layers"].empty()) Fail("'layers' is empty");
      for (const Json& layer : json_["layers"]) ReadLayerOfFile(layer);
    }
    if (error_) return *error_;
    return row_;
  }

 private:
  void Fail(std::string message) {
    if (!error_) error_ = Error{.kind = ErrorKind::kSyntax, .message = std::move(message)};
  }
  void Refuse(Status status, std::string message) {
    if (!row_.refusal) row_.refusal = Refusal{status, std::move(message)};
  }

  // An integer, or 0 after Fail.
  int64_t Integer(const Json& value, std::string_view what) {
    if (value.is_number_integer() && !value.is_number_unsigned()) return value.get<int64_t>();
    if (value.is_number_unsigned() && value.get<uint64_t>() <= INT64_MAX) {
      return value.get<int64_t>();
    }
    Fail(fmt::format("{} is {}, not an integer", what, ToLine(value)));
    return 0;
  }

  // An integer in 1..2^31-1, or 1 after Refuse or Fail.
  int32_t Size(const Json& value, std::string_view what) {
    const int64_t size = Integer(value, what);
    if (size >= 1 && size <= INT32_MAX) return static_cast<int32_t>(size);
    Refuse(Status::kReject, fmt::format("{} is {}, but must be in 1..{}", what, size, INT32_MAX));
    return 1;
  }

  Dim DimOf(const Json& value) {
    if (!value.is_string()) {
      Fail(fmt::format("dimension is {}, not a string", ToLine(value)));
      return Dim::kOther;
    }
    const auto& name = value.get_ref<const std::string&>();
    const std::optional<Dim> dim = FindDataflowDim(name);
    if (!dim && row_.unknown_dimension.empty()) row_.unknown_dimension = name;
    return dim.value_or(Dim::kOther);
  }

  void ReadVersion() {
    if (!json_.contains("version")) return;
    const Json& version = json_["version"];
    if (version == "head") {
      row_.version = MaestroVersion::kHead;
    } else if (version == "pinned") {
      row_.version = MaestroVersion::kPinned;
    } else {
      Fail(fmt::format("version is {}, but must be \"head\" or \"pinned\"", ToLine(version)));
    }
  }

  void ReadHardware(const Json& hardware) {
    if (!hardware.is_object()) return Fail("'hw' is not an object");
    for (const auto& [key, value] : hardware.items()) {
      const int64_t number = Integer(value, key);
      if (!SetHardware(key, number))
        return Fail(fmt::format("unknown key {} in 'hw'", Quoted(key)));
      if (number < 0 || number > INT32_MAX) {
        Refuse(Status::kReject,
               fmt::format("{} is {}, but must be in 0..{}", key, number, INT32_MAX));
      } else if (number == 0 && (key == "noc_bw" || key == "offchip_bw" || key == "simd")) {
        Refuse(Status::kCrash, fmt::format("SIGFPE: {} is 0, and MAESTRO divides by it", key));
      }
    }
  }

  bool SetHardware(std::string_view key, int64_t value) {
    for (const HardwareKey& known : kHardwareKeys) {
      if (known.name != key) continue;
      row_.array.*known.field = value;
      return true;
    }
    return false;
  }

  // What belongs to the whole file must not hide in one of its layers.
  void ReadLayerOfFile(const Json& json) {
    if (!json.is_object()) return Fail("a layer is not an object");
    for (const std::string_view key : {"hw", "version"}) {
      if (json.contains(key)) {
        return Fail(fmt::format("a layer has '{}', which belongs beside 'layers'", key));
      }
    }
    ReadLayer(json);
  }

  void ReadLayer(const Json& json) {
    MappedLayer layer;
    if (json.contains("name") && json["name"].is_string()) layer.name = json["name"];
    ReadType(json, layer.declaration);
    ReadDims(json, layer.declaration);
    ReadStride(json, layer.declaration);
    ReadMap(json, layer.dataflow);
    row_.layers.push_back(std::move(layer));
  }

  void ReadType(const Json& json, Declaration& declaration) {
    if (!json.contains("type")) return Fail("'type' is missing");
    for (const MaestroType type : kTypes) {
      if (json["type"] != ToString(type)) continue;
      declaration.type = type;
      return;
    }
    Refuse(Status::kReject,
           fmt::format("layer type {} is not one that MAESTRO can evaluate", ToLine(json["type"])));
  }

  void ReadDims(const Json& json, Declaration& declaration) {
    if (!json.contains("dims") || !json["dims"].is_array()) return Fail("'dims' is not a list");
    for (const Json& entry : json["dims"]) {
      if (!entry.is_array() || entry.size() != 2) return Fail("an entry of 'dims' is not a pair");
      const Dim dim = DimOf(entry[0]);
      const int32_t size = Size(entry[1], fmt::format("dimension {}", ToLine(entry[0])));
      if (dim == Dim::kOther) {
        Refuse(Status::kReject, fmt::format("unknown dimension {}", ToLine(entry[0])));
      } else {
        declaration.dims.push_back({dim, size});
      }
    }
    for (const auto& [input, output] :
         {std::pair(Dim::kY, Dim::kYOut), std::pair(Dim::kX, Dim::kXOut)}) {
      if (!Declares(declaration, input) || !Declares(declaration, output)) continue;
      Refuse(Status::kReject, fmt::format("the layer has both {} and {}", tessera::ToString(input),
                                          tessera::ToString(output)));
    }
  }

  static bool Declares(const Declaration& declaration, Dim dim) {
    for (const DimSize& entry : declaration.dims) {
      if (entry.dim == dim) return true;
    }
    return false;
  }

  // By dimension, or one number for both directions.
  void ReadStride(const Json& json, Declaration& declaration) {
    if (!json.contains("stride") || json["stride"].is_null()) return;
    const Json& strides = json["stride"];
    if (strides.is_number()) {
      const int32_t stride = Size(strides, "stride");
      for (const Dim dim : {Dim::kY, Dim::kX, Dim::kYOut, Dim::kXOut}) {
        if (Declares(declaration, dim)) declaration.strides.push_back({dim, stride});
      }
      return;
    }
    if (!strides.is_object()) return Fail("'stride' is neither an object nor a number");
    for (const auto& [name, value] : strides.items()) {
      const std::optional<Dim> dim = FindDataflowDim(name);
      const int32_t stride = Size(value, fmt::format("stride of {}", name));
      if (dim) {
        declaration.strides.push_back({*dim, stride});
      } else {
        Refuse(Status::kReject, fmt::format("stride of unknown dimension {}", Quoted(name)));
      }
    }
  }

  void ReadMap(const Json& json, Dataflow& dataflow) {
    if (!json.contains("map") || !json["map"].is_array()) return Fail("'map' is not a list");
    for (const Json& entry : json["map"]) {
      if (!entry.is_array() || entry.empty()) return Fail("an entry of 'map' is not a list");
      if (dataflow.full()) {
        return Refuse(Status::kReject, fmt::format("more than {} directives", Dataflow::kCapacity));
      }
      if (entry[0] == "C" && entry.size() == 3) {
        dataflow.Add(Cluster(Size(entry[1], "Cluster size")));
        if (entry[2] != "P" && entry[2] != "L") {
          Refuse(Status::kCrash,
                 fmt::format("cluster letter is {}, but must be \"P\" or \"L\"", ToLine(entry[2])));
        }
      } else if ((entry[0] == "T" || entry[0] == "S") && entry.size() == 4) {
        const int32_t size = Size(entry[1], "map size"), offset = Size(entry[2], "map offset");
        const Dim dim = DimOf(entry[3]);
        dataflow.Add(entry[0] == "T" ? Temporal(size, offset, dim) : Spatial(size, offset, dim));
      } else {
        return Fail(fmt::format("{} is not a directive", ToLine(entry)));
      }
    }
  }

  const Json& json_;
  BatchRow row_;
  std::optional<Error> error_;
};

Json ToJson(double value) {
  if (std::isnan(value)) return "nan";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  return value + 0.0;  // no negative zero
}

Json OutOf(const LayerOutcome& layer, const PeArray& array) {
  Json out = Json::array();
  for (const Column& column :
       ColumnsOf(layer.workload, array, layer.analysis, layer.csv_energy_nj)) {
    if (const int64_t* integer = std::get_if<int64_t>(&column)) {
      out.push_back(*integer);
    } else {
      out.push_back(ToJson(*std::get_if<double>(&column)));
    }
  }
  return out;
}

Json TensOf(const Analysis& analysis) {
  Json tens = Json::array();
  for (const size_t t : {kInput, kFilter, kOutput}) {
    tens.push_back(analysis.l2_required[t]);
    tens.push_back(analysis.l1_required[t]);
  }
  return tens;
}

Json EnergyJson(const Analysis& analysis) {
  const LayerEnergy energy = EnergyOf(analysis);
  return {{"mac", energy.mac}, {"l1", energy.l1}, {"l2", energy.l2}, {"total", energy.total()}};
}

// The message, with the name of an unknown dimension where the model only knows that it is unknown.
std::string MessageOf(const BatchRow& row, size_t layer, const Failure& failure) {
  std::string message = failure.error.message;
  const std::string_view placeholder = "dimension ? ";
  if (const size_t at = message.find(placeholder); at != std::string::npos) {
    message.replace(at, placeholder.size(), fmt::format("dimension {} ", row.unknown_dimension));
  }
  return row.whole_file ? fmt::format("layer {}: {}", Quoted(row.layers[layer].name), message)
                        : message;
}

void Answer(const BatchRow& row, Analyser& analyser, Json& answer) {
  if (row.refusal) {
    answer["status"] = ToString(row.refusal->status);
    answer["msg"] = row.refusal->message;
    return;
  }
  const std::vector<LayerOutcome> layers =
      EvaluateNetwork(row.layers, row.array, row.version, analyser);
  if (const std::optional<size_t> failed = FirstFailure(layers)) {
    const Failure& failure = *layers[*failed].failure;
    answer["status"] = ToString(failure.status);
    answer["msg"] = MessageOf(row, *failed, failure);
    return;
  }
  answer["status"] = ToString(Status::kOk);
  answer["msg"] = "";
  Json out = Json::array(), tens = Json::array(), flags = Json::array(), energy = Json::array();
  for (const LayerOutcome& layer : layers) {
    out.push_back(OutOf(layer, row.array));
    tens.push_back(TensOf(layer.analysis));
    flags.push_back(layer.flags.Names());
    energy.push_back(EnergyJson(layer.analysis));
  }
  answer[row.whole_file ? "outs" : "out"] = row.whole_file ? out : out[0];
  answer["tens"] = row.whole_file ? tens : tens[0];
  answer["flags"] = row.whole_file ? flags : flags[0];
  answer["energy"] = row.whole_file ? energy : energy[0];
}

}  // namespace

Result<BatchRow> ReadRow(std::string_view line, const BatchDefaults& defaults) {
  const Result<Json> json = ParseObject(line);
  if (!json) return json.error();
  return RowReader(*json, defaults).Read();
}

Result<std::string> AnswerRow(std::string_view line, const BatchDefaults& defaults,
                              Analyser& analyser) {
  const Result<BatchRow> row = ReadRow(line, defaults);
  if (!row) return row.error();
  Json answer;
  answer["id"] = FromText(row->id);
  Answer(*row, analyser, answer);
  return ToLine(answer);
}

std::string RowOf(std::string_view id, const MappedLayer& layer, const PeArray& array,
                  MaestroVersion version) {
  Json row = {{"id", id},
              {"version", version == MaestroVersion::kHead ? "head" : "pinned"},
              {"type", ToString(layer.declaration.type)},
              {"dims", Json::array()},
              {"stride", Json::object()},
              {"hw", Json::object()},
              {"map", Json::array()}};
  for (const DimSize& entry : layer.declaration.dims) {
    row["dims"].push_back(Json::array({ToString(entry.dim), entry.size}));
  }
  for (const DimSize& entry : layer.declaration.strides) {
    row["stride"][std::string(ToString(entry.dim))] = entry.size;
  }
  for (const HardwareKey& key : kHardwareKeys) row["hw"][std::string(key.name)] = array.*key.field;
  for (const DataflowDirective& d : layer.dataflow.directives()) {
    if (d.kind == DataflowDirective::Kind::kCluster) {
      row["map"].push_back(Json::array({"C", d.size, "P"}));
    } else {
      const bool spatial = d.kind == DataflowDirective::Kind::kSpatial;
      row["map"].push_back(Json::array({spatial ? "S" : "T", d.size, d.offset, ToString(d.dim)}));
    }
  }
  return ToLine(row);
}

}  // namespace tessera::maestro
