// Reading of transcripts, line by line.
#include "transcript.h"

#include <algorithm>
#include <cstdlib>
#include <utility>

#include <fmt/format.h>

#include "tessera/base/file.h"
#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kIndent = "  ";

std::string Unescaped(std::string_view text) {
  std::string bytes;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\' || i + 1 >= text.size()) {
      bytes += text[i];
    } else if (text[++i] == 'x') {
      bytes +=
          static_cast<char>(std::strtol(std::string(text.substr(i + 1, 2)).c_str(), nullptr, 16));
      i += 2;
    } else {
      bytes += text[i] == 'n' ? '\n' : text[i] == 't' ? '\t' : text[i];
    }
  }
  return bytes;
}

// Words of a command line; single quotes keep blanks.
std::vector<std::string> WordsOf(std::string_view line) {
  std::vector<std::string> words;
  bool open = false, in_word = false;
  for (const char c : line) {
    if (c == ' ' && !open) {
      in_word = false;
      continue;
    }
    if (!in_word) words.emplace_back();
    in_word = true;
    if (c == '\'') {
      open = !open;
    } else {
      words.back() += c;
    }
  }
  return words;
}

class Reader {
 public:
  explicit Reader(std::string path) : path_(std::move(path)) {}

  Result<std::vector<TranscriptStep>> Read(std::string_view text) {
    for (const std::string_view line : Split(text, '\n')) {
      ++line_;
      if (Result<void> ok = ReadLine(line); !ok) return ok.error();
    }
    if (Result<void> ok = EndBlock(); !ok) return ok.error();
    if (steps_.empty()) return Bad("a transcript without 'run'");
    for (const TranscriptStep& step : steps_) {
      const bool tells =
          std::any_of(step.expected.begin(), step.expected.end(),
                      [](const Expectation& e) { return e.where == Expectation::Where::kStderr; });
      if (step.exit != 0 && !tells) {
        return Error{.kind = ErrorKind::kSyntax,
                     .message = "a step that fails must say what stderr holds",
                     .where = step.where};
      }
    }
    return std::move(steps_);
  }

 private:
  Error Bad(std::string message) const {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = std::move(message),
                 .where = {.file = path_, .line = line_}};
  }

  Result<void> ReadLine(std::string_view line) {
    if (line.starts_with(kIndent)) {
      body_.insert(body_.end(), std::exchange(blank_lines_, 0), "");
      body_.emplace_back(line.substr(kIndent.size()));
      return {};
    }
    if (line.empty() && !block_.empty()) {
      ++blank_lines_;
      return {};
    }
    if (Result<void> ok = EndBlock(); !ok) return ok;
    if (line.empty() || line.starts_with('#')) return {};
    const size_t blank = line.find(' ');
    const std::string_view rest =
        blank == std::string_view::npos ? std::string_view() : Trim(line.substr(blank));
    return StartBlock(line.substr(0, blank), rest);
  }

  Result<void> StartBlock(std::string_view directive, std::string_view rest) {
    if (directive == "run" || directive == "shell") {
      TranscriptStep step{.where = {.file = path_, .line = line_},
                          .prepared = std::move(prepared_)};
      prepared_.clear();
      if (directive == "run") step.words = WordsOf(rest);
      if (directive == "shell") step.shell = rest;
      steps_.push_back(std::move(step));
      return {};
    }
    if (directive == "folder") {
      prepared_.push_back({Prepared::Kind::kFolder, std::string(rest), ""});
      return {};
    }
    if (directive == "copy") {
      const std::vector<std::string> words = WordsOf(rest);
      if (words.size() != 2) return Bad("copy needs PATH and NAME");
      prepared_.push_back({Prepared::Kind::kCopy, words[1], words[0]});
      return {};
    }
    if (directive == "file" || directive == "bytes") {
      block_ = directive;
      rest_ = rest;
      return {};
    }
    if (steps_.empty()) return Bad(fmt::format("'{}' before the first 'run'", directive));
    TranscriptStep& step = steps_.back();
    if (directive == "exit") {
      const Result<int64_t> code = ParseInt(rest);
      if (!code) return Bad(code.error().message);
      step.exit = static_cast<int>(*code);
      return {};
    }
    if (directive == "absent") {
      step.expected.push_back({.where = Expectation::Where::kFile,
                               .how = Expectation::How::kAbsent,
                               .name = std::string(rest)});
      return {};
    }
    if (directive == "stdout" || directive == "stderr" || directive == "written") {
      block_ = directive;
      rest_ = rest;
      return {};
    }
    return Bad(fmt::format("unknown directive '{}'", directive));
  }

  // Takes the indented lines of the directive that had them.
  Result<void> EndBlock() {
    if (block_.empty()) {
      return body_.empty() ? Result<void>() : Bad("indented lines that belong to nothing");
    }
    blank_lines_ = 0;
    const std::string block = std::exchange(block_, "");
    std::vector<std::string> body = std::exchange(body_, {});
    if (block == "file" || block == "bytes") {
      std::string contents;
      for (const std::string& line : body)
        contents += block == "file" ? line + "\n" : Unescaped(line);
      prepared_.push_back({Prepared::Kind::kFile, rest_, std::move(contents)});
      return {};
    }
    std::vector<std::string> words = WordsOf(rest_);
    Expectation expectation{.where = block == "stdout"   ? Expectation::Where::kStdout
                                     : block == "stderr" ? Expectation::Where::kStderr
                                                         : Expectation::Where::kFile,
                            .how = Expectation::How::kExactly,
                            .lines = std::move(body)};
    if (block == "written") {
      if (words.empty()) return Bad("'written' needs a name");
      expectation.name = words.front();
      words.erase(words.begin());
    }
    const std::string how = words.empty() ? "" : words.front();
    if (how == "has") expectation.how = Expectation::How::kHas;
    if (how == "json") expectation.how = Expectation::How::kJson;
    if (!how.empty() && how != "has" && how != "json") {
      return Bad(fmt::format("unknown way to compare '{}'", how));
    }
    steps_.back().expected.push_back(std::move(expectation));
    return {};
  }

  const std::string path_;
  int64_t line_ = 0;
  std::vector<TranscriptStep> steps_;
  std::vector<Prepared> prepared_;
  std::string block_, rest_;  // the open directive that takes lines, and what followed its name
  std::vector<std::string> body_;
  size_t blank_lines_ = 0;  // inside the block, if a line of it follows
};

}  // namespace

Result<std::vector<TranscriptStep>> ReadTranscript(const std::string& path) {
  const Result<std::string> text = ReadTextFile(path);
  if (!text) return text.error();
  return Reader(path).Read(*text);
}

}  // namespace tessera
