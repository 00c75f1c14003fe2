// The threads of an emulated block: fibers of one host thread, each of which runs until it waits for something.
#pragma once

namespace tapconv::emulation {

/// Ends the program.
[[noreturn]] void fail(const char* what);

/// Lets the other fibers run. Whoever waits calls it until it need not wait any more.
void yield();

/// Something happened that others may wait for. A round of all fibers without it is a deadlock.
void progress();

/// Bytes of dynamic shared memory of the block that begins.
void begin_block(int dynamic_shared_bytes);
/// Fails if a thread left instructions unfinished.
void end_block();

}  // namespace tapconv::emulation
