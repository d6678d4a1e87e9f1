// Lines over logarithmic axes as SVG: how low a search got after how many samples; y can be linear.
#ifndef TESSERA_REPORT_CURVES_H_
#define TESSERA_REPORT_CURVES_H_

#include <string>
#include <utility>
#include <vector>

namespace tessera {

// Points, x ascending; drawn as a line, or as steps that hold until the next point. Those that an
// axis has no place for are left out: coordinates are positive (y: unless its axis is linear).
struct Curve {
  std::string name = {};
  std::vector<std::pair<double, double>> points = {};
};

struct Chart {
  std::string title = {};
  std::string x_label = {};
  std::string y_label = {};
  bool steps = false;
  bool linear_y = false;  // values of any sign
  bool dots = false;  // at every point; a curve of one point has one in any case. Default: false.
  std::vector<Curve> curves = {};
};

// Curves of equal names get equal colours and one entry in the legend.
std::string ToSvg(const Chart& chart);

}  // namespace tessera

#endif  // TESSERA_REPORT_CURVES_H_
