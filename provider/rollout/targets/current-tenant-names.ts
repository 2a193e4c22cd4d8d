import { EmailSecurityError } from "../../settings/email-security-error";
import { readTargets } from "./read-targets";

export interface PresentNames {
  readonly project: string;
  readonly names: ReadonlyMap<string, string>;
}

/** Reads the tenants' current names, by stack. Undefined if the file can't be read. */
export function readPresentNames(file: string): PresentNames | undefined {
  try {
    const { project, targets } = readTargets(file);
    return { project, names: new Map(targets.map(({ name, stack }) => [stack, name])) };
  } catch (error) {
    if (error instanceof EmailSecurityError) return undefined;
    throw error;
  }
}

export function findStackByName({ names }: PresentNames, name: string): string | undefined {
  return [...names].find(([, presentName]) => presentName === name)?.[0];
}
