import { createHash } from "node:crypto";

/** The names of devices on Windows, with any extension. */
const WINDOWS_DEVICE = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/;

/**
 * Returns the path of a tenant's page, relative to the site. It is the same in each run, and unique for each name on
 * any file system.
 */
export function getTenantPagePath(name: string): string {
  return `tenants/${toFileName(name)}.html`;
}

/** Returns the path of a rollout's page, with the same properties. */
export function getRolloutPagePath(id: string): string {
  return `rollouts/${toFileName(id)}.html`;
}

function toFileName(name: string): string {
  const isPlain = /^[a-z0-9][a-z0-9_.-]{0,100}$/.test(name) && !WINDOWS_DEVICE.test(name);
  if (isPlain) return name;
  return `t-${name
    .slice(0, 100)
    .toLowerCase()
    .replaceAll(/[^a-z0-9_-]/g, "-")}~${computeShortDigest(name)}`;
}

/** Returns a digest that distinguishes texts in file names. */
export function computeShortDigest(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/**
 * Returns whether a site may contain a path. Only such paths are ever deleted, whatever a list of files contains.
 * Excludes the stored runs, which are the site's history.
 */
export function isSitePath(path: string): boolean {
  return /^(?:(?:index|tenants|rollouts|attention|entry)\.html|(?:tenants|rollouts)\/[a-z0-9][a-z0-9_.~-]{0,150}\.html|assets\/site-[0-9a-f]{12}\.(?:css|js)|data\/(?:fleet|entries-\d{1,6})-[0-9a-f]{12}\.js)$/.test(
    path,
  );
}
