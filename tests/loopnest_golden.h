// The golden rows of model `loopnest`, for the tests that walk through them.
#ifndef TESSERA_TESTS_LOOPNEST_GOLDEN_H_
#define TESSERA_TESTS_LOOPNEST_GOLDEN_H_

#include <functional>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/json.h"
#include "tessera/base/text.h"
#include "tessera/cost/loopnest/row.h"

namespace tessera::loopnest {

// Calls `check` with every row of a file below tests/golden and its text; returns how many.
inline size_t ForEachRow(const std::string& name,
                         const std::function<void(const Row&, std::string_view text)>& check) {
  const Result<std::string> text = ReadFile(TESSERA_SOURCE_DIR "/tests/golden/" + name);
  if (!text) {
    ADD_FAILURE() << text.error();
    return 0;
  }
  size_t rows = 0;
  int64_t line = 0;
  for (const std::string_view row_text : Split(*text, '\n')) {
    ++line;
    if (row_text.empty()) continue;
    const Result<Node> node = ParseJson(row_text, name, line);
    const Result<Row> row = node ? ReadRow(*node) : Result<Row>(node.error());
    if (!row) {
      ADD_FAILURE() << row.error();
      continue;
    }
    check(*row, row_text);
    ++rows;
  }
  return rows;
}

}  // namespace tessera::loopnest

#endif  // TESSERA_TESTS_LOOPNEST_GOLDEN_H_
