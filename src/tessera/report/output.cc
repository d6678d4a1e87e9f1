// Text as it comes, or one JSON object at the end.
#include "tessera/report/output.h"

#include <cerrno>
#include <cstring>
#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/base/text.h"

namespace tessera {

struct Output::State {
  std::ostream& stream;
  OutputForm form;
  Json object = Json::object();
  std::optional<Error> failure = std::nullopt;
  bool reader_left = false;
};

Output::Output(std::ostream& stream, OutputForm form)
    : state_(std::make_unique<State>(State{.stream = stream, .form = form})) {}
Output::~Output() = default;

bool Output::json() const { return state_->form == OutputForm::kJson; }

Result<void> Output::Write(std::string_view text) {
  if (state_->failure) return *state_->failure;
  errno = 0;
  state_->stream << PrintableLines(text) << std::flush;
  if (state_->stream.good()) return {};
  state_->reader_left = errno == EPIPE;
  state_->failure =
      Error{.kind = ErrorKind::kIo,
            .message = fmt::format("cannot write the output: {}",
                                   errno == 0 ? "the stream failed" : std::strerror(errno))};
  return *state_->failure;
}

Result<void> Output::Show(const Table& table, std::string_view key) {
  if (!json()) return Write(ToText(table));
  Set(key, ToJson(table));
  return {};
}

Result<void> Output::ShowText(std::string_view text) {
  if (json()) return {};
  return Write(text);
}

void Output::Set(std::string_view key, Json value) {
  if (json()) state_->object[std::string(key)] = std::move(value);
}

void Output::SetAll(Json object) {
  for (auto& [key, value] : object.items()) Set(key, std::move(value));
}

bool Output::Has(std::string_view key) const { return state_->object.contains(key); }

bool Output::reader_left() const { return state_->reader_left; }

Result<void> Output::Finish() { return Write(json() ? ToText(state_->object) : std::string()); }

}  // namespace tessera
