// Drawings of Algorithm 1.
#include "tessera/agents/render.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/xml.h"

namespace tessera {
namespace {

std::vector<std::string> WithReward(const CorrelationMatrix& matrix) {
  std::vector<std::string> names = matrix.names;
  names.push_back("reward");
  return names;
}

size_t Widest(const std::vector<std::string>& names) {
  size_t widest = 0;
  for (const std::string& name : names) widest = std::max(widest, name.size());
  return widest;
}

// Blue for negative, red for positive, white for none.
std::string Color(double r) {
  const int fade = static_cast<int>(std::lround(255 * (1 - std::abs(r))));
  return r < 0 ? fmt::format("rgb({},{},255)", fade, fade)
               : fmt::format("rgb(255,{},{})", fade, fade);
}

// Where each node of a tree is drawn: its row (of items, fractional for merges) and height.
struct Place {
  double row = 0;
  double height = 0;
};

std::vector<Place> Layout(const Dendrogram& tree) {
  std::vector<Place> places(tree.items + tree.merges.size());
  const std::vector<size_t> order = tree.DrawingOrder();
  for (size_t row = 0; row < order.size(); ++row) {
    places[order[row]].row = static_cast<double>(row);
  }
  for (size_t i = 0; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    places[tree.items + i] = {.row = (places[merge.left].row + places[merge.right].row) / 2,
                              .height = merge.height};
  }
  return places;
}

double Tallest(const Dendrogram& tree) {
  double tallest = 0;
  for (const Merge& merge : tree.merges) tallest = std::max(tallest, merge.height);
  return tallest > 0 ? tallest : 1;
}

// Characters on a grid, joined where lines meet.
class Canvas {
 public:
  Canvas(size_t rows, size_t columns) : lines_(rows, std::vector<Sides>(columns)) {}

  void Horizontal(size_t row, size_t from, size_t to) {
    for (size_t c = from; c < to; ++c) {
      lines_[row][c].right = true;
      lines_[row][c + 1].left = true;
    }
  }
  void Vertical(size_t column, size_t from, size_t to) {
    for (size_t r = from; r < to; ++r) {
      lines_[r][column].down = true;
      lines_[r + 1][column].up = true;
    }
  }
  std::string Row(size_t row) const {
    std::string text;
    size_t blanks = 0;
    for (const Sides& sides : lines_[row]) {
      const std::string_view drawn = Drawn(sides);
      if (drawn == " ") {
        ++blanks;
        continue;
      }
      text.append(std::exchange(blanks, 0), ' ');
      text += drawn;
    }
    return text;
  }

 private:
  struct Sides {
    bool left = false, right = false, up = false, down = false;
  };

  static std::string_view Drawn(const Sides& s) {
    constexpr std::string_view kShapes[] = {" ", "╴", "╶", "─", "╵", "┘", "└", "┴",
                                            "╷", "┐", "┌", "┬", "│", "┤", "├", "┼"};
    return kShapes[(s.left ? 1 : 0) + (s.right ? 2 : 0) + (s.up ? 4 : 0) + (s.down ? 8 : 0)];
  }

  std::vector<std::vector<Sides>> lines_;
};

}  // namespace

std::string MatrixText(const CorrelationMatrix& matrix) {
  const std::vector<std::string> names = WithReward(matrix);
  const size_t width = Widest(names);
  constexpr size_t kCell = 6;
  // Column names stand upright, because decisions have long names and cells are narrow.
  std::string text;
  for (size_t line = 0; line < width; ++line) {
    text.append(width, ' ');
    for (const std::string& name : names) {
      const size_t skip = width - name.size();
      text.append(kCell - 1, ' ');
      text += line < skip ? ' ' : name[line - skip];
    }
    text.erase(text.find_last_not_of(' ') + 1);
    text += '\n';
  }
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format("{:<{}}", names[i], width);
    for (size_t j = 0; j < names.size(); ++j) {
      // Zero without a sign, whatever it was rounded from.
      const double r = std::round(matrix.at(i, j) * 100) / 100 + 0.0;
      text += fmt::format("{:>{}.2f}", r, kCell);
    }
    text += '\n';
  }
  return text;
}

std::string DendrogramText(const Dendrogram& tree, const std::vector<std::string>& names) {
  constexpr size_t kColumns = 60;
  const double tallest = Tallest(tree);
  const auto column = [&](double height) {
    return static_cast<size_t>(std::lround(height / tallest * (kColumns - 2)));
  };
  // Two lines per item, so that merges of neighbours have a line of their own.
  const auto line = [](double row) { return static_cast<size_t>(std::lround(2 * row)); };
  const std::vector<Place> places = Layout(tree);
  Canvas canvas(2 * tree.items, kColumns);
  for (size_t i = 0; i < tree.merges.size(); ++i) {
    const Merge& merge = tree.merges[i];
    const size_t at = column(merge.height);
    for (const size_t child : {merge.left, merge.right}) {
      canvas.Horizontal(line(places[child].row), column(places[child].height), at);
    }
    const auto [top, bottom] = std::minmax(places[merge.left].row, places[merge.right].row);
    canvas.Vertical(at, line(top), line(bottom));
  }
  const size_t width = Widest(names);
  const std::vector<size_t> order = tree.DrawingOrder();
  std::string text;
  for (size_t row = 0; row + 1 < 2 * tree.items; ++row) {
    const std::string name = row % 2 == 0 ? names[order[row / 2]] : "";
    std::string drawn = fmt::format("{:<{}} {}", name, width, canvas.Row(row));
    drawn.erase(drawn.find_last_not_of(' ') + 1);
    text += drawn + "\n";
  }
  text += fmt::format("{:<{}} 0{:>{}.2f}\n", "", width, tallest, kColumns - 2);
  return text;
}

std::string MatrixSvg(const CorrelationMatrix& matrix) {
  const std::vector<std::string> names = WithReward(matrix);
  constexpr int kCell = 34, kMargin = 110;
  const int size = kMargin + kCell * static_cast<int>(names.size()) + 10;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{0}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      size);
  for (size_t i = 0; i < names.size(); ++i) {
    const int at = kMargin + kCell * static_cast<int>(i);
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n", kMargin - 6,
                       at + kCell / 2 + 4, EscapedXml(names[i]));
    svg += fmt::format("<text transform=\"translate({},{}) rotate(-90)\">{}</text>\n",
                       at + kCell / 2 + 4, kMargin - 6, EscapedXml(names[i]));
    for (size_t j = 0; j < names.size(); ++j) {
      const int x = kMargin + kCell * static_cast<int>(j);
      const double r = std::round(matrix.at(i, j) * 100) / 100 + 0.0;
      svg += fmt::format(
          "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"{}\" stroke=\"#ddd\"/>"
          "<text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\">{:.2f}</text>\n",
          x, at, kCell, kCell, Color(r), x + kCell / 2, at + kCell / 2 + 4, r);
    }
  }
  return svg + "</svg>\n";
}

std::string DendrogramSvg(const Dendrogram& tree, const std::vector<std::string>& names) {
  constexpr double kRow = 24, kLeft = 110, kWidth = 480, kTop = 14;
  const double tallest = Tallest(tree);
  const std::vector<Place> places = Layout(tree);
  const auto x = [&](double height) { return kLeft + height / tallest * kWidth; };
  const auto y = [&](double row) { return kTop + kRow * row; };
  const double bottom = y(static_cast<double>(tree.items)) - kRow / 2;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" height=\"{:.0f}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n",
      kLeft + kWidth + 30, bottom + 34);
  for (size_t item = 0; item < tree.items; ++item) {
    svg += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n", kLeft - 6,
                       y(places[item].row) + 4, EscapedXml(names[item]));
  }
  for (const Merge& merge : tree.merges) {
    const Place &left = places[merge.left], &right = places[merge.right];
    svg += fmt::format(
        "<path d=\"M{:.1f} {:.1f}H{:.1f}V{:.1f}H{:.1f}\" fill=\"none\" stroke=\"#336\"/>\n",
        x(left.height), y(left.row), x(merge.height), y(right.row), x(right.height));
  }
  constexpr int kTicks = 5;
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double height = tallest * tick / kTicks;
    svg += fmt::format(
        "<path d=\"M{0:.1f} {1:.1f}v5\" stroke=\"#888\"/>"
        "<text x=\"{0:.1f}\" y=\"{2:.1f}\" text-anchor=\"middle\">{3:.2f}</text>\n",
        x(height), bottom, bottom + 18, height);
  }
  return svg + "</svg>\n";
}

}  // namespace tessera
