// Times one oneDNN build, any of 2.x or 3.x: prints one JSON object. Compiled by measure_onednn.py once per build and
// run on one core. Times are the processor's, so that other load on the machine does not count.

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <vector>

namespace {

using dims = dnnl::memory::dims;
using tag = dnnl::memory::format_tag;

struct Layer {
  dims input, weight, output, stride, dilation;  // dilation counts from 0, as oneDNN does
  tag plain, plain_weight;
};

double now_ms() { return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

dnnl::convolution_forward::primitive_desc describe(const dnnl::engine& engine, const Layer& layer, tag tensors) {
  const auto kind = dnnl::prop_kind::forward_inference;
  const auto method = dnnl::algorithm::convolution_direct;
  const auto type = dnnl::memory::data_type::f32;
  const dnnl::memory::desc input(layer.input, type, tensors), output(layer.output, type, tensors);
  const dnnl::memory::desc weight(layer.weight, type, tag::any);
  const dims padding(layer.stride.size(), 0);
#if DNNL_VERSION_MAJOR < 3
  const dnnl::convolution_forward::desc description(kind, method, input, weight, output, layer.stride, layer.dilation,
                                                    padding, padding);
  return {description, engine};
#else
  return {engine, kind, method, input, weight, output, layer.stride, layer.dilation, padding, padding};
#endif
}

struct Time {
  std::string implementation;
  double first_ms, least_ms;
};

// The fastest of several calls, contiguous tensors in and out; whatever `tensors` says happens in between.
Time measure(const Layer& layer, tag tensors) {
  const double start = now_ms();
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  dnnl::stream stream(engine);
  const auto type = dnnl::memory::data_type::f32;
  const auto filled = [&](const dims& shape, tag layout) {
    dnnl::memory memory({shape, type, layout}, engine);
    std::size_t count = memory.get_desc().get_size() / sizeof(float);
    auto* values = static_cast<float*>(memory.get_data_handle());
    for (std::size_t i = 0; i < count; ++i) values[i] = static_cast<float>(i % 17) / 16.0F - 0.5F;
    return memory;
  };
  const double filling = now_ms();
  dnnl::memory input = filled(layer.input, layer.plain);
  dnnl::memory weight = filled(layer.weight, layer.plain_weight);
  dnnl::memory output = filled(layer.output, layer.plain);
  const double filled_ms = now_ms() - filling;

  const auto description = describe(engine, layer, tensors);
  const dnnl::convolution_forward convolution(description);
  dnnl::memory packed(description.weights_desc(), engine);
  dnnl::reorder(weight, packed).execute(stream, weight, packed);
  const bool reorder_input = description.src_desc() != input.get_desc();
  const bool reorder_output = description.dst_desc() != output.get_desc();
  dnnl::memory source = reorder_input ? dnnl::memory(description.src_desc(), engine) : input;
  dnnl::memory target = reorder_output ? dnnl::memory(description.dst_desc(), engine) : output;
  const dnnl::reorder pack(input, source), unpack(target, output);
  const auto call = [&] {
    const double begin = now_ms();
    if (reorder_input) pack.execute(stream, input, source);
    convolution.execute(stream, {{DNNL_ARG_SRC, source}, {DNNL_ARG_WEIGHTS, packed}, {DNNL_ARG_DST, target}});
    if (reorder_output) unpack.execute(stream, target, output);
    stream.wait();
    return now_ms() - begin;
  };
  call();
  const double first_ms = now_ms() - start - filled_ms;
  std::vector<double> times;
  const double enough = now_ms() + 2000;
  while (times.size() < 3 || (now_ms() < enough && times.size() < 100)) times.push_back(call());
  return {description.impl_info_str(), first_ms, *std::min_element(times.begin(), times.end())};
}

void print(const char* name, const Time& time) {
  std::printf(", \"%s\": {\"implementation\": \"%s\", \"least_ms\": %.3f}", name, time.implementation.c_str(),
              time.least_ms);
}

}  // namespace

int main() {
  const Layer tiny{{1, 8, 8, 8}, {8, 8, 3, 3}, {1, 8, 6, 6}, {1, 1}, {0, 0}, tag::nchw, tag::oihw};
  const Layer kb56{{1, 64, 512, 256}, {128, 64, 5, 7}, {1, 128, 508, 250}, {1, 1}, {0, 0}, tag::nchw, tag::oihw};
  const Layer kb76{{1, 64, 524280}, {128, 64, 3}, {1, 128, 174758}, {3}, {3}, tag::ncw, tag::oiw};
  const double first_ms = measure(tiny, tag::any).first_ms;
  const dnnl_version_t& version = *dnnl::version();
  std::printf("{\"version\": \"%d.%d.%d\", \"hash\": \"%s\", \"first_primitive_ms\": %.2f", version.major,
              version.minor, version.patch, version.hash, first_ms);
  print("kb56_plain", measure(kb56, kb56.plain));
  print("kb56_any", measure(kb56, tag::any));
  print("kb76_plain", measure(kb76, kb76.plain));
  print("kb76_any", measure(kb76, tag::any));
  std::printf("}\n");
}
