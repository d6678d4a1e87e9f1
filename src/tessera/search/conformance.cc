// The contracts of searchers, line by line.
#include "tessera/search/conformance.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <string_view>
#include <utility>

#include <fmt/format.h>

namespace tessera {
namespace {

constexpr int kRounds = 30;
constexpr int64_t kBatch = 16;

using Proposals = std::vector<std::vector<std::string>>;

Error Violation(const ContractSubject& subject, std::string_view line, std::string_view detail) {
  return Error{
      .kind = ErrorKind::kInternal,
      .message = fmt::format("method {} breaks '{}': {}", subject.method.name, line, detail)};
}

int64_t ThreadsNow() {
  std::error_code error;
  int64_t threads = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task", error)) {
    threads += entry.exists(error);
  }
  return threads;
}

// While it lives, no file can be opened, and what is printed is counted instead.
class SealedProcess {
 public:
  SealedProcess() : printed_(::memfd_create("printed", 0)), out_(::dup(1)), err_(::dup(2)) {
    std::fflush(nullptr);
    ::dup2(printed_, 1);
    ::dup2(printed_, 2);
    ::getrlimit(RLIMIT_NOFILE, &limit_);
    const rlimit none = {.rlim_cur = 0, .rlim_max = limit_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~SealedProcess() {
    ::setrlimit(RLIMIT_NOFILE, &limit_);
    ::dup2(out_, 1);
    ::dup2(err_, 2);
    for (const int file : {printed_, out_, err_}) ::close(file);
  }
  SealedProcess(const SealedProcess&) = delete;
  SealedProcess& operator=(const SealedProcess&) = delete;

  int64_t printed_bytes() const {
    std::fflush(nullptr);
    return ::lseek(printed_, 0, SEEK_END);
  }

 private:
  const int printed_, out_, err_;
  rlimit limit_ = {};
};

// What a contestant proposes in `rounds` rounds of `batch`.
Result<Proposals> Play(const ContractSubject& subject, uint64_t seed, News news, int rounds,
                       int64_t batch, std::unique_ptr<Contestant>* played = nullptr) {
  Result<std::unique_ptr<Contestant>> made = subject.make(seed, {});
  if (!made) return Violation(subject, "defaults", made.error().message);
  Proposals history;
  for (int round = 0; round < rounds; ++round) {
    Result<std::vector<std::string>> proposed = (*made)->Propose(batch);
    if (!proposed) return Violation(subject, "Propose", proposed.error().message);
    history.push_back(*std::move(proposed));
    if (history.back().empty()) break;
    (*made)->Observe(news);
  }
  if (played != nullptr) *played = *std::move(made);
  return history;
}

// Equal seeds give equal proposals, whatever the clock says; resume by replay relies on exactly
// this. A contestant overwrites what it showed, so one that kept a span would differ, too.
Result<void> CheckDeterminism(const ContractSubject& subject, uint64_t seed) {
  std::unique_ptr<Contestant> first, second;
  const Result<Proposals> once = Play(subject, seed, News::kTruth, kRounds, kBatch, &first);
  if (!once) return once.error();
  const Result<Proposals> again = Play(subject, seed, News::kTruth, kRounds, kBatch, &second);
  if (!again) return again.error();
  if (*once != *again) return Violation(subject, "Determinism", "runs differ");
  if (first->Notes() != second->Notes()) {
    return Violation(subject, "Determinism", "notes differ");
  }
  return {};
}

// It starts no threads.
Result<void> CheckThreads(const ContractSubject& subject, uint64_t seed) {
  const int64_t before = ThreadsNow();
  std::unique_ptr<Contestant> played;
  const Result<Proposals> run = Play(subject, seed, News::kTruth, kRounds, kBatch, &played);
  if (!run) return run.error();
  if (ThreadsNow() > before) return Violation(subject, "Threads", "it started one");
  return {};
}

// It evaluates nothing, prints nothing and opens no file: without files it does what it does with
// them.
Result<void> CheckPurity(const ContractSubject& subject, uint64_t seed) {
  const Result<Proposals> open = Play(subject, seed, News::kEqual, kRounds, kBatch);
  if (!open) return open.error();
  Result<std::unique_ptr<Contestant>> made = subject.make(seed, {});
  if (!made) return Violation(subject, "defaults", made.error().message);
  const int64_t before = subject.evaluations();
  int64_t printed = 0;
  bool same = true;
  {
    const SealedProcess sealed;
    for (const std::vector<std::string>& points : *open) {
      const Result<std::vector<std::string>> proposed = (*made)->Propose(kBatch);
      same = same && proposed && *proposed == points;
      if (!same || points.empty()) break;
      (*made)->Observe(News::kEqual);
    }
    printed = sealed.printed_bytes();
  }
  if (!same) return Violation(subject, "Purity", "it needs a file");
  if (printed > 0) return Violation(subject, "Purity", "it prints");
  if (subject.evaluations() > before) return Violation(subject, "Purity", "it evaluates");
  return {};
}

// 1 to n legal points, whatever n is.
Result<void> CheckProposals(const ContractSubject& subject, uint64_t seed) {
  for (const int64_t batch : {int64_t{1}, int64_t{7}, int64_t{1000}}) {
    const Result<Proposals> run = Play(subject, seed, News::kTruth, 5, batch);
    if (!run) return run.error();
  }
  return {};
}

// Outcomes of which none is feasible, or all equal, or some broken, are no reason to stop.
Result<void> CheckBadNews(const ContractSubject& subject, uint64_t seed) {
  for (const News news :
       {News::kInfeasible, News::kFailed, News::kEqual, News::kFree, News::kHuge, News::kMixed}) {
    const Result<Proposals> run = Play(subject, seed, news, kRounds, kBatch);
    if (!run) return run.error();
  }
  return {};
}

// Every declared default can be set, and nothing beyond; files are named by parameters that exist.
Result<void> CheckParameters(const ContractSubject& subject, uint64_t seed) {
  for (const ParameterInfo& parameter : subject.method.parameters) {
    if (parameter.text.empty()) return Violation(subject, "parameters", parameter.name);
    const std::string fallback = ToString(parameter.fallback);
    if (const auto made = subject.make(seed, {{parameter.name, fallback}}); !made) {
      return Violation(subject, "parameters", made.error().message);
    }
  }
  for (const std::string_view file : subject.method.file_parameters) {
    if (!FindParameter("", subject.method.parameters, file)) {
      return Violation(subject, "parameters", file);
    }
  }
  if (subject.make(seed, {{"no_such_parameter", "1"}})) {
    return Violation(subject, "parameters", "it takes one that does not exist");
  }
  return {};
}

// A method of one space.
class SpaceContestant final : public Contestant {
 public:
  SpaceContestant(const Problem& problem, std::unique_ptr<Searcher> searcher)
      : problem_(problem), searcher_(std::move(searcher)) {}

  Result<std::vector<std::string>> Propose(int64_t n) override {
    points_ = searcher_->Propose(n);
    std::vector<std::string> words;
    if (std::ssize(points_) > n) {
      return Error{.kind = ErrorKind::kInternal, .message = "more than n points"};
    }
    for (const Point& point : points_) {
      if (const Result<void> legal = problem_.space().Check(point); !legal) return legal.error();
      words.push_back(problem_.space().Describe(point));
    }
    return words;
  }

  void Observe(News news) override {
    trials_.clear();
    for (const Point& point : points_) {
      const auto mixed = static_cast<News>(1 + trials_.size() % 5);
      trials_.push_back({point, OutcomeOf(point, news == News::kMixed ? mixed : news)});
    }
    searcher_->Observe(trials_);
    for (Trial& trial : trials_) trial = {.point = Point(), .outcome = {.value = -1e9}};
  }

  std::vector<Note> Notes() const override { return searcher_->Notes(); }

 private:
  Outcome OutcomeOf(const Point& point, News news) const {
    switch (news) {
      case News::kInfeasible: return Outcome::Infeasible("everything <= nothing");
      case News::kFailed: return Outcome::Failed("the evaluation threw: out of memory");
      case News::kEqual: return {.kind = OutcomeKind::kFeasible, .value = 1.0};
      case News::kFree: return {.kind = OutcomeKind::kFeasible, .value = 0.0};
      case News::kHuge: return {.kind = OutcomeKind::kFeasible, .value = 1e300};
      default: return problem_.Evaluate(point);
    }
  }

  const Problem& problem_;
  const std::unique_ptr<Searcher> searcher_;
  std::vector<Point> points_;
  std::vector<Trial> trials_;
};

}  // namespace

Result<void> CheckContract(const ContractSubject& subject, uint64_t seed) {
  for (const auto check : {CheckDeterminism, CheckThreads, CheckPurity, CheckProposals,
                           CheckBadNews, CheckParameters}) {
    if (Result<void> checked = check(subject, seed); !checked) return checked;
  }
  return {};
}

ContractSubject SubjectOf(const MethodInfo& method, const Problem& problem) {
  const auto make = [&](uint64_t seed,
                        const Assignments& settings) -> Result<std::unique_ptr<Contestant>> {
    Result<std::unique_ptr<Searcher>> made = method.make(
        {.space = problem.space(), .seed = seed, .samples = kRounds * kBatch}, settings);
    if (!made) return made.error();
    return std::unique_ptr<Contestant>(
        std::make_unique<SpaceContestant>(problem, *std::move(made)));
  };
  return {.method = method, .make = make};
}

Result<void> CheckMethod(const MethodInfo& method, const Problem& problem, uint64_t seed) {
  return CheckContract(SubjectOf(method, problem), seed);
}

}  // namespace tessera
