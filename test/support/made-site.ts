import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { DeclaredEntry, DeclaredVip } from "../../provider/files/settings";
import { EntryStore } from "../../provider/fleet/site/entry-store";
import { runOf, type SiteRun } from "../../provider/fleet/site/runs";
import type { SiteData } from "../../provider/fleet/site/site-data";
import { type SiteFile, siteFiles } from "../../provider/fleet/site/site-files";
import { openSite, writeSite } from "../../provider/fleet/site/write-site";
import type { FleetDifference, FleetStatus, TenantStatus } from "../../provider/fleet/status/status-schema";
import type { RolloutsTold } from "../../provider/rollout/journal/rollouts-told";
import { evidenceBaseOf } from "./evidence-base";

/** Which fleet a site is made of. */
export interface MadeFleet {
  readonly tenants: number;
  /** How many entries each has. */
  readonly entries: number;
  /** How many of these are its own; the others are of a baseline that all include. */
  readonly own: number;
  /** What stands wherever somebody else decides what stands there. Default: nothing special. */
  readonly text?: string;
}

const AT = "2026-11-23T06:00:00.000Z";

/** All that a site is made of, of a fleet that nobody has. Some of its tenants are not in step. */
export function madeSite({ tenants: many, entries, own, text = "" }: MadeFleet): SiteData {
  const store = new EntryStore();
  const baseline = Array.from({ length: entries - own }, (_, at) =>
    entryOf(`shared${at}.example`, "settings/baseline.yaml", at + 3, text),
  );
  const tenants = Array.from({ length: many }, (_, number) => {
    const name = `t${String(number).padStart(3, "0")}`;
    const file = `settings/${name}.yaml`;
    const owned = Array.from({ length: own }, (_, at) =>
      entryOf(`own${at}.${name}.example`, file, at + 4, text),
    );
    const tenant = tenantOf(name, number, entries, text);
    // Of files with mistakes nothing is known.
    if (tenant.standing !== "unusable") {
      store.add(name, {
        entries: [...baseline, ...owned],
        vips: [vipOf(`ceo@${name}.example`, file, own + 6)],
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
      store.mail(
        name,
        evidenceBaseOf({
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
    at: AT,
    file: "tenants.yaml",
    project: "fleet",
    today: AT.slice(0, 10),
    until: "2026-12-07",
    tenants,
    ends: [
      {
        list: "allow",
        value: "shared3.example",
        expires: "2026-12-01",
        isOver: false,
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
    entries: store.finish(tenants),
    rollouts: rolloutsOf(tenants, text),
    runs: [...runsBefore(status), runOf(status)],
    ages: [12, 40, 31, 80, 22, 9, 2],
  };
}

/** All files of a site, by their paths. */
export function filesOf(data: SiteData): ReadonlyMap<string, string> {
  return new Map<string, string>([...siteFiles(data)] satisfies SiteFile[]);
}

/** How large all files are together. */
export function bytesOf(files: ReadonlyMap<string, string>): number {
  return [...files.values()].reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

/** A site in a folder for temporary files. */
export class WrittenSite implements Disposable {
  readonly folder = mkdtempSync(join(tmpdir(), "email-security-site-"));

  constructor(data: SiteData) {
    writeSite(openSite(this.folder), siteFiles(data), runOf(data.status));
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), "utf8");
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function entryOf(value: string, file: string, line: number, text: string): DeclaredEntry {
  const list = line % 5 === 1 ? "allow" : "deny";
  return {
    kind: "entry",
    list,
    key: value,
    text: "",
    value,
    written: value,
    entryType: "domain",
    verdictScope: "global",
    comment: `${list === "allow" ? "Partner of procurement" : "Phishing seen in mail"}${text}`,
    ticket: `INC-${line}${text}`,
    owner: `mail team${text}`,
    overrides: [],
    place: { file, line, column: 5 },
    ...(line % 7 === 0 ? { expires: "2027-03-31" } : {}),
  };
}

function vipOf(email: string, file: string, line: number): DeclaredVip {
  return {
    kind: "vip",
    key: email,
    text: "",
    email,
    written: email,
    overrides: [],
    place: { file, line, column: 5 },
  };
}

function tenantOf(name: string, number: number, entries: number, text: string): TenantStatus {
  const about = {
    name,
    labels: { ring: number < 3 ? "canary" : "all", region: `eu${text}` },
    host: "mail.example",
    settings: `settings/${name}.yaml`,
    stack: name,
    lastRollout: { id: "r-20261120-1", wave: "all", state: "done" as const, at: "2026-11-20T09:30:00.000Z" },
  };
  const held = { allow: Math.floor(entries / 5), deny: entries - Math.floor(entries / 5), vips: 1 };
  const read = { ...about, readAt: AT, holds: held, unchanged: entries };
  const added: FleetDifference = {
    what: "added",
    list: "allow",
    value: "outlook.com",
    there: { list: "allow", comment: `by hand${text}`, by: `Kim Ito${text}`, at: "2026-11-22T16:11:00Z" },
    risks: ["allow-free-mail"],
  };
  const missing: FleetDifference = {
    what: "missing",
    list: "deny",
    value: "shared0.example",
    declared: { list: "deny", comment: "Phishing seen in mail" },
    place: { file: "settings/baseline.yaml", line: 3 },
  };
  if (number === 1) return { ...read, standing: "drifted", drift: [added, missing], behind: [] };
  if (number === 2) return { ...read, standing: "drifted", drift: [added], behind: [] };
  if (number === 4) return { ...read, standing: "behind", drift: [], behind: [missing] };
  if (number === 5) {
    const error = { code: "ERR_AUTH", message: `the service refuses the key${text}` };
    return { ...about, standing: "key-wrong", error, drift: [], behind: [] };
  }
  if (number === 7) {
    const error = { code: "ERR_SETTINGS_FILE", message: `settings/t007.yaml can't be used${text}` };
    return { ...about, standing: "unusable", error, drift: [], behind: [] };
  }
  return { ...read, standing: "in-step", drift: [], behind: [] };
}

/** A run each morning, in which more and more has drifted. */
function runsBefore(status: FleetStatus): SiteRun[] {
  const last = runOf(status);
  return Array.from({ length: 20 }, (_, day) => ({
    ...last,
    at: new Date(Date.parse(AT) - (20 - day) * 86_400_000).toISOString(),
    standings: { ...last.standings, drifted: Math.floor(day / 6), behind: (day * 7) % 5 },
    reviews: 3 + ((day * 5) % 4),
    ends: day % 3,
    over: Math.floor(day / 8),
    off: day < 15 ? {} : last.off,
  }));
}

function rolloutsOf(tenants: readonly TenantStatus[], text: string): RolloutsTold {
  const from = Date.parse("2026-11-20T08:00:00.000Z");
  const counts = { pending: 0, released: 0, running: 0, unchanged: 0, done: 0, failed: 0, skipped: 0 };
  const canary = {
    name: "canary",
    state: "done" as const,
    counts: { ...counts, done: 3 },
    startedAtMs: from,
    throughAtMs: from + 240_000,
    soakUntilMs: from + 3_840_000,
    finishedAtMs: from + 3_840_000,
  };
  const all = {
    name: "all",
    state: "stopped" as const,
    counts: { ...counts, done: Math.max(0, tenants.length - 5), failed: 2 },
    startedAtMs: from + 3_900_000,
    throughAtMs: from + 5_400_000,
  };
  const about = { source: "tenants.yaml", digest: "r2-3f9c01", startedAtMs: from };
  return {
    older: 0,
    rollouts: [
      {
        ...about,
        id: "r-20261120-1",
        state: "stopped",
        reason: `2 tenants failed${text}`,
        waves: [canary, all],
      },
      {
        ...about,
        id: "r-20261103-1",
        state: "done",
        startedAtMs: from - 17 * 86_400_000,
        finishedAtMs: from - 17 * 86_400_000 + 900_000,
        waves: [
          { ...canary, startedAtMs: from - 17 * 86_400_000, throughAtMs: from - 17 * 86_400_000 + 900_000 },
        ].map(({ soakUntilMs: _soak, finishedAtMs: _end, ...wave }) => wave),
      },
    ],
    stacks: new Map(
      tenants.map(({ stack }) => [
        stack,
        [
          {
            rollout: "r-20261120-1",
            wave: "all",
            state: "done" as const,
            atMs: from + 4_000_000,
            planned: { added: 3, changed: 0, removed: 1 },
          },
          {
            rollout: "r-20261103-1",
            wave: "canary",
            state: "failed" as const,
            atMs: from,
            code: `ERR_AUTH${text}`,
          },
        ],
      ]),
    ),
  };
}
