#include "cli/testing.h"

#include "codec/reflect.h"

namespace fairlead::cli {

using codec::Field;

BOOST_DESCRIBE_STRUCT(TestConfig, (), (port, wait_max, name, fast, log, backend))

auto fields_of(const TestConfig*) {
  using C = TestConfig;
  return std::tuple{Field<&C::port>{.doc = "where to listen", .min = uint16_t{1}},
                    Field<&C::wait_max>{.doc = "longest wait", .min = std::chrono::milliseconds(1)},
                    Field<&C::name>{.doc = "what it is called", .required = true},
                    Field<&C::fast>{.doc = "hurry"},
                    Field<&C::log>{.doc = "write a log"},
                    Field<&C::backend>{.doc = "where requests go"}};
}

const codec::StructInfo& info_of(const TestConfig*) { return codec::describe<TestConfig>(); }

}  // namespace fairlead::cli
