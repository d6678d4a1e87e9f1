// What a command has to say, for a person or for a program. A command says everything once; the
// form follows from --json.
#ifndef TESSERA_REPORT_OUTPUT_H_
#define TESSERA_REPORT_OUTPUT_H_

#include <memory>
#include <ostream>
#include <string>
#include <string_view>

#include "tessera/report/json.h"
#include "tessera/report/table.h"
#include "tessera/result.h"

namespace tessera {

enum class OutputForm {
  kText,  // aligned tables and sentences
  kJson,  // one object, written by Finish
};

// Contract:
//   Threads   used by one thread at a time.
//   Failures  a closed pipe or a full disk is an error of kind kIo from the call that noticed it;
//             later calls return it again and write nothing.
//   Names     control characters, of names and of other programs' words, are escaped: nothing that
//             a user's file holds moves the cursor. In JSON that is the same text.
class Output {
 public:
  // The stream must outlive the output.
  Output(std::ostream& stream, OutputForm form);
  ~Output();
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  bool json() const;

  // Shows a table. In JSON it is a list of objects under `key`.
  Result<void> Show(const Table& table, std::string_view key = "rows");

  // Shows text as it stands; in JSON nothing.
  Result<void> ShowText(std::string_view text);

  // Sets a key of the JSON object; in text nothing. Setting a key again replaces its value.
  void Set(std::string_view key, Json value);

  // Sets every key of `object` so.
  void SetAll(Json object);

  // Whether a key of the JSON object was set.
  bool Has(std::string_view key) const;

  // Whether writing failed because the reader of a pipe went away, as in `tessera zoo | head -1`:
  // nothing that people want to hear about.
  bool reader_left() const;

  // Ends the output: writes the JSON object and makes sure that everything arrived.
  Result<void> Finish();

 private:
  Result<void> Write(std::string_view text);

  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera

#endif  // TESSERA_REPORT_OUTPUT_H_
