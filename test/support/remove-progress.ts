/** A line of a command that takes longer than two seconds: `Reading tenants: 3 of 40 …`. */
const PROGRESS = /^(?:Planning|Reading tenants)[^\n]* …\n/gm;

/** Removes the lines that a command prints only on a slow machine, or with a slow service. */
export function removeProgress(output: string): string {
  return output.replaceAll(PROGRESS, "");
}
