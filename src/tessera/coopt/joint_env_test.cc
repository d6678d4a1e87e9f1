// Environment `cooptimize` keeps the contract of tessera/env.h for every target, and is registered
// once.
#include <gtest/gtest.h>

#include "tessera/base/temporary_folder.h"
#include "tessera/cooptimize.h"
#include "tessera/env.h"
#include "tessera/part.h"
#include "tessera/rl/env_conformance.h"

namespace tessera::coopt {
namespace {

TEST(JointEnv, KeepsTheContractForEveryTarget) {
  ASSERT_TRUE(RegisterCooptimizeEnv().ok());
  const Result<const EnvInfo*> info = FindEnv("cooptimize");
  ASSERT_TRUE(info.ok()) << info.error();
  // A layer that is measured in no time.
  const TemporaryFolder inputs;
  const std::string network = inputs.File("net.yaml");
  ASSERT_TRUE(
      WriteFileAtomically(network,
                          "format: tessera-network-1\nname: n\nlayers:\n"
                          "- {name: a, type: conv, N: 1, K: 16, C: 16, Y: 4, X: 4, R: 1, S: 1}\n")
          .ok());
  for (const std::string& target : TargetNames()) {
    const TemporaryFolder folder;
    const Result<void> checked = CheckEnv(
        [&](int64_t batch, ThreadPool* pool) {
          const Assignments settings = {{"network", network},
                                        {"layer", "a"},
                                        {"target", target},
                                        {"macs", "64"},
                                        {"horizon", "4"}};
          return (*info)->make(settings, batch, pool);
        },
        folder.path());
    EXPECT_TRUE(checked.ok()) << target << ": " << checked.error();
  }
}

TEST(JointEnv, IsRegisteredOnce) {
  ASSERT_TRUE(RegisterCooptimizeEnv().ok());
  const size_t count = Envs().size();
  EXPECT_TRUE(RegisterCooptimizeEnv().ok());
  EXPECT_EQ(Envs().size(), count);
}

TEST(JointEnv, ALayerThatNothingRunsIsAnError) {
  ASSERT_TRUE(RegisterCooptimizeEnv().ok());
  const Result<std::unique_ptr<Env>> env =
      (*FindEnv("cooptimize"))->make({{"network", "resnet18"}, {"layer", "99"}}, 1, nullptr);
  EXPECT_FALSE(env.ok());
}

}  // namespace
}  // namespace tessera::coopt
