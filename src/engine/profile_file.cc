#include "engine/profile_file.h"

#include <cstdio>

#include <fmt/format.h>

#include "codec/reflect.h"
#include "codec/yaml.h"

namespace fairlead::engine_model {

BOOST_DESCRIBE_STRUCT(Profile, (),
                      (name, about, weights, kv_cache, kv_per_token, flops_per_token,
                       flops_per_token_and_context, flops_per_second, bytes_per_second,
                       step_overhead, max_model_len, max_num_seqs, max_num_batched_tokens))

inline auto fields_of(const Profile*) {
  using codec::Field;
  return std::tuple{
      Field<&Profile::name>{.doc = "shown in logs"},
      Field<&Profile::about>{.doc = "what it was fitted to"},
      Field<&Profile::weights>{.doc = "bytes of weights read in a step"},
      Field<&Profile::kv_cache>{.doc = "memory for KV blocks"},
      Field<&Profile::kv_per_token>{.doc = "KV bytes of a token", .min = base::Bytes(1)},
      Field<&Profile::flops_per_token>{.doc = "operations of the matrix products", .min = 0.0},
      Field<&Profile::flops_per_token_and_context>{
          .doc = "operations of attention, for a token and a token before it", .min = 0.0},
      Field<&Profile::flops_per_second>{.doc = "operations a second", .min = 1.0},
      Field<&Profile::bytes_per_second>{.doc = "memory bandwidth", .min = 1.0},
      Field<&Profile::step_overhead>{.doc = "fixed time of a step"},
      Field<&Profile::max_model_len>{.doc = "tokens of one request", .min = 2u},
      Field<&Profile::max_num_seqs>{.doc = "requests in a batch", .min = 1u},
      Field<&Profile::max_num_batched_tokens>{.doc = "tokens in a step", .min = 1u}};
}

inline const codec::StructInfo& info_of(const Profile*) { return codec::describe<Profile>(); }

}  // namespace fairlead::engine_model

namespace fairlead::engine {

namespace {

constexpr size_t kFileBytesMax = 1 << 20;

std::string builtin_names() {
  std::string names;
  for (const auto& profile : engine_model::builtin_profiles()) {
    if (!names.empty()) names += ", ";
    names += profile.name;
  }
  return names;
}

base::Result<std::string> read_file(const std::string& path) {
  std::string text(kFileBytesMax + 1, '\0');
  size_t size = 0;
  if (std::FILE* file = std::fopen(path.c_str(), "rb")) {
    size = std::fread(text.data(), 1, text.size(), file);
    std::fclose(file);
  }
  if (size == 0) {
    return base::invalid_argument(fmt::format(
        "'{}' is neither a profile ({}) nor a file that can be read", path, builtin_names()));
  }
  text.resize(size);
  if (text.size() > kFileBytesMax) {
    return base::invalid_argument(fmt::format("'{}' is larger than 1 MiB", path));
  }
  return text;
}

}  // namespace

base::Result<engine_model::Profile> parse_profile(std::string_view text) {
  auto tree = codec::parse_yaml(text);
  if (!tree) return tree.error();
  if (!tree->is_object()) return base::invalid_argument("a profile is a mapping");
  engine_model::Profile profile = engine_model::builtin_profiles().front();
  std::vector<codec::Json::Member> members;
  for (const auto& member : tree->members()) {
    if (member.first != "base") {
      members.push_back(member);
      continue;
    }
    const auto* known = engine_model::find_profile(member.second.as_string());
    if (known == nullptr) {
      return base::invalid_argument(fmt::format("line {}: base is {}: must be one of {}",
                                                member.second.line(),
                                                codec::to_string(member.second), builtin_names()));
    }
    profile = *known;
  }
  profile.figures.clear();
  codec::Reader reader(nullptr);
  if (!reader.read_struct(codec::info_for<engine_model::Profile>(),
                          codec::Json::object(std::move(members)), &profile)) {
    return reader.error();
  }
  return profile;
}

base::Result<engine_model::Profile> load_profile(const std::string& name_or_path) {
  if (const auto* known = engine_model::find_profile(name_or_path)) return *known;
  auto text = read_file(name_or_path);
  if (!text) return text.error();
  auto profile = parse_profile(*text);
  if (!profile) return profile.error().wrap(name_or_path);
  return profile;
}

}  // namespace fairlead::engine
