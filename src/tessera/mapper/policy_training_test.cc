// What training gives a policy, and what it must not have seen.
#include <atomic>
#include <cmath>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tessera/base/document.h"
#include "tessera/base/temporary_folder.h"
#include "tessera/mapper/curriculum.h"
#include "tessera/mapper/policy_training.h"
#include "tessera/mapping.h"
#include "tessera/policy/game.h"
#include "tessera/policy/play.h"

namespace tessera {
namespace {

constexpr std::string_view kSmall = R"(format: tessera-curriculum-1
networks: [alexnet, squeezenet1.1]
held_out: [resnet18]
presets: [simple3, nvdla]
problems: 48
improve: 300
epochs: 12
visits: 4
draws: 8
batch: 16
learning_rate: 0.003
)";

std::string FileText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Mean log2 of the first proposal's cost, on layers that were not trained on.
double FirstProposal(const policy::Networks& networks) {
  double sum = 0, count = 0;
  for (const char* machine : {"simple3", "nvdla"}) {
    const Result<Network> network = LoadNetwork("resnet18");
    for (size_t i = 1; i < network->layers.size(); i += 3) {
      const Exercise exercise{.layer = network->layers[i].layer,
                              .machine = *LoadAccelerator(machine)};
      const auto problem = ProblemOf(exercise, "loopnest");
      const auto game = policy::MakeGame(**problem);
      const auto drafts = policy::Play(*game, networks, {.count = 1, .greedy_first = true});
      sum += std::log2((*problem)->Evaluate(drafts.front().point).value);
      ++count;
    }
  }
  return sum / count;
}

// The margin: the most probable mapping of a policy that was trained for some seconds costs less
// than a quarter of an untrained one's, in the geometric mean over layers it has not seen.
TEST(PolicyTraining, ASmallOneBeatsAnUntrainedOne) {
  const Result<Curriculum> curriculum = ParseCurriculum(kSmall, "small.yaml");
  ASSERT_TRUE(curriculum) << curriculum.error().message;
  const auto trainer = PolicyTrainer::Make(*curriculum, 1);
  ASSERT_TRUE(trainer);
  const double before = FirstProposal((*trainer)->networks());
  ThreadPool pool(2);
  for (Result<bool> more = true; more && *more;) more = (*trainer)->Step(pool);
  const double after = FirstProposal((*trainer)->networks());
  EXPECT_LT(after, before - 2) << before << " -> " << after;
}

TEST(PolicyTraining, GoesOnFromACheckpointBitForBit) {
  Curriculum curriculum = *ParseCurriculum(kSmall, "small.yaml");
  curriculum.problems = 16;
  curriculum.batch = 8;
  curriculum.epochs = 2;
  curriculum.visits = 2;
  const TemporaryFolder folder;
  std::vector<std::string> files;
  for (const bool interrupted : {false, true}) {
    auto trainer = *PolicyTrainer::Make(curriculum, 3);
    ThreadPool pool(interrupted ? 2 : 1);
    int64_t steps = 0;
    for (Result<bool> more = true; more && *more; ++steps) {
      if (interrupted && steps % 3 == 2) {
        TensorWriter writer;
        trainer->Save(writer);
        ASSERT_TRUE(writer.Write(folder.File("c")));
        trainer = *PolicyTrainer::Make(curriculum, 3);
        const Result<void> loaded = trainer->Load(*TensorReader::Open(folder.File("c")));
        ASSERT_TRUE(loaded) << loaded.error().message;
      }
      more = trainer->Step(pool);
    }
    TensorWriter writer;
    trainer->networks().Save(writer);
    files.push_back(writer.Bytes());
  }
  EXPECT_EQ(files[0], files[1]);
}

// Wherever a stop comes, the step it cuts short has left no trace: the training ends as if nobody
// had asked.
TEST(PolicyTraining, AStopLeavesAStepAsItWas) {
  Curriculum curriculum = *ParseCurriculum(kSmall, "small.yaml");
  curriculum.problems = curriculum.batch = 4;
  curriculum.epochs = curriculum.visits = 1;
  const auto bytes = [](const PolicyTrainer& trainer) {
    TensorWriter writer;
    trainer.Save(writer);
    return writer.Bytes();
  };
  ThreadPool pool(2);
  auto whole = *PolicyTrainer::Make(curriculum, 3), cut = *PolicyTrainer::Make(curriculum, 3);
  int64_t cuts = 0;
  for (Result<bool> more = true; more && *more;) {
    more = whole->Step(pool);
    ASSERT_TRUE(more);
    const std::string before = bytes(*cut);
    for (int64_t polls = 1;; polls += 1 + polls / 3) {
      std::atomic<int64_t> left = polls;
      const Result<bool> step = cut->Step(pool, [&] { return --left < 0; });
      if (step) break;
      ++cuts;
      EXPECT_EQ(step.error().kind, ErrorKind::kInterrupted);
      ASSERT_EQ(bytes(*cut), before) << polls;
    }
    ASSERT_EQ(bytes(*cut), bytes(*whole));
  }
  EXPECT_GT(cuts, 20);
}

// Networks used for evaluation are never trained on: the shipped curriculum holds them out, and
// none of its exercises has a layer with the same loops. Nor are machines that are kept back.
void ExpectUnseen(const std::string& policy, const std::vector<std::string>& networks,
                  const std::vector<std::string>& machines) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/data/policies/" + policy + ".yaml";
  const Result<Curriculum> curriculum = ParseCurriculum(FileText(path), path);
  ASSERT_TRUE(curriculum) << curriculum.error().message;
  std::set<std::string> evaluated;
  for (const std::string& name : networks) {
    EXPECT_EQ(std::ranges::count(curriculum->networks, name), 0) << name;
    const Result<Network> network = LoadNetwork(name);
    ASSERT_TRUE(network) << name;
    for (const NetworkLayer& entry : network->layers) {
      evaluated.insert(ToString(*MakeLoopProblem(entry.layer)));
    }
  }
  std::vector<Accelerator> kept_back;
  for (const std::string& name : machines) {
    EXPECT_EQ(std::ranges::count(curriculum->presets, name), 0) << name;
    kept_back.push_back(*LoadAccelerator(name));
  }
  const Result<ExerciseSource> source = ExerciseSource::Make(*curriculum);
  ASSERT_TRUE(source) << source.error().message;
  for (int64_t i = 0; i < curriculum->problems; ++i) {
    const Exercise exercise = source->Draw(1, static_cast<uint64_t>(i));
    const std::string loops = ToString(*MakeLoopProblem(exercise.layer));
    ASSERT_FALSE(evaluated.contains(loops)) << loops;
    for (const Accelerator& machine : kept_back) {
      ASSERT_FALSE(exercise.machine.hierarchy == machine.hierarchy) << machine.name;
    }
  }
}

TEST(PolicyTraining, ShippedPoliciesHaveNotSeenTheEvaluationNetworks) {
  ExpectUnseen("loopnest", {"resnet18", "mobilenet-v2", "bert-base", "efficientnet-b0", "gpt2"},
               {"shidiannao", "simba", "eyeriss-168"});
  ExpectUnseen(
      "maestro",
      {"resnet18-gamma", "mobilenet-v2-gamma", "vgg16-gamma", "bert-gamma", "resnet50-gamma",
       "albert-gamma", "ncf-gamma", "t5-gamma", "dlrm-rmc1-gamma", "resnet18", "gpt2"},
      {});
}

// The same of the graphs and machines that docs/results/policies.md made up for itself, but for the
// layers that its table leaves out.
TEST(PolicyTraining, TheShippedPolicyHasNotSeenTheGraphsOfItsPage) {
  const std::string folder = std::string(TESSERA_SOURCE_DIR) + "/bench/policies/";
  std::map<std::string, std::string> names;
  for (const char* name : {"convnext", "resnext50", "swin", "unet48", "wave"}) {
    const Result<Network> network = LoadNetwork(folder + name + ".onnx");
    ASSERT_TRUE(network) << name;
    for (const NetworkLayer& entry : network->layers) {
      names[ToString(*MakeLoopProblem(entry.layer))] = std::string(name) + ' ' + entry.name;
    }
  }
  std::vector<Accelerator> machines;
  for (const char* name : {"grid", "ribbon", "trellis", "vector"}) {
    machines.push_back(*LoadAccelerator(folder + name + ".yaml"));
  }
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/data/policies/loopnest.yaml";
  const Result<Curriculum> curriculum = ParseCurriculum(FileText(path), path);
  const Result<ExerciseSource> source = ExerciseSource::Make(*curriculum);
  std::set<std::string> seen;
  for (int64_t i = 0; i < curriculum->problems; ++i) {
    const Exercise exercise = source->Draw(1, static_cast<uint64_t>(i));
    const auto found = names.find(ToString(*MakeLoopProblem(exercise.layer)));
    if (found != names.end()) seen.insert(found->second);
    for (const Accelerator& machine : machines) {
      ASSERT_FALSE(exercise.machine.hierarchy == machine.hierarchy) << machine.name;
    }
  }
  // SEEN of scripts/results-policies.
  EXPECT_EQ(seen, (std::set<std::string>{
                      "resnext50 fc", "resnext50 layer1.0.conv1", "resnext50 layer1.0.downsample",
                      "resnext50 layer1.1.conv1", "resnext50 layer2.0.downsample",
                      "resnext50 layer2.1.conv1", "resnext50 layer3.0.conv3",
                      "resnext50 layer3.0.downsample", "resnext50 layer3.1.conv1",
                      "resnext50 layer4.0.downsample", "swin head"}));
}

double NumberAt(const Node& node, std::string_view key) {
  const Node* found = node.Find(key);
  return found == nullptr ? std::nan("") : *found->AsDouble();
}

// What ships comes out of its command: exercises and labels are those that it learned from, and the
// first steps of a training come to what they came to then. Where one of these fails,
// `scripts/train-policies NAME` trains the policy again.
void ExpectRepeatable(const std::string& policy) {
  const std::string path = std::string(TESSERA_SOURCE_DIR) + "/data/policies/" + policy;
  Curriculum curriculum = *ParseCurriculum(FileText(path + ".yaml"), path);
  const Result<Node> notes = ParseDocument(FileText(path + ".json"), path);
  ASSERT_TRUE(notes) << notes.error().message;
  const Node* check = notes->Find("check");
  ASSERT_NE(check, nullptr) << policy;
  EXPECT_EQ(*(*PolicyTrainer::Make(curriculum, 1))->DataHash(), notes->Find("data_hash")->scalar)
      << policy << ": other layers, machines or objectives are drawn than it was trained on";
  curriculum.problems = curriculum.batch = 32;
  curriculum.epochs = curriculum.visits = 1;
  const auto trainer = *PolicyTrainer::Make(curriculum, 1);
  ThreadPool pool(2);
  EXPECT_EQ(*trainer->LabelHash(pool), check->Find("label_hash")->scalar)
      << policy << ": walks, spaces or costs have changed, so exercises have other labels";
  for (Result<bool> more = true; more && *more;) more = trainer->Step(pool);
  const PolicyProgress at = trainer->progress();
  constexpr double kRounding = 1e-4;  // of logarithms on other machines
  EXPECT_NEAR(at.loss, NumberAt(*check, "loss"), kRounding)
      << policy << ": games or networks have changed";
  EXPECT_NEAR(at.first, NumberAt(*check, "first_log2"), kRounding)
      << policy << ": games or networks have changed";
  EXPECT_NEAR(at.best, NumberAt(*check, "best_log2"), kRounding)
      << policy << ": games or networks have changed";
}

TEST(PolicyTraining, LoopnestComesOutOfItsCommand) { ExpectRepeatable("loopnest"); }
TEST(PolicyTraining, MaestroComesOutOfItsCommand) { ExpectRepeatable("maestro"); }

TEST(Curriculum, ErrorsNameTheirPlace) {
  const auto message = [](std::string_view more) {
    const Result<Curriculum> read =
        ParseCurriculum("format: tessera-curriculum-1\n" + std::string(more), "c.yaml");
    return read ? std::string("none") : ToString(read.error());
  };
  EXPECT_EQ(message("problems: 3"), "none");
  EXPECT_NE(message("problems: 0").find("c.yaml:2:11"), std::string::npos)
      << message("problems: 0");
  EXPECT_NE(message("visit: 3").find("visits"), std::string::npos);
  EXPECT_NE(message("objectives: [speed]").find("speed"), std::string::npos);
  EXPECT_NE(message("varied: 2").find("from 0 to 1"), std::string::npos);
  EXPECT_NE(message("model: 'exec:touch x'").find("c.yaml:2:8: a policy learns from no programs"),
            std::string::npos)
      << message("model: 'exec:touch x'");
  EXPECT_NE(message("model: lopnest").find("c.yaml:2:8"), std::string::npos);
}

}  // namespace
}  // namespace tessera
