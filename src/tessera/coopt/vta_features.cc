// What cost models see of a schedule on a VTA.

#include <algorithm>
#include <cmath>

#include "tessera/base/checked.h"
#include "tessera/coopt/roofline.h"
#include "tessera/coopt/vta_space.h"

namespace tessera::coopt {
namespace {

float Log(double value) { return static_cast<float>(std::log2(1 + value)); }

class Row {
 public:
  explicit Row(FeatureRow& row) : row_(row) {}
  void Add(double value) { row_[size_++] = Log(value); }
  size_t size() const { return size_; }

 private:
  FeatureRow& row_;
  size_t size_ = 0;
};

void AddHardware(const vta::Config& config, Row& row) {
  for (const int log : {config.log_batch, config.log_block_in, config.log_block_out,
                        config.log_inp_depth(), config.log_wgt_depth(), config.log_acc_depth()}) {
    row.Add(log);
  }
}

}  // namespace

size_t VtaSpace::FillFeatures(FeatureKind kind, const SchedulePoint& point,
                              FeatureRow& features) const {
  const vta::Config& config = config_;
  const vta::ConvShape& shape = shape_;
  Row row(features);
  AddHardware(config, row);
  for (size_t knob = 0; knob < size(); ++knob) {
    row.Add(static_cast<double>(value(point, knob)));
  }
  if (kind == FeatureKind::kKnob) return row.size();
  const int64_t th = value(point, 0), tw = value(point, 1), tci = value(point, 2),
                tco = value(point, 3);
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double nh = number(CeilDiv(shape.oh(), th)), nw = number(CeilDiv(shape.ow(), tw));
  const double nci = number(CeilDiv(InputBlocks(shape, config), tci));
  const double nco = number(CeilDiv(OutputBlocks(shape, config), tco));
  const double tiles = number(BatchBlocks(shape, config)) * nh * nw * nco;
  const double pixels = number(th * tw), taps = number(shape.kh * shape.kw);
  const double window =
      number((th - 1) * shape.stride_h + shape.kh) * number((tw - 1) * shape.stride_w + shape.kw);
  const double inp = number(tci) * window, wgt = number(tci * tco) * taps,
               acc = number(tco) * pixels;
  const double inp_bytes = number(config.TileBytes(vta::Memory::kInp)),
               wgt_bytes = number(config.TileBytes(vta::Memory::kWgt));
  // Lengths of the loops that are not knobs, from the outside in, and how often each runs.
  for (const double length : {nh, nco, nw, nci, nh * nco, tiles, tiles * nci}) row.Add(length);
  // What a step of the reduction and an output tile touch, and how often it is used again.
  for (const double touched : {inp, wgt, acc, inp * nci, wgt * nci}) row.Add(touched);
  row.Add(number(tco) * taps * pixels / window);
  row.Add(pixels);
  row.Add(number(tci) * taps * nci);
  // Bytes per step and in all, and products per byte.
  const double step_bytes = inp * inp_bytes + wgt * wgt_bytes;
  row.Add(inp * inp_bytes);
  row.Add(wgt * wgt_bytes);
  row.Add(tiles * nci * step_bytes);
  row.Add(acc * number(tci) * taps / step_bytes * 1e3);
  row.Add(acc * number(tci) * taps);
  return row.size();
}

size_t VtaSpace::AddShares(const SchedulePoint& point, FeatureRow& row, size_t size) const {
  const Work work = CountWork(*this, point);
  const double most = std::max({work.gemm + work.alu, work.load, work.store});
  for (const double part : {work.gemm, work.alu, work.load, work.store}) {
    row[size++] = static_cast<float>(part / most);
  }
  return size;
}

WorkloadRow VtaSpace::Workload() const {
  const auto log = [](int64_t value) { return Log(static_cast<double>(value)); };
  return {log(shape_.oh()), log(shape_.ow()), log(shape_.ci),      log(shape_.co),
          log(shape_.kh),   log(shape_.kw),   log(shape_.stride_h)};
}

}  // namespace tessera::coopt
