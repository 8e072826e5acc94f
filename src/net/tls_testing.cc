#include "net/tls_testing.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.h"

namespace fairlead::net {
namespace {

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  std::string text(data, static_cast<size_t>(size));
  BIO_free(bio);
  return text;
}

std::string pem_of(X509* certificate) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_X509(bio, certificate);
  return text_of(bio);
}

std::string pem_of(EVP_PKEY* key) {
  BIO* bio = BIO_new(BIO_s_mem());
  PEM_write_bio_PrivateKey(bio, key, nullptr, nullptr, 0, nullptr, nullptr);
  return text_of(bio);
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  CHECK(extension != nullptr, "the extension is well formed");
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

void set_time(ASN1_TIME* field, base::WallTime time) {
  ASN1_TIME_set(field, std::chrono::floor<std::chrono::seconds>(time).time_since_epoch().count());
}

std::string next_name() {
  static int number = 0;
  return "test authority " + std::to_string(++number);
}

X509* new_certificate(EVP_PKEY* key, const std::string& name, base::WallTime from,
                      base::WallTime until) {
  static long serial = 0;
  X509* certificate = X509_new();
  X509_set_version(certificate, 2);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), ++serial);
  set_time(X509_getm_notBefore(certificate), from);
  set_time(X509_getm_notAfter(certificate), until);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  X509_set_pubkey(certificate, key);
  return certificate;
}

}  // namespace

struct TestAuthority::Identity {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = new_certificate(key, next_name(), at_year(2000), at_year(2100));
  ~Identity() {
    X509_free(certificate);
    EVP_PKEY_free(key);
  }
};

TestAuthority::TestAuthority() : identity_(std::make_unique<Identity>()) {
  X509* certificate = identity_->certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(certificate));
  extend(certificate, certificate, NID_basic_constraints, "critical,CA:TRUE");
  X509_sign(certificate, identity_->key, EVP_sha256());
}

TestAuthority::~TestAuthority() = default;

std::string TestAuthority::pem() const { return pem_of(identity_->certificate); }

Certificate TestAuthority::issue(const std::string& names, base::WallTime from,
                                 base::WallTime until) const {
  EVP_PKEY* key = EVP_EC_gen("P-256");
  X509* certificate = new_certificate(key, "test server", from, until);
  X509_set_issuer_name(certificate, X509_get_subject_name(identity_->certificate));
  extend(certificate, identity_->certificate, NID_subject_alt_name, names);
  X509_sign(certificate, identity_->key, EVP_sha256());
  Certificate issued{pem_of(certificate), pem_of(key)};
  X509_free(certificate);
  EVP_PKEY_free(key);
  return issued;
}

base::WallTime TestAuthority::at_year(int year) {
  return std::chrono::sys_days(std::chrono::year(year) / std::chrono::January / 1);
}

}  // namespace fairlead::net
