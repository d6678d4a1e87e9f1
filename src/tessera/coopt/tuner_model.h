// The cost model of AutoTVM and CHAMELEON: boosted trees per layer, whose label is the speed
// relative to the best measured one, 0 for what does not run.
#ifndef TESSERA_COOPT_TUNER_MODEL_H_
#define TESSERA_COOPT_TUNER_MODEL_H_

#include <cstdint>
#include <span>
#include <vector>

#include "tessera/coopt/boosted_trees.h"
#include "tessera/coopt/group.h"

namespace tessera::coopt {

class TunerModel {
 public:
  // The group outlives the model. `plan` is what training looks at: the recall of the best that
  // many decides when it ends.
  TunerModel(const Group& group, FeatureKind features, int64_t plan);

  void Add(const ConfigurationOutcome& outcome);
  void Fit();
  bool fitted() const { return fitted_; }

  // Predicted relative speed of a layer.
  double PredictLayer(uint32_t hardware, size_t layer_of_group, const SchedulePoint& point) const;

  // Relative speed of the group, from those of its layers: 1 is the best measured.
  double Combine(std::span<const double> layers) const;

 private:
  struct LayerData {
    std::vector<float> rows;
    std::vector<double> values;  // infinite: does not run
    double best = 0;             // 0: none yet
    BoostedTrees trees;
  };

  const Group& group_;
  const FeatureKind kind_;
  const int64_t plan_;
  size_t width_ = 0;
  bool fitted_ = false;
  std::vector<LayerData> layers_;
};

}  // namespace tessera::coopt

#endif  // TESSERA_COOPT_TUNER_MODEL_H_
