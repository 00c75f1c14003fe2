// The program of a kernel:
//
//     program LAUNCH OUTPUT
//
// reads the file of launch.hpp and writes the output tensor's bytes.
#include "fibers.hpp"

int main(int count, char** names) {
  if (count != 3) tapconv::emulation::fail("usage: program LAUNCH OUTPUT");
  tapconv::emulation::run_file(names[1], names[2]);
}
