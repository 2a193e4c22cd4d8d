import { createHash } from "node:crypto";

/** What Windows has for devices, whatever comes behind the dot. */
const DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/** The page of a tenant, relative to the site: the same in each run, and another one for each name on any file system. */
export function tenantPage(name: string): string {
  return `tenants/${fileName(name)}.html`;
}

/** The page of a rollout, in the same way. */
export function rolloutPage(id: string): string {
  return `rollouts/${fileName(id)}.html`;
}

function fileName(name: string): string {
  const isPlain = /^[a-z0-9][a-z0-9_.-]{0,100}$/.test(name) && !DEVICE.test(name);
  if (isPlain) return name;
  return `t-${name
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, "-")}~${digestOf(name)}`;
}

/** What tells one text from another in the name of a file. */
export function digestOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/**
 * Whether a path is one of those that sites have: nothing else is ever taken away, whatever a list of files says. Not the runs, which
 * are a site's memory.
 */
export function isSitePath(path: string): boolean {
  return /^(?:(?:index|tenants|rollouts|attention|entry)\.html|(?:tenants|rollouts)\/[a-z0-9][a-z0-9_.~-]{0,150}\.html|assets\/site-[0-9a-f]{12}\.(?:css|js)|data\/(?:fleet|entries-\d{1,6})-[0-9a-f]{12}\.js)$/.test(
    path,
  );
}
