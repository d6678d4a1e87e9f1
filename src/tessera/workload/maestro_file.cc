// A recursive-descent parser over a one-pass tokeniser.
#include "tessera/workload/maestro_file.h"

#include <algorithm>
#include <limits>
#include <span>
#include <unordered_map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr int64_t kMaxNumber = std::numeric_limits<int32_t>::max();  // MAESTRO's int

constexpr std::array<std::string_view, 5> kTypeNames = {"CONV", "DSCONV", "NGCONV", "TRCONV",
                                                        "GEMM"};

std::span<const std::string_view> DimensionsOf(MaestroType type) {
  static constexpr std::array<std::string_view, 9> kConv = {"N", "K", "C",  "R", "S",
                                                            "Y", "X", "Y'", "X'"};
  static constexpr std::array<std::string_view, 10> kGrouped = {"N", "K", "C",  "R",  "S",
                                                                "Y", "X", "Y'", "X'", "G"};
  static constexpr std::array<std::string_view, 3> kGemm = {"M", "N", "K"};
  if (type == MaestroType::kGemm) return kGemm;
  if (type == MaestroType::kNgconv) return kGrouped;
  return kConv;
}

bool Contains(std::span<const std::string_view> names, std::string_view name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

const MaestroDimension* FindIn(const std::vector<MaestroDimension>& list, std::string_view name) {
  for (const MaestroDimension& entry : list) {
    if (entry.name == name) return &entry;
  }
  return nullptr;
}

struct Token {
  enum class Kind { kWord, kOpen, kClose, kEnd };
  Kind kind = Kind::kEnd;
  std::string_view text = {};
  MaestroPlace place = {};
  bool after_minus = false;  // the character before it is a '-'
};

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) { Advance(); }

  const Token& token() const { return token_; }

  void Advance() {
    SkipSeparators();
    token_ = {.place = {line_, static_cast<int64_t>(at_ - line_begin_) + 1},
              .after_minus = at_ > 0 && text_[at_ - 1] == '-'};
    if (at_ == text_.size()) return;
    const size_t begin = at_;
    if (text_[at_] == '{' || text_[at_] == '}') {
      token_.kind = text_[at_] == '{' ? Token::Kind::kOpen : Token::Kind::kClose;
      ++at_;
    } else {
      token_.kind = Token::Kind::kWord;
      while (at_ < text_.size() && !EndsWord(kSeparators)) ++at_;
    }
    token_.text = text_.substr(begin, at_ - begin);
  }

  // Extends the current word over '-' and the other decoration up to a blank or a brace: names
  // such as "Conv2d-1" are one word to a reader.
  void ExtendName() {
    const size_t begin = at_ - token_.text.size();
    size_t end = at_;
    for (; at_ < text_.size() && !EndsWord(kBlanks); ++at_) {
      if (!IsOneOf(text_[at_], kSeparators)) end = at_ + 1;
    }
    token_.text = text_.substr(begin, end - begin);
  }

 private:
  static constexpr std::string_view kBlanks = " \t\r\n";
  static constexpr std::string_view kSeparators = " \t\r\n,->():;";

  static bool IsOneOf(char c, std::string_view set) {
    return set.find(c) != std::string_view::npos;
  }

  bool AtComment() const { return text_.substr(at_, 2) == "//"; }

  bool EndsWord(std::string_view separators) const {
    return IsOneOf(text_[at_], "{}") || IsOneOf(text_[at_], separators) || AtComment();
  }

  void SkipSeparators() {
    while (at_ < text_.size()) {
      if (AtComment()) {
        at_ = std::min(text_.find('\n', at_), text_.size());
        continue;
      }
      if (!IsOneOf(text_[at_], kSeparators)) return;
      if (text_[at_] == '\n') {
        ++line_;
        line_begin_ = at_ + 1;
      }
      ++at_;
    }
  }

  std::string_view text_;
  size_t at_ = 0;
  int64_t line_ = 1;
  size_t line_begin_ = 0;
  Token token_;
};

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : lexer_(text) { file_.name = file; }

  Result<MaestroFile> Parse() {
    while (token().kind != Token::Kind::kEnd) {
      if (Result<void> ok = ReadTopLevel(); !ok) return ok.error();
    }
    if (file_.networks.empty()) {
      return ErrorAt(token().place, ErrorKind::kSyntax, "the file has no Network",
                     "write: Network NAME { Layer NAME { ... } }");
    }
    return std::move(file_);
  }

 private:
  const Token& token() const { return lexer_.token(); }
  bool AtWord(std::string_view word) const {
    return token().kind == Token::Kind::kWord && token().text == word;
  }

  Error ErrorAt(const MaestroPlace& place, ErrorKind kind, std::string message,
                std::string hint = "") const {
    return Error{.kind = kind,
                 .message = std::move(message),
                 .where = file_.At(place),
                 .hint = std::move(hint)};
  }

  Error Unexpected(std::string_view expected, std::string hint = "") const {
    const std::string found =
        token().kind == Token::Kind::kEnd ? "the end of the file" : Quoted(token().text);
    return ErrorAt(token().place, ErrorKind::kSyntax,
                   fmt::format("expected {}, found {}", expected, found), std::move(hint));
  }

  Error UnknownWord(std::string_view what, std::span<const std::string_view> known) const {
    if (token().kind != Token::Kind::kWord) return Unexpected(what);
    std::string hint = DidYouMean(token().text, known);
    if (token().text.starts_with('#')) hint = "comments start with //";
    return ErrorAt(token().place, ErrorKind::kUnknownName,
                   fmt::format("unknown {} {}", what, Quoted(token().text)), std::move(hint));
  }

  Result<void> Expect(Token::Kind kind, std::string_view what) {
    if (token().kind != kind) return Unexpected(what);
    lexer_.Advance();
    return {};
  }

  // Reads items up to the closing brace. `read_item` reads one item and moves on.
  template <typename ReadItem>
  Result<void> ReadBlock(const ReadItem& read_item) {
    if (Result<void> open = Expect(Token::Kind::kOpen, "'{'"); !open) return open;
    while (token().kind == Token::Kind::kWord) {
      if (Result<void> item = read_item(); !item) return item;
    }
    return Expect(Token::Kind::kClose, "'}'");
  }

  std::string ReadOptionalName() {
    if (token().kind != Token::Kind::kWord) return "";
    lexer_.ExtendName();
    std::string name(token().text);
    lexer_.Advance();
    return name;
  }

  Result<void> ReadTopLevel() {
    static constexpr std::array<std::string_view, 2> kKnown = {"Network", "Constant"};
    if (AtWord("Network")) return ReadNetwork();
    if (AtWord("Constant")) return ReadConstant();
    if (AtWord("Accelerator")) {
      return ErrorAt(token().place, ErrorKind::kUnsupported,
                     "an Accelerator block cannot stand in a mapping file",
                     "describe the hardware in a file of its own");
    }
    return UnknownWord("block", kKnown);
  }

  Result<void> ReadConstant() {
    lexer_.Advance();
    if (token().kind != Token::Kind::kWord) return Unexpected("the name of a constant");
    const Token name = token();
    lexer_.Advance();
    const Result<int64_t> value = ReadNumber("a constant's value");
    if (!value) return value.error();
    if (!constants_.emplace(name.text, *value).second) {
      return ErrorAt(name.place, ErrorKind::kSyntax,
                     fmt::format("constant {} has a value already", Quoted(name.text)));
    }
    constant_names_.push_back(name.text);
    return {};
  }

  Result<void> ReadNetwork() {
    MaestroNetwork network{.place = token().place};
    lexer_.Advance();
    network.name = ReadOptionalName();
    const Result<void> block = ReadBlock([&]() -> Result<void> {
      static constexpr std::array<std::string_view, 1> kKnown = {"Layer"};
      if (!AtWord("Layer")) return UnknownWord("word in a Network", kKnown);
      Result<MaestroLayer> layer = ReadLayer();
      if (!layer) return layer.error();
      network.layers.push_back(std::move(*layer));
      return {};
    });
    if (!block) return block;
    if (network.layers.empty()) {
      return ErrorAt(network.place, ErrorKind::kSyntax, "a Network without layers");
    }
    file_.networks.push_back(std::move(network));
    return {};
  }

  Result<MaestroLayer> ReadLayer() {
    layer_ = {.place = token().place};
    type_.reset();
    lexer_.Advance();
    layer_.name = ReadOptionalName();
    if (Result<void> block = ReadBlock([this] { return ReadLayerItem(); }); !block) {
      return block.error();
    }
    if (Result<void> complete = CheckLayer(); !complete) return complete.error();
    layer_.type = *type_;
    return std::move(layer_);
  }

  Result<void> ReadLayerItem() {
    static constexpr std::array<std::string_view, 4> kKnown = {"Type", "Stride", "Dimensions",
                                                               "Dataflow"};
    const Token item = token();
    if (!Contains(kKnown, item.text)) return UnknownWord("word in a Layer", kKnown);
    const bool repeated = (item.text == "Type" && type_) ||
                          (item.text == "Stride" && !layer_.strides.empty()) ||
                          (item.text == "Dimensions" && !layer_.dimensions.empty()) ||
                          (item.text == "Dataflow" && layer_.dataflow);
    if (repeated) {
      return ErrorAt(item.place, ErrorKind::kSyntax,
                     fmt::format("a Layer with a second {}", item.text));
    }
    lexer_.Advance();
    if (item.text == "Type") return ReadType();
    if (item.text == "Stride") {
      return ReadBlock([this] { return ReadDimension(layer_.strides, "stride"); });
    }
    if (item.text == "Dimensions") {
      return ReadBlock([this] { return ReadDimension(layer_.dimensions, "size"); });
    }
    layer_.dataflow.emplace();
    return ReadBlock([this] { return ReadDirective(); });
  }

  Result<void> ReadType() {
    if (token().kind != Token::Kind::kWord) return Unexpected("a layer type");
    static constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRefused = {
        {{"FC", "write it as CONV with R, S, Y and X of 1"},
         {"LSTM", "write its products as GEMM"},
         {"POOL", "leave it out: it has no multiplications"},
         {"RESIDUAL_IDENTITY", "leave it out: it has no multiplications"},
         {"BMM", "write it as GEMM with the batch in M"}}};
    for (const auto& [name, hint] : kRefused) {
      if (token().text != name) continue;
      return ErrorAt(token().place, ErrorKind::kUnsupported,
                     fmt::format("layer type '{}' cannot be evaluated", name), std::string(hint));
    }
    const auto found = std::find(kTypeNames.begin(), kTypeNames.end(), token().text);
    if (found == kTypeNames.end()) return UnknownWord("layer type", kTypeNames);
    type_ = static_cast<MaestroType>(found - kTypeNames.begin());
    lexer_.Advance();
    return {};
  }

  // The names that a dimension may have here: those of the type, once it is known.
  std::span<const std::string_view> KnownDimensions() const {
    if (type_) return DimensionsOf(*type_);
    return kMaestroDimensions;
  }

  Result<std::string_view> ReadDimensionName() {
    const auto found =
        std::find(kMaestroDimensions.begin(), kMaestroDimensions.end(), token().text);
    if (token().kind != Token::Kind::kWord || found == kMaestroDimensions.end()) {
      return UnknownWord("dimension", KnownDimensions());
    }
    lexer_.Advance();
    return *found;
  }

  Result<void> ReadDimension(std::vector<MaestroDimension>& list, std::string_view what) {
    MaestroDimension entry{.place = token().place};
    const Result<std::string_view> name = ReadDimensionName();
    if (!name) return name.error();
    entry.name = *name;
    if (FindIn(list, entry.name) != nullptr) {
      return ErrorAt(entry.place, ErrorKind::kSyntax,
                     fmt::format("the {} of '{}' is given twice", what, entry.name));
    }
    const Result<int64_t> size = ReadNumber(fmt::format("the {} of '{}'", what, entry.name));
    if (!size) return size.error();
    entry.size = *size;
    list.push_back(entry);
    return {};
  }

  Result<void> ReadDirective() {
    static constexpr std::array<std::string_view, 3> kKnown = {"TemporalMap", "SpatialMap",
                                                               "Cluster"};
    MaestroDirective directive{.place = token().place};
    const auto found = std::find(kKnown.begin(), kKnown.end(), token().text);
    if (found == kKnown.end()) return UnknownWord("directive", kKnown);
    directive.kind = static_cast<MaestroDirective::Kind>(found - kKnown.begin());
    lexer_.Advance();
    const Result<int64_t> size = ReadSize(fmt::format("the size of a {}", *found));
    if (!size) return size.error();
    directive.size = *size;
    const Result<void> rest = directive.kind == MaestroDirective::Kind::kCluster
                                  ? ReadClusterLetter()
                                  : ReadMapTarget(directive);
    if (!rest) return rest;
    layer_.dataflow->push_back(directive);
    return {};
  }

  Result<void> ReadClusterLetter() {
    if (!AtWord("P") && !AtWord("L")) return Unexpected("P or L as the kind of a Cluster");
    lexer_.Advance();
    return {};
  }

  Result<void> ReadMapTarget(MaestroDirective& directive) {
    const Result<int64_t> offset = ReadSize("the offset of a map");
    if (!offset) return offset.error();
    directive.offset = *offset;
    const Result<std::string_view> dimension = ReadDimensionName();
    if (!dimension) return dimension.error();
    directive.dimension = *dimension;
    return {};
  }

  // A number, a constant, or Sz(DIM) with a dimension that the layer has declared.
  Result<int64_t> ReadSize(const std::string& what) {
    if (!AtWord("Sz")) return ReadNumber(what);
    lexer_.Advance();
    const MaestroDimension* dimension = FindIn(layer_.dimensions, token().text);
    if (token().kind != Token::Kind::kWord) return Unexpected("a dimension after Sz");
    if (dimension == nullptr) {
      std::vector<std::string_view> declared;
      for (const MaestroDimension& entry : layer_.dimensions) declared.push_back(entry.name);
      return ErrorAt(token().place, ErrorKind::kUnknownName,
                     fmt::format("Sz of {}, which the layer's Dimensions before it do not have",
                                 Quoted(token().text)),
                     DidYouMean(token().text, declared));
    }
    lexer_.Advance();
    return dimension->size;
  }

  Result<int64_t> ReadNumber(std::string_view what) {
    if (token().kind != Token::Kind::kWord) return Unexpected(what);
    const Token word = token();
    if (const auto constant = constants_.find(word.text); constant != constants_.end()) {
      lexer_.Advance();
      return constant->second;
    }
    const bool starts_as_number =
        word.text.find_first_of("0123456789") == (word.text.starts_with('+') ? 1 : 0);
    if (!starts_as_number) {
      return ErrorAt(word.place, ErrorKind::kUnknownName,
                     fmt::format("{} is neither a number nor a constant", Quoted(word.text)),
                     DidYouMean(word.text, constant_names_));
    }
    if (word.after_minus) {
      return ErrorAt(
          {word.place.line, word.place.column - 1}, ErrorKind::kBadValue,
          fmt::format("{} is negative: {}", what, Quoted(fmt::format("-{}", word.text))));
    }
    const Result<int64_t> value = ParseInt(word.text);
    if (!value) {
      return ErrorAt(word.place, value.error().kind, value.error().message,
                     word.text.find_first_of("+*/") != std::string_view::npos
                         ? "write the value: expressions are not part of the format"
                         : "");
    }
    if (*value < 1 || *value > kMaxNumber) {
      return ErrorAt(word.place, ErrorKind::kBadValue,
                     fmt::format("{} is {}, but must be in 1..{}", what, *value, kMaxNumber));
    }
    lexer_.Advance();
    return value;
  }

  // What can only be said once the whole layer is read: its items may come in any order.
  Result<void> CheckLayer() const {
    const std::string who =
        layer_.name.empty() ? "a layer" : fmt::format("layer {}", Quoted(layer_.name));
    if (!type_) {
      return ErrorAt(layer_.place, ErrorKind::kSyntax, fmt::format("{} without Type", who));
    }
    if (layer_.dimensions.empty()) {
      return ErrorAt(layer_.place, ErrorKind::kSyntax, fmt::format("{} without Dimensions", who));
    }
    const std::span<const std::string_view> known = DimensionsOf(*type_);
    for (const auto* list : {&layer_.dimensions, &layer_.strides}) {
      for (const MaestroDimension& entry : *list) {
        if (Contains(known, entry.name)) continue;
        return ErrorAt(
            entry.place, ErrorKind::kUnknownName,
            fmt::format("dimension '{}' does not belong to {}", entry.name, ToString(*type_)),
            fmt::format("it has {}", fmt::join(known, ", ")));
      }
    }
    for (const MaestroDimension& stride : layer_.strides) {
      if (layer_.Find(stride.name) != nullptr) continue;
      return ErrorAt(
          stride.place, ErrorKind::kUnknownName,
          fmt::format("stride of '{}', which the layer's Dimensions do not have", stride.name),
          "name it as in Dimensions");
    }
    for (const auto& [input, output] : {std::pair("Y", "Y'"), std::pair("X", "X'")}) {
      const MaestroDimension* both = layer_.Find(output);
      if (both == nullptr || layer_.Find(input) == nullptr) continue;
      return ErrorAt(both->place, ErrorKind::kSyntax,
                     fmt::format("{} has both {} and {}", who, input, output),
                     fmt::format("give the input size {} or the output size {}", input, output));
    }
    return {};
  }

  Lexer lexer_;
  MaestroFile file_;
  std::unordered_map<std::string_view, int64_t> constants_;
  std::vector<std::string_view> constant_names_;  // for hints
  MaestroLayer layer_;                            // the one being read
  std::optional<MaestroType> type_;               // its type, if read already
};

}  // namespace

std::string_view ToString(MaestroType type) { return kTypeNames[static_cast<size_t>(type)]; }

const MaestroDimension* MaestroLayer::Find(std::string_view dimension) const {
  return FindIn(dimensions, dimension);
}

int64_t MaestroLayer::StrideOf(std::string_view dimension) const {
  const MaestroDimension* stride = FindIn(strides, dimension);
  return stride == nullptr ? 1 : stride->size;
}

Result<MaestroFile> ParseMaestroFile(std::string_view text, const std::string& file) {
  return Parser(text, file).Parse();
}

}  // namespace tessera
