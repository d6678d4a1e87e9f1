// Files of arrays: round trips, damaged files, arrays of another shape, writes that fail.
#include "tessera/part.h"

#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <vector>

#include <gtest/gtest.h>

#include "tessera/base/file.h"
#include "tessera/base/temporary_folder.h"

namespace tessera {
namespace {

class TensorFileTest : public testing::Test {
 protected:
  const TemporaryFolder folder_;
  const std::string path_ = folder_.File("test.safetensors");
  const std::vector<float> floats_ = {1.5f, -2.0f, 3.25f, 0.0f, 7.0f, 9.0f};

  void WriteExample() {
    TensorWriter writer;
    writer.Add("net.w1", std::span(floats_), {2, 3});
    writer.AddInt("steps", 42);
    writer.AddDouble("rate", 0.1);
    const Result<void> written = writer.Write(path_);
    ASSERT_TRUE(written.ok()) << written.error();
  }
};

TEST_F(TensorFileTest, ReadsBackWhatWasWritten) {
  WriteExample();
  const Result<TensorReader> reader = TensorReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error();
  std::vector<float> values(6);
  EXPECT_TRUE(reader->Read("net.w1", std::span(values)).ok());
  EXPECT_EQ(values, floats_);
  EXPECT_EQ(*reader->ReadInt("steps"), 42);
  EXPECT_EQ(*reader->ReadDouble("rate"), 0.1);
  EXPECT_EQ(reader->Names(), (std::vector<std::string>{"net.w1", "rate", "steps"}));
}

TEST_F(TensorFileTest, TheHeaderIsJsonWithShapesAndPlaces) {
  WriteExample();
  const Result<std::string> bytes = ReadFile(path_);
  ASSERT_TRUE(bytes.ok());
  EXPECT_NE(bytes->find(R"("net.w1":{"dtype":"F32","shape":[2,3],"data_offsets":[0,24]})"),
            std::string::npos);
}

TEST_F(TensorFileTest, AnArrayOfAnotherShapeIsNamed) {
  WriteExample();
  const Result<TensorReader> reader = TensorReader::Open(path_);
  ASSERT_TRUE(reader.ok());
  std::vector<float> values(5);
  const Result<void> read = reader->Read("net.w1", std::span(values));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message,
            "array 'net.w1' has 6 values of type F32, but 5 of type F32 are needed");
  const Result<void> missing = reader->Read("net.w9", std::span(values));
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "has no array 'net.w9'");
}

TEST_F(TensorFileTest, NumbersAreReadWithTheirLimits) {
  TensorWriter writer;
  writer.AddInt("steps", 129);
  const std::vector<double> values = {0, 1, std::nan("")};
  writer.Add("values", std::span(values));
  ASSERT_TRUE(writer.Write(path_));
  const Result<TensorReader> reader = TensorReader::Open(path_);
  ASSERT_TRUE(reader) << reader.error();
  EXPECT_EQ(*reader->ReadIntWithin("steps", 0, 129), 129);
  EXPECT_FALSE(reader->ReadIntWithin("steps", 0, 128));
  EXPECT_EQ(*reader->ReadCounter("steps"), 129);
  std::vector<double> read(3);
  EXPECT_FALSE(reader->ReadWithin("values", std::span(read), 0.0, 1.0));
}

TEST_F(TensorFileTest, DamagedFilesAreErrors) {
  WriteExample();
  const std::string good = *ReadFile(path_);
  for (const std::string& bad : {std::string(), std::string("abc"), std::string(20, '\xff'),
                                 good.substr(0, 30), good.substr(0, good.size() - 1)}) {
    std::ofstream(path_, std::ios::binary) << bad;
    EXPECT_FALSE(TensorReader::Open(path_).ok()) << bad.size() << " bytes";
  }
  EXPECT_FALSE(TensorReader::Open(path_ + ".missing").ok());
}

TEST_F(TensorFileTest, AFlippedBitIsFoundWhereverItIs) {
  WriteExample();
  const std::string good = *ReadFile(path_);
  const auto reads = [&] {
    const Result<TensorReader> reader = TensorReader::Open(path_);
    std::vector<float> values(6);
    return reader.ok() && reader->Read("net.w1", std::span(values)).ok() &&
           reader->ReadInt("steps").ok() && reader->ReadDouble("rate").ok();
  };
  ASSERT_TRUE(reads());
  const size_t data = good.size() - 6 * sizeof(float) - sizeof(int64_t) - sizeof(double);
  for (size_t i = data; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 4);
    std::ofstream(path_, std::ios::binary) << bad;
    EXPECT_FALSE(reads()) << "byte " << i;
  }
  std::string bad = good;
  bad[data] ^= 1;
  std::ofstream(path_, std::ios::binary) << bad;
  std::vector<float> values(6);
  const Result<void> read = TensorReader::Open(path_)->Read("net.w1", std::span(values));
  ASSERT_FALSE(read.ok());
  EXPECT_EQ(read.error().message,
            "not a checkpoint, or damaged: array 'net.w1' has another checksum than when it was "
            "written");
}

TEST_F(TensorFileTest, FilesOfOtherProgramsHaveNoChecksums) {
  const std::string header = R"({"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  const uint64_t length = header.size();
  const float value = 2.5f;
  std::ofstream(path_, std::ios::binary)
      .write(reinterpret_cast<const char*>(&length), sizeof length)
      .write(header.data(), std::ssize(header))
      .write(reinterpret_cast<const char*>(&value), sizeof value);
  const Result<TensorReader> reader = TensorReader::Open(path_);
  ASSERT_TRUE(reader.ok()) << reader.error();
  float read = 0;
  EXPECT_TRUE(reader->Read("x", std::span(&read, 1)).ok());
  EXPECT_EQ(read, value);
}

// Files of this process may not grow past `bytes`: writing then fails as on a full disk.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    std::signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit limit{bytes, old_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &limit);
  }
  ~FileSizeLimit() { setrlimit(RLIMIT_FSIZE, &old_); }

 private:
  rlimit old_{};
};

TEST_F(TensorFileTest, AFullDiskLeavesTheOldFileAndNoTemporary) {
  WriteExample();
  const std::vector<float> large(100'000);
  TensorWriter writer;
  writer.Add("large", std::span(large));
  {
    const FileSizeLimit limit(4096);
    const Result<void> written = writer.Write(path_);
    ASSERT_FALSE(written.ok());
    EXPECT_EQ(written.error().kind, ErrorKind::kIo);
    EXPECT_EQ(written.error().message, "cannot write: File too large");
  }
  const Result<TensorReader> reader = TensorReader::Open(path_);
  ASSERT_TRUE(reader.ok());
  EXPECT_EQ(*reader->ReadInt("steps"), 42);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()), {}), 1);
}

}  // namespace
}  // namespace tessera
