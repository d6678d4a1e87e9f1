// Advice in words and as JSON.
#include "tessera/report/advice_report.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "tessera/mapper/advice.h"
#include "tessera/report/table.h"

namespace tessera {
namespace {

std::string AdviceText(const Advice& advice) {
  std::string text = fmt::format(
      "spaces of 10^{:.1f} to 10^{:.1f} mappings; an evaluation takes {:.2g} s (measured)\n",
      advice.log10_least, advice.log10_most, advice.evaluation_seconds);
  text += advice.samples > 0
              ? fmt::format("use --method {} --samples {}\n", advice.method, advice.samples)
              : fmt::format("use --method {}\n", advice.method);
  text += fmt::format("  why: {}\n", advice.why);
  if (!advice.then.empty()) {
    text += fmt::format("for a proof: --method {}\n  why: {}\n", advice.then, advice.then_why);
  }
  for (const Advice::NotWorthIt& method : advice.not_worth_it) {
    text += fmt::format("not worth it: {}: {}\n", method.method, method.why);
  }
  if (advice.options.empty()) return text;
  Table table({"method", "samples", "times_best", "worst", "seconds_per_layer"});
  for (const MethodOption& option : advice.options) {
    table.Add(option.method, option.samples, fmt::format("{:.3g}", option.ratio),
              fmt::format("{:.3g}", option.worst), fmt::format("{:.2g}", option.seconds));
  }
  return text + "\n" + ToText(table);
}

Json AdviceJson(const Advice& advice) {
  Json json;
  json["method"] = advice.method;
  json["samples"] = advice.samples;
  json["why"] = advice.why;
  json["then"] = advice.then;
  json["then_why"] = advice.then_why;
  json["provable"] = advice.provable;
  json["evaluation_seconds"] = advice.evaluation_seconds;
  json["log10_size"] = {advice.log10_least, advice.log10_most};
  json["not_worth_it"] = Json::array();
  for (const Advice::NotWorthIt& method : advice.not_worth_it) {
    json["not_worth_it"].push_back({{"method", method.method}, {"why", method.why}});
  }
  json["options"] = Json::array();
  for (const MethodOption& option : advice.options) {
    json["options"].push_back({{"method", option.method},
                               {"samples", option.samples},
                               {"ratio", option.ratio},
                               {"worst", option.worst},
                               {"seconds", option.seconds}});
  }
  return json;
}

}  // namespace

Result<AdviceView> AdviceFor(const MapJob& job) {
  const Result<Advice> advice = AdviseMethod(job);
  if (!advice) return advice.error();
  return AdviceView{.text = AdviceText(*advice), .json = AdviceJson(*advice)};
}

}  // namespace tessera
