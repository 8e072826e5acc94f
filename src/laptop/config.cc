#include "laptop/config.h"

#include "codec/reflect.h"

namespace fairlead::laptop {

using codec::Field;

BOOST_DESCRIBE_STRUCT(LaptopConfig, (), (port, metrics_port, engines, model, profile, policy, once))

auto fields_of(const LaptopConfig*) {
  using C = LaptopConfig;
  return std::tuple{
      Field<&C::port>{.doc = "where the router listens, on 127.0.0.1 only", .min = uint16_t{1}},
      Field<&C::metrics_port>{.doc = "where the router's /metrics is", .min = uint16_t{1}},
      Field<&C::engines>{
          .doc = "simulated engines behind the router", .min = 1U, .max = kEnginesMax},
      Field<&C::model>{.doc = "the model's name in requests"},
      Field<&C::profile>{.doc = "what the engines simulate: a profile's name or file"},
      Field<&C::policy>{.doc = "how the router picks a replica, as its own --policy"},
      Field<&C::once>{.doc = "stop after the first answer, with exit code 0"}};
}

const codec::StructInfo& info_of(const LaptopConfig*) { return codec::describe<LaptopConfig>(); }

}  // namespace fairlead::laptop
