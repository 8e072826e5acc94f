#include "net/memory.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <string>
#include <utility>

#include "rt/timer.h"

namespace fairlead::net {

class MemoryStream;

// One direction. Each end holds it; it is gone when both are.
struct MemoryPipe final : rt::TimerNode {
  struct Segment {
    base::TimePoint at;
    std::string bytes;
  };

  MemoryPipe(rt::Loop& l, std::set<MemoryPipe*>& all, const Address& s, const Address& from)
      : loop(l), registry(all), server(s), sender(from) {
    registry.insert(this);
  }
  ~MemoryPipe() override { registry.erase(this); }

  void on_timer() override;
  void deliver();
  size_t held() const { return arrived.size() + under_way_bytes; }

  rt::Loop& loop;
  std::set<MemoryPipe*>& registry;
  Address server;  // the listening end of the connection
  Address sender;
  MemoryStream* reader = nullptr;
  MemoryStream* writer = nullptr;
  std::deque<Segment> under_way;
  size_t under_way_bytes = 0;
  std::string arrived;
  base::TimePoint end_at = base::kNever;  // when the reader learns of the end
  bool ended = false;                     // the reader has learnt of the end
  bool ends_with_reset = false;
  bool reader_destroyed = false;
  bool frozen = false;
};

class MemoryStream final : public ByteStream {
 public:
  MemoryStream(MemoryNetwork& network, std::shared_ptr<MemoryPipe> in,
               std::shared_ptr<MemoryPipe> out)
      : network_(network), in_(std::move(in)), out_(std::move(out)) {
    in_->reader = this;
    out_->writer = this;
    // Bytes may have arrived before this end was made.
    in_->deliver();
  }
  ~MemoryStream() override {
    in_->reader = nullptr;
    in_->reader_destroyed = true;
    // Unread bytes turn the close into a reset, as TCP does.
    end(aborted_ || in_->held() > 0);
    out_->writer = nullptr;
  }
  MemoryStream(const MemoryStream&) = delete;
  MemoryStream& operator=(const MemoryStream&) = delete;

  IoResult try_read(std::span<char> into) override {
    if (in_->ended && in_->ends_with_reset) return {IoResult::Kind::kReset, 0};
    if (in_->arrived.empty()) {
      if (in_->ended) return {IoResult::Kind::kEof, 0};
      set_readable(false);
      return {IoResult::Kind::kWouldBlock, 0};
    }
    size_t n = std::min(into.size(), in_->arrived.size());
    if (network_.options_.read_bytes_max > 0) n = std::min(n, network_.options_.read_bytes_max);
    std::memcpy(into.data(), in_->arrived.data(), n);
    in_->arrived.erase(0, n);
    set_readable(!in_->arrived.empty() || in_->ended);
    if (in_->writer != nullptr) in_->writer->room();
    return {IoResult::Kind::kBytes, n};
  }

  IoResult try_write(std::span<const iovec> pieces) override {
    const bool peer_known_gone = in_->ended && (in_->ends_with_reset || out_->reader_destroyed);
    if (write_closed_ || peer_known_gone) return {IoResult::Kind::kReset, 0};
    if (out_->reader_destroyed) {  // the peer's end is still under way to us
      size_t lost = 0;
      for (const iovec& piece : pieces) lost += piece.iov_len;
      return {IoResult::Kind::kBytes, lost};
    }
    std::string bytes;
    const size_t room =
        network_.options_.window_bytes - std::min(network_.options_.window_bytes, out_->held());
    for (const iovec& piece : pieces) {
      const size_t n = std::min(piece.iov_len, room - bytes.size());
      bytes.append(static_cast<const char*>(piece.iov_base), n);
    }
    if (bytes.empty()) {
      set_writable(false);
      return {IoResult::Kind::kWouldBlock, 0};
    }
    const size_t n = bytes.size();
    out_->under_way_bytes += n;
    out_->under_way.push_back(
        {base::after(out_->loop.now(), network_.options_.latency), std::move(bytes)});
    out_->deliver();
    return {IoResult::Kind::kBytes, n};
  }

  void shutdown_write() override {
    write_closed_ = true;
    end(false);
  }

  void abort() override {
    aborted_ = true;
    write_closed_ = true;
    end(true);
  }

  void room() { set_writable(true); }
  void came_from(const Address& peer) { set_peer(peer); }
  void news() {
    set_readable(true);
    if (in_->ended) {
      set_hung_up();
      set_writable(true);
    }
  }

 private:
  void end(bool reset) {
    if (reset) {
      out_->ends_with_reset = true;
      out_->under_way.clear();
      out_->under_way_bytes = 0;
    }
    if (out_->end_at == base::kNever || reset) {
      out_->end_at = base::after(out_->loop.now(), network_.options_.latency);
    }
    out_->deliver();
  }

  MemoryNetwork& network_;
  std::shared_ptr<MemoryPipe> in_;
  std::shared_ptr<MemoryPipe> out_;
  bool write_closed_ = false;
  bool aborted_ = false;
};

void MemoryPipe::on_timer() { deliver(); }

void MemoryPipe::deliver() {
  if (frozen) return;
  const base::TimePoint now = loop.now();
  bool news = false;
  while (!under_way.empty() && under_way.front().at <= now) {
    under_way_bytes -= under_way.front().bytes.size();
    arrived += under_way.front().bytes;
    under_way.pop_front();
    news = true;
  }
  if (!ended && under_way.empty() && end_at <= now) {
    ended = true;
    news = true;
    if (ends_with_reset) arrived.clear();
  }
  if (!under_way.empty()) {
    loop.timers().arm(*this, under_way.front().at);
  } else if (!ended) {
    loop.timers().arm(*this, end_at);
  }
  if (news && reader != nullptr) reader->news();
}

class MemoryListener final : public Listener {
 public:
  MemoryListener(MemoryNetwork& network, const Address& address)
      : network_(network), address_(address) {}
  ~MemoryListener() override { network_.listeners_.erase(address_); }
  MemoryListener(const MemoryListener&) = delete;
  MemoryListener& operator=(const MemoryListener&) = delete;

  rt::Task<base::Result<std::unique_ptr<ByteStream>>> accept() override {
    while (waiting_.empty()) {
      const rt::WaitStatus status = co_await arrived_.wait();
      if (status != rt::WaitStatus::kReady) {
        co_return wait_error(status, co_await rt::current_scope());
      }
    }
    std::unique_ptr<ByteStream> stream = std::move(waiting_.front());
    waiting_.pop_front();
    co_return std::move(stream);
  }
  Address address() const override { return address_; }

  void arrive(std::unique_ptr<ByteStream> stream) {
    waiting_.push_back(std::move(stream));
    arrived_.notify_one();
  }

 private:
  MemoryNetwork& network_;
  Address address_;
  std::deque<std::unique_ptr<ByteStream>> waiting_;
  rt::WaitList arrived_;
};

MemoryNetwork::~MemoryNetwork() {
  CHECK(listeners_.empty() && pipes_.empty(), "a MemoryNetwork outlives its streams and listeners");
}

base::Result<std::unique_ptr<Listener>> MemoryNetwork::listen(const Address& address, PortSharing) {
  Address bound = address;
  if (bound.port == 0) bound.port = next_port_++;
  if (listeners_.contains(bound)) {
    return base::Error(base::ErrorCode::kUnavailable,
                       fmt::format("cannot listen on {}: address in use", to_string(bound)));
  }
  auto listener = std::make_unique<MemoryListener>(*this, bound);
  listeners_[bound] = listener.get();
  return std::unique_ptr<Listener>(std::move(listener));
}

rt::Task<base::Result<std::unique_ptr<ByteStream>>> MemoryNetwork::connect(
    const Address& address, base::TimePoint deadline) {
  const bool swallowed = swallowing_.contains(address);
  const base::TimePoint connected =
      swallowed ? base::kNever : base::after(loop_.now(), 2 * options_.latency);
  if (swallowed || options_.latency > base::Nanos(0)) {
    const rt::WaitStatus status = co_await rt::sleep_until(std::min(connected, deadline));
    rt::Scope& scope = co_await rt::current_scope();
    if (status == rt::WaitStatus::kCancelled) co_return scope.error();
    if (loop_.now() < connected) co_return wait_error(rt::WaitStatus::kTimedOut, scope);
  }
  const auto listener = listeners_.find(address);
  if (listener == listeners_.end()) {
    co_return base::Error(base::ErrorCode::kUnavailable,
                          fmt::format("cannot connect to {}: refused", to_string(address)));
  }
  Address local = address;
  local.port = next_port_++;
  auto there = std::make_shared<MemoryPipe>(loop_, pipes_, address, local);
  auto back = std::make_shared<MemoryPipe>(loop_, pipes_, address, address);
  back->frozen = frozen_.contains(address);
  auto accepted = std::make_unique<MemoryStream>(*this, there, back);
  accepted->came_from(local);
  listener->second->arrive(std::move(accepted));
  co_return std::unique_ptr<ByteStream>(std::make_unique<MemoryStream>(*this, back, there));
}

rt::Task<base::Result<std::vector<Address>>> MemoryNetwork::resolve(const HostPort& host,
                                                                    base::TimePoint) {
  const auto named = names_.find(host.host);
  if (named == names_.end()) {
    co_return resolve_blocking(host);
  }
  std::vector<Address> addresses = named->second;
  for (Address& address : addresses) address.port = host.port;
  co_return addresses;
}

void MemoryNetwork::name(const std::string& host, std::vector<Address> addresses) {
  names_[host] = std::move(addresses);
}

void MemoryNetwork::freeze(const Address& address) {
  frozen_.insert(address);
  for (MemoryPipe* pipe : pipes_) {
    if (pipe->sender == address) pipe->frozen = true;
  }
}

void MemoryNetwork::thaw(const Address& address) {
  frozen_.erase(address);
  for (MemoryPipe* pipe : pipes_) {
    if (pipe->sender == address && pipe->frozen) {
      pipe->frozen = false;
      pipe->deliver();
    }
  }
}

void MemoryNetwork::reset_streams(const Address& address) {
  for (MemoryPipe* pipe : pipes_) {
    if (pipe->server == address && pipe->writer != nullptr) pipe->writer->abort();
  }
}

}  // namespace fairlead::net
