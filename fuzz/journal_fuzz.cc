// Journals: the bytes as they are, and their lines with sums that fit, as a forger would make them.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "input_file.h"
#include "tessera/base/text.h"
#include "tessera/record/line_journal.h"
#include "tessera/record/trial_journal.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tessera;
  const JournalFile file{.path = InputFile(data, size), .start = "0123456789abcdef"};
  static_cast<void>(ReadJournalText(file).ok());
  static_cast<void>(ReadTrials(file).ok());
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  std::vector<std::string> lines;
  for (const std::string_view line : Split(text, '\n')) {
    if (line.starts_with('{') && line.ends_with('}')) lines.emplace_back(line);
  }
  InputFile(nullptr, 0);
  Result<std::unique_ptr<LineJournal>> journal = LineJournal::Open(file, {});
  if (!journal || !(*journal)->Append(lines)) return 0;
  static_cast<void>(ReadTrials(file).ok());
  return 0;
}
