// Reading of pages, line by line.
#include "document.h"

#include <regex>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kFence = "```", kOpen = "<!-- test: ", kClose = " -->", kPrompt = "$ ";

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<std::vector<DocumentStep>> Read(std::string_view text) {
    for (const std::string_view line : Split(text, '\n')) {
      ++line_;
      if (Result<void> ok = in_block_ ? Inside(line) : Outside(line); !ok) return ok.error();
    }
    if (in_block_) return Bad("a block that does not end");
    return std::move(steps_);
  }

 private:
  Error Bad(std::string message) const {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = std::move(message),
                 .where = {.file = path_, .line = line_}};
  }

  Result<void> Outside(std::string_view line) {
    if (line.starts_with(kOpen) && line.ends_with(kClose)) {
      line.remove_prefix(kOpen.size());
      line.remove_suffix(kClose.size());
      return Comment(line);
    }
    if (!line.starts_with(kFence)) return {};
    in_block_ = true;
    language_ = line.substr(kFence.size());
    block_line_ = line_ + 1;
    return {};
  }

  Result<void> Comment(std::string_view text) {
    const size_t blank = text.find(' ');
    const std::string_view word = text.substr(0, blank);
    const std::string_view rest =
        blank == std::string_view::npos ? std::string_view() : Trim(text.substr(blank));
    if (text == "long") {
      long_ = true;
    } else if (text.starts_with("not run: ")) {
      skip_ = true;
    } else if (word == "file" && !rest.empty()) {
      file_ = rest;
    } else if (word == "run" && !rest.empty()) {
      AddStep(std::string(rest), line_);
    } else if (word == "copy" && rest.find(' ') != std::string_view::npos) {
      const size_t between = rest.find(' ');
      prepared_.push_back({Prepared::Kind::kCopy, std::string(Trim(rest.substr(between))),
                           std::string(rest.substr(0, between))});
    } else {
      return Bad(fmt::format("unknown test comment '{}'", text));
    }
    return {};
  }

  Result<void> Inside(std::string_view line) {
    if (line != kFence) {
      body_.emplace_back(line);
      return {};
    }
    EndBlock();
    in_block_ = false;
    body_.clear();
    file_.clear();
    skip_ = long_ = false;
    return {};
  }

  void EndBlock() {
    if (skip_) return;
    if (!file_.empty()) {
      std::string contents;
      for (const std::string& line : body_) contents += line + "\n";
      prepared_.push_back({Prepared::Kind::kFile, file_, std::move(contents)});
    } else if (language_ == "sh") {
      std::string script = "set -e";
      for (const std::string& line : body_) script += "\n" + line;
      AddStep(std::move(script), block_line_);
    } else if (language_ == "console") {
      for (size_t i = 0; i < body_.size(); ++i) {
        const std::string& line = body_[i];
        if (line.starts_with(kPrompt)) {
          AddStep(line.substr(kPrompt.size()), block_line_ + static_cast<int64_t>(i));
          steps_.back().printed = "";
        } else if (!steps_.empty() && steps_.back().printed) {
          *steps_.back().printed += line + "\n";
        }
      }
    }
  }

  void AddStep(std::string shell, int64_t line) {
    steps_.push_back({.step = {.where = {.file = path_, .line = line},
                               .prepared = std::exchange(prepared_, {}),
                               .shell = std::move(shell)},
                      .is_long = long_});
  }

  const std::string path_;
  int64_t line_ = 0, block_line_ = 0;
  bool in_block_ = false, skip_ = false, long_ = false;
  std::string language_, file_;
  std::vector<std::string> body_;
  std::vector<Prepared> prepared_;
  std::vector<DocumentStep> steps_;
};

// Words, with what a clock measured masked.
std::vector<std::string> WordsOf(const std::string& text) {
  static const std::regex kSeconds(R"(\b\d+(\.\d+)? (s|ms)\b)"), kRate(R"([\d.,]+/s\b)");
  const std::string masked =
      std::regex_replace(std::regex_replace(text, kSeconds, "TIME"), kRate, "RATE");
  std::vector<std::string> words;
  for (const std::string_view line : Split(masked, '\n')) {
    for (const std::string_view word : Split(line, ' ')) {
      if (!word.empty()) words.emplace_back(word);
    }
  }
  return words;
}

}  // namespace

Result<std::vector<DocumentStep>> ReadDocument(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  return Reader(path).Read(*text);
}

bool Matches(const std::string& shown, const std::string& printed) {
  const std::vector<std::string> pattern = WordsOf(shown), words = WordsOf(printed);
  // reachable[k]: the pattern so far can stand for the first k words.
  std::vector<bool> reachable(words.size() + 1);
  reachable[0] = true;
  for (const std::string& expected : pattern) {
    std::vector<bool> next(words.size() + 1);
    bool seen = false;
    for (size_t k = 0; k <= words.size(); ++k) {
      seen = seen || reachable[k];
      if (expected == "...") {
        next[k] = seen;
      } else if (k > 0) {
        next[k] = reachable[k - 1] && words[k - 1] == expected;
      }
    }
    reachable = std::move(next);
  }
  return reachable.back();
}

}  // namespace tessera
