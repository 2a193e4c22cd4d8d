import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TenantStatus } from "../status/status-schema";
import { ENTRY_FACTS, ENTRY_FIELDS, type TenantEntries } from "./data/entry-store";
import type { SiteData } from "./data/site-data";
import { attentionPage, entryPage, overviewPage } from "./pages/overview";
import { digestOf, rolloutPage, tenantPage } from "./pages/paths";
import { rolloutHtml } from "./pages/rollout";
import { rolloutsPage } from "./pages/rollouts";
import { scriptJson } from "./pages/script-json";
import type { Shell } from "./pages/shell";
import { tenantHtml } from "./pages/tenant";
import { tenantsPage } from "./pages/tenants";
import { SITE_STYLE } from "./site-style";

/** A file of the site: its path, relative to the site and with slashes, and its text. */
export type SiteFile = readonly [path: string, text: string];

/** The parts of the pages' script, which are concatenated in this order. */
const SCRIPTS = ["store.js", "search.js", "told.js", "pages.js"];

/** The number of entries in one data file. The page of a tenant loads a few of these files, and the search loads all. */
const CHUNK = 1_000;

/**
 * Generates the files of a site one by one, to keep memory use low. Data and assets come first, with names that depend on their contents.
 * Then come the pages that need them, with the first page last.
 */
export function* siteFiles(data: SiteData): Generator<SiteFile> {
  const { status, entries, rollouts } = data;
  const script = SCRIPTS.map((file) => readFileSync(join(__dirname, "browser", file), "utf8")).join("");
  const style = hashed("assets/site", "css", SITE_STYLE);
  const scripts = hashed("assets/site", "js", script);
  yield style;
  yield scripts;
  const chunks: string[] = [];
  for (let first = 0; first < entries.rows.length; first += CHUNK) {
    const rows = entries.rows.slice(first, first + CHUNK);
    const text = `fleetSite.takeEntries(${first}, ${scriptJson(rows)});\n`;
    const file = hashed(`data/entries-${chunks.length}`, "js", text);
    chunks.push(file[0]);
    yield file;
  }
  const fleet = hashed("data/fleet", "js", `fleetSite.takeFleet(${scriptJson(fleetOf(data, chunks))});\n`);
  yield fleet;
  const shell: Shell = { status, style: style[0], script: scripts[0], fleet: fleet[0] };
  const ends = byTenant(status.ends);
  const reviews = byTenant(status.reviews);
  const findings = byTenant(status.findings);
  for (const tenant of status.tenants) {
    const { name, stack } = tenant;
    const own = entries.tenants.get(name) ?? { ranges: [], unlike: [] };
    yield [
      tenantPage(name),
      tenantHtml(shell, {
        tenant,
        entries: own,
        ends: ends.get(name) ?? [],
        reviews: reviews.get(name) ?? [],
        findings: findings.get(name) ?? [],
        history: rollouts?.stacks.get(stack) ?? [],
        runs: data.runs,
        data: chunksOf(own, chunks),
      }),
    ];
  }
  const tenants = new Set(status.tenants.map(({ name }) => name));
  const { rollouts: recent = [] } = rollouts ?? {};
  for (const shown of recent) {
    yield [rolloutPage(shown.report.id), rolloutHtml(shell, { shown, rollouts: recent, tenants })];
  }
  yield ["tenants.html", tenantsPage(shell)];
  yield ["rollouts.html", rolloutsPage(shell, rollouts, tenants)];
  yield ["attention.html", attentionPage(shell)];
  yield ["entry.html", entryPage(shell)];
  yield ["index.html", overviewPage(shell, data)];
}

/** The data about tenants that the search needs. */
function fleetOf({ status, entries }: SiteData, chunks: readonly string[]) {
  const told = ({ name, standing }: TenantStatus) => {
    const { ranges = [], unlike = [], mail } = entries.tenants.get(name) ?? {};
    const about = { name, page: tenantPage(name), standing, ranges, unlike };
    return mail === undefined ? about : { ...about, mail: mail.seen };
  };
  return {
    fields: ENTRY_FIELDS,
    facts: ENTRY_FACTS,
    // Relative to the file that names them.
    chunks: chunks.map((file) => file.slice("data/".length)),
    tenants: status.tenants.map(told),
  };
}

/** The data files that contain a tenant's entries. */
function chunksOf({ ranges, unlike }: TenantEntries, chunks: readonly string[]): readonly string[] {
  const needed = new Set<number>();
  for (const [first, last] of [...ranges, ...unlike.map(([entry]) => [entry, entry] as const)]) {
    for (let chunk = Math.floor(first / CHUNK); chunk <= Math.floor(last / CHUNK); chunk += 1)
      needed.add(chunk);
  }
  return [...needed].sort((one, other) => one - other).flatMap((chunk) => chunks[chunk] ?? []);
}

function byTenant<T extends { readonly tenants: readonly string[] }>(all: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const one of all) {
    for (const name of one.tenants) {
      const some = found.get(name);
      // On a tenant's own page, the point applies only to that tenant.
      const own = { ...one, tenants: [name] };
      if (some === undefined) found.set(name, [own]);
      else some.push(own);
    }
  }
  return found;
}

function hashed(name: string, ending: string, text: string): SiteFile {
  return [`${name}-${digestOf(text)}.${ending}`, text];
}
