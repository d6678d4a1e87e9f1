// Live tables with ANSI escapes, or plain lines.
#include "tessera/report/progress.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "tessera/base/text.h"

namespace tessera {
namespace {

constexpr std::string_view kClearLine = "\x1b[2K";
constexpr std::string_view kClearBelow = "\x1b[J";

// `text` in at most `columns` columns; never cuts a UTF-8 character in two.
std::string Cut(const std::string& text, int64_t columns) {
  int64_t shown = 0;
  for (size_t at = 0; at < text.size(); ++at) {
    const bool starts_character = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (starts_character && shown++ == columns) return text.substr(0, at);
  }
  return text;
}

std::string SamplesText(const ProgressRow& row) {
  return row.budget > 0
             ? fmt::format("{}/{}", WithThousands(row.samples), WithThousands(row.budget))
             : WithThousands(row.samples);
}

std::string BestText(const ProgressRow& row) {
  return row.best ? fmt::format("{:.6g}", *row.best) : "-";
}

std::string BoundText(const ProgressRow& row) {
  return row.bound ? fmt::format("{:.6g}", *row.bound) : "-";
}

std::string GapText(const ProgressRow& row) {
  return row.gap ? fmt::format("{:.1f}%", 100 * *row.gap) : "-";
}

constexpr size_t kTrendColumns = 10;
constexpr size_t kMostTrend = 64;       // values that are remembered
constexpr double kTrendSeconds = 0.25;  // between two of them

// Every other value: the curve keeps its shape.
void Halve(std::vector<double>& values) {
  size_t kept = 0;
  for (size_t i = 1; i < values.size(); i += 2) values[kept++] = values[i];
  values.resize(kept);
}

// Columns that a text takes.
size_t WidthOf(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

std::string Padded(const std::string& text, size_t width) {
  const size_t own = WidthOf(text);
  return std::string(width > own ? width - own : 0, ' ') + text;
}

}  // namespace

std::string Sparkline(const std::vector<double>& values, size_t columns) {
  constexpr std::array<std::string_view, 8> kBlocks = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  if (values.size() < 2 || columns == 0) return "";
  const auto [low, high] = std::ranges::minmax(values);
  const bool logarithmic = low > 0;
  const auto place = [&](double value) { return logarithmic ? std::log(value) : value; };
  const double span = place(high) - place(low);
  const size_t shown = std::min(columns, values.size());
  std::string text;
  for (size_t i = 0; i < shown; ++i) {
    const double value = values[(i + 1) * values.size() / shown - 1];
    const double part = span > 0 ? (place(value) - place(low)) / span : 0;
    text += kBlocks[static_cast<size_t>(std::lround(part * (kBlocks.size() - 1)))];
  }
  return text;
}

std::string RateText(int64_t samples, double seconds) {
  if (samples == 0 || seconds <= 0) return "-";
  const double rate = static_cast<double>(samples) / seconds;
  if (rate >= 100) return WithThousands(std::llround(rate));
  return fmt::format("{:.3g}", rate);
}

std::string DurationText(double seconds) {
  constexpr double kLongest = 359'999;  // 99:59:59, beyond which nobody reads seconds
  const auto whole = static_cast<int64_t>(std::ceil(std::clamp(seconds, 0.0, kLongest)));
  const int64_t hours = whole / 3600, minutes = whole / 60 % 60;
  if (hours > 0) return fmt::format("{}:{:02}:{:02}", hours, minutes, whole % 60);
  return fmt::format("{}:{:02}", minutes, whole % 60);
}

ProgressReporter::ProgressReporter(std::ostream& stream, ProgressOptions options, Clock clock,
                                   TerminalNow terminal)
    : stream_(stream),
      options_(std::move(options)),
      clock_(std::move(clock)),
      terminal_(std::move(terminal)),
      begin_(clock_()) {}

ProgressReporter::~ProgressReporter() { Finish(); }

ProgressReporter::Entry& ProgressReporter::EntryOf(const ProgressRow& row, double now) {
  // A comparison may have a hundred thousand rows.
  const auto [place, is_new] = places_.try_emplace(row.name, entries_.size());
  if (is_new) entries_.push_back({.row = row, .started = now, .ended = now});
  Entry& entry = entries_[place->second];
  entry.row = row;
  return entry;
}

void ProgressReporter::OnProgress(ProgressEvent event, const ProgressRow& row) {
  const double now = clock_();
  Entry& entry = EntryOf(row, now);
  entry.done = entry.done || event == ProgressEvent::kDone;
  entry.ended = now;
  if (row.best && (entry.trend.empty() || now - entry.trend_noted >= kTrendSeconds)) {
    if (entry.trend.size() == kMostTrend) Halve(entry.trend);
    entry.trend.push_back(*row.best);
    entry.trend_noted = now;
  }
  stale_ = true;
  if (now - begin_ < options_.quiet_seconds) return;
  if (!terminal_().live) {
    PrintLine(event, entry, now);
  } else if (!last_drawn_ || now - *last_drawn_ >= options_.redraw_seconds) {
    Draw(now);
  }
}

void ProgressReporter::Finish() {
  const double now = clock_();
  const bool worth_showing = now - begin_ >= options_.quiet_seconds || lines_on_screen_ > 0;
  if (stale_ && worth_showing && terminal_().live) Draw(now);
  entries_.clear();
  places_.clear();
  lines_on_screen_ = 0;
  stale_ = false;
}

void ProgressReporter::MakeRoom() {
  if (lines_on_screen_ == 0) return;
  stream_ << fmt::format("\x1b[{}A\r{}", lines_on_screen_, kClearBelow) << std::flush;
  lines_on_screen_ = 0;
  last_drawn_.reset();
  stale_ = true;
}

void ProgressReporter::PrintLine(ProgressEvent event, Entry& entry, double now) {
  if (event == ProgressEvent::kAdvanced) return;
  const ProgressRow& row = entry.row;
  constexpr std::array<std::string_view, 5> kEvents = {"started", "", "improved", "so far", "done"};
  std::string_view word = kEvents[static_cast<size_t>(event)];
  // A better bound is news of its own, and what looks the same is none.
  const bool same_best = BestText(row) == entry.best_printed;
  const bool same_bound = BoundText(row) == entry.bound_printed;
  if (event == ProgressEvent::kImproved && same_best) {
    if (same_bound) return;
    word = "bound raised";
  }
  entry.best_printed = BestText(row);
  entry.bound_printed = BoundText(row);
  std::string line = fmt::format("{}: {}", Printable(row.name), word);
  if (row.best) line += fmt::format(", {} {}", options_.best_heading, BestText(row));
  if (row.bound) line += fmt::format(", bound {}", BoundText(row));
  if (row.gap) line += fmt::format(", gap {}", GapText(row));
  if (row.samples > 0) {
    line += fmt::format(", {} {}, {}/s", SamplesText(row), options_.samples_heading,
                        RateText(row.samples, now - entry.started));
  }
  stream_ << line << '\n' << std::flush;
}

std::vector<std::string> ProgressReporter::TableLines(const Terminal& terminal, double now) const {
  using Line = std::array<std::string, 8>;
  std::vector<Line> lines = {{options_.name_heading, options_.best_heading, "bound", "gap", "trend",
                              options_.samples_heading, options_.samples_heading + "/s", "ETA"}};
  // The heading, a line about rows that do not fit and the cursor's own take three. What is done is
  // left out first, then what came first.
  const size_t room = static_cast<size_t>(std::max<int64_t>(1, terminal.lines - 3));
  const size_t hidden = entries_.size() > room ? entries_.size() - room : 0;
  const auto done = static_cast<size_t>(std::count_if(
      entries_.begin(), entries_.end(), [](const Entry& entry) { return entry.done; }));
  size_t hide_done = std::min(hidden, done), hide_others = hidden - hide_done;
  for (const Entry& entry : entries_) {
    size_t& hide = entry.done ? hide_done : hide_others;
    if (hide > 0) {
      --hide;
      continue;
    }
    const ProgressRow& row = entry.row;
    const double seconds = (entry.done ? entry.ended : now) - entry.started;
    std::string eta = "-";
    if (entry.done) {
      eta = "done";
    } else if (row.budget > 0 && row.samples > 0) {
      eta = DurationText(seconds * static_cast<double>(row.budget - row.samples) /
                         static_cast<double>(row.samples));
    }
    const std::string trend = Sparkline(entry.trend, kTrendColumns);
    lines.push_back({Printable(row.name), BestText(row), BoundText(row), GapText(row),
                     trend.empty() ? "-" : trend, SamplesText(row), RateText(row.samples, seconds),
                     eta});
  }
  std::array<size_t, 8> widths{};
  std::array<bool, 8> used{};  // what has no best value or bound needs no column for it
  for (size_t i = 0; i < widths.size(); ++i) {
    for (const Line& line : lines) {
      widths[i] = std::max(widths[i], WidthOf(line[i]));
      used[i] = used[i] || (&line != &lines.front() && line[i] != "-");
    }
    used[i] = used[i] || i == 0 || i > 4;
  }
  std::vector<std::string> texts;
  for (const Line& line : lines) {
    std::string text = line[0] + std::string(widths[0] - WidthOf(line[0]), ' ');
    for (size_t i = 1; i < line.size(); ++i) {
      if (used[i]) text += "  " + Padded(line[i], widths[i]);
    }
    // One column stays free: a terminal that wraps would count a full line twice.
    texts.push_back(Cut(text, terminal.columns - 1));
  }
  if (hidden > 0) {
    texts.push_back(Cut(fmt::format("... and {} more", hidden), terminal.columns - 1));
  }
  return texts;
}

void ProgressReporter::Draw(double now) {
  const std::vector<std::string> lines = TableLines(terminal_(), now);
  std::string text;
  if (lines_on_screen_ > 0) text += fmt::format("\x1b[{}A", lines_on_screen_);
  for (const std::string& line : lines) text += fmt::format("\r{}{}\n", kClearLine, line);
  // A window that shrank may show fewer lines than before.
  for (size_t i = lines.size(); i < lines_on_screen_; ++i)
    text += fmt::format("\r{}\n", kClearLine);
  stream_ << text << std::flush;
  lines_on_screen_ = std::max(lines.size(), lines_on_screen_);
  last_drawn_ = now;
  stale_ = false;
}

}  // namespace tessera
