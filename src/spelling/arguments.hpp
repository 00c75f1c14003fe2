#pragma once

#include "spelling/cursor.hpp"
#include "spelling/layers.hpp"
#include "spelling/values.hpp"

namespace tapconv {

/// Reads "(...)": arguments in Python's way, of which some may go without a keyword.
void read_arguments(Cursor& cursor, Draft& draft, const Signature& signature);

/// Reads what follows '@': 8x64x512x256 or (8, 64, 512, 256); '?' after a size makes it dynamic.
void read_shape(Cursor& cursor, Draft& draft);

}  // namespace tapconv
