// What Fairlead takes from Rust crates. Any thread; a rule may be asked on several at once.
#pragma once

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fairlead_cel_rule fairlead_cel_rule;

// UTF-8, owned by the library until fairlead_text_free; data is NULL where there is none.
typedef struct {
  char* data;
  size_t size;
} fairlead_text;

void fairlead_text_free(fairlead_text text);

// `schema` is JSON: the schema of the value with one rule in x-kubernetes-validations. NULL, and a
// reason in *error, for a rule that does not compile or that names anything but self and oldSelf.
fairlead_cel_rule* fairlead_cel_compile(const char* schema, size_t size, fairlead_text* error);
void fairlead_cel_free(fairlead_cel_rule* rule);

// Whether it compares with the value before the change.
int fairlead_cel_is_transition(const fairlead_cel_rule* rule);

typedef enum {
  FAIRLEAD_CEL_HOLDS = 0,
  FAIRLEAD_CEL_FAILS = 1,      // *message: the rule's
  FAIRLEAD_CEL_ERROR = 2,      // *message: why it could not be evaluated
  FAIRLEAD_CEL_TOO_COSTLY = 3  // it was not evaluated
} fairlead_cel_verdict;

// `self` and `old` are JSON values; `old` is NULL where there is none, and then a transition rule
// holds. *cost becomes what it may cost at most; what may cost more than `cost_max` is not
// evaluated.
fairlead_cel_verdict fairlead_cel_ask(const fairlead_cel_rule* rule, const char* self,
                                      size_t self_size, const char* old, size_t old_size,
                                      uint64_t cost_max, uint64_t* cost, fairlead_text* message);

#ifdef __cplusplus
}
#endif
