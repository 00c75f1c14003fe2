/// The C interface of Tapconv (C99). docs/api.md has an example of every part.
///
/// Status: a function that can fail returns a tapconv_status. What it was to write is then a null pointer or untouched,
/// and tapconv_last_error() says in words what is wrong. Every pointer is checked for null; "may be null" says where
/// null means something. No exception leaves the library.
///
/// Ownership: a handle belongs to the caller, who destroys it once. Texts and arrays that a function hands out belong
/// to the handle they come from and live as long as it does. Tensors belong to the caller and are needed only during a
/// call.
///
/// Threads: a problem and a device convolution are never changed and may be used from many threads. A convolution
/// serves one thread at a time; different ones run in parallel.
///
/// Binary compatibility: within one minor version (0.1.x) functions are added, but no function, structure or number
/// changes.
#pragma once

#include <stddef.h>
#include <stdint.h>

/// Of this header: tapconv_version() is the library's own.
#define TAPCONV_VERSION "0.1.0"

/// The largest number of dimensions of a problem's tensors.
#define TAPCONV_MAX_NDIM 5

#ifdef __cplusplus
extern "C" {
#endif

/// 0, or the kind of error: those of tapconv::ErrorCode, plus 1.
typedef int32_t tapconv_status;
enum {
  TAPCONV_OK = 0,
  TAPCONV_USAGE = 1,        ///< the caller asked for something malformed or impossible
  TAPCONV_COMPILE = 2,      ///< a device kernel did not compile
  TAPCONV_LAUNCH = 3,       ///< a launch would break, or broke, a limit of the device
  TAPCONV_MEMORY = 4,       ///< not enough memory on the host or the device
  TAPCONV_ENVIRONMENT = 5,  ///< a library, a driver, a device or a file is missing or unusable
  TAPCONV_INTERNAL = 6      ///< a broken invariant of Tapconv itself
};

/// The type of a tensor's elements.
typedef int32_t tapconv_dtype;
enum { TAPCONV_FLOAT32 = 0, TAPCONV_FLOAT16 = 1, TAPCONV_BFLOAT16 = 2, TAPCONV_FLOAT64 = 3 };

/// A tensor's part in a problem.
typedef int32_t tapconv_role;
enum {
  TAPCONV_INPUT = 0,
  TAPCONV_WEIGHT = 1,
  TAPCONV_BIAS = 2,
  TAPCONV_POINTWISE_WEIGHT = 3,
  TAPCONV_POINTWISE_BIAS = 4,
  TAPCONV_RESIDUAL = 5,
  TAPCONV_OUTPUT = 6
};

/// A tensor in host memory, or of tapconv_device_*() in device memory. Element (i0, i1, ...) is at `data` + sum of i *
/// stride, in elements.
typedef struct tapconv_tensor {
  void* data;  ///< only read, except of an output
  tapconv_dtype dtype;
  int32_t ndim;            ///< sizes in `shape`, and in `strides`: 1 to 64
  const int64_t* shape;    ///< each at least 1
  const int64_t* strides;  ///< any sign, 0 too; null: contiguous, the last axis fastest
} tapconv_tensor;

/// A valid problem.
typedef struct tapconv_problem tapconv_problem;

/// A problem planned for a device, with its weights.
typedef struct tapconv_convolution tapconv_convolution;

/// The version of the library: "0.1.0".
const char* tapconv_version(void);

/// What the last call that failed on this thread had to say: UTF-8, sometimes of several lines; empty before the first.
/// Lives until the next call that fails on this thread.
const char* tapconv_last_error(void);

/// Reads a problem in any spelling of docs/command-line.md, like
/// "Conv2d(64, 128, 3, padding=1, layout=channels_last) @ 8x64x56x56".
tapconv_status tapconv_problem_parse(const char* text, tapconv_problem** problem);

/// The same problem with its dynamic dimensions as in the shape of an input. Refuses a shape that differs in another
/// dimension.
tapconv_status tapconv_problem_with_input(const tapconv_problem* problem, const int64_t* shape, int32_t ndim,
                                          tapconv_problem** sized);

/// Null is ignored.
void tapconv_problem_destroy(tapconv_problem* problem);

/// The canonical spelling.
tapconv_status tapconv_problem_spell(const tapconv_problem* problem, const char** text);

/// Type, shape and strides of one of the problem's tensors as it lies dense in the problem's layout; `data` is null,
/// for the caller to set. A tensor that the problem does not have has an `ndim` of 0.
tapconv_status tapconv_problem_tensor(const tapconv_problem* problem, tapconv_role role, tapconv_tensor* tensor);

/// Bytes of all elements, without gaps: what to allocate for a tensor that tapconv_problem_tensor() describes. 0 for an
/// `ndim` of 0.
tapconv_status tapconv_tensor_bytes(const tapconv_tensor* tensor, size_t* bytes);

/// Plans a problem for "cpu", "cuda" (the first device) or "cuda:N". `threads`: of the CPU engine, 0 for all cores or
/// what OMP_NUM_THREADS says; CUDA devices and float64 take 0 alone. The problem is not needed afterwards.
tapconv_status tapconv_create(const tapconv_problem* problem, const char* device, int32_t threads,
                              tapconv_convolution** convolution);

/// Null is ignored.
void tapconv_destroy(tapconv_convolution* convolution);

/// What computes, for people. The text lives until the next call with this convolution.
tapconv_status tapconv_implementation(tapconv_convolution* convolution, const char** text);

/// Packs the weights, which are not needed afterwards; they serve until the next call. Those that the problem does not
/// have are null.
tapconv_status tapconv_set_weights(tapconv_convolution* convolution, const tapconv_tensor* weight,
                                   const tapconv_tensor* bias, const tapconv_tensor* pointwise_weight,
                                   const tapconv_tensor* pointwise_bias);

/// output = activation(convolution of input + residual). `residual` is null for a problem without. Dynamic dimensions
/// are taken from the input. A tensor that lies dense in the problem's layout, at a multiple of its elements' size, is
/// used in place on a CPU; any other is copied: bit `1 << role` of `copied` (may be null) says so of input, residual
/// and output. Refused are an output two of whose elements share memory, and one that lies between the first and the
/// last element of the input or the residual.
tapconv_status tapconv_run(tapconv_convolution* convolution, const tapconv_tensor* input,
                           const tapconv_tensor* residual, const tapconv_tensor* output, uint32_t* copied);

/// A problem planned for tensors that are on a CUDA device already. tapconv/device_convolution.hpp tells all about
/// contexts, streams, alignment and graphs; a stream is a CUstream or cudaStream_t, null for the default one.
typedef struct tapconv_device_convolution tapconv_device_convolution;

/// What a device convolution is planned for, added up; 0 for dense, aligned tensors.
enum {
  TAPCONV_STRIDED = 1,        ///< tensors of any strides, aligned to their elements alone, are taken too
  TAPCONV_PACKED = 2,         ///< the weights come as tapconv_device_prepare() packed them
  TAPCONV_CHECK_POINTERS = 4  ///< asks the driver about every pointer; for finding mistakes
};

/// A workspace limit that is none.
#define TAPCONV_NO_LIMIT SIZE_MAX

/// Plans for CUDA device number `device`. One plan serves every size of the dynamic dimensions. Under a limit in bytes
/// the batch is worked through in passes. The problem is not needed afterwards.
tapconv_status tapconv_device_create(const tapconv_problem* problem, int32_t device, uint32_t options,
                                     size_t workspace_limit, tapconv_device_convolution** convolution);

/// Null is ignored. Nothing that was started may still be running.
void tapconv_device_destroy(tapconv_device_convolution* convolution);

/// Bytes of device memory, at a multiple of 256, that tapconv_device_run() needs on an input of this shape; often 0.
tapconv_status tapconv_device_workspace(const tapconv_device_convolution* convolution, const int64_t* shape,
                                        int32_t ndim, size_t* bytes);

/// Bytes of device memory, at a multiple of 256, that tapconv_device_prepare() fills; 0 without TAPCONV_PACKED.
tapconv_status tapconv_device_packed(const tapconv_device_convolution* convolution, size_t* bytes);

/// Starts packing the weights into `packed` on `stream`. `pointwise_weight` is null for a problem without.
tapconv_status tapconv_device_prepare(const tapconv_device_convolution* convolution, const tapconv_tensor* weight,
                                      const tapconv_tensor* pointwise_weight, void* packed, size_t packed_bytes,
                                      void* stream);

/// The tensors of a call, in device memory. Those that the problem does not have are null.
typedef struct tapconv_device_tensors {
  const tapconv_tensor* input;
  const tapconv_tensor* weight;  ///< null with TAPCONV_PACKED, as is pointwise_weight
  const tapconv_tensor* bias;
  const tapconv_tensor* pointwise_weight;
  const tapconv_tensor* pointwise_bias;
  const tapconv_tensor* residual;
  const tapconv_tensor* output;
  const void* packed;  ///< with TAPCONV_PACKED: what tapconv_device_prepare() wrote; else null
  size_t packed_bytes;
} tapconv_device_tensors;

/// Starts output = activation(convolution of input + residual) on `stream`, without waiting and without allocating.
/// Dynamic dimensions are taken from the input. `workspace` is this call's alone until it is done; it may be null if
/// tapconv_device_workspace() says 0.
tapconv_status tapconv_device_run(const tapconv_device_convolution* convolution, const tapconv_device_tensors* tensors,
                                  void* workspace, size_t workspace_bytes, void* stream);

#ifdef __cplusplus
}
#endif
