// Discs on a character grid, and circles with SMIL animation.
#include "tessera/env/mpe/render.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr double kView = 1.2;  // half-width of what is shown

// Characters are about twice as high as they are wide.
class Canvas {
 public:
  Canvas(int64_t columns, int64_t rows)
      : columns_(columns), rows_(rows), cells_(static_cast<size_t>(columns * rows), ' ') {}

  void Disc(double x, double y, double radius, char symbol) {
    x = std::clamp(x, -kView, kView);
    y = std::clamp(y, -kView, kView);
    for (int64_t r = 0; r < rows_; ++r) {
      for (int64_t c = 0; c < columns_; ++c) {
        const double dx = CenterX(c) - x, dy = CenterY(r) - y;
        if (dx * dx + dy * dy <= radius * radius) Put(r, c, symbol);
      }
    }
    // Small discs may miss every cell's centre.
    const double column = (x + kView) / (2 * kView) * static_cast<double>(columns_);
    const double row = (kView - y) / (2 * kView) * static_cast<double>(rows_);
    Put(std::clamp(static_cast<int64_t>(row), int64_t{0}, rows_ - 1),
        std::clamp(static_cast<int64_t>(column), int64_t{0}, columns_ - 1), symbol);
  }

  std::string Text() const {
    const std::string border = "+" + std::string(static_cast<size_t>(columns_), '-') + "+\n";
    std::string text = border;
    for (int64_t r = 0; r < rows_; ++r) {
      text +=
          "|" + std::string(cells_.data() + r * columns_, static_cast<size_t>(columns_)) + "|\n";
    }
    return text + border;
  }

 private:
  double CenterX(int64_t c) const {
    return (static_cast<double>(c) + 0.5) / static_cast<double>(columns_) * 2 * kView - kView;
  }
  double CenterY(int64_t r) const {
    return kView - (static_cast<double>(r) + 0.5) / static_cast<double>(rows_) * 2 * kView;
  }
  void Put(int64_t r, int64_t c, char symbol) {
    cells_[static_cast<size_t>(r * columns_ + c)] = symbol;
  }

  const int64_t columns_, rows_;
  std::vector<char> cells_;
};

std::string SvgCircle(double x, double y, double radius, std::string_view color,
                      const std::string& animation) {
  return fmt::format("<circle cx=\"{:.4f}\" cy=\"{:.4f}\" r=\"{}\" fill=\"{}\">{}</circle>\n", x,
                     -y, radius, color, animation);
}

}  // namespace

void MpeEpisode::Add(MpeState state, double reward) {
  landmarks.assign(state.landmarks, state.landmarks + 2 * world.landmarks);
  frames.push_back({{state.positions, state.positions + 2 * world.agents()}, reward});
}

std::string RenderText(const MpeEpisode& episode, size_t frame, int64_t columns, int64_t rows) {
  const MpeWorld& world = episode.world;
  Canvas canvas(columns, rows);
  for (int64_t l = 0; l < world.landmarks; ++l) {
    const double* const at = episode.landmarks.data() + 2 * l;
    canvas.Disc(at[0], at[1], world.landmark_size(), '#');
  }
  for (int64_t a = 0; a < world.agents(); ++a) {
    const double* const at = episode.frames[frame].positions.data() + 2 * a;
    canvas.Disc(at[0], at[1], world.size(a), world.is_predator(a) ? 'A' : 'o');
  }
  return canvas.Text() +
         fmt::format("step {}, team reward {:.3f}\n", frame, episode.frames[frame].reward);
}

std::string RenderSvg(const MpeEpisode& episode) {
  constexpr double kSecondsPerStep = 0.15;
  const MpeWorld& world = episode.world;
  const double seconds = kSecondsPerStep * static_cast<double>(episode.frames.size());
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{0} {0} {1} {1}\" width=\"480\" "
      "height=\"480\">\n<rect x=\"{0}\" y=\"{0}\" width=\"{1}\" height=\"{1}\" "
      "fill=\"#fafafa\"/>\n<rect x=\"-1\" y=\"-1\" width=\"2\" height=\"2\" fill=\"none\" "
      "stroke=\"#bbb\" stroke-width=\"0.01\"/>\n",
      -kView, 2 * kView);
  for (int64_t l = 0; l < world.landmarks; ++l) {
    svg += SvgCircle(episode.landmarks[static_cast<size_t>(2 * l)],
                     episode.landmarks[static_cast<size_t>(2 * l + 1)], world.landmark_size(),
                     "#777777", "");
  }
  for (int64_t a = 0; a < world.agents(); ++a) {
    std::string animations;
    for (const int d : {0, 1}) {
      std::string values;
      for (const MpeFrame& frame : episode.frames) {
        const double value = frame.positions[static_cast<size_t>(2 * a + d)];
        values += fmt::format("{}{:.4f}", values.empty() ? "" : ";", d == 0 ? value : -value);
      }
      animations += fmt::format(
          "<animate attributeName=\"c{}\" dur=\"{:.2f}s\" repeatCount=\"indefinite\" "
          "values=\"{}\"/>",
          d == 0 ? 'x' : 'y', seconds, values);
    }
    const double* const at = episode.frames[0].positions.data() + 2 * a;
    svg += SvgCircle(at[0], at[1], world.size(a), world.is_predator(a) ? "#c0392b" : "#2980b9",
                     animations);
  }
  return svg + "</svg>\n";
}

}  // namespace tessera
