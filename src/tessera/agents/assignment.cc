// Assignments: made, applied, written and read.
#include "tessera/agents/assignment.h"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/document.h"
#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFormat = "tessera-assignment-1";

Assignment FromGroups(const std::vector<std::string>& names, const std::vector<size_t>& groups) {
  Assignment assignment;
  for (size_t i = 0; i < names.size(); ++i) {
    if (groups[i] >= assignment.agents.size()) assignment.agents.resize(groups[i] + 1);
    assignment.agents[groups[i]].push_back(names[i]);
  }
  return assignment;
}

Result<std::vector<std::string>> ReadAgent(const Node& node,
                                           std::unordered_set<std::string>& taken) {
  if (node.kind != Node::Kind::kSequence || node.items.empty()) {
    return node.ErrorHere(ErrorKind::kBadValue, "an agent must be a list of decisions");
  }
  std::vector<std::string> names;
  for (const Node& item : node.items) {
    Result<std::string> name = item.AsString();
    if (!name) return name.error();
    if (!taken.insert(*name).second) {
      return item.ErrorHere(ErrorKind::kBadValue,
                            fmt::format("decision {} has two agents", Quoted(*name)));
    }
    names.push_back(*std::move(name));
  }
  return names;
}

}  // namespace

Result<AssignmentStudy> AssignAgents(const DecisionSpace& space, std::span<const Trial> trials,
                                     const AssignmentOptions& options) {
  if (options.agents > std::ssize(space.open())) {
    return Error{.kind = ErrorKind::kUsage,
                 .message = fmt::format("{} agents for {} decisions with a choice: an agent must "
                                        "have at least one",
                                        options.agents, space.open().size())};
  }
  Result<CorrelationMatrix> matrix = Correlate(space, trials, options.correlation);
  if (!matrix) return matrix.error();
  Dendrogram tree =
      Cluster(Distances(*matrix, options.distance), matrix->decisions(), options.linkage);
  const std::vector<size_t> groups = options.agents > 0
                                         ? tree.Cut(static_cast<size_t>(options.agents))
                                         : tree.CutAt(options.threshold);
  Assignment assignment = FromGroups(matrix->names, groups);
  return AssignmentStudy{
      .matrix = *std::move(matrix), .tree = std::move(tree), .assignment = std::move(assignment)};
}

Assignment AgentPerDecision(const DecisionSpace& space) {
  Assignment assignment;
  for (const size_t i : space.open()) assignment.agents.push_back({space.decisions()[i].name()});
  return assignment;
}

AppliedAssignment Apply(const Assignment& assignment, const DecisionSpace& space) {
  AppliedAssignment applied;
  std::vector<bool> known(space.size());
  for (const std::vector<std::string>& agent : assignment.agents) {
    std::vector<size_t> decisions;
    for (const std::string& name : agent) {
      const size_t decision = space.Find(name);
      if (decision == space.size()) {
        applied.unused.push_back(name);
      } else if (space.decisions()[decision].size() > 1) {
        known[decision] = true;
        decisions.push_back(decision);
      }
    }
    if (!decisions.empty()) applied.agents.push_back(std::move(decisions));
  }
  for (const size_t i : space.open()) {
    if (known[i]) continue;
    applied.added.push_back(space.decisions()[i].name());
    applied.agents.push_back({i});
  }
  return applied;
}

std::vector<std::vector<std::string>> NamesOf(const DecisionSpace& space,
                                              const std::vector<std::vector<size_t>>& agents) {
  std::vector<std::vector<std::string>> names;
  for (const std::vector<size_t>& agent : agents) {
    names.emplace_back();
    for (const size_t i : agent) names.back().push_back(space.decisions()[i].name());
  }
  return names;
}

std::string ToJsonText(const Assignment& assignment) {
  nlohmann::ordered_json json;
  json["format"] = kFormat;
  json["agents"] = assignment.agents;
  return json.dump(1) + "\n";
}

Result<Assignment> ParseAssignment(std::string_view text, const std::string& file) {
  const Result<Node> root = ParseDocument(text, file);
  if (!root) return root.error();
  MapReader reader(*root, "assignment");
  if (Result<void> map = reader.Check(); !map) return map.error();
  if (Result<void> format = reader.RequireFormat(kFormat); !format) return format.error();
  const Result<const Node*> agents = reader.Require("agents");
  if (!agents) return agents.error();
  if ((*agents)->kind != Node::Kind::kSequence || (*agents)->items.empty()) {
    return (*agents)->ErrorHere(ErrorKind::kBadValue, "agents must be a list of lists");
  }
  Assignment assignment;
  std::unordered_set<std::string> taken;
  for (const Node& item : (*agents)->items) {
    Result<std::vector<std::string>> agent = ReadAgent(item, taken);
    if (!agent) return agent.error();
    assignment.agents.push_back(*std::move(agent));
  }
  if (Result<void> done = reader.Finish(); !done) return done.error();
  return assignment;
}

Result<Assignment> ReadAssignment(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  return ParseAssignment(*text, path);
}

}  // namespace tessera
