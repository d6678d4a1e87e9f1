#include "tessera/coopt/features.h"

#include <cmath>

#include "tessera/base/checked.h"

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

size_t FillFeatures(FeatureKind kind, const Task& task, const SchedulePoint& point,
                    const ProblemOptions& /*options*/, FeatureRow& features) {
  const ScheduleSpace& space = task.space;
  const vta::Config& config = space.config();
  const vta::ConvShape& shape = space.shape();
  Row row(features);
  AddHardware(config, row);
  for (size_t knob = 0; knob < space.knobs().size(); ++knob) {
    row.Add(static_cast<double>(space.value(point, knob)));
  }
  if (kind == FeatureKind::kKnob) return row.size();
  const int64_t th = space.value(point, 0), tw = space.value(point, 1), tci = space.value(point, 2),
                tco = space.value(point, 3);
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

std::array<float, kWorkloadFeatures> WorkloadFeatures(const vta::ConvShape& shape) {
  const auto log = [](int64_t value) { return Log(static_cast<double>(value)); };
  return {log(shape.oh()), log(shape.ow()), log(shape.ci),      log(shape.co),
          log(shape.kh),   log(shape.kw),   log(shape.stride_h)};
}

}  // namespace tessera::coopt
