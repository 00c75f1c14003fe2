#pragma once

#include <memory>

#include "engine/session.hpp"
#include "tapconv/workbench.hpp"

namespace tapconv {

/// A caller's function as something that computes a session's problem. It is given copies of the operands, each at the
/// same address in every run, and an output that begins as the session's is; all of them between guard zones, which
/// hold NaNs and other bytes in turn. trespass() tells of the first operand or guard zone that any run changed, and of
/// outputs written after the function returned. run() throws Error{environment} if the function throws anything else.
/// `session` and `function` outlive it.
[[nodiscard]] std::unique_ptr<Executable> make_host_subject(Session& session, const HostFunction& function);

}  // namespace tapconv
