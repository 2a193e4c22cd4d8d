import { resolve } from "node:path";
import { quote } from "../../model/text";
import { formatLineLocation } from "../../settings-files/finding";
import type { KeySource } from "../model/target";
import type { LocatedTarget } from "./target-builder";
import type { TargetsFindings } from "./targets-findings";

/** Adds an error for each name, stack or key that two tenants share. */
export function reportDuplicateTargets(targets: readonly LocatedTarget[], findings: TargetsFindings): void {
  const names = new Map<string, LocatedTarget>();
  const stacks = new Map<string, LocatedTarget>();
  const keys = new Map<string, LocatedTarget>();
  for (const locatedTarget of targets) {
    const { target, stackLocation, keyLocation } = locatedTarget;
    // On case-insensitive file systems, names that differ only in case are the same file. This affects settings files
    // and the state of stacks.
    const existing = names.get(target.name.toLowerCase());
    if (existing !== undefined) {
      const { name, place } = existing.target;
      const message =
        name === target.name
          ? `the tenant ${quote(name)} is declared twice, here and at ${formatLineLocation(place)}; keep one of the two`
          : `the tenant ${quote(target.name)} differs only in case from ${quote(name)}, at ${formatLineLocation(place)}; rename one of the two`;
      findings.addError("duplicate-tenant", message, target.place);
      continue;
    }
    names.set(target.name.toLowerCase(), locatedTarget);
    const sameStackTarget = stacks.get(target.stack);
    if (sameStackTarget === undefined) stacks.set(target.stack, locatedTarget);
    else {
      const message = `${quote(target.name)} has the stack ${quote(target.stack)}, which ${quote(sameStackTarget.target.name)} also has, at ${formatLineLocation(sameStackTarget.stackLocation)}; each would remove what the other declares. Give each its own stack`;
      findings.addError("duplicate-stack", message, stackLocation);
    }
    const identity = `${target.baseUrl} ${getKeyIdentity(target.key)}`;
    const sameKeyTarget = keys.get(identity);
    if (sameKeyTarget === undefined) keys.set(identity, locatedTarget);
    else {
      const message = `${quote(target.name)} has the address and the key of ${quote(sameKeyTarget.target.name)}, at ${formatLineLocation(sameKeyTarget.keyLocation)}, so both are the same tenant of the service; keep one of the two, or give it its own key`;
      findings.addError("duplicate-api-key", message, keyLocation);
    }
  }
}

function getKeyIdentity(key: KeySource): string {
  if (key.from === "file") return JSON.stringify([key.from, resolve(key.path)]);
  return JSON.stringify([key.from, key.from === "environment" ? key.variable : key.command]);
}
