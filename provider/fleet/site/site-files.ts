import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { TenantStatus } from "../status/status-schema";
import { ENTRY_DETAIL_LABELS, ENTRY_ROW_FIELDS, type TenantEntries } from "./data/entry-store";
import type { SiteData } from "./data/site-data";
import { renderAttentionPage, renderEntryPage, renderOverviewPage } from "./pages/overview-page";
import type { PageLayout } from "./pages/page-layout";
import { computeShortDigest, getRolloutPagePath, getTenantPagePath } from "./pages/paths";
import { renderRolloutPage } from "./pages/rollout-page";
import { renderRolloutsPage } from "./pages/rollouts-page";
import { formatScriptJson } from "./pages/script-json";
import { renderTenantPage } from "./pages/tenant-page";
import { renderTenantsPage } from "./pages/tenants-page";
import { SITE_STYLE } from "./site-style";

/** A file of the site: its path, relative to the site and with slashes, and its text. */
export type SiteFile = readonly [path: string, text: string];

/** The parts of the pages' script, which are concatenated in this order. */
const SCRIPTS = ["store.js", "search.js", "elements.js", "pages.js"];

/** The number of entries in one data file. The page of a tenant loads a few of these files, and the search loads all. */
const CHUNK_SIZE = 1_000;

/**
 * Generates the files of a site one by one, to keep memory use low. Data and assets come first, with names that depend on their contents.
 * Then come the pages that need them, with the first page last.
 */
export function* generateSiteFiles(data: SiteData): Generator<SiteFile> {
  const { status, entries, rollouts } = data;
  const script = SCRIPTS.map((file) => readFileSync(join(__dirname, "browser", file), "utf8")).join("");
  const style = buildHashedFile("assets/site", "css", SITE_STYLE);
  const scripts = buildHashedFile("assets/site", "js", script);
  yield style;
  yield scripts;
  const chunks: string[] = [];
  for (let first = 0; first < entries.rows.length; first += CHUNK_SIZE) {
    const rows = entries.rows.slice(first, first + CHUNK_SIZE);
    const text = `fleetSite.takeEntries(${first}, ${formatScriptJson(rows)});\n`;
    const file = buildHashedFile(`data/entries-${chunks.length}`, "js", text);
    chunks.push(file[0]);
    yield file;
  }
  const fleet = buildHashedFile(
    "data/fleet",
    "js",
    `fleetSite.takeFleet(${formatScriptJson(buildFleetData(data, chunks))});\n`,
  );
  yield fleet;
  const layout: PageLayout = { status, style: style[0], script: scripts[0], fleet: fleet[0] };
  const expiringByTenant = groupByTenant(status.expiring);
  const reviewsByTenant = groupByTenant(status.reviews);
  const findingsByTenant = groupByTenant(status.findings);
  for (const tenant of status.tenants) {
    const { name, stack } = tenant;
    const tenantEntries = entries.tenants.get(name) ?? { ranges: [], deviations: [] };
    yield [
      getTenantPagePath(name),
      renderTenantPage(layout, {
        tenant,
        entries: tenantEntries,
        expiring: expiringByTenant.get(name) ?? [],
        reviews: reviewsByTenant.get(name) ?? [],
        findings: findingsByTenant.get(name) ?? [],
        history: rollouts?.stacks.get(stack) ?? [],
        runs: data.runs,
        data: getChunkFiles(tenantEntries, chunks),
      }),
    ];
  }
  const tenants = new Set(status.tenants.map(({ name }) => name));
  const { rollouts: recentRollouts = [] } = rollouts ?? {};
  for (const details of recentRollouts) {
    yield [
      getRolloutPagePath(details.report.id),
      renderRolloutPage(layout, { details, rollouts: recentRollouts, tenants }),
    ];
  }
  yield ["tenants.html", renderTenantsPage(layout)];
  yield ["rollouts.html", renderRolloutsPage(layout, rollouts, tenants)];
  yield ["attention.html", renderAttentionPage(layout)];
  yield ["entry.html", renderEntryPage(layout)];
  yield ["index.html", renderOverviewPage(layout, data)];
}

function buildFleetData({ status, entries }: SiteData, chunks: readonly string[]) {
  const toTenantData = ({ name, syncStatus }: TenantStatus) => {
    const { ranges = [], deviations = [], mail } = entries.tenants.get(name) ?? {};
    const tenantData = { name, page: getTenantPagePath(name), syncStatus, ranges, deviations };
    return mail === undefined ? tenantData : { ...tenantData, mail: mail.entries };
  };
  return {
    fields: ENTRY_ROW_FIELDS,
    facts: ENTRY_DETAIL_LABELS,
    // Relative to the file that names them.
    chunks: chunks.map((file) => file.slice("data/".length)),
    tenants: status.tenants.map(toTenantData),
  };
}

function getChunkFiles({ ranges, deviations }: TenantEntries, chunks: readonly string[]): readonly string[] {
  const needed = new Set<number>();
  for (const [first, last] of [...ranges, ...deviations.map(([entry]) => [entry, entry] as const)]) {
    for (let chunk = Math.floor(first / CHUNK_SIZE); chunk <= Math.floor(last / CHUNK_SIZE); chunk += 1)
      needed.add(chunk);
  }
  return [...needed].sort((a, b) => a - b).flatMap((chunk) => chunks[chunk] ?? []);
}

function groupByTenant<T extends { readonly tenants: readonly string[] }>(items: readonly T[]): Map<string, T[]> {
  const itemsByTenant = new Map<string, T[]>();
  for (const item of items) {
    for (const name of item.tenants) {
      const tenantItems = itemsByTenant.get(name);
      // On a tenant's own page, the point applies only to that tenant.
      const tenantItem = { ...item, tenants: [name] };
      if (tenantItems === undefined) itemsByTenant.set(name, [tenantItem]);
      else tenantItems.push(tenantItem);
    }
  }
  return itemsByTenant;
}

function buildHashedFile(name: string, extension: string, text: string): SiteFile {
  return [`${name}-${computeShortDigest(text)}.${extension}`, text];
}
