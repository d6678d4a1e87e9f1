// Views of a particle world: text for terminals, and an SVG that plays an episode.
#ifndef TESSERA_ENV_MPE_RENDER_H_
#define TESSERA_ENV_MPE_RENDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tessera/env/mpe/world.h"

namespace tessera {

// Positions of one moment; landmarks do not move within an episode.
struct MpeFrame {
  std::vector<double> positions;
  double reward = 0;  // of the team, of the step that led here
};

struct MpeEpisode {
  MpeWorld world = {};
  std::vector<double> landmarks = {};
  std::vector<MpeFrame> frames = {};

  void Add(MpeState state, double reward);
};

// One moment as lines of text: '#' landmarks, 'A' predators (or agents), 'o' prey. The view reaches
// from -1.2 to 1.2 in both directions; what is outside stands at the border.
std::string RenderText(const MpeEpisode& episode, size_t frame, int64_t columns = 48,
                       int64_t rows = 24);

// The whole episode as an animated drawing that every browser plays.
std::string RenderSvg(const MpeEpisode& episode);

}  // namespace tessera

#endif  // TESSERA_ENV_MPE_RENDER_H_
