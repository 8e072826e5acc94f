#include "api/model_serving.h"

#include "api/describe.h"
#include "api/rule_texts.h"

namespace fairlead::api {

BOOST_DESCRIBE_ENUM(PluginType, BuiltIn)
BOOST_DESCRIBE_ENUM(PluginTarget, All, Entry, Worker)
BOOST_DESCRIBE_STRUCT(PluginScope, (), (roles, target))
BOOST_DESCRIBE_STRUCT(PluginSpec, (), (name, type, config, scope))
BOOST_DESCRIBE_ENUM(RolloutType, ServingGroupRollingUpdate, RoleRollingUpdate)
BOOST_DESCRIBE_STRUCT(RollingUpdateConfiguration, (), (maxUnavailable, partition))
BOOST_DESCRIBE_STRUCT(RolloutStrategy, (), (type, rollingUpdateConfiguration))
BOOST_DESCRIBE_ENUM(RecoveryPolicy, ServingGroupRecreate, RoleRecreate, None)
BOOST_DESCRIBE_STRUCT(GangPolicy, (), (minRoleReplicas))
BOOST_DESCRIBE_ENUM(TopologyMode, hard, soft)
BOOST_DESCRIBE_STRUCT(TopologyPolicy, (), (mode, highestTierAllowed, highestTierName))
BOOST_DESCRIBE_STRUCT(NetworkTopology, (), (groupPolicy, rolePolicy))
BOOST_DESCRIBE_STRUCT(Role, (),
                      (name, replicas, entryTemplate, workerReplicas, workerTemplate,
                       maxUnavailable, partition))
BOOST_DESCRIBE_STRUCT(ServingGroup, (),
                      (restartGracePeriodSeconds, gangPolicy, networkTopology, roles))
BOOST_DESCRIBE_STRUCT(ModelServingSpec, (),
                      (replicas, schedulerName, plugins, template_, rolloutStrategy,
                       recoveryPolicy))
BOOST_DESCRIBE_STRUCT(ModelServingStatus, (),
                      (observedGeneration, replicas, currentReplicas, updatedReplicas,
                       availableReplicas, currentRevision, updateRevision, labelSelector,
                       conditions))
BOOST_DESCRIBE_STRUCT(ModelServing, (), (metadata, spec, status))

const TypeInfo& type_of(const PluginType*) {
  static const TypeInfo kType = describe_enum<PluginType>();
  return kType;
}

const TypeInfo& type_of(const PluginTarget*) {
  static const TypeInfo kType = describe_enum<PluginTarget>();
  return kType;
}

const TypeInfo& type_of(const PluginScope*) {
  using T = PluginScope;
  static const TypeInfo kType =
      describe<T>({.doc = "Which pods a plugin changes."},
                  {field<&T::roles>({.doc = "Roles by name; all where there are none."}),
                   field<&T::target>({.doc = "Which pods of a role; all by default."})});
  return kType;
}

const TypeInfo& type_of(const PluginSpec*) {
  using T = PluginSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "A step that changes pods before they are made."},
      {field<&T::name>({.doc = "The name of a built-in plugin.", .required = true}),
       field<&T::type>(
           {.doc = "Where it comes from.", .required = true, .default_json = R"("BuiltIn")"}),
       field<&T::config>({.doc = "Its configuration, as the plugin defines it."}),
       field<&T::scope>({.doc = "Which pods it changes; all by default."})});
  return kType;
}

const TypeInfo& type_of(const RolloutType*) {
  static const TypeInfo kType = describe_enum<RolloutType>();
  return kType;
}

const TypeInfo& type_of(const RollingUpdateConfiguration*) {
  using T = RollingUpdateConfiguration;
  static const TypeInfo kType = describe<T>(
      {.doc = "The pace of an update by groups."},
      {field<&T::maxUnavailable>(
           {.doc = "Groups, or a percentage of replicas rounded down but at "
                   "least 1, that may be missing meanwhile; not 0.",
            .default_json = "1",
            .webhook = {{"", rule_texts::kAmount}, {"", rule_texts::kMoves}}}),
       field<&T::partition>({.doc = "So many groups, or a percentage of replicas rounded up, keep "
                                    "the old template, counted from the lowest ordinal.",
                             .webhook = {{"", rule_texts::kAmount}}})});
  return kType;
}

const TypeInfo& type_of(const RolloutStrategy*) {
  using T = RolloutStrategy;
  static const TypeInfo kType = describe<T>(
      {.doc = "How a change of the template reaches the pods."},
      {field<&T::type>({.doc = "Whether whole groups or single roles are replaced.",
                        .required = true,
                        .default_json = R"("ServingGroupRollingUpdate")"}),
       field<&T::rollingUpdateConfiguration>({.doc = "The pace of an update by groups.",
                                              .webhook = {{"", rule_texts::kNoGroupPace}}})});
  return kType;
}

const TypeInfo& type_of(const RecoveryPolicy*) {
  static const TypeInfo kType = describe_enum<RecoveryPolicy>();
  return kType;
}

const TypeInfo& type_of(const GangPolicy*) {
  using T = GangPolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "What must be placeable before anything is placed."},
      {field<&T::minRoleReplicas>(
          {.doc = "For each role, how many of its replicas; a role that is not named needs all.",
           .rules = {{.rule = "self == oldSelf", .message = "minRoleReplicas is immutable"}},
           .webhook = {{".*", rule_texts::kNamesRole},
                       {".*", rule_texts::kNotNegative},
                       {".*", rule_texts::kGangSize}}})});
  return kType;
}

const TypeInfo& type_of(const TopologyMode*) {
  static const TypeInfo kType = describe_enum<TopologyMode>();
  return kType;
}

const TypeInfo& type_of(const TopologyPolicy*) {
  using T = TopologyPolicy;
  static const TypeInfo kType = describe<T>(
      {.doc = "How near to each other the pods must be."},
      {field<&T::mode>({.doc = "hard: not placed otherwise; soft: as near as can be.",
                        .default_json = R"("hard")"}),
       field<&T::highestTierAllowed>({.doc = "The highest tier they may span.", .min = 0}),
       field<&T::highestTierName>({.doc = "The same by name.",
                                   .max_length = 253,
                                   .webhook = {{"", rule_texts::kOneTier}}})});
  return kType;
}

const TypeInfo& type_of(const NetworkTopology*) {
  using T = NetworkTopology;
  static const TypeInfo kType =
      describe<T>({.doc = "How near to each other the pods must be."},
                  {field<&T::groupPolicy>({.doc = "All pods of a group."}),
                   field<&T::rolePolicy>({.doc = "The pods of each role replica."})});
  return kType;
}

const TypeInfo& type_of(const Role*) {
  using T = Role;
  const std::vector<WebhookRule> images = {
      {".spec.containers[].image", rule_texts::kNoWhiteSpace},
      {".spec.initContainers[].image", rule_texts::kNoWhiteSpace}};
  std::vector<WebhookRule> of_workers = images;
  of_workers.push_back({"", rule_texts::kWorkerTemplate});
  static const TypeInfo kType = describe<T>(
      {.doc = "One part in serving: an entry pod and its workers, some times over."},
      {field<&T::name>({.doc = "Part of the pods' names.",
                        .required = true,
                        .max_length = 12,
                        .pattern = "^[a-zA-Z0-9]([-a-zA-Z0-9]*[a-zA-Z0-9])?$",
                        .webhook = {{"", rule_texts::kRoleName}}}),
       field<&T::replicas>(
           {.doc = "How many times it is in each group.", .default_json = "1", .min = 0}),
       field<&T::entryTemplate>({.doc = "The entry pod.", .required = true, .webhook = images}),
       field<&T::workerReplicas>({.doc = "Worker pods beside each entry pod.",
                                  .required = true,
                                  .default_json = "0",
                                  .min = 0}),
       field<&T::workerTemplate>(
           {.doc = "The worker pods; needed where there are some.", .webhook = of_workers}),
       field<&T::maxUnavailable>(
           {.doc = "Replicas of the role, or a percentage, that may be missing while roles are "
                   "replaced (RoleRollingUpdate).",
            .default_json = "1",
            .webhook = {{"", rule_texts::kAmount}, {"", rule_texts::kMoves}}}),
       field<&T::partition>(
           {.doc = "So many replicas of the role keep the old template "
                   "(RoleRollingUpdate).",
            .webhook = {{"", rule_texts::kRolePartition}, {"", rule_texts::kAmount}}})});
  return kType;
}

const TypeInfo& type_of(const ServingGroup*) {
  using T = ServingGroup;
  static const TypeInfo kType = describe<T>(
      {.doc = "The smallest unit that can serve a request.",
       .rules = {{.rule = "!has(oldSelf.gangPolicy) || has(self.gangPolicy)",
                  .message = "gangPolicy is required once set"}}},
      {field<&T::restartGracePeriodSeconds>(
           {.doc = "How long a failed pod may take to recover before it is replaced.",
            .default_json = "0"}),
       field<&T::gangPolicy>({.doc = "What must be placeable before anything is placed."}),
       field<&T::networkTopology>({.doc = "How near to each other the pods must be."}),
       field<&T::roles>({.doc = "The parts of the group.",
                         .required = true,
                         .min_items = 1,
                         .max_items = 4,
                         .rules = {{.rule = "self.all(x, self.exists_one(y, y.name == x.name))",
                                    .message = "roles name must be unique"}}})});
  return kType;
}

const TypeInfo& type_of(const ModelServingSpec*) {
  using T = ModelServingSpec;
  static const TypeInfo kType = describe<T>(
      {.doc = "How many groups of which pods."},
      {field<&T::replicas>({.doc = "How many groups.", .default_json = "1", .min = 0}),
       field<&T::schedulerName>({.doc = "The pods' scheduler; volcano places groups as a whole.",
                                 .default_json = R"("volcano")"}),
       field<&T::plugins>({.doc = "Steps that change pods before they are made, in order."}),
       field<&T::template_>({.doc = "The group.", .required = true}),
       field<&T::rolloutStrategy>({.doc = "How a change of the template reaches the pods."}),
       field<&T::recoveryPolicy>({.doc = "What is made anew when a pod is lost.",
                                  .default_json = R"("RoleRecreate")",
                                  .webhook = {{"", rule_texts::kNoGroupRecreate}}})});
  return kType;
}

const TypeInfo& type_of(const ModelServingStatus*) {
  using T = ModelServingStatus;
  static const TypeInfo kType =
      describe<T>({.doc = "What there is."},
                  {field<&T::observedGeneration>({.doc = "The metadata.generation this is about."}),
                   field<&T::replicas>({.doc = "All groups."}),
                   field<&T::currentReplicas>({.doc = "Groups of an older revision."}),
                   field<&T::updatedReplicas>({.doc = "Groups of the newest revision."}),
                   field<&T::availableReplicas>({.doc = "Groups that can serve."}),
                   field<&T::currentRevision>({.doc = "The revision before the update."}),
                   field<&T::updateRevision>({.doc = "The newest revision."}),
                   field<&T::labelSelector>({.doc = "The pods that autoscalers count, as text."}),
                   field<&T::conditions>({.doc = "Available, Progressing and UpdateInProgress."})});
  return kType;
}

const TypeInfo& type_of(const ModelServing*) {
  using T = ModelServing;
  static const TypeInfo kType =
      describe_kind<T>({.doc = "Groups of pods in roles that serve a model."},
                       {field<&T::metadata>({.webhook = {{".name", rule_texts::kPodNames}}}),
                        field<&T::spec>({.required = true}), field<&T::status>({})});
  return kType;
}

}  // namespace fairlead::api
