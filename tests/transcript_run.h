// Runs the steps of transcripts with the real binary.
#ifndef TESSERA_TESTS_TRANSCRIPT_RUN_H_
#define TESSERA_TESTS_TRANSCRIPT_RUN_H_

#include <filesystem>
#include <string>

#include "transcript.h"

namespace tessera {

// Bytes of a file, or why there are none.
std::string Contents(const std::filesystem::path& path);

// Puts a file or folder into `folder`; a failed test if that cannot be.
void Prepare(const Prepared& prepared, const std::filesystem::path& folder);

// What a step came to: the exit code, or 128 + signal as a shell shows it, and what it wrote.
struct StepResult {
  int code = 0;
  std::string out = {}, err = {};
};

// Runs a step in `folder`, with its output in files of `outputs`; `tessera` is on the path.
StepResult RunStep(const TranscriptStep& step, const std::filesystem::path& folder,
                   const std::filesystem::path& outputs);

}  // namespace tessera

#endif  // TESSERA_TESTS_TRANSCRIPT_RUN_H_
