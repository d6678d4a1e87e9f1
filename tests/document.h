// The commands of a page of the docs, as steps that can be run.
//
//   ```console      lines after "$ " are commands; the lines below each are what it prints, with
//                   "..." for anything. Line breaks and times are not compared, nor is what a
//                   command that succeeds writes to stderr.
//   ```sh           commands that have to succeed
//
// Comments right above a block say what a reader brings along:
//
//   <!-- test: file NAME -->            the block is the contents of a file
//   <!-- test: copy PATH NAME -->       a file of the repository
//   <!-- test: run COMMAND -->          what happened before
//   <!-- test: long -->                 only in `make test-full`
//   <!-- test: not run: REASON -->      needs what a test does not have
//
// The steps of a page run in one folder, in their order.
#ifndef TESSERA_TESTS_DOCUMENT_H_
#define TESSERA_TESTS_DOCUMENT_H_

#include <optional>
#include <string>
#include <vector>

#include "tessera/result.h"
#include "transcript.h"

namespace tessera {

struct DocumentStep {
  TranscriptStep step = {};                 // a line of shell
  std::optional<std::string> printed = {};  // by it, as the page shows it; none: it succeeds
  bool is_long = false;
};

Result<std::vector<DocumentStep>> ReadDocument(const std::string& path);

// Whether what a command printed is what a page shows.
bool Matches(const std::string& shown, const std::string& printed);

}  // namespace tessera

#endif  // TESSERA_TESTS_DOCUMENT_H_
