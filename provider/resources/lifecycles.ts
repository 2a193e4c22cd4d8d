import { allowDenyEntry } from "./lifecycle/allow-deny-entry";
import { allowDenyList } from "./lifecycle/allow-deny-list";
import type { Lifecycle } from "./lifecycle/lifecycle";
import { vipEmployee } from "./lifecycle/vip-employee";
import { vipList } from "./lifecycle/vip-list";
import type { ResourceKind } from "./resource-type";

const lifecycles = {
  AllowDenyEntry: allowDenyEntry,
  AllowDenyList: allowDenyList,
  VipEmployee: vipEmployee,
  VipList: vipList,
} satisfies Record<ResourceKind, unknown>;

/** The lifecycle of a kind of resource; a front knows no more of its inputs and its state than that they are objects. */
export function lifecycleOf(kind: ResourceKind): Lifecycle<object, object> {
  return lifecycles[kind] as unknown as Lifecycle<object, object>;
}
