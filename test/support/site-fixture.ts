import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { EntryStore } from "../../provider/fleet/site/data/entry-store";
import type { SiteData } from "../../provider/fleet/site/data/site-data";
import { buildSiteRun, type SiteRun } from "../../provider/fleet/site/data/site-runs";
import { openSite, writeSite } from "../../provider/fleet/site/site-directory";
import { generateSiteFiles, type SiteFile } from "../../provider/fleet/site/site-files";
import type { FleetDifference, FleetStatus, TenantStatus } from "../../provider/fleet/status/status-schema";
import type { RecentRollouts } from "../../provider/rollout/history/recent-rollouts";
import type { RecordedChange, RolloutDetails } from "../../provider/rollout/model/history-schema";
import type { RolloutReport, TenantReport, WaveReport } from "../../provider/rollout/model/rollout-report";
import type { TenantState } from "../../provider/rollout/model/wave";
import type { DeclaredEntry, DeclaredVip } from "../../provider/settings-files/settings-model";
import { buildEvidenceBase } from "./mail-history";

/** The size of the fleet that a site is generated from. */
export interface FleetSize {
  readonly tenants: number;
  /** The number of entries of each tenant. */
  readonly entries: number;
  /** The number of these that are its own; the others come from a baseline that all tenants include. */
  readonly own: number;
  /** Text that is added to every field whose content somebody else controls. Default: empty. */
  readonly text?: string;
}

const AT = "2026-11-23T06:00:00.000Z";

/** Generates the data of a site for an invented fleet. Some of its tenants are out of sync. */
export function generateSite({ tenants: many, entries, own, text = "" }: FleetSize): SiteData {
  const store = new EntryStore();
  const baseline = Array.from({ length: entries - own }, (_, index) =>
    buildDeclaredEntry(`shared${index}.example`, "settings/baseline.yaml", index + 3, text),
  );
  const tenants = Array.from({ length: many }, (_, number) => {
    const name = `t${String(number).padStart(3, "0")}`;
    const file = `settings/${name}.yaml`;
    const owned = Array.from({ length: own }, (_, index) =>
      buildDeclaredEntry(`own${index}.${name}.example`, file, index + 4, text),
    );
    const tenant = buildTenantStatus(name, number, entries, text);
    // Nothing is known about files with errors.
    if (tenant.syncStatus !== "unusable") {
      store.addDeclared(name, {
        entries: [...baseline, ...owned],
        vips: [buildDeclaredVip(`ceo@${name}.example`, file, own + 6)],
      });
    }
    if (tenant.error === undefined) {
      const sent = { recipient_email: `ceo@${name}.example`, verdict: `malicious${text}`, time: AT };
      const threats = [
        { ...sent, sender_email: `x@shared0.example` },
        { ...sent, sender_email: `y@shared0.example` },
      ];
      const reports = [{ sender: "z@shared3.example", report_date: AT, verdict: "safe" }];
      const vips = [`ceo@${name}.example`];
      store.addMail(
        name,
        buildEvidenceBase({
          threats,
          reports,
          vips,
          ...(number === 2 && { missing: [`No reports: 403${text}`] }),
        }),
      );
    }
    return tenant;
  });
  const names = tenants.map(({ name }) => name);
  const status: FleetStatus = {
    format: 1,
    readAt: AT,
    file: "tenants.yaml",
    project: "fleet",
    today: AT.slice(0, 10),
    expiringUntil: "2026-12-07",
    tenants,
    expiring: [
      {
        list: "allow",
        value: "shared3.example",
        expires: "2026-12-01",
        isExpired: false,
        owner: `Dana Reyes${text}`,
        ticket: "INC-7",
        place: { file: "settings/baseline.yaml", line: 6 },
        tenants: names,
      },
    ],
    reviews: [
      {
        code: "review-overdue",
        level: "warning",
        message: `the last review was on 2026-01-02${text}`,
        place: { file: "settings/baseline.yaml", line: 8 },
        tenants: names,
      },
    ],
    findings: [],
    isJournalRead: true,
    isComplete: tenants.every(({ error }) => error === undefined),
  };
  return {
    status,
    entries: store.buildFleetEntries(tenants),
    rollouts: generateRecentRollouts(tenants, text),
    runs: [...generateEarlierRuns(status), buildSiteRun(status)],
    ages: [12, 40, 31, 80, 22, 9, 2],
  };
}

/** Returns all files of a site by path. */
export function generateFiles(data: SiteData): ReadonlyMap<string, string> {
  return new Map<string, string>([...generateSiteFiles(data)] satisfies SiteFile[]);
}

/** Returns the total size of all files. */
export function measureFiles(files: ReadonlyMap<string, string>): number {
  return [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** A site in a temporary directory. */
export class WrittenSite implements Disposable {
  readonly directory = mkdtempSync(join(tmpdir(), "email-security-site-"));

  constructor(data: SiteData) {
    writeSite(openSite(this.directory), generateSiteFiles(data), buildSiteRun(data.status));
  }

  [Symbol.dispose](): void {
    rmSync(this.directory, { recursive: true, force: true });
  }
}

function buildDeclaredEntry(value: string, file: string, line: number, text: string): DeclaredEntry {
  const list = line % 5 === 1 ? "allow" : "deny";
  return {
    kind: "entry",
    list,
    key: value,
    text: "",
    value,
    rawValue: value,
    entryType: "domain",
    verdictScope: "global",
    comment: `${list === "allow" ? "Partner of procurement" : "Phishing seen in mail"}${text}`,
    ticket: `INC-${line}${text}`,
    owner: `mail team${text}`,
    overrides: [],
    location: { file, line, column: 5 },
    ...(line % 7 === 0 ? { expires: "2027-03-31" } : {}),
  };
}

function buildDeclaredVip(email: string, file: string, line: number): DeclaredVip {
  return {
    kind: "vip",
    key: email,
    text: "",
    email,
    rawValue: email,
    overrides: [],
    location: { file, line, column: 5 },
  };
}

function buildTenantStatus(name: string, number: number, entries: number, text: string): TenantStatus {
  const rowFields = {
    name,
    labels: { ring: number < 3 ? "canary" : "all", region: `eu${text}` },
    host: "mail.example",
    settings: `settings/${name}.yaml`,
    stack: name,
    lastRollout: { id: "r-20261120-1", wave: "all", state: "done" as const, finishedAt: "2026-11-20T09:30:00.000Z" },
  };
  const elementCounts = { allow: Math.floor(entries / 5), deny: entries - Math.floor(entries / 5), vips: 1 };
  const read = { ...rowFields, readAt: AT, elementCounts, unchanged: entries };
  const added: FleetDifference = {
    driftKind: "added",
    list: "allow",
    value: "outlook.com",
    actual: {
      list: "allow",
      comment: `by hand${text}`,
      createdBy: `Kim Ito${text}`,
      createdAt: "2026-11-22T16:11:00Z",
    },
    risks: ["allow-free-mail"],
  };
  const missing: FleetDifference = {
    driftKind: "missing",
    list: "deny",
    value: "shared0.example",
    declared: { list: "deny", comment: "Phishing seen in mail" },
    place: { file: "settings/baseline.yaml", line: 3 },
  };
  if (number === 1) return { ...read, syncStatus: "drifted", drift: [added, missing], pendingChanges: [] };
  if (number === 2) return { ...read, syncStatus: "drifted", drift: [added], pendingChanges: [] };
  if (number === 4) return { ...read, syncStatus: "behind", drift: [], pendingChanges: [missing] };
  if (number === 5) {
    const error = { code: "ERR_AUTH", message: `the service refuses the key${text}` };
    return { ...rowFields, syncStatus: "wrong-key", error, drift: [], pendingChanges: [] };
  }
  if (number === 7) {
    const error = { code: "ERR_SETTINGS_FILE", message: `settings/t007.yaml can't be used${text}` };
    return { ...rowFields, syncStatus: "unusable", error, drift: [], pendingChanges: [] };
  }
  return { ...read, syncStatus: "in-sync", drift: [], pendingChanges: [] };
}

/** Generates daily runs with growing drift. */
function generateEarlierRuns(status: FleetStatus): SiteRun[] {
  const last = buildSiteRun(status);
  return Array.from({ length: 20 }, (_, day) => ({
    ...last,
    readAt: new Date(Date.parse(AT) - (20 - day) * 86_400_000).toISOString(),
    syncStatuses: { ...last.syncStatuses, drifted: Math.floor(day / 6), behind: (day * 7) % 5 },
    reviews: 3 + ((day * 5) % 4),
    expiring: day % 3,
    expired: Math.floor(day / 8),
    unsyncedStacks: day < 15 ? {} : last.unsyncedStacks,
  }));
}

const DAY_MS = 86_400_000;
const START = Date.parse("2026-11-20T08:00:00.000Z");
const formatIsoTime = (ms: number): string => new Date(ms).toISOString();

/** Generates a stopped rollout, and an older one that was rolled back and pruned. */
function generateRecentRollouts(tenants: readonly TenantStatus[], text: string): RecentRollouts {
  const names = tenants.map(({ name }) => name);
  const stopped = buildRolloutDetails(names, text, {
    id: "r-20261120-1",
    state: "stopped",
    startMs: START,
    reason: `1 tenant failed in the wave all, which tolerates 0${text}.`,
  });
  const back = buildRolloutDetails(names.slice(0, 3), text, {
    id: "r-20261105-1",
    state: "done",
    startMs: START - 15 * DAY_MS,
    rollsBack: "r-20261103-1",
  });
  const pruned = buildRolloutDetails(names.slice(0, 3), text, {
    id: "r-20261103-1",
    state: "abandoned",
    startMs: START - 17 * DAY_MS,
    rolledBackBy: "r-20261105-1",
    prunedAt: formatIsoTime(START),
  });
  const rollouts = [stopped, back, pruned];
  return {
    older: 0,
    rollouts,
    stacks: new Map(
      names.map((name) => [
        name,
        rollouts.flatMap(({ report }) =>
          report.tenants
            .filter((tenant) => tenant.name === name)
            .map(({ wave, state, planned, error }) => ({
              ...{ rollout: report.id, wave, state, planned, time: report.startedAt ?? report.createdAt },
              ...(error === undefined ? {} : { code: error.code }),
            })),
        ),
      ]),
    ),
  };
}

interface MadeRollout extends Pick<RolloutReport, "id" | "state"> {
  readonly startMs: number;
  readonly reason?: string;
  readonly rollsBack?: string;
  readonly rolledBackBy?: string;
  readonly prunedAt?: string;
}

/**
 * The first three tenants form the wave canary; of the others, the fourth failed and the fifth was already as declared.
 */
function buildRolloutDetails(
  names: readonly string[],
  text: string,
  { startMs, prunedAt, ...metadata }: MadeRollout,
): RolloutDetails {
  const changes: readonly RecordedChange[] = [
    { operation: "remove", kind: "entry", key: "old", value: `old.example${text}`, before: { list: "allow" } },
    {
      ...{ operation: "add", kind: "entry", key: "evil", value: "evil.example", ticket: `INC-7${text}` },
      after: { list: "deny", comment: `Phishing${text}` },
    },
    { operation: "add", kind: "vip", key: "ceo", value: "ceo@acme.example", after: {} },
  ];
  const states = names.map((_, index): TenantState => (index === 3 ? "failed" : index === 4 ? "unchanged" : "done"));
  const tenants = names.map(
    (name, index): TenantReport => ({
      name,
      labels: {},
      wave: index < 3 ? "canary" : "all",
      state: states[index] ?? "done",
      host: "mail.example",
      address: "https://mail.example",
      keySource: "the environment variable SECRET_PLACE",
      stack: name,
      planned: index === 4 ? { added: 0, changed: 0, removed: 0 } : { added: 2, changed: 0, removed: 1 },
      changes: [],
      severities: { danger: 0, warning: 0 },
      attempts: index === 4 ? 0 : 1,
      ...(index === 3 && {
        error: {
          code: "ERR_AUTH",
          message: `the service refuses the key${text}`,
          advice: `Check the key${text}; then continue: \`email-security rollout resume ${metadata.id}\`.`,
          phase: "apply",
        },
      }),
      ...(index !== 4 && {
        startedAt: formatIsoTime(startMs + (index < 3 ? 0 : 3_700_000) + index * 30_000),
        finishedAt: formatIsoTime(startMs + (index < 3 ? 0 : 3_700_000) + index * 30_000 + 61_000),
        durationMs: 61_000,
      }),
      ...(index === 2 && { unreverted: [`allow left.example${text}`] }),
    }),
  );
  const countTenantStates = (some: readonly TenantReport[]): RolloutReport["counts"] => {
    const counts = { pending: 0, queued: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 };
    for (const { state } of some) counts[state] += 1;
    return counts;
  };
  const buildWaveReport = (name: string, isLast: boolean): WaveReport => {
    const own = tenants.filter((tenant) => tenant.wave === name);
    return {
      ...{ name, tenants: own.length, counts: countTenantStates(own), maxConcurrent: 2, toleratedFailures: 0 },
      state: isLast && metadata.state === "stopped" ? "stopped" : "done",
      exitCriteria: { soakMs: isLast ? 0 : 3_600_000, hasHealthCheck: false, hasGate: false },
      startedAt: formatIsoTime(name === "all" ? startMs + 3_700_000 : startMs),
      ...(isLast
        ? {}
        : { soakUntil: formatIsoTime(startMs + 3_690_000), finishedAt: formatIsoTime(startMs + 3_690_000) }),
    };
  };
  return {
    format: 1,
    project: "fleet",
    today: formatIsoTime(startMs).slice(0, 10),
    origin: { user: `dana${text}`, host: "build-7", revision: "3f9c01d2a7b84c55", hasUncommittedChanges: true },
    ...(prunedAt === undefined ? {} : { prunedAt }),
    report: {
      ...{ format: 1, source: "tenants.yaml", isActive: false, advice: [], digest: "r2-3f9c01" },
      createdAt: formatIsoTime(startMs - 60_000),
      startedAt: formatIsoTime(startMs),
      finishedAt: formatIsoTime(startMs + 5_400_000),
      ...metadata,
      counts: countTenantStates(tenants),
      ...(metadata.state === "stopped" && {
        skipped: [
          {
            name: "t900",
            skippedAt: formatIsoTime(startMs - DAY_MS),
            skippedBy: "dana@build-7",
            reason: `Moved${text}`,
          },
        ],
      }),
      waves:
        names.length > 3
          ? [buildWaveReport("canary", false), buildWaveReport("all", true)]
          : [buildWaveReport("canary", true)],
      tenants,
    },
    milestones: [
      { occurredAt: formatIsoTime(startMs), kind: "started", actor: `kim${text}` },
      { occurredAt: formatIsoTime(startMs), kind: "wave-started", wave: "canary" },
      { occurredAt: formatIsoTime(startMs + 5_400_000), kind: "stopped", detail: `1 tenant failed${text}.` },
    ],
    tenants: tenants.map(({ name, planned }) => ({
      ...{ name, settings: `settings/${name}.yaml`, digest: "v2-1" },
      changes: planned.added === 0 ? [] : changes,
    })),
  };
}
