// Errors read "file:line:column: message; hint", and a misspelt name gets the nearest one.
#include "tessera/result.h"

#include <array>
#include <memory>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace tessera {
namespace {

constexpr std::array<std::string_view, 7> kDims = {"N", "K", "C", "Y", "X", "R", "S"};

TEST(Error, PrintsPlaceMessageAndHint) {
  const Error error{.kind = ErrorKind::kUnknownName,
                    .message = "unknown dimension 'KK'",
                    .where = {.file = "net.m", .line = 1, .column = 47},
                    .hint = "did you mean 'K'?"};
  EXPECT_EQ(ToString(error), "net.m:1:47: unknown dimension 'KK'; did you mean 'K'?");
}

TEST(Error, LeavesOutWhatIsNotKnown) {
  EXPECT_EQ(ToString(Error{.message = "no such file", .where = {.file = "a.m"}}),
            "a.m: no such file");
  EXPECT_EQ(ToString(Error{.message = "bad", .where = {.file = "a.m", .line = 3}}), "a.m:3: bad");
  EXPECT_EQ(ToString(Error{.message = "bad", .where = {.line = 3, .column = 4}}), "3:4: bad");
  EXPECT_EQ(ToString(Error{.message = "bad"}), "bad");
}

TEST(DidYouMean, NamesTheNearestCandidate) {
  EXPECT_EQ(DidYouMean("KK", kDims), "did you mean 'K'?");
  EXPECT_EQ(DidYouMean("k", kDims), "did you mean 'K'?");
  constexpr std::array<std::string_view, 3> kNetworks = {"resnet18", "resnet50", "vgg16"};
  EXPECT_EQ(DidYouMean("resent18", kNetworks), "did you mean 'resnet18'?");  // transposition
  EXPECT_EQ(DidYouMean("vgg-16", kNetworks), "did you mean 'vgg16'?");
}

TEST(DidYouMean, ListsFewCandidatesWhenNoneIsNear) {
  EXPECT_EQ(DidYouMean("banana", kDims), "known: N, K, C, Y, X, R, S");
  EXPECT_EQ(DidYouMean("Q", kDims), "known: N, K, C, Y, X, R, S");
}

TEST(DidYouMean, SaysNothingWhereItCannotHelp) {
  EXPECT_EQ(DidYouMean("x", std::span<const std::string_view>()), "");
  const std::array<std::string_view, 13> many = {"aa", "bb", "cc", "dd", "ee", "ff", "gg",
                                                 "hh", "ii", "jj", "kk", "ll", "mm"};
  EXPECT_EQ(DidYouMean("zzzzzz", many), "");
  EXPECT_EQ(DidYouMean("zzzzzz", many, many.size()),
            "known: aa, bb, cc, dd, ee, ff, gg, hh, ii, jj, kk, ll, mm");
  EXPECT_EQ(DidYouMean(std::string(100'000, 'x'), many), "");  // garbage costs no time
}

Result<int> Half(int value) {
  if (value % 2 != 0) return Error{.kind = ErrorKind::kBadValue, .message = "odd"};
  return value / 2;
}

TEST(Result, HoldsAValueOrAnError) {
  EXPECT_TRUE(Half(4));
  EXPECT_EQ(*Half(4), 2);
  EXPECT_FALSE(Half(3));
  EXPECT_EQ(Half(3).error().message, "odd");
}

TEST(Result, OfTheErrorsOwnTypeIsNotAmbiguous) {
  EXPECT_TRUE(Result<void>());
  EXPECT_EQ(Result<void>(Error{.message = "no"}).error().message, "no");
}

TEST(Result, IsCopiedMovedAndAssigned) {
  const Result<std::string> text = std::string("text");
  const Result<std::string> failed = Error{.message = "no"};
  Result<std::string> result = text;
  EXPECT_EQ(*result, "text");
  result = failed;
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "no");
  Result<std::string> moved = std::move(result);
  EXPECT_EQ(moved.error().message, "no");
  moved = text;
  EXPECT_EQ(*moved, "text");
  EXPECT_EQ(failed.error().message, "no");

  Result<std::unique_ptr<int>> owner = std::make_unique<int>(3);
  const Result<std::unique_ptr<int>> next = std::move(owner);
  EXPECT_EQ(**next, 3);
  static_assert(!std::is_copy_constructible_v<Result<std::unique_ptr<int>>>);

  Result<void> done;
  const Result<void> not_done = Error{.message = "no"};
  done = not_done;
  EXPECT_EQ(done.error().message, "no");
}

TEST(ResultDeathTest, ReadingTheWrongSideIsAProgrammersError) {
  EXPECT_DEATH(static_cast<void>(*Half(3)), "internal error");
  EXPECT_DEATH(static_cast<void>(Half(4).error()), "internal error");
}

}  // namespace
}  // namespace tessera
