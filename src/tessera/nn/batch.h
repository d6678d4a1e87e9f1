// A batch of rows, laid out feature by feature in blocks of kBlockRows rows (nn/kernels.h), or row
// by row.
#ifndef TESSERA_NN_BATCH_H_
#define TESSERA_NN_BATCH_H_

#include <algorithm>
#include <cstdint>

#include "tessera/base/aligned_buffer.h"
#include "tessera/base/checked.h"
#include "tessera/nn/kernels.h"
#include "tessera/result.h"

namespace tessera {

// Rows behind rows() in the last block hold finite numbers of no meaning: forward passes compute
// them and nobody looks; whoever writes the gradient of a loss writes zeros there (ZeroPadding).
class FeatureBatch {
 public:
  // By rows, a block is [kBlockRows x features] instead: what networks that skip zeros read best.
  enum class Order { kByFeature, kByRow };

  FeatureBatch() = default;
  FeatureBatch(int64_t features, int64_t max_rows, Order order = Order::kByFeature)
      : order_(order),
        features_(features),
        max_features_(features),
        max_rows_(max_rows),
        rows_(max_rows),
        data_(CeilDiv(max_rows, kBlockRows) * block_size() + kSlackFloats) {}

  bool by_row() const { return order_ == Order::kByRow; }
  int64_t features() const { return features_; }
  int64_t max_features() const { return max_features_; }
  int64_t max_rows() const { return max_rows_; }
  int64_t rows() const { return rows_; }
  int64_t blocks() const { return CeilDiv(rows_, kBlockRows); }
  int64_t block_size() const { return (by_row() ? row_size() : features_) * kBlockRows; }
  // Floats from one row to the next in a batch by rows: whole cache lines.
  int64_t row_size() const { return CeilDiv(features_, kLineFloats) * kLineFloats; }
  void set_rows(int64_t rows) {
    TESSERA_CHECK(rows >= 0 && rows <= max_rows_);
    rows_ = rows;
  }
  // Another shape in the same memory; the contents have no meaning afterwards.
  void Reshape(int64_t features, int64_t rows) {
    TESSERA_CHECK(features >= 0 && features <= max_features_);
    features_ = features;
    set_rows(rows);
  }
  // Rows of block b that count.
  int64_t RowsIn(int64_t b) const { return std::min(kBlockRows, rows_ - b * kBlockRows); }

  float* data() { return data_.data(); }
  const float* data() const { return data_.data(); }
  // The rows of one feature in one block; in a batch by rows At(b, 0) is where block b starts.
  float* At(int64_t b, int64_t feature) { return data() + b * block_size() + feature * kBlockRows; }
  const float* At(int64_t b, int64_t feature) const {
    return data() + b * block_size() + feature * kBlockRows;
  }
  // The features of one row in a batch by rows.
  float* Row(int64_t row) { return data() + row * row_size(); }
  const float* Row(int64_t row) const { return data() + row * row_size(); }
  float Get(int64_t row, int64_t feature) const { return data()[Place(row, feature)]; }
  void Set(int64_t row, int64_t feature, float value) { data()[Place(row, feature)] = value; }
  // Zeros in the rows of the last block that do not count.
  void ZeroPadding() {
    if (rows_ % kBlockRows == 0) return;
    for (int64_t row = rows_; row < blocks() * kBlockRows; ++row) {
      for (int64_t f = 0; f < features_; ++f) Set(row, f, 0.0f);
    }
  }
  // Features first .. first+count-1 of block b, to or from `values` [count x kBlockRows].
  void GetFeatures(const Kernels& kernels, int64_t b, int64_t first, int64_t count,
                   float* values) const {
    if (by_row()) {
      kernels.transpose(kBlockRows, count, Row(b * kBlockRows) + first, row_size(), values,
                        kBlockRows);
    } else {
      std::copy_n(At(b, first), count * kBlockRows, values);
    }
  }
  void SetFeatures(const Kernels& kernels, int64_t b, int64_t first, int64_t count,
                   const float* values) {
    if (by_row()) {
      kernels.transpose(count, kBlockRows, values, kBlockRows, Row(b * kBlockRows) + first,
                        row_size());
    } else {
      std::copy_n(values, count * kBlockRows, At(b, first));
    }
  }
  // Takes rows that lie one after another, `row_size` floats apart.
  void FromRows(const Kernels& kernels, const float* rows, int64_t row_size, int64_t count) {
    TESSERA_CHECK(!by_row());
    set_rows(count);
    for (int64_t b = 0; b < blocks(); ++b) {
      kernels.transpose(RowsIn(b), features_, rows + b * kBlockRows * row_size, row_size, At(b, 0),
                        kBlockRows);
    }
  }

 private:
  static constexpr int64_t kLineFloats = 16;

  int64_t Place(int64_t row, int64_t feature) const {
    if (by_row()) return row * row_size() + feature;
    return row / kBlockRows * block_size() + feature * kBlockRows + row % kBlockRows;
  }

  Order order_ = Order::kByFeature;
  int64_t features_ = 0, max_features_ = 0, max_rows_ = 0, rows_ = 0;
  AlignedBuffer<float> data_;
};

}  // namespace tessera

#endif  // TESSERA_NN_BATCH_H_
