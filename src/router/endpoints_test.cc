#include "router/endpoints.h"

#include <gtest/gtest.h>

namespace fairlead::router {
namespace {

TEST(Endpoints, ServesWhatAnEngineGeneratesOrCounts) {
  for (const char* path : {"/v1/chat/completions", "/v1/completions", "/v1/embeddings",
                           "/v1/responses", "/v1/messages", "/v1/score", "/score", "/v1/rerank",
                           "/v2/rerank", "/rerank", "/tokenize", "/detokenize"}) {
    EXPECT_EQ(find_endpoint(path).kind, EndpointKind::kJson) << path;
    EXPECT_EQ(find_endpoint(path).method, "POST") << path;
  }
  for (const char* path : {"/v1/audio/transcriptions", "/v1/audio/translations"}) {
    EXPECT_EQ(find_endpoint(path).kind, EndpointKind::kMultipart) << path;
  }
  EXPECT_EQ(find_endpoint("/v1/models").method, "GET");
  EXPECT_EQ(find_endpoint("/healthz").method, "GET");
  EXPECT_EQ(find_endpoint("/readyz").method, "GET");
}

TEST(Endpoints, PathsAreComparedWhole) {
  for (const char* path : {"", "/", "/v1", "/v1/", "/v1/models/", "/v1/models/x", "/V1/models",
                           "v1/models", "//v1/models", "/v1/chat/completions/..", "/healthzz"}) {
    EXPECT_EQ(find_endpoint(path).kind, EndpointKind::kUnknown) << path;
  }
}

}  // namespace
}  // namespace fairlead::router
