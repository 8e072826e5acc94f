#include "api/type_info.h"

namespace fairlead::api {

base::Result<> read_into(const TypeInfo& type, const Json& json, void* object,
                         std::vector<std::string>* warnings) {
  Reader reader(warnings);
  if (!type.read(type, reader, json, object)) return reader.error();
  return {};
}

void write_to(const TypeInfo& type, std::string& out, const void* object) {
  JsonWriter writer(out);
  type.write(type, writer, object);
}

}  // namespace fairlead::api
