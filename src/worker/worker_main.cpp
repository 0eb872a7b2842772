// hone-worker: one engine session, for hone. Not for people: it speaks JSON lines on the descriptor it was given.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

#include "worker/serve.h"

int main(int argc, char** argv) {
  int type = 0;
  socklen_t size = sizeof type;
  const int descriptor = argc == 3 && std::string_view(argv[1]) == "--fd" ? std::atoi(argv[2]) : -1;
  if (descriptor < 3 || ::getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) != 0) {
    fmt::print(stderr, "hone-worker runs one engine session for hone; it is started by hone, not by hand\n");
    return 2;
  }
  const int status = hone::worker::serve(descriptor, hone::worker::open_with_engine);
  // Without teardown: engines' threads and statics have crashed there, and the answers are out already.
  ::_exit(status);
}
