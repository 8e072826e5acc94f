// A certificate authority for tests: keys and certificates made in memory.
//
//   TestAuthority authority;
//   auto server = TlsServer::make(authority.issue("DNS:engine.example"));
//   auto client = TlsClient::make(authority.pem());
#pragma once

#include <memory>
#include <string>

#include "base/clock.h"
#include "net/tls.h"

namespace fairlead::net {

class TestAuthority {
 public:
  TestAuthority();
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  std::string pem() const;
  // For the names, such as "DNS:a.example,IP:10.0.0.1"; by default valid from 2000 to 2100.
  Certificate issue(const std::string& names, base::WallTime from = at_year(2000),
                    base::WallTime until = at_year(2100)) const;
  static base::WallTime at_year(int year);

 private:
  struct Identity;
  std::unique_ptr<Identity> identity_;
};

}  // namespace fairlead::net
