// Variables and arithmetic of Timeloop's version 0.4: `variables` give numbers names, and
// attributes are expressions over them and over each other.
#ifndef TESSERA_ARCH_TIMELOOP_VARIABLES_H_
#define TESSERA_ARCH_TIMELOOP_VARIABLES_H_

#include "tessera/base/document.h"
#include "tessera/result.h"

namespace tessera::timeloop {

// Replaces expressions among the attributes and meshes of an architecture by their values:
//
//   variables: {rows: 14, depth: 64 * 1024}
//   architecture: {nodes: [!Component {name: GLB, attributes: {depth: depth / 2, width: 64},
//                                      spatial: {meshY: rows}}]}
//
// Numbers, names, + - * / // % ** and parentheses, and abs, ceil, floor, int, log2, max, min, pow,
// round, sqrt. Names are those of the same map, then variables. What is no expression (45nm) or has
// a name that nobody knows stays as it is, for whoever reads it. Errors: a variable that depends on
// itself, results that are no number.
Result<void> ResolveVariables(Node& root);

}  // namespace tessera::timeloop

#endif  // TESSERA_ARCH_TIMELOOP_VARIABLES_H_
