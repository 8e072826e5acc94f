// The pieces of Prometheus's text format (version 0.0.4). Pure.
#pragma once

#include <string>
#include <string_view>

#include "obs/metrics.h"

namespace fairlead::obs {

// A metric name: [a-zA-Z_:][a-zA-Z0-9_:]*; a label name: the same without the colon.
bool is_metric_name(std::string_view name);
bool is_label_name(std::string_view name);

// "# HELP name help\n# TYPE name type\n", the help escaped.
void append_family_head(std::string& out, std::string_view name, std::string_view help,
                        std::string_view type);
// name="value", the value escaped.
void append_label(std::string& out, std::string_view name, std::string_view value);
// A series: its name and its labels as append_label printed them, each with a comma after it.
struct SeriesText {
  std::string_view name, labels, more_labels;
};
// One whole line.
void append_sample(std::string& out, const SeriesText& series, double value, Style style);
// A sample's value, or a bucket's bound, as the style prints it.
void append_number(std::string& out, double value, Style style);

}  // namespace fairlead::obs
