// Decision spaces, mappings and costs as Python sees them.
#ifndef TESSERA_PYTHON_SPACES_H_
#define TESSERA_PYTHON_SPACES_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <nanobind/ndarray.h>

#include "support.h"
#include "tessera/map.h"
#include "tessera/space.h"

namespace tessera::python {

// A space that somebody else owns: a searcher's. Once the owner is gone, every use is an exception.
// Used with the GIL held only, so that the owner cannot go while it is.
class SpaceView {
 public:
  explicit SpaceView(const DecisionSpace* space) : space_(space) {}
  const DecisionSpace& space() const;
  void Forget() { space_ = nullptr; }

 private:
  const DecisionSpace* space_;
};

// What mappings of a layer on a machine are about.
struct MappingPlace {
  Layer layer;
  Accelerator accelerator;
};

struct PlacedMapping {
  Mapping mapping;
  std::shared_ptr<const MappingPlace> place;
};

// Many mappings of one layer on one machine.
struct MappingBatch {
  std::vector<Mapping> mappings = {};
  std::shared_ptr<const MappingPlace> place = {};
};

// One number per point, as an array that Python owns.
template <typename T>
nb::object ArrayOf(std::vector<T> values) {
  auto* const kept = new std::vector<T>(std::move(values));
  nb::capsule owner(kept, [](void* at) noexcept { delete static_cast<std::vector<T>*>(at); });
  return nb::ndarray<nb::numpy, T>(kept->data(), {kept->size()}, owner).cast();
}

// Indices from Python as a point of the space, legal or not; others are exceptions.
Point PointOf(const DecisionSpace& space, const std::vector<int64_t>& indices);
std::vector<int32_t> IndicesOf(const Point& point);

// A cost from what a model written in Python returns: a Cost, or a dict with some of its fields.
Cost CostOf(const nb::handle& value);

}  // namespace tessera::python

#endif  // TESSERA_PYTHON_SPACES_H_
