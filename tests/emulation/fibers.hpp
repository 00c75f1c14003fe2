// The threads of an emulated cluster of blocks: fibers of one host thread, each of which runs until it waits for
// something.
#pragma once

namespace tapconv::emulation {

/// Ends the program.
[[noreturn]] void fail(const char* what);

/// Runs the kernel as the file LAUNCH says (launch.hpp), and writes the output tensor's bytes to OUTPUT.
void run_file(const char* launch, const char* output);

/// Lets the other fibers run. Whoever waits calls it until it need not wait any more.
void yield();

/// Something happened that others may wait for. A round of all fibers without it is a deadlock.
void progress();

/// The blocks of the cluster that begins, and the bytes of dynamic shared memory of each.
void begin_cluster(unsigned blocks, int dynamic_shared_bytes);
/// Of the block whose last thread has ended: its shared memory is there no more.
void end_block(unsigned rank);

}  // namespace tapconv::emulation
