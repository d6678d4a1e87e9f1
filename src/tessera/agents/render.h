// A correlation matrix and a dendrogram as people look at them: as text for a terminal, and as SVG.
#ifndef TESSERA_AGENTS_RENDER_H_
#define TESSERA_AGENTS_RENDER_H_

#include <string>
#include <vector>

#include "tessera/agents/clustering.h"
#include "tessera/agents/correlation.h"

namespace tessera {

// Rows and columns by name, the reward last; correlations with two digits.
std::string MatrixText(const CorrelationMatrix& matrix);
std::string MatrixSvg(const CorrelationMatrix& matrix);

// The tree from the items on the left to its root on the right, with a scale of heights.
std::string DendrogramText(const Dendrogram& tree, const std::vector<std::string>& names);
std::string DendrogramSvg(const Dendrogram& tree, const std::vector<std::string>& names);

}  // namespace tessera

#endif  // TESSERA_AGENTS_RENDER_H_
