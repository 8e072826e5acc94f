// `fairlead crds`: the CustomResourceDefinitions of Fairlead's kinds, printed or written to a
// folder.
#pragma once

#include <string>

#include "base/result.h"
#include "codec/described.h"

namespace fairlead::cli {

struct CrdsConfig {
  std::string directory;
};

const codec::StructInfo& info_of(const CrdsConfig*);

// All definitions, as the documents of one YAML stream.
std::string crds_text();
// One file for each definition, in a folder that exists.
base::Result<> write_crds(const std::string& directory);

}  // namespace fairlead::cli
