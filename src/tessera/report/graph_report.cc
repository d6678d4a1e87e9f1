// Graphs in words, tables, JSON and drawings.
#include "tessera/report/graph_report.h"

#include <algorithm>
#include <queue>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {
namespace {

const GraphTensor& TensorAt(const Graph& graph, int32_t index) {
  return graph.tensors[static_cast<size_t>(index)];
}

int64_t MacsOf(const Network& network, const GraphNode& node) {
  return node.macs() ? Macs(network.layers[static_cast<size_t>(node.layer)].layer) : 0;
}

std::string_view RoleOf(const GraphNode& node) {
  return node.macs() ? "macs" : node.view ? "view" : "vector";
}

std::vector<std::string> NamesOf(const Graph& graph, const std::vector<int32_t>& tensors) {
  std::vector<std::string> names;
  for (const int32_t tensor : tensors) names.push_back(TensorAt(graph, tensor).name);
  return names;
}

std::string ShapeText(const GraphTensor& tensor) {
  return fmt::format("{}", fmt::join(tensor.shape, "x"));
}

// Text between the quotes of DOT.
std::string DotText(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    if (c == '"' || c == '\\') escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string XmlText(std::string_view text) {
  std::string escaped;
  for (const char c : Printable(text)) {
    switch (c) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += c;
    }
  }
  return escaped;
}

std::string_view ColourOf(const GraphNode& node) {
  return node.macs() ? "#cfe3f7" : node.view ? "#f4f4f4" : "#fbe7c6";
}

// Columns for nodes: one goes on below what it reads first, unless something else stands there
// that is still to be read.
std::vector<int32_t> Columns(const Graph& graph, const GraphLinks& links) {
  std::vector<int32_t> column(graph.nodes.size(), 0);
  std::vector<int32_t> last_of_column;  // the node that stands lowest
  std::priority_queue<int32_t, std::vector<int32_t>, std::greater<>> free;
  std::vector<int32_t> end(graph.nodes.size(), -1);  // the last reader of a node's results
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    for (const int32_t output : graph.nodes[n].outputs) {
      const std::vector<int32_t>& readers = links.consumers[static_cast<size_t>(output)];
      if (!readers.empty()) end[n] = std::max(end[n], readers.back());
    }
  }
  std::vector<std::vector<int32_t>> ending(graph.nodes.size());
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const auto index = static_cast<int32_t>(n);
    int32_t chosen = -1;
    for (const int32_t input : graph.nodes[n].inputs) {
      const int32_t producer = links.producer[static_cast<size_t>(input)];
      if (producer < 0 || chosen >= 0) continue;
      const int32_t place = column[static_cast<size_t>(producer)];
      if (last_of_column[static_cast<size_t>(place)] == producer) chosen = place;
    }
    if (chosen < 0 && !free.empty()) {
      chosen = free.top();
      free.pop();
    }
    if (chosen < 0) {
      chosen = static_cast<int32_t>(last_of_column.size());
      last_of_column.push_back(-1);
    }
    column[n] = chosen;
    last_of_column[static_cast<size_t>(chosen)] = index;
    if (end[n] >= 0) ending[static_cast<size_t>(end[n])].push_back(index);
    for (const int32_t done : ending[n]) {
      const int32_t place = column[static_cast<size_t>(done)];
      if (place != chosen && last_of_column[static_cast<size_t>(place)] == done) {
        last_of_column[static_cast<size_t>(place)] = -1;
        free.push(place);
      }
    }
  }
  return column;
}

}  // namespace

Json GraphJson(const Network& network) {
  const Graph& graph = network.graph;
  Json nodes = Json::array(), tensors = Json::array();
  for (const GraphNode& node : graph.nodes) {
    Json json = {{"name", node.name},
                 {"type", node.type},
                 {"role", RoleOf(node)},
                 {"inputs", NamesOf(graph, node.inputs)},
                 {"outputs", NamesOf(graph, node.outputs)},
                 {"macs", MacsOf(network, node)},
                 {"elements", VectorElements(graph, node)}};
    if (node.macs()) json["layer"] = network.layers[static_cast<size_t>(node.layer)].name;
    nodes.push_back(std::move(json));
  }
  for (const GraphTensor& tensor : graph.tensors) {
    tensors.push_back({{"name", tensor.name},
                       {"shape", tensor.shape},
                       {"words", Words(tensor)},
                       {"bits", tensor.bits},
                       {"kind", kTensorKindNames[static_cast<size_t>(tensor.kind)]}});
  }
  return {{"nodes", std::move(nodes)},
          {"tensors", std::move(tensors)},
          {"peak_live_words", PeakLiveWords(graph)}};
}

Table NodeTable(const Network& network) {
  Table table({"#", "node", "type", "role", "reads", "writes", "shape", "words", "macs"});
  const Graph& graph = network.graph;
  int64_t index = 0;
  for (const GraphNode& node : graph.nodes) {
    const GraphTensor& first = TensorAt(graph, node.outputs[0]);
    table.Add(++index, node.name, node.type, RoleOf(node),
              fmt::format("{}", fmt::join(NamesOf(graph, node.inputs), " ")),
              fmt::format("{}", fmt::join(NamesOf(graph, node.outputs), " ")), ShapeText(first),
              Words(first), node.macs() ? Cell(MacsOf(network, node)) : Cell());
  }
  return table;
}

std::string GraphSummary(const Network& network) {
  const Graph& graph = network.graph;
  int64_t macs = 0, views = 0;
  for (const GraphNode& node : graph.nodes) {
    macs += node.macs() ? 1 : 0;
    views += node.view ? 1 : 0;
  }
  return fmt::format(
      "{} nodes ({} with MACs, {} vector nodes, {} views), {} tensors; at most {} words of "
      "activations are alive at a time\n",
      WithThousands(std::ssize(graph.nodes)), WithThousands(macs),
      WithThousands(std::ssize(graph.nodes) - macs - views), WithThousands(views),
      WithThousands(std::ssize(graph.tensors)), WithThousands(PeakLiveWords(graph)));
}

std::string GraphDot(const Network& network) {
  const Graph& graph = network.graph;
  const GraphLinks links = Links(graph);
  std::string text =
      fmt::format("digraph \"{}\" {{\n  node [shape=box, style=filled];\n", DotText(network.name));
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    text += fmt::format("  n{} [label=\"{}\\n{}\", fillcolor=\"{}\"];\n", n, DotText(node.name),
                        DotText(node.type), ColourOf(node));
  }
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    const GraphTensor& tensor = graph.tensors[t];
    const bool given = links.producer[t] < 0;
    if (tensor.kind == TensorKind::kWeight) continue;
    const std::string from = given ? fmt::format("t{}", t) : fmt::format("n{}", links.producer[t]);
    if (given || (tensor.kind == TensorKind::kOutput)) {
      text += fmt::format("  t{} [label=\"{}\", shape=ellipse, fillcolor=white];\n", t,
                          DotText(tensor.name));
    }
    if (tensor.kind == TensorKind::kOutput) text += fmt::format("  {} -> t{};\n", from, t);
    for (const int32_t reader : links.consumers[t]) {
      text += fmt::format("  {} -> n{} [label=\"{}\"];\n", from, reader, ShapeText(tensor));
    }
  }
  return text + "}\n";
}

std::string GraphSvg(const Network& network) {
  constexpr int64_t kWidth = 240, kGap = 24, kRow = 34, kBox = 24, kMargin = 16;
  const Graph& graph = network.graph;
  const GraphLinks links = Links(graph);
  const std::vector<int32_t> column = Columns(graph, links);
  const int32_t columns = column.empty() ? 1 : *std::max_element(column.begin(), column.end()) + 1;
  const auto left = [&](size_t n) { return kMargin + column[n] * (kWidth + kGap); };
  const auto top = [&](size_t n) { return kMargin + static_cast<int64_t>(n) * kRow; };
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{}\" height=\"{}\" "
      "font-family=\"sans-serif\" font-size=\"11\">\n<title>{}</title>\n",
      2 * kMargin + columns * (kWidth + kGap), top(graph.nodes.size()) + kMargin,
      XmlText(network.name));
  for (size_t t = 0; t < graph.tensors.size(); ++t) {
    if (links.producer[t] < 0) continue;
    const auto from = static_cast<size_t>(links.producer[t]);
    for (const int32_t reader : links.consumers[t]) {
      const auto to = static_cast<size_t>(reader);
      const int64_t x0 = left(from) + kWidth / 2, y0 = top(from) + kBox;
      const int64_t x1 = left(to) + kWidth / 2, y1 = top(to);
      // An edge that passes other nodes goes around them.
      const int64_t bend = to - from > 1 && x0 == x1 ? kWidth / 2 + kGap / 2 : 0;
      text += fmt::format(
          "<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"#667\"><title>{} {}"
          "</title></path>\n",
          x0, y0, x0 + bend, y0 + kRow / 2, x1 + bend, y1 - kRow / 2, x1, y1,
          XmlText(graph.tensors[t].name), ShapeText(graph.tensors[t]));
    }
  }
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const GraphNode& node = graph.nodes[n];
    constexpr size_t kShown = 36;
    std::string label = fmt::format("{}: {}", node.type, node.name);
    if (label.size() > kShown) label = label.substr(0, kShown - 3) + "...";
    text += fmt::format(
        "<g><rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" rx=\"4\" fill=\"{}\" "
        "stroke=\"#445\"/><text x=\"{}\" y=\"{}\">{}</text><title>{} ({})</title></g>\n",
        left(n), top(n), kWidth, kBox, ColourOf(node), left(n) + 6, top(n) + 16, XmlText(label),
        XmlText(node.name), XmlText(node.type));
  }
  return text + "</svg>\n";
}

}  // namespace tessera
