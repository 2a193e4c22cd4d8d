import type { Alarm } from "../../plan/plan";
import type { Fact } from "../../plan/render/change-facts";
import type { Card } from "../../plan/render/report";

/** Evidence from a tenant's mail for one change. */
export interface ChangeMail {
  readonly alarm: Alarm;
  readonly facts: readonly Fact[];
}

/** Returns a key that is equal for the same change of two tenants. */
export function changeKey({ change, list }: Pick<Card, "change" | "list">): string {
  const { sign, kind, key, verdictScope = "" } = change;
  return JSON.stringify([sign, kind, list, key, verdictScope]);
}
