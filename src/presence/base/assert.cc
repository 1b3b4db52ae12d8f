#include "presence/base/assert.h"

#include <cstdio>
#include <cstdlib>

namespace presence {

void assertion_failed(const char* expression, const char* file, int line) noexcept {
    std::fprintf(stderr, "presenced: assertion failed: %s at %s:%d\n", expression, file, line);
    std::abort();
}

}  // namespace presence
