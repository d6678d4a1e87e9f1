// The whole program as a function, so that tests can call it in process.
#ifndef TESSERA_CLI_RUN_H_
#define TESSERA_CLI_RUN_H_

#include <ostream>
#include <string>
#include <vector>

namespace tessera {

// Runs `tessera WORDS...` and returns its exit code. Results go to `out`, errors and remarks to
// `err`.
int RunTessera(const std::vector<std::string>& words, std::ostream& out, std::ostream& err);

}  // namespace tessera

#endif  // TESSERA_CLI_RUN_H_
