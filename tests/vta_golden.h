// Reads the VTA golden data of tests/golden/vta: one JSON object per line.
#ifndef TESSERA_TESTS_VTA_GOLDEN_H_
#define TESSERA_TESTS_VTA_GOLDEN_H_

#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera::vta {

inline std::string GoldenPath(const std::string& name) {
  return std::string(TESSERA_SOURCE_DIR) + "/tests/golden/vta/" + name;
}

inline std::vector<std::string> GoldenLines(const std::string& name) {
  const Result<std::string> text = ReadFile(GoldenPath(name));
  EXPECT_TRUE(text) << text.error();
  std::vector<std::string> lines;
  if (!text) return lines;
  for (const std::string_view line : Split(*text, '\n')) {
    if (!Trim(line).empty()) lines.emplace_back(Trim(line));
  }
  return lines;
}

}  // namespace tessera::vta

#endif  // TESSERA_TESTS_VTA_GOLDEN_H_
