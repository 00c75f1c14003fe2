#pragma once

#include <array>
#include <set>
#include <vector>

#include "cuda/driver.hpp"
#include "cuda/driver_api.hpp"
#include "cuda/dynamic_library.hpp"

namespace tapconv::testing {

/// The part of the driver that only tests use: captures what a stream is given, and replays it.
class Graph {
 public:
  /// Captures what body() puts on the stream. Global mode: whatever could wait or allocate is an error meanwhile.
  template <class Body>
  Graph(const cuda::Context& context, const cuda::Stream& stream, const Body& body)
      : context_(context), library_({"libcuda.so.1"}) {
    library_.load(begin_, "cuStreamBeginCapture_v2");
    library_.load(end_, "cuStreamEndCapture");
    library_.load(instantiate_, "cuGraphInstantiateWithFlags");
    library_.load(launch_, "cuGraphLaunch");
    library_.load(destroy_, "cuGraphDestroy");
    library_.load(destroy_executable_, "cuGraphExecDestroy");
    library_.load(nodes_, "cuGraphGetNodes");
    library_.load(parameters_, "cuGraphKernelNodeGetParams_v2");
    const cuda::CurrentContext current(context);
    check(begin_(stream.handle(), 0));
    body();
    check(end_(stream.handle(), &graph_));
    check(instantiate_(&executable_, graph_, 0));
  }
  ~Graph() {
    cuda::release_in(context_, [&] {
      destroy_executable_(executable_);
      destroy_(graph_);
    });
  }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  void launch(const cuda::Stream& stream) const {
    const cuda::CurrentContext current(context_);
    check(launch_(executable_, stream.handle()));
  }

  /// The functions of all nodes, which must be launches. The first member of their parameters is the CUfunction.
  [[nodiscard]] std::vector<void*> functions() const {
    std::size_t count = 0;
    check(nodes_(graph_, nullptr, &count));
    std::vector<void*> nodes(count), functions;
    check(nodes_(graph_, nodes.data(), &count));
    for (void* node : nodes) {
      std::array<void*, 64> parameters{};
      check(parameters_(node, parameters.data()));
      functions.push_back(parameters.front());
    }
    return functions;
  }

 private:
  static void check(int result) { cuda::DriverApi::get().check(result, "using a graph", ErrorCode::launch); }

  const cuda::Context& context_;
  cuda::DynamicLibrary library_;
  int (*begin_)(void*, int);
  int (*end_)(void*, void**);
  int (*instantiate_)(void**, void*, unsigned long long);
  int (*launch_)(void*, void*);
  int (*destroy_)(void*);
  int (*destroy_executable_)(void*);
  int (*nodes_)(void*, void**, std::size_t*);
  int (*parameters_)(void*, void*);
  void *graph_ = nullptr, *executable_ = nullptr;
};

}  // namespace tapconv::testing
