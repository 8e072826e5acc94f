// One answer to a list request: its objects, and from where to go on. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kube/object.h"

namespace fairlead::kube {

struct ListPage {
  std::vector<ObjectPtr> items;
  std::string resource_version;  // opaque; what a watch of all that was listed begins from
  std::string continue_token;    // empty on the last page
};

// kProtocol: not a list.
base::Result<ListPage> parse_list(std::string_view body);

}  // namespace fairlead::kube
