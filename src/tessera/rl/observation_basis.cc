// Features of the state become known one by one: a number that depends on one unknown feature alone
// joins the basis and tells it.
#include "tessera/rl/observation_basis.h"

#include <algorithm>
#include <map>
#include <optional>

namespace tessera {
namespace {

using Sum = std::map<int64_t, double>;  // factors by feature, or by index of the basis

void AddScaled(Sum& sum, double factor, const Sum& more) {
  for (const auto& [index, value] : more) sum[index] += factor * value;
}

std::vector<ObservationBasis::Term> TermsOf(const Sum& sum) {
  std::vector<ObservationBasis::Term> terms;
  for (const auto& [index, factor] : sum) {
    if (factor != 0) terms.push_back({index, factor});
  }
  return terms;
}

// Observed numbers as sums of features; none if the spec does not say.
std::vector<Sum> NumbersOf(const EnvSpec& spec) {
  std::vector<Sum> numbers(static_cast<size_t>(spec.observation_size()));
  for (size_t a = 0; a < spec.observation_maps.size(); ++a) {
    const ObservationMap& map = spec.observation_maps[a];
    if (!map.offsets.empty()) return {};
    const int64_t first = spec.observation_offset(static_cast<int64_t>(a));
    for (const ObservationMap::Term& term : map.terms) {
      numbers[static_cast<size_t>(first + term.input)][term.feature] += term.factor;
    }
  }
  if (spec.observation_maps.empty()) return {};
  return numbers;
}

class Search {
 public:
  Search(const EnvSpec& spec, std::vector<Sum> numbers)
      : numbers_(std::move(numbers)),
        features_(static_cast<size_t>(spec.state_size)),
        done_(numbers_.size()) {
    basis_.inputs.resize(numbers_.size());
  }

  ObservationBasis Go() {
    // Those that are a feature themselves first: what follows from them is short.
    for (size_t n = 0; n < numbers_.size(); ++n) {
      if (numbers_[n].size() == 1) Look(n);
    }
    for (bool more = true; more;) {
      more = false;
      for (size_t n = 0; n < numbers_.size(); ++n) more |= Look(n);
    }
    for (size_t n = 0; n < numbers_.size(); ++n) {
      if (!done_[n]) basis_.inputs[n] = {{Join(n), 1}};
    }
    return std::move(basis_);
  }

 private:
  int64_t Join(size_t n) {
    basis_.numbers.push_back(static_cast<int64_t>(n));
    return std::ssize(basis_.numbers) - 1;
  }

  // Whether number n is settled now and was not before.
  bool Look(size_t n) {
    if (done_[n]) return false;
    Sum known;
    std::optional<std::pair<int64_t, double>> unknown;
    for (const auto& [feature, factor] : numbers_[n]) {
      const std::optional<Sum>& value = features_[static_cast<size_t>(feature)];
      if (factor == 0) continue;
      if (value) {
        AddScaled(known, factor, *value);
      } else if (unknown) {
        return false;
      } else {
        unknown = {feature, factor};
      }
    }
    done_[n] = true;
    if (!unknown) {
      basis_.inputs[n] = TermsOf(known);
      return true;
    }
    const int64_t index = Join(n);
    basis_.inputs[n] = {{index, 1}};
    Sum feature;
    feature[index] = 1 / unknown->second;
    AddScaled(feature, -1 / unknown->second, known);
    features_[static_cast<size_t>(unknown->first)] = std::move(feature);
    return true;
  }

  const std::vector<Sum> numbers_;
  std::vector<std::optional<Sum>> features_;  // as sums of the basis, where they are known
  std::vector<bool> done_;
  ObservationBasis basis_;
};

}  // namespace

ObservationBasis FindBasis(const EnvSpec& spec) {
  std::vector<Sum> numbers = NumbersOf(spec);
  if (!numbers.empty()) return Search(spec, std::move(numbers)).Go();
  ObservationBasis basis;
  for (int64_t n = 0; n < spec.observation_size(); ++n) {
    basis.numbers.push_back(n);
    basis.inputs.push_back({{n, 1}});
  }
  return basis;
}

}  // namespace tessera
