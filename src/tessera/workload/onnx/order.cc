// Topological order of nodes, and messages about graphs that have none.
#include "tessera/workload/onnx/order.h"

#include <algorithm>
#include <queue>
#include <set>
#include <string>
#include <unordered_map>

#include <fmt/format.h>

#include "tessera/base/text.h"
#include "tessera/workload/onnx/schema.pb.h"

namespace tessera::onnx {
namespace {

using Names = std::set<std::string_view>;  // sorted: messages do not depend on a hash function

// Adds the tensors that a subgraph reads from around it.
void AddCaptured(const schema::Graph& graph, Names& names);

void AddReads(const schema::Node& node, Names& names) {
  for (const std::string& input : node.input()) {
    if (!input.empty()) names.insert(input);
  }
  for (const schema::Attribute& attribute : node.attribute()) {
    if (attribute.has_g()) AddCaptured(attribute.g(), names);
  }
}

void AddCaptured(const schema::Graph& graph, Names& names) {
  Names reads, own;
  for (const schema::ValueInfo& input : graph.input()) own.insert(input.name());
  for (const schema::Tensor& tensor : graph.initializer()) own.insert(tensor.name());
  for (const schema::SparseTensor& tensor : graph.sparse_initializer()) {
    own.insert(tensor.values().name());
  }
  for (const schema::Node& node : graph.node()) {
    AddReads(node, reads);
    own.insert(node.output().begin(), node.output().end());
  }
  // A branch may hand an outer tensor straight through.
  for (const schema::ValueInfo& output : graph.output()) reads.insert(output.name());
  for (const std::string_view name : reads) {
    if (!own.contains(name)) names.insert(name);
  }
}

struct Dependencies {
  std::vector<std::vector<size_t>> users;      // by node: the nodes that read its outputs
  std::vector<std::vector<size_t>> producers;  // by node: the nodes whose outputs it reads
};

Result<std::unordered_map<std::string_view, size_t>> FindProducers(
    const Nodes& nodes, const std::function<bool(std::string_view)>& is_given) {
  std::unordered_map<std::string_view, size_t> producers;
  for (size_t i = 0; i < nodes.size(); ++i) {
    for (const std::string& output : nodes[i]->output()) {
      if (output.empty()) continue;
      const auto [other, fresh] = producers.try_emplace(output, i);
      if (fresh && !is_given(output)) continue;
      return Error{.kind = ErrorKind::kSyntax,
                   .message = fmt::format(
                       "{} produces {}, which {} too", Describe(*nodes[i]), Quoted(output, 100),
                       fresh ? "is an input or initialiser"
                             : fmt::format("{} produces", Describe(*nodes[other->second])))};
    }
  }
  return producers;
}

Result<Dependencies> FindDependencies(const Nodes& nodes,
                                      const std::function<bool(std::string_view)>& is_given) {
  const Result<std::unordered_map<std::string_view, size_t>> producers =
      FindProducers(nodes, is_given);
  if (!producers) return producers.error();
  const size_t count = nodes.size();
  Dependencies found{.users = std::vector<std::vector<size_t>>(count),
                     .producers = std::vector<std::vector<size_t>>(count)};
  for (size_t i = 0; i < count; ++i) {
    const schema::Node& node = *nodes[i];
    Names reads;
    AddReads(node, reads);
    for (const std::string_view name : reads) {
      if (const auto producer = producers->find(name); producer != producers->end()) {
        found.producers[i].push_back(producer->second);
        found.users[producer->second].push_back(i);
      } else if (!is_given(name)) {
        return Error{.kind = ErrorKind::kSyntax,
                     .message = fmt::format("{} reads tensor {}, which nothing produces",
                                            Describe(node), Quoted(name, 100))};
      }
    }
  }
  return found;
}

// Some cycle among the nodes that could not be ordered, as "'a' -> 'b' -> 'a'".
std::string DescribeCycle(const Nodes& nodes, const Dependencies& dependencies,
                          const std::vector<bool>& ordered) {
  constexpr size_t kShown = 8;
  const auto waits_for = [&](size_t i) {
    size_t smallest = ordered.size();
    for (const size_t producer : dependencies.producers[i]) {
      if (!ordered[producer]) smallest = std::min(smallest, producer);
    }
    return smallest;
  };
  size_t at =
      static_cast<size_t>(std::find(ordered.begin(), ordered.end(), false) - ordered.begin());
  for (size_t step = 0; step < ordered.size(); ++step) at = waits_for(at);  // now on a cycle
  std::vector<size_t> cycle = {at};
  for (size_t next = waits_for(at); next != at; next = waits_for(next)) cycle.push_back(next);
  std::reverse(cycle.begin(), cycle.end());  // from producer to user
  std::string text;
  for (size_t i = 0; i < std::min(cycle.size(), kShown); ++i) {
    text += Quoted(NameOf(*nodes[cycle[i]]), 100) + " -> ";
  }
  if (cycle.size() > kShown) text += "... -> ";
  return text + Quoted(NameOf(*nodes[cycle[0]]), 100);
}

}  // namespace

std::string_view NameOf(const schema::Node& node) {
  if (!node.name().empty()) return node.name();
  for (const std::string& output : node.output()) {
    if (!output.empty()) return output;
  }
  return node.op_type();
}

std::string Describe(const schema::Node& node) {
  return fmt::format("node {} ({})", Quoted(NameOf(node), 100), Printable(node.op_type()));
}

Result<Nodes> EvaluationOrder(const Nodes& nodes,
                              const std::function<bool(std::string_view)>& is_given) {
  const Result<Dependencies> dependencies = FindDependencies(nodes, is_given);
  if (!dependencies) return dependencies.error();
  const size_t count = dependencies->users.size();
  std::vector<size_t> waiting(count);
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < count; ++i) {
    waiting[i] = dependencies->producers[i].size();
    if (waiting[i] == 0) ready.push(i);
  }
  Nodes order;
  std::vector<bool> ordered(count, false);
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    order.push_back(nodes[i]);
    ordered[i] = true;
    for (const size_t user : dependencies->users[i]) {
      if (--waiting[user] == 0) ready.push(user);
    }
  }
  if (order.size() == count) return order;
  return Error{.kind = ErrorKind::kSyntax,
               .message = fmt::format("the graph has a cycle: {}",
                                      DescribeCycle(nodes, *dependencies, ordered))};
}

}  // namespace tessera::onnx
