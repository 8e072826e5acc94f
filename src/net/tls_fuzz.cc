// Any bytes in the place of a TLS peer, to a server or, as its answer, to a client, in pieces: no
// crash, no bytes taken for data or for a handshake, and nothing left behind.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "net/memory.h"
#include "net/tls.h"
#include "net/tls_testing.h"
#include "rt/task_group.h"

namespace fairlead::net {
namespace {

using std::chrono::seconds;
using Stream = std::unique_ptr<ByteStream>;

constexpr auto kTime = seconds(30);

// Made once: keys and certificates take longer than a run.
struct Material {
  Certificate certificate = TestAuthority().issue("DNS:engine.example");
  std::unique_ptr<TlsServer> server = *TlsServer::make(certificate);
  std::unique_ptr<TlsClient> client = *TlsClient::make(certificate.chain_pem);
};

Material& material() {
  static Material made;
  return made;
}

struct World {
  base::ManualClock clock;
  rt::Loop loop{clock};
  MemoryNetwork network;
  Address address = *parse_address("10.0.0.1:443");
  explicit World(size_t read_bytes_max) : network(loop, {.read_bytes_max = read_bytes_max}) {}
};

// What comes is dropped until the peer ends, or the time.
rt::Task<void> drain(ByteStream& stream) {
  std::array<char, 4096> buffer{};
  const rt::Scope& scope = co_await rt::current_scope();
  const base::TimePoint until = base::after(scope.loop().now(), kTime);
  for (;;) {
    const auto n = co_await read_some(stream, buffer, until);
    if (!n || *n == 0) co_return;
  }
}

rt::Task<void> say(ByteStream& stream, std::string_view bytes) {
  static_cast<void>(co_await write_all(stream, bytes));
  co_await drain(stream);
}

rt::Task<void> accept_and_read(Listener& listener) {
  auto stream = co_await listener.accept();
  CHECK(stream.ok(), "the listener accepts");
  std::array<char, 256> buffer{};
  const rt::Scope& scope = co_await rt::current_scope();
  const base::TimePoint until = base::after(scope.loop().now(), kTime);
  const auto n = co_await read_some(**stream, buffer, until);
  CHECK(!n.ok(), "garbage is neither data nor an end in order");
}

rt::Task<void> attack_server(World& world, std::string_view bytes) {
  auto listener = listen_tls(*world.network.listen(world.address, PortSharing::kExclusive),
                             *material().server, world.loop, {.handshake_timeout = seconds(10)});
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  group.spawn(accept_and_read(*listener));
  auto stream = co_await world.network.connect(world.address, base::kNever);
  CHECK(stream.ok(), "the server listens");
  co_await say(**stream, bytes);
  static_cast<void>(co_await group.join());
}

rt::Task<void> accept_and_say(Listener& listener, std::string_view bytes) {
  auto stream = co_await listener.accept();
  CHECK(stream.ok(), "the listener accepts");
  co_await say(**stream, bytes);
}

rt::Task<void> attack_client(World& world, std::string_view bytes) {
  auto listener = *world.network.listen(world.address, PortSharing::kExclusive);
  rt::Scope& scope = co_await rt::current_scope();
  rt::TaskGroup group(scope);
  group.spawn(accept_and_say(*listener, bytes));
  {
    const auto stream =
        co_await connect_tls(world.network, *material().client, world.address, "engine.example",
                             base::after(world.loop.now(), seconds(10)));
    CHECK(!stream.ok(), "garbage is no handshake");
  }
  static_cast<void>(co_await group.join());
}

}  // namespace
}  // namespace fairlead::net

// The first byte says whom the others go to and in how large pieces.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace fairlead::net;  // NOLINT: a fuzz target is one function
  if (size == 0) return 0;
  constexpr std::array<size_t, 4> kPieces = {0, 1, 5, 1000};
  World world(kPieces[(data[0] >> 1) & 3]);
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const uint64_t handshakes = material().server->handshakes();
  if ((data[0] & 1) == 0) {
    world.loop.block_on(attack_server(world, bytes));
  } else {
    world.loop.block_on(attack_client(world, bytes));
  }
  world.loop.run_until_idle();
  CHECK(world.network.open_streams() == 0, "nothing is left behind");
  CHECK(material().server->handshakes() == handshakes, "garbage is no handshake");
  return 0;
}
