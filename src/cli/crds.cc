#include "cli/crds.h"

#include <fmt/format.h>

#include <cstdio>

#include "api/custom_resource.h"
#include "codec/reflect.h"

namespace fairlead::cli {

BOOST_DESCRIBE_STRUCT(CrdsConfig, (), (directory))

auto fields_of(const CrdsConfig*) {
  return std::tuple{codec::Field<&CrdsConfig::directory>{
      .doc = "folder that gets one file for each; without it they are printed"}};
}

const codec::StructInfo& info_of(const CrdsConfig*) { return codec::describe<CrdsConfig>(); }

std::string crds_text() {
  std::string text;
  for (const api::CustomResource& resource : api::custom_resources()) {
    text += "---\n" + api::crd_yaml(resource);
  }
  return text;
}

base::Result<> write_crds(const std::string& directory) {
  for (const api::CustomResource& resource : api::custom_resources()) {
    const std::string path = fmt::format("{}/{}", directory, api::crd_file_name(resource));
    const std::string text = api::crd_yaml(resource);
    std::FILE* file = std::fopen(path.c_str(), "we");
    if (file == nullptr) return base::invalid_argument(fmt::format("cannot write {}", path));
    const bool whole = std::fwrite(text.data(), 1, text.size(), file) == text.size();
    if (std::fclose(file) != 0 || !whole) {
      return base::Error(base::ErrorCode::kUnavailable,
                         fmt::format("cannot write all of {}", path));
    }
  }
  return {};
}

}  // namespace fairlead::cli
