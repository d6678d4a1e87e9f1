// RowAnswers: what all rows of a batch share, and each kind of question.
#include <utility>

#include "tessera/vta.h"
#include "tessera/vta/batch/rows.h"
#include "tessera/vta/config.h"

namespace tessera::vta {

struct RowAnswers::State {
  ConfigTable configs;
  TimingParameters timing;
  BestTable best;
};

RowAnswers::RowAnswers(std::unique_ptr<State> state) : state_(std::move(state)) {}
RowAnswers::RowAnswers(RowAnswers&&) noexcept = default;
RowAnswers& RowAnswers::operator=(RowAnswers&&) noexcept = default;
RowAnswers::~RowAnswers() = default;

Result<RowAnswers> RowAnswers::Make(const std::string& configs, const TimingParameters& timing) {
  if (Result<void> valid = Validate(timing); !valid) return valid.error();
  ConfigTable table = PresetTable();
  if (!configs.empty()) {
    const Result<std::vector<Config>> more = LoadConfigTable(configs);
    if (!more) return more.error();
    for (const Config& config : *more) table[config.name] = config;
  }
  return RowAnswers(std::unique_ptr<State>(new State{std::move(table), timing, BestTable(timing)}));
}

Result<std::string> RowAnswers::ToProgram(std::string_view row, const Where& where) const {
  return AnswerProgram(row, state_->configs, state_->timing, where);
}

Result<std::string> RowAnswers::ToConv(std::string_view row, RowGenerator generator,
                                       const Where& where) const {
  return AnswerConv(row, generator, state_->best, state_->configs, state_->timing, where);
}

Result<std::string> RowAnswers::ToEncode(std::string_view row, const Where& where) const {
  return AnswerEncode(row, state_->configs, where);
}

Result<std::string> RowAnswers::ToDecode(std::string_view row, const Where& where) const {
  return AnswerDecode(row, state_->configs, where);
}

}  // namespace tessera::vta
