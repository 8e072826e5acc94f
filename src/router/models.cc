#include "router/models.h"

#include <set>

#include "codec/json.h"

namespace fairlead::router {

base::Result<std::vector<ListedModel>> parse_models(std::string_view body) {
  const auto tree = codec::parse_json(body);
  if (!tree) return tree.error().wrap("the list of models is not JSON");
  const codec::Json* data = tree->find("data");
  if (data == nullptr || !data->is_array()) {
    return base::Error(base::ErrorCode::kProtocol, "the list of models has no array \"data\"");
  }
  std::vector<ListedModel> models;
  std::set<std::string_view> seen;
  for (const codec::Json& entry : data->items()) {
    const codec::Json* id = entry.find("id");
    if (id == nullptr || !id->is_string()) continue;
    const std::string& name = id->as_string();
    if (name.empty() || name.size() > kModelIdBytesMax || !seen.insert(name).second) continue;
    if (models.size() == kModelsPerBackendMax) break;
    models.push_back({name, codec::to_string(entry)});
  }
  return models;
}

std::string merge_models(std::span<const std::vector<ListedModel>* const> lists) {
  std::string out;
  codec::JsonWriter writer(out);
  writer.begin_object().key("object").string("list").key("data").begin_array();
  std::set<std::string_view> seen;
  for (const std::vector<ListedModel>* list : lists) {
    for (const ListedModel& model : *list) {
      if (seen.insert(model.id).second) writer.raw(model.json);
    }
  }
  writer.end_array().end_object();
  return out;
}

}  // namespace fairlead::router
