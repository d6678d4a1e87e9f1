// Command-line tests written as text; tests/cli/README.md explains the format.
#ifndef TESSERA_TESTS_TRANSCRIPT_H_
#define TESSERA_TESTS_TRANSCRIPT_H_

#include <string>
#include <vector>

#include "tessera/result.h"

namespace tessera {

// Something to put into the folder before a step runs.
struct Prepared {
  enum class Kind { kFile, kFolder, kCopy };
  Kind kind;
  std::string name;
  std::string contents;  // kCopy: path in the repository
};

// Something to hold after a step has run.
struct Expectation {
  enum class Where { kStdout, kStderr, kFile };
  enum class How { kExactly, kHas, kJson, kAbsent };
  Where where;
  How how;
  std::string name = {};                // kFile
  std::vector<std::string> lines = {};  // as written, without the indentation
};

struct TranscriptStep {
  ::tessera::Where where;  // of its `run` or `shell` line
  std::vector<Prepared> prepared = {};
  std::vector<std::string> words = {};  // run: arguments of tessera
  std::string shell = {};               // shell: the line; then there are no words
  int exit = 0;
  std::vector<Expectation> expected = {};
};

Result<std::vector<TranscriptStep>> ReadTranscript(const std::string& path);

}  // namespace tessera

#endif  // TESSERA_TESTS_TRANSCRIPT_H_
