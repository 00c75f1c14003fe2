// Stands in for the CPU engine where Tapconv is built without oneDNN.
#include "engine/convolution_backend.hpp"
#include "engine/cpu_engine.hpp"
#include "problem/text.hpp"

namespace tapconv {
namespace {

[[noreturn]] void refuse() {
  fail(ErrorCode::environment,
       "device = cpu: this Tapconv was built without oneDNN (TAPCONV_ONEDNN=OFF); valid: cuda, cuda:N");
}

}  // namespace

bool cpu_engine_available() { return false; }
std::string cpu_engine_version() { refuse(); }
std::unique_ptr<Executable> make_cpu_engine(const Problem&, HostTensors&, int) { refuse(); }
std::vector<std::unique_ptr<Executable>> make_cpu_references(const Problem&, HostTensors&, int) { refuse(); }
void describe_cpu(PlanReport&) { refuse(); }
std::unique_ptr<ConvolutionBackend> make_cpu_backend(const Problem&, int) { refuse(); }

}  // namespace tapconv
