/* Computes a convolution of ones and prints its first values.

       convolve_c "Conv2d(64, 128, 3, padding=1) @ 8x64x56x56" */

#include <stdio.h>
#include <stdlib.h>

#include "tapconv/tapconv.h"

/* Ends the program if a call failed. */
static void expect(tapconv_status status) {
  if (status == TAPCONV_OK) return;
  fprintf(stderr, "convolve: %s\n", tapconv_last_error());
  exit(1);
}

/* One of the problem's float32 tensors, in memory that is to be freed; all elements are `value`. */
static tapconv_tensor make_tensor(const tapconv_problem* problem, tapconv_role role, float value) {
  tapconv_tensor tensor;
  size_t bytes, i;
  expect(tapconv_problem_tensor(problem, role, &tensor));
  expect(tapconv_tensor_bytes(&tensor, &bytes));
  if (tensor.dtype != TAPCONV_FLOAT32) {
    fprintf(stderr, "convolve: this example knows float32 alone\n");
    exit(1);
  }
  if (bytes == 0) return tensor; /* the problem has no such tensor */
  tensor.data = malloc(bytes);
  if (!tensor.data) {
    fprintf(stderr, "convolve: no memory\n");
    exit(1);
  }
  for (i = 0; i < bytes / sizeof(float); ++i) ((float*)tensor.data)[i] = value;
  return tensor;
}

int main(int argc, char** argv) {
  tapconv_problem* problem = NULL;
  tapconv_convolution* convolution = NULL;
  tapconv_tensor input, weight, bias, output;
  const float* values;
  int i;
  if (argc != 2) {
    fprintf(stderr, "usage: convolve_c PROBLEM\n");
    return 2;
  }
  expect(tapconv_problem_parse(argv[1], &problem));
  input = make_tensor(problem, TAPCONV_INPUT, 1);
  weight = make_tensor(problem, TAPCONV_WEIGHT, 1);
  bias = make_tensor(problem, TAPCONV_BIAS, 1);
  output = make_tensor(problem, TAPCONV_OUTPUT, 0);

  expect(tapconv_create(problem, "cpu", 0, &convolution));
  expect(tapconv_set_weights(convolution, &weight, bias.ndim ? &bias : NULL, NULL, NULL));
  expect(tapconv_run(convolution, &input, NULL, &output, NULL));

  printf("output: %lld", (long long)output.shape[0]);
  for (i = 1; i < output.ndim; ++i) printf(" x %lld", (long long)output.shape[i]);
  values = output.data;
  printf("\nfirst value: %g\ncomputed by Tapconv %s\n", values[0], tapconv_version());

  tapconv_destroy(convolution);
  tapconv_problem_destroy(problem);
  free(input.data);
  free(weight.data);
  free(bias.data);
  free(output.data);
  return 0;
}
