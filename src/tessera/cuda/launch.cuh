// Launches: kernels with much shared memory, and sequences of them as graphs.
#ifndef TESSERA_CUDA_LAUNCH_CUH_
#define TESSERA_CUDA_LAUNCH_CUH_

#include <cuda_runtime.h>

#include <map>
#include <mutex>
#include <utility>

#include "tessera/cuda/memory.cuh"

namespace tessera::cuda {

// Lets a kernel have that much shared memory. Never less than before: trainings side by side launch
// the same kernels with other sizes.
template <typename Kernel>
cudaError_t AllowShared(Kernel kernel, int bytes) {
  static std::mutex mutex;
  const std::lock_guard<std::mutex> lock(mutex);
  cudaFuncAttributes now;
  if (cudaError_t error = cudaFuncGetAttributes(&now, kernel); error != cudaSuccess) return error;
  if (now.maxDynamicSharedSizeBytes >= bytes) return cudaSuccess;
  return cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
}

template <typename Kernel, typename... Arguments>
cudaError_t Launch(Kernel kernel, int bytes, dim3 grid, int threads, cudaStream_t stream,
                   const Arguments&... arguments) {
  if (cudaError_t error = AllowShared(kernel, bytes); error != cudaSuccess) return error;
  kernel<<<grid, static_cast<unsigned>(threads), static_cast<size_t>(bytes), stream>>>(
      arguments...);
  return cudaGetLastError();
}

// The first that is one.
template <size_t N>
cudaError_t FirstError(const cudaError_t (&errors)[N]) {
  for (const cudaError_t error : errors) {
    if (error != cudaSuccess) return error;
  }
  return cudaSuccess;
}

// Sequences of launches by key: how many steps, and whether an update follows. What a sequence
// refers to stays where it is until Clear.
class Graphs {
 public:
  using Key = std::pair<int64_t, bool>;

  Graphs() = default;
  ~Graphs() { Clear(); }
  Graphs(const Graphs&) = delete;
  Graphs& operator=(const Graphs&) = delete;

  void Clear() {
    for (auto& [key, graph] : graphs_) cudaGraphExecDestroy(graph);
    graphs_.clear();
  }

  // Runs what `launch` launches on `stream`; it is called when a key comes for the first time.
  template <typename LaunchAll>
  Result<void> Run(Key key, const LaunchAll& launch, cudaStream_t stream, const char* doing) {
    if (!graphs_.contains(key)) {
      if (Result<void> r = Check(cudaStreamSynchronize(stream), doing); !r) return r;
      if (Result<void> r =
              Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), doing);
          !r) {
        return r;
      }
      const cudaError_t launched = launch();
      cudaGraph_t graph = nullptr;
      const cudaError_t ended = cudaStreamEndCapture(stream, &graph);
      if (Result<void> r = Check(launched, doing); !r) return r;
      if (Result<void> r = Check(ended, doing); !r) return r;
      cudaGraphExec_t executable = nullptr;
      const cudaError_t made = cudaGraphInstantiate(&executable, graph, 0);
      cudaGraphDestroy(graph);
      if (Result<void> r = Check(made, doing); !r) return r;
      graphs_[key] = executable;
    }
    return Check(cudaGraphLaunch(graphs_[key], stream), doing);
  }

 private:
  std::map<Key, cudaGraphExec_t> graphs_;
};

}  // namespace tessera::cuda

#endif  // TESSERA_CUDA_LAUNCH_CUH_
