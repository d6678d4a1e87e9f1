// Which agent makes which decision: the groups that Algorithm 1 ends in, kept in a file so that
// they can be used again for other layers and networks.
#ifndef TESSERA_AGENTS_ASSIGNMENT_H_
#define TESSERA_AGENTS_ASSIGNMENT_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/agents/clustering.h"
#include "tessera/agents/correlation.h"
#include "tessera/result.h"
#include "tessera/space.h"

namespace tessera {

struct Assignment {
  // Decisions by name, a list for every agent; each decision in one list.
  std::vector<std::vector<std::string>> agents;

  friend bool operator==(const Assignment&, const Assignment&) = default;
};

struct AssignmentOptions {
  CorrelationOptions correlation = {};

  // Distance between decisions. Default: kRows, which with Ward gives the paper's heights.
  CorrelationDistance distance = CorrelationDistance::kRows;

  // Distance between groups. Default: kWard.
  Linkage linkage = Linkage::kWard;

  // Agents, at most one per decision with a choice; 0 to cut by `threshold` instead. Default: 0.
  int64_t agents = 0;

  // Height of the cut, if `agents` is 0. Default: 0 (only what is equal shares an agent).
  double threshold = 0;
};

// What Algorithm 1 found, for reports.
struct AssignmentStudy {
  CorrelationMatrix matrix;
  Dendrogram tree;  // over matrix.names
  Assignment assignment;
};

// Algorithm 1 on trials that some policy collected. It sees choices only: a decision with one value
// is no column, and in no group. Errors: too few feasible trials, or more agents than choices.
Result<AssignmentStudy> AssignAgents(const DecisionSpace& space, std::span<const Trial> trials,
                                     const AssignmentOptions& options);

// One for every decision with a choice.
Assignment AgentPerDecision(const DecisionSpace& space);

// An assignment applied to a space that need not be the one it was made for. Decisions that have
// one value there are left out.
struct AppliedAssignment {
  std::vector<std::vector<size_t>> agents;  // positions in the space; no agent is empty
  std::vector<std::string> added;           // decisions that it does not know: an agent each
  std::vector<std::string> unused;          // names that the space does not have
};
AppliedAssignment Apply(const Assignment& assignment, const DecisionSpace& space);

// The decisions of each agent by name.
std::vector<std::vector<std::string>> NamesOf(const DecisionSpace& space,
                                              const std::vector<std::vector<size_t>>& agents);

// The file: {"format": "tessera-assignment-1", "agents": [["k_l2", "c_l2"], ...]}.
std::string ToJsonText(const Assignment& assignment);
Result<Assignment> ParseAssignment(std::string_view text, const std::string& file);
Result<Assignment> ReadAssignment(const std::string& path);

}  // namespace tessera

#endif  // TESSERA_AGENTS_ASSIGNMENT_H_
