import { allowDenyEntryLifecycle } from "./lifecycle/allow-deny-entry";
import { allowDenyListLifecycle } from "./lifecycle/allow-deny-list";
import type { Lifecycle } from "./lifecycle/lifecycle";
import { vipEmployeeLifecycle } from "./lifecycle/vip-employee";
import { vipListLifecycle } from "./lifecycle/vip-list";
import type { ResourceKind } from "./resource-type";

const lifecycles = {
  AllowDenyEntry: allowDenyEntryLifecycle,
  AllowDenyList: allowDenyListLifecycle,
  VipEmployee: vipEmployeeLifecycle,
  VipList: vipListLifecycle,
} satisfies Record<ResourceKind, unknown>;

/** Returns the lifecycle of a resource kind. To a provider adapter, its inputs and state are opaque objects. */
export function getLifecycle(kind: ResourceKind): Lifecycle<object, object> {
  return lifecycles[kind] as unknown as Lifecycle<object, object>;
}
