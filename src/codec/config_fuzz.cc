// YAML of any kind reads as configuration or fails with words; what reads survives writing.
#include <cstdint>
#include <string_view>

#include "base/check.h"
#include "codec/reflect.h"
#include "codec/yaml.h"

namespace fairlead::codec {
namespace {

enum class Mode { kFast, kSlowButSure };
BOOST_DESCRIBE_ENUM(Mode, kFast, kSlowButSure)

struct Inner {
  base::Bytes size{1024};
  base::Nanos wait{1};
};
BOOST_DESCRIBE_STRUCT(Inner, (), (size, wait))
auto fields_of(const Inner*) {
  return std::tuple{Field<&Inner::size>{.doc = "a size"}, Field<&Inner::wait>{.doc = "a wait"}};
}
const StructInfo& info_of(const Inner*) { return describe<Inner>(); }

struct Outer {
  bool flag = false;
  int16_t count = 1;
  double share = 0.5;
  std::string name;
  Mode mode = Mode::kFast;
  std::optional<uint64_t> seed;
  std::vector<std::string> names;
  Inner inner;
  std::vector<Inner> more;
};
BOOST_DESCRIBE_STRUCT(Outer, (), (flag, count, share, name, mode, seed, names, inner, more))
auto fields_of(const Outer*) {
  return std::tuple{Field<&Outer::flag>{.doc = "a flag"},
                    Field<&Outer::count>{.doc = "a count", .min = -5, .max = 500},
                    Field<&Outer::share>{.doc = "a share", .min = 0, .max = 1},
                    Field<&Outer::name>{.doc = "a name"},
                    Field<&Outer::mode>{.doc = "a mode"},
                    Field<&Outer::seed>{.doc = "a seed"},
                    Field<&Outer::names>{.doc = "names"},
                    Field<&Outer::inner>{.doc = "inner"},
                    Field<&Outer::more>{.doc = "more"}};
}
const StructInfo& info_of(const Outer*) { return describe<Outer>(); }

std::string written(const Outer& outer) {
  std::string text;
  JsonWriter out(text);
  write_described(out, outer);
  return text;
}

void check(std::string_view text) {
  const auto tree = parse_yaml(text);
  if (!tree) {
    CHECK(!tree.error().message().empty(), "a refusal without words");
    return;
  }
  std::vector<std::string> warnings;
  const auto outer = read_described<Outer>(*tree, &warnings);
  if (!outer) {
    CHECK(outer.error().message().starts_with("line "), "an error without a line");
    return;
  }
  CHECK(outer->count >= -5 && outer->count <= 500, "a bound is not kept");
  CHECK(outer->share >= 0 && outer->share <= 1, "a bound is not kept");
  const auto again = read_described<Outer>(*parse_json(written(*outer)));
  CHECK(again.ok() && written(*again) == written(*outer), "what was written reads differently");
}

}  // namespace
}  // namespace fairlead::codec

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  fairlead::codec::check({reinterpret_cast<const char*>(data), size});
  return 0;
}
