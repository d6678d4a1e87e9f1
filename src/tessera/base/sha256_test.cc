// The vectors that NIST publishes for SHA-256, and parts that do not fit its blocks.
#include "tessera/base/sha256.h"

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

TEST(Sha256, GivesWhatNistPublishes) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(
      Sha256Hex("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmnhijklmnoijklmnopjklmnopq"
                "klmnopqrlmnopqrsmnopqrstnopqrstu"),
      "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, PartsMakeNoDifference) {
  const std::string text(1'000, 'x');
  for (size_t part = 1; part < 200; part += 7) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += part) {
      hash.Add(std::string_view(text).substr(at, part));
    }
    EXPECT_EQ(hash.Hex(), Sha256Hex(text)) << part;
  }
}

TEST(Sha256, OfAFileIsThatOfItsBytes) {
  const TemporaryFolder folder;
  const std::string bytes(200'000, '\x1f');
  ASSERT_TRUE(WriteFileAtomically(folder.File("a"), bytes));
  EXPECT_EQ(*Sha256OfFile(folder.File("a")), Sha256Hex(bytes));
  std::filesystem::create_symlink(folder.File("a"), folder.File("link"));
  EXPECT_FALSE(Sha256OfFile(folder.File("link")));
  EXPECT_FALSE(Sha256OfFile(folder.File("nothing")));
}

}  // namespace
}  // namespace tessera
