// Names, equality, hash and text form of MAESTRO dataflows.
#include "tessera/mapping.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

using Kind = DataflowDirective::Kind;

constexpr std::array<std::string_view, kDataflowDims> kDimNames = {"C", "G", "K", "M",  "N", "R",
                                                                   "S", "X", "Y", "X'", "Y'"};
constexpr std::array<std::string_view, 3> kDirectiveNames = {"TemporalMap", "SpatialMap",
                                                             "Cluster"};

std::string DirectiveText(const DataflowDirective& directive) {
  if (directive.kind == Kind::kCluster) return fmt::format("Cluster({},P)", directive.size);
  return fmt::format("{}({},{}) {}", kDirectiveNames[static_cast<size_t>(directive.kind)],
                     directive.size, directive.offset, ToString(directive.dim));
}

struct Token {
  std::string_view text;
  Where where;
};

std::vector<Token> Tokenise(std::string_view text, const std::string& file) {
  constexpr std::string_view kSeparators = " \t\r\n,();";
  std::vector<Token> tokens;
  int64_t line = 1;
  size_t line_start = 0;
  for (size_t i = 0; i < text.size();) {
    if (kSeparators.find(text[i]) != std::string_view::npos) {
      if (text[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
      ++i;
      continue;
    }
    const size_t end = std::min(text.find_first_of(kSeparators, i), text.size());
    tokens.push_back(
        {text.substr(i, end - i),
         {.file = file, .line = line, .column = static_cast<int64_t>(i - line_start) + 1}});
    i = end;
  }
  return tokens;
}

// Reads directives token by token; the first error ends it.
class Reader {
 public:
  Reader(std::span<const Token> tokens, Where end) : tokens_(tokens), end_(std::move(end)) {}

  bool done() const { return next_ == tokens_.size(); }

  Result<DataflowDirective> Directive() {
    const Token& head = tokens_[next_++];
    const auto name = std::find(kDirectiveNames.begin(), kDirectiveNames.end(), head.text);
    if (name == kDirectiveNames.end()) {
      return Error{.kind = ErrorKind::kUnknownName,
                   .message = fmt::format("unknown directive {}", Quoted(head.text)),
                   .where = head.where,
                   .hint = DidYouMean(head.text, kDirectiveNames)};
    }
    DataflowDirective directive{.kind = static_cast<Kind>(name - kDirectiveNames.begin())};
    const bool map = directive.kind != Kind::kCluster;
    Result<int32_t> size = Size("size");
    if (!size) return size.error();
    directive.size = *size;
    if (!map) return ClusterLetter(directive);
    Result<int32_t> offset = Size("offset");
    if (!offset) return offset.error();
    directive.offset = *offset;
    const Result<DataflowDim> dim = Dim();
    if (!dim) return dim.error();
    directive.dim = *dim;
    return directive;
  }

 private:
  const Where& here() const { return done() ? end_ : tokens_[next_].where; }

  Error Missing(std::string_view what) const {
    return Error{.kind = ErrorKind::kSyntax,
                 .message = fmt::format("the text ends where a {} is expected", what),
                 .where = end_,
                 .hint =
                     "write SpatialMap(size,offset) DIM, TemporalMap(size,offset) DIM or "
                     "Cluster(size,P)"};
  }

  Result<int32_t> Size(std::string_view what) {
    if (done()) return Missing(what);
    const Token& token = tokens_[next_++];
    const Result<int64_t> value = ParseInt(token.text);
    if (!value) {
      Error error = value.error();
      error.where = token.where;
      return error;
    }
    if (*value < 1 || *value > INT32_MAX) {
      return Error{
          .kind = ErrorKind::kBadValue,
          .message = fmt::format("{} is {}, but must be in 1..{}", what, *value, INT32_MAX),
          .where = token.where};
    }
    return static_cast<int32_t>(*value);
  }

  Result<DataflowDim> Dim() {
    if (done()) return Missing("dimension");
    const Token& token = tokens_[next_++];
    if (const std::optional<DataflowDim> dim = FindDataflowDim(token.text)) return *dim;
    return Error{.kind = ErrorKind::kUnknownName,
                 .message = fmt::format("unknown dimension {}", Quoted(token.text)),
                 .where = token.where,
                 .hint = DidYouMean(token.text, kDimNames)};
  }

  Result<DataflowDirective> ClusterLetter(const DataflowDirective& directive) {
    if (done()) return Missing("cluster letter");
    const Token& token = tokens_[next_++];
    if (token.text == "P" || token.text == "L") return directive;
    return Error{
        .kind = ErrorKind::kSyntax,
        .message = fmt::format("cluster letter is {}, but must be P or L", Quoted(token.text)),
        .where = token.where};
  }

  std::span<const Token> tokens_;
  Where end_;
  size_t next_ = 0;
};

}  // namespace

std::string_view ToString(DataflowDim dim) {
  return dim == DataflowDim::kOther ? "?" : kDimNames[static_cast<size_t>(dim)];
}

std::optional<DataflowDim> FindDataflowDim(std::string_view name) {
  const auto found = std::find(kDimNames.begin(), kDimNames.end(), name);
  if (found == kDimNames.end()) return std::nullopt;
  return static_cast<DataflowDim>(found - kDimNames.begin());
}

bool operator==(const Dataflow& a, const Dataflow& b) {
  const auto left = a.directives(), right = b.directives();
  return std::equal(left.begin(), left.end(), right.begin(), right.end());
}

size_t DataflowHash::operator()(const Dataflow& dataflow) const {
  uint64_t hash = 0xcbf29ce484222325u;  // FNV-1a over 64-bit words, with a final mix
  const auto add = [&hash](uint64_t word) { hash = (hash ^ word) * 0x100000001b3u; };
  for (const DataflowDirective& d : dataflow.directives()) {
    add(static_cast<uint64_t>(d.kind) << 8 | static_cast<uint64_t>(d.dim));
    add(static_cast<uint64_t>(d.size) << 32 | static_cast<uint64_t>(d.offset));
  }
  return static_cast<size_t>(hash ^ hash >> 29);
}

std::string ToString(const Dataflow& dataflow) {
  std::string text;
  for (const DataflowDirective& directive : dataflow.directives()) {
    if (!text.empty()) text += ' ';
    text += DirectiveText(directive) + ';';
  }
  return text;
}

std::string ToIndentedString(const Dataflow& dataflow, std::string_view indent) {
  std::string text;
  for (const DataflowDirective& directive : dataflow.directives()) {
    text += fmt::format("{}{};\n", indent, DirectiveText(directive));
  }
  return text;
}

Result<Dataflow> ParseDataflow(std::string_view text, const std::string& file) {
  const std::vector<Token> tokens = Tokenise(text, file);
  const int64_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  const size_t last_line = text.rfind('\n');
  const size_t columns = text.size() - (last_line == std::string_view::npos ? 0 : last_line + 1);
  Reader reader(tokens, {.file = file, .line = lines, .column = static_cast<int64_t>(columns) + 1});
  Dataflow dataflow;
  while (!reader.done()) {
    const Result<DataflowDirective> directive = reader.Directive();
    if (!directive) return directive.error();
    if (dataflow.full()) {
      return Error{.kind = ErrorKind::kUnsupported,
                   .message = fmt::format("more than {} directives", Dataflow::kCapacity),
                   .where = {.file = file}};
    }
    dataflow.Add(*directive);
  }
  return dataflow;
}

}  // namespace tessera
