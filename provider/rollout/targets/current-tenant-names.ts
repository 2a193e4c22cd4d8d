import { EmailSecurityError } from "../../model/email-security-error";
import { readTargets } from "./read-targets";

export interface CurrentTenantNames {
  readonly project: string;
  readonly names: ReadonlyMap<string, string>;
}

/** Reads the tenants' current names, by stack. Undefined if the file can't be read. */
export function readCurrentTenantNames(file: string): CurrentTenantNames | undefined {
  try {
    const { project, targets } = readTargets(file);
    return { project, names: new Map(targets.map(({ name, stack }) => [stack, name])) };
  } catch (error) {
    if (error instanceof EmailSecurityError) return undefined;
    throw error;
  }
}

export function findStackByName({ names }: CurrentTenantNames, name: string): string | undefined {
  return [...names].find(([, currentName]) => currentName === name)?.[0];
}
