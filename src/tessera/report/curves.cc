// Charts with logarithmic axes.
#include "tessera/report/curves.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <ranges>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/xml.h"

namespace tessera {
namespace {

constexpr double kLeft = 90, kTop = 36, kWidth = 620, kHeight = 360, kLegend = 230;
constexpr std::array<std::string_view, 10> kColors = {"#1f77b4", "#d62728", "#2ca02c", "#ff7f0e",
                                                      "#9467bd", "#8c564b", "#e377c2", "#17becf",
                                                      "#bcbd22", "#555555"};

// One axis: where a value lies, and which values to mark.
class Axis {
 public:
  explicit Axis(bool linear) : linear_(linear), most_(linear ? -HUGE_VAL : 0) {}

  // Whether the axis has a place for it: a logarithmic one has none for 0.
  bool Has(double value) const { return std::isfinite(value) && (linear_ || value > 0); }
  void Include(double value) {
    least_ = std::min(least_, value);
    most_ = std::max(most_, value);
  }
  void Finish() {
    if (least_ > most_) least_ = most_ = 1;
    if (linear_) {
      const double margin = std::max(0.03 * (most_ - least_), 1e-6 * std::abs(most_) + 1e-9);
      least_ -= margin;
      most_ += margin;
      return;
    }
    // A little room, so that nothing lies on the frame.
    const double room = std::pow(most_ / least_, 0.03) * 1.0001;
    least_ /= room;
    most_ *= room;
  }
  double At(double value) const {
    if (linear_) return (value - least_) / (most_ - least_);
    return std::log(value / least_) / std::log(most_ / least_);  // 0 to 1
  }
  // Powers of ten over many of them, round numbers in between; a narrow axis is as good as linear,
  // and gets steps of 1, 2 or 5.
  std::vector<double> Ticks() const {
    constexpr double kNarrow = 4, kWide = 30;
    std::vector<double> ticks;
    if (linear_ || most_ / least_ < kNarrow) {
      const double rough = (most_ - least_) / 6;
      const double power = std::pow(10, std::floor(std::log10(rough)));
      const double step = power * (rough < 2 * power ? 2 : rough < 5 * power ? 5 : 10);
      for (double tick = std::ceil(least_ / step); tick * step <= most_; ++tick) {
        ticks.push_back(tick * step);
      }
      return ticks;
    }
    const bool wide = most_ / least_ > kWide;
    for (double power = std::pow(10, std::floor(std::log10(least_))); power <= most_; power *= 10) {
      for (const double digit : {1.0, 2.0, 3.0, 5.0, 7.0}) {
        const double tick = digit * power;
        if (tick >= least_ && tick <= most_ && (!wide || digit == 1)) ticks.push_back(tick);
      }
    }
    return ticks;
  }

 private:
  const bool linear_;
  double least_ = HUGE_VAL, most_;
};

// The points that both axes have a place for.
auto Placed(const Curve& curve, const Axis& x, const Axis& y) {
  return curve.points | std::views::filter([&](const std::pair<double, double>& point) {
           return x.Has(point.first) && y.Has(point.second);
         });
}

std::string Path(const Curve& curve, const Axis& x, const Axis& y, bool steps) {
  std::string path;
  for (const auto& [px, py] : Placed(curve, x, y)) {
    const double cx = kLeft + kWidth * x.At(px), cy = kTop + kHeight * (1 - y.At(py));
    if (path.empty()) {
      path = fmt::format("M{:.1f} {:.1f}", cx, cy);
    } else if (steps) {
      path += fmt::format("H{:.1f}V{:.1f}", cx, cy);
    } else {
      path += fmt::format("L{:.1f} {:.1f}", cx, cy);
    }
  }
  return path;
}

// A dot at every point.
std::string Dots(const Curve& curve, const Axis& x, const Axis& y, std::string_view color) {
  std::string dots;
  for (const auto& [px, py] : Placed(curve, x, y)) {
    dots += fmt::format("<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"{}\"/>\n",
                        kLeft + kWidth * x.At(px), kTop + kHeight * (1 - y.At(py)), color);
  }
  return dots;
}

}  // namespace

std::string ToSvg(const Chart& chart) {
  Axis x(/*linear=*/false), y(chart.linear_y);
  for (const Curve& curve : chart.curves) {
    for (const auto& [px, py] : Placed(curve, x, y)) {
      x.Include(px);
      y.Include(py);
    }
  }
  x.Finish();
  y.Finish();
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n<text x=\"{:.0f}\" y=\"20\" "
      "font-size=\"14\">{}</text>\n<rect x=\"{:.0f}\" y=\"{:.0f}\" width=\"{:.0f}\" "
      "height=\"{:.0f}\" fill=\"none\" stroke=\"#888\"/>\n",
      kLeft + kWidth + kLegend, kTop + kHeight + 50, kLeft, EscapedXml(chart.title), kLeft, kTop,
      kWidth, kHeight);
  for (const double tick : x.Ticks()) {
    const double at = kLeft + kWidth * x.At(tick);
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}V{2:.1f}\" stroke=\"#eee\"/><text x=\"{0:.1f}\" y=\"{3:.1f}\" "
        "text-anchor=\"middle\">{4:.4g}</text>\n",
        at, kTop, kTop + kHeight, kTop + kHeight + 16, tick);
  }
  for (const double tick : y.Ticks()) {
    const double at = kTop + kHeight * (1 - y.At(tick));
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}H{2:.1f}\" stroke=\"#eee\"/><text x=\"{3:.1f}\" y=\"{4:.1f}\" "
        "text-anchor=\"end\">{5:.4g}</text>\n",
        kLeft, at, kLeft + kWidth, kLeft - 6, at + 4, tick);
  }
  svg += fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"middle\">{}</text>\n<text "
      "transform=\"translate(16,{:.1f}) rotate(-90)\" text-anchor=\"middle\">{}</text>\n",
      kLeft + kWidth / 2, kTop + kHeight + 38, EscapedXml(chart.x_label), kTop + kHeight / 2,
      EscapedXml(chart.y_label));
  std::vector<std::string_view> names;
  for (const Curve& curve : chart.curves) {
    const auto known = std::find(names.begin(), names.end(), curve.name);
    const size_t color = static_cast<size_t>(known - names.begin());
    if (known == names.end()) {
      names.push_back(curve.name);
      const double at = kTop + 12 + 18 * static_cast<double>(color);
      svg += fmt::format(
          "<path d=\"M{0:.1f} {1:.1f}h18\" stroke=\"{2}\" stroke-width=\"3\"/><text "
          "x=\"{3:.1f}\" y=\"{4:.1f}\">{5}</text>\n",
          kLeft + kWidth + 12, at, kColors[color % kColors.size()], kLeft + kWidth + 36, at + 4,
          EscapedXml(curve.name));
    }
    svg += fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"1.5\"/>\n",
                       Path(curve, x, y, chart.steps), kColors[color % kColors.size()]);
    // A path of one point is nothing to see.
    if (chart.dots || curve.points.size() == 1) {
      svg += Dots(curve, x, y, kColors[color % kColors.size()]);
    }
  }
  return svg + "</svg>\n";
}

}  // namespace tessera
