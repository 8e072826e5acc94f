#include "api/quantity.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "api/describe.h"
#include "base/ascii.h"

namespace fairlead::api {

__extension__ using Wide = unsigned __int128;
__extension__ using SignedWide = __int128;

namespace {

constexpr std::string_view kPattern =
    R"(^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$)";
constexpr int64_t kNanos = 1'000'000'000;
constexpr size_t kDigitsMax =
    28;  // kept, as many as the largest has in billionths; the rest rounds up
constexpr size_t kBinaryFractionMax = 9;
constexpr int kExponentMax = 100;  // beyond it everything is zero or the largest
constexpr size_t kTextMax = 128;

constexpr Wide kMaxNanos =
    static_cast<Wide>(std::numeric_limits<int64_t>::max()) * static_cast<Wide>(kNanos);

// min(value * factor, more than the maximum).
Wide times(Wide value, Wide factor) {
  return value > kMaxNanos / factor ? kMaxNanos + 1 : value * factor;
}

Wide power_of_ten(int exponent) {
  Wide power = 1;
  while (exponent-- > 0) power *= 10;
  return power;
}

}  // namespace

// Sign, digits, suffix; the value is digits * 10^exponent_ * 2^shift_.
class QuantityParser {
 public:
  explicit QuantityParser(std::string_view text) : text_(text), rest_(text) {}

  base::Result<Quantity> parse() {
    if (text_.size() > kTextMax) return fail();
    negative_ = rest_.starts_with('-');
    if (negative_ || rest_.starts_with('+')) rest_.remove_prefix(1);
    const std::string_view whole = digits();
    std::string_view fraction;
    if (rest_.starts_with('.')) {
      rest_.remove_prefix(1);
      fraction = digits();
    }
    if (whole.empty() && fraction.empty()) return fail();
    if (!suffix()) return fail();
    take(whole, fraction);
    return finish();
  }

 private:
  base::Error fail() const {
    return base::invalid_argument(fmt::format(
        "'{}' is no quantity: a number with an optional suffix such as m, k, Mi, Gi or e3",
        text_.substr(0, kTextMax)));
  }

  std::string_view digits() {
    const auto end = std::find_if_not(rest_.begin(), rest_.end(), base::is_digit);
    const auto count = static_cast<size_t>(end - rest_.begin());
    const std::string_view found = rest_.substr(0, count);
    rest_.remove_prefix(count);
    return found;
  }

  bool suffix() {
    if (rest_.empty()) return true;
    constexpr std::string_view kDecimal = "num kMGTPE";  // 10^-9, 10^-6, ...
    constexpr std::string_view kBinary = "KMGTPE";
    if (rest_.size() == 2 && rest_[1] == 'i') {
      const size_t place = kBinary.find(rest_[0]);
      if (place == std::string_view::npos) return false;
      shift_ = static_cast<int>(10 * (place + 1));
      format_ = Quantity::Format::kBinary;
      return true;
    }
    if (rest_.size() == 1 && rest_[0] != ' ') {
      const size_t place = kDecimal.find(rest_[0]);
      if (place == std::string_view::npos) return false;
      exponent_ = static_cast<int>(place) * 3 - 9;
      return true;
    }
    return exponent_suffix();
  }

  bool exponent_suffix() {
    if (rest_[0] != 'e' && rest_[0] != 'E') return false;
    rest_.remove_prefix(1);
    const bool down = rest_.starts_with('-');
    if (down || rest_.starts_with('+')) rest_.remove_prefix(1);
    const std::string_view power = digits();
    if (power.empty() || !rest_.empty()) return false;
    for (const char c : power) exponent_ = std::min(exponent_ * 10 + (c - '0'), kExponentMax);
    if (down) exponent_ = -exponent_;
    format_ = Quantity::Format::kExponent;
    return true;
  }

  void take(std::string_view whole, std::string_view fraction) {
    const size_t fraction_max =
        format_ == Quantity::Format::kBinary ? kBinaryFractionMax : fraction.size();
    size_t kept = 0;
    const auto add = [&](char c, bool keep) {
      if (!keep || kept >= kDigitsMax) {
        inexact_ = inexact_ || c != '0';
        return false;
      }
      mantissa_ = mantissa_ * 10 + static_cast<Wide>(c - '0');
      kept += mantissa_ != 0;
      return true;
    };
    for (const char c : whole) {
      if (!add(c, true)) ++exponent_;
    }
    for (size_t i = 0; i < fraction.size(); ++i) {
      if (add(fraction[i], i < fraction_max)) --exponent_;
    }
  }

  base::Result<Quantity> finish() {
    Wide nanos = shift_ == 0 ? mantissa_ : times(mantissa_, Wide{1} << shift_);
    const int scale = exponent_ + 9;
    if (scale >= 0) {
      for (int i = 0; i < scale && nanos != 0 && nanos <= kMaxNanos; ++i) nanos = times(nanos, 10);
    } else {  // never with a binary suffix, whose fraction has at most nine digits
      const Wide divisor = power_of_ten(std::min(-scale, 37));
      inexact_ = inexact_ || nanos % divisor != 0;
      nanos /= divisor;
    }
    if (inexact_) ++nanos;
    nanos = std::min(nanos, kMaxNanos);
    Quantity out;
    out.nanos_ = negative_ ? -static_cast<SignedWide>(nanos) : static_cast<SignedWide>(nanos);
    out.text_ = text_;
    out.format_ = format_;
    return out;
  }

  std::string_view text_;
  std::string_view rest_;
  Wide mantissa_ = 0;
  int exponent_ = 0;
  int shift_ = 0;
  bool negative_ = false;
  bool inexact_ = false;
  Quantity::Format format_ = Quantity::Format::kDecimal;
};

Quantity::Quantity(int64_t value)
    : nanos_(static_cast<SignedWide>(value) * kNanos), text_(fmt::to_string(value)) {}

base::Result<Quantity> Quantity::parse(std::string_view text) {
  return QuantityParser(text).parse();
}

int64_t Quantity::scaled(int64_t nanos_a_unit) const {
  const bool negative = nanos_ < 0;
  const Wide amount = static_cast<Wide>(negative ? -nanos_ : nanos_);
  const Wide unit = static_cast<Wide>(nanos_a_unit);
  const Wide units =
      std::min((amount + unit - 1) / unit, static_cast<Wide>(std::numeric_limits<int64_t>::max()));
  return negative ? -static_cast<int64_t>(units) : static_cast<int64_t>(units);
}

double Quantity::as_double() const { return static_cast<double>(nanos_) / 1e9; }

std::string Quantity::canonical() const {
  const std::string sign = nanos_ < 0 ? "-" : "";
  Wide amount = static_cast<Wide>(nanos_ < 0 ? -nanos_ : nanos_);
  if (amount == 0) return "0";
  const bool whole = amount % static_cast<Wide>(kNanos) == 0;
  if (format_ == Format::kBinary && whole && amount >= Wide{1024} * static_cast<Wide>(kNanos)) {
    auto units = static_cast<uint64_t>(amount / static_cast<Wide>(kNanos));
    size_t power = 0;
    while (units % 1024 == 0 && power < 6) units /= 1024, ++power;
    constexpr std::string_view kSuffixes[] = {"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
    return fmt::format("{}{}{}", sign, units, kSuffixes[power]);
  }
  size_t thousands = 0;
  while (amount % 1000 == 0 && thousands < 9) amount /= 1000, ++thousands;
  if (format_ == Format::kExponent) {
    const int exponent = static_cast<int>(thousands) * 3 - 9;
    return exponent == 0 ? fmt::format("{}{}", sign, amount)
                         : fmt::format("{}{}e{}", sign, amount, exponent);
  }
  constexpr std::string_view kSuffixes[] = {"n", "u", "m", "", "k", "M", "G", "T", "P", "E"};
  return fmt::format("{}{}{}", sign, amount, kSuffixes[thousands]);
}

const TypeInfo& type_of(const Quantity*) {
  static const TypeInfo kType = [] {
    TypeInfo type = describe_detail::scalar("", "");
    type.schema.int_or_string = true;
    type.schema.pattern = kPattern;
    type.read = [](const TypeInfo&, Reader& reader, const Json& value, void* object) {
      auto parsed = Quantity::parse(value.is_number() ? to_string(value) : value.as_string());
      if (!parsed) return reader.fail(value, "must be a quantity such as 500m, 2 or 1Gi");
      *static_cast<Quantity*>(object) = std::move(*parsed);
      return true;
    };
    type.write = [](const TypeInfo&, JsonWriter& out, const void* object) {
      out.string(static_cast<const Quantity*>(object)->text());
    };
    return type;
  }();
  return kType;
}

}  // namespace fairlead::api
