import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { FleetNotices } from "../../../provider/fleet/notices/fleet-notices";
import { readSentNotices } from "../../../provider/fleet/notices/sent-notices";
import { findUnsentChanges } from "../../../provider/fleet/notices/unsent-changes";
import type {
  ExpiringEntry,
  FleetDifference,
  FleetStatus,
  TenantStatus,
} from "../../../provider/fleet/status/status-schema";
import type { NotificationSettings } from "../../../provider/rollout/model/notification-settings";
import { type Notice, noticeSchema } from "../../../provider/rollout/notify/notice";
import { findTerminalCommands, HOSTILE } from "../../support/hostile-text";
import { createTestDirectory, type TestDirectory } from "../../support/test-directory";
import { startHook } from "../../support/webhook-receiver";

let directory: TestDirectory;
let file: string;

beforeEach(() => {
  directory = createTestDirectory({ "settings.yaml": "version: 1\n" });
  file = join(directory.path, "sent.json");
});

afterEach(() => directory[Symbol.dispose]());

const buildAddition = (value: string, rest: Partial<FleetDifference> = {}): FleetDifference => ({
  driftKind: "added",
  list: "allow",
  value,
  actual: { list: "allow", createdBy: "Dana Reyes", createdAt: "2026-11-20T02:00:00Z" },
  ...rest,
});

const buildTenantStatus = (name: string, drift: readonly FleetDifference[] = []): TenantStatus => ({
  name,
  labels: {},
  host: "mail-security.example",
  settings: `settings/${name}.yaml`,
  stack: name,
  syncStatus: drift.length > 0 ? "drifted" : "in-sync",
  drift,
  pendingChanges: [],
});

/** A tenant with a stack that isn't called like it. */
const setStack = (stack: string, item: TenantStatus): TenantStatus => ({ ...item, stack });

const buildUnreachableTenant = (name: string): TenantStatus => ({
  ...buildTenantStatus(name),
  syncStatus: "unreachable",
  error: { code: "ERR_CONNECTION", message: "no answer" },
});

const buildExpiringEntry = (value: string, expires: string, rest: Partial<ExpiringEntry> = {}): ExpiringEntry => ({
  list: "allow",
  value,
  expires,
  isExpired: false,
  place: { file: "settings/baseline.yaml", line: 7 },
  tenants: ["acme", "globex"],
  ...rest,
});

function buildFleetStatus(tenants: readonly TenantStatus[], expiring: readonly ExpiringEntry[] = []): FleetStatus {
  return {
    format: 1,
    readAt: "2026-11-23T04:00:00.000Z",
    file: "tenants.yaml",
    project: "p",
    today: "2026-11-23",
    expiringUntil: "2026-12-23",
    tenants,
    expiring,
    reviews: [],
    findings: [],
    isJournalRead: true,
    isComplete: tenants.every(({ error }) => error === undefined),
  };
}

/**
 * Sends one status per night to a webhook. Returns the notices of each night, the problems with sending them, and the
 * IDs.
 */
async function sendNightlyStatuses(
  statuses: readonly FleetStatus[],
  notify?: NotificationSettings,
  answers: readonly number[] = [],
): Promise<{ notices: Notice[][]; ids: unknown[]; problems: (string | undefined)[] }> {
  await using hook = await startHook(answers);
  const notices: Notice[][] = [];
  const problems: (string | undefined)[] = [];
  for (const status of statuses) {
    const before = hook.received.length;
    const environment = { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url };
    const { problem } = await new FleetNotices(notify, environment, file).send(status);
    problems.push(problem);
    notices.push(hook.received.slice(before).map(({ body }) => noticeSchema.parse(JSON.parse(body))));
  }
  return { notices, problems, ids: hook.received.map(({ headers }) => headers["webhook-id"]) };
}

const summarizeNotices = (notices: Notice[][]) =>
  notices.map((night) => night.map(({ kind, tenants }) => [kind, ...tenants]));

describe("fleet notices", () => {
  it("don't repeat an expiry after files were temporarily unusable", async () => {
    const mistaken: TenantStatus = {
      ...buildUnreachableTenant("acme"),
      syncStatus: "unusable",
      error: { code: "ERR_SETTINGS_FILE", message: "no list" },
    };
    const ends = [buildExpiringEntry("partner.example", "2026-11-30")];
    const { notices } = await sendNightlyStatuses([
      buildFleetStatus([buildTenantStatus("acme")], ends),
      buildFleetStatus([mistaken]),
      buildFleetStatus([buildTenantStatus("acme")], ends),
      buildFleetStatus([buildTenantStatus("acme")]),
      buildFleetStatus([buildTenantStatus("acme")], ends),
    ]);
    expect(summarizeNotices(notices)).toEqual([
      [["expiring", "acme", "globex"]],
      [],
      [],
      [],
      [["expiring", "acme", "globex"]],
    ]);
  });

  it("report drift once until it returns", async () => {
    const [one, two] = [buildAddition("outlook.com", { risks: ["free-mail"] }), buildAddition("evil.example")];
    const { notices, ids } = await sendNightlyStatuses([
      buildFleetStatus(
        [buildTenantStatus("acme", [one]), buildTenantStatus("globex")],
        [buildExpiringEntry("partner.example", "2026-11-30")],
      ),
      buildFleetStatus(
        [buildTenantStatus("acme", [one]), buildTenantStatus("globex")],
        [buildExpiringEntry("partner.example", "2026-11-30")],
      ),
      buildFleetStatus(
        [buildTenantStatus("acme", [one, two]), buildTenantStatus("globex", [one])],
        [buildExpiringEntry("partner.example", "2026-12-01")],
      ),
      buildFleetStatus([buildTenantStatus("acme"), buildTenantStatus("globex", [one])]),
      buildFleetStatus([buildTenantStatus("acme", [one]), buildTenantStatus("globex", [one])]),
    ]);
    expect(summarizeNotices(notices)).toEqual([
      [
        ["drift", "acme"],
        ["expiring", "acme", "globex"],
      ],
      [],
      [
        ["drift", "acme", "globex"],
        ["expiring", "acme", "globex"],
      ],
      [],
      [["drift", "acme"]],
    ]);
    expect(notices[0]?.map(({ summary }) => summary)).toEqual([
      "New drift in 1 tenant: 1 difference, 1 of them risky. Among the differences: 1 new allow. Drifted in total: 1 of 2 tenants.",
      "1 entry of 2 tenants expires by 2026-12-23, the first on 2026-11-30.",
    ]);
    // Drift that comes back is a new notice for its day.
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe(ids[4]);
    expect(ids[0]).toMatch(/^drift-[\w-]{22}$/);
  });

  it("are resent with the same id after a failed delivery", async () => {
    const status = buildFleetStatus([buildTenantStatus("acme", [buildAddition("outlook.com")])]);
    const { notices, problems, ids } = await sendNightlyStatuses([status, status, status], undefined, [404]);
    expect(summarizeNotices(notices)).toEqual([[["drift", "acme"]], [["drift", "acme"]], []]);
    expect(problems).toEqual([
      "Some notices could not be delivered: webhook returned 404. The next run sends it again.",
      undefined,
      undefined,
    ]);
    expect(ids[0]).toBe(ids[1]);
    // On another day, the drift has a different id, so that no receiver takes it for one it already has.
    const before = { format: 1, drift: {}, expiring: [] } as const;
    expect(findUnsentChanges({ ...status, today: "2026-11-24" }, before).ids.drift).not.toBe(ids[0]);
  });

  it("don't repeat drift after a tenant was temporarily unreadable", async () => {
    const [a, b] = [buildAddition("outlook.com"), buildAddition("outlook.com", { actual: { createdBy: "Mallory" } })];
    const { notices } = await sendNightlyStatuses([
      buildFleetStatus([buildTenantStatus("acme", [a]), buildTenantStatus("globex", [a])]),
      buildFleetStatus([buildUnreachableTenant("acme"), buildTenantStatus("globex", [a])]),
      buildFleetStatus([buildTenantStatus("acme", [a]), buildTenantStatus("globex", [b])]),
    ]);
    expect(summarizeNotices(notices)).toEqual([[["drift", "acme", "globex"]], [], [["drift", "globex"]]]);
  });

  it("report drift later if no receiver subscribed to it before", async () => {
    const over = buildExpiringEntry("old.example", "2026-10-31", { isExpired: true });
    const status = buildFleetStatus(
      [buildTenantStatus("acme", [buildAddition("outlook.com")])],
      [over, buildExpiringEntry("new.example", "2026-12-01")],
    );
    const first = await sendNightlyStatuses([status], { webhook: { events: ["expiring"] } });
    const then = await sendNightlyStatuses([status]);
    expect([summarizeNotices(first.notices), summarizeNotices(then.notices)]).toEqual([
      [[["expiring", "acme", "globex"]]],
      [[["drift", "acme"]]],
    ]);
  });

  it("list entries only on request, risky ones first", async () => {
    const names = Array.from({ length: 40 }, (_, index) => `t${index}`);
    const drift = [buildAddition("one.example"), buildAddition("outlook.com", { risks: ["free-mail"] })];
    const status = buildFleetStatus(
      names.map((name) => buildTenantStatus(name, [...drift, buildAddition(`${name}.example`)])),
      [
        buildExpiringEntry("partner.example", "2026-11-30"),
        buildExpiringEntry("ceo@acme.example", "2026-12-01", { list: "vip" }),
      ],
    );
    const { notices } = await sendNightlyStatuses([status], { webhook: { changes: true } });
    const [drifted, ends] = notices[0] ?? [];
    expect(drifted?.tenants).toHaveLength(20);
    expect(drifted?.changes).toHaveLength(20);
    expect(drifted?.changes?.slice(0, 2)).toEqual([
      { tenant: "t0", operation: "add", list: "allow", value: "outlook.com" },
      { tenant: "t0", operation: "add", list: "allow", value: "one.example" },
    ]);
    expect(ends?.changes).toEqual([
      { tenant: "acme", operation: "remove", list: "allow", value: "partner.example" },
      { tenant: "acme", operation: "remove", value: "ceo@acme.example" },
    ]);
    file = join(directory.path, "other.json");
    const unlinkedNotices = await sendNightlyStatuses([status]);
    expect(unlinkedNotices.notices[0]).toHaveLength(2);
    expect(JSON.stringify(unlinkedNotices.notices)).not.toMatch(/one\.example|outlook\.com|partner\.example|Dana/);
  });

  it("contain hostile tenant text only as plain text", async () => {
    const text = Object.values(HOSTILE).join(" ");
    const drift = [buildAddition(text, { actual: { list: text, comment: text, createdBy: text } })];
    const { notices } = await sendNightlyStatuses(
      [buildFleetStatus([buildTenantStatus(text, drift)], [buildExpiringEntry(text, "2026-11-30")])],
      {
        webhook: { changes: true },
      },
    );
    const texts = notices.flat().map((notice) => JSON.stringify(notice));
    expect(notices[0]).toHaveLength(2);
    expect(texts.flatMap(findTerminalCommands)).toEqual([]);
  });
});

describe("the sent-notices file", () => {
  it("holds no tenant data", async () => {
    await sendNightlyStatuses([
      buildFleetStatus(
        [buildTenantStatus("acme", [buildAddition("outlook.com")])],
        [buildExpiringEntry("partner.example", "2026-11-30")],
      ),
    ]);
    const kept = readSentNotices(file);
    expect([Object.keys(kept.drift), kept.drift["acme"]?.length, kept.expiring.length]).toEqual([["acme"], 1, 1]);
    expect(readFileSync(file, "utf8")).not.toMatch(/example|outlook|Dana/);
    expect(readdirSync(directory.path).filter((name) => name.endsWith(".new"))).toEqual([]);
  });

  it.each([
    ["settings", "version: 1\n", /isn't a file of sent notices: it isn't valid JSON/],
    ["a status", JSON.stringify(buildFleetStatus([])), /it has a different format than this release writes/],
    [
      "of a later release",
      JSON.stringify({ format: 2, drift: {}, expiring: [] }),
      /different format than this release/,
    ],
    ["an empty file", "", /it isn't valid JSON/],
  ])("is left unchanged when it holds something else: %s", (_label, text, message) => {
    writeFileSync(file, text);
    expect(() => new FleetNotices(undefined, {}, file)).toThrow(message);
    expect(readFileSync(file, "utf8")).toBe(text);
  });

  it("isn't created without receivers", async () => {
    const status = buildFleetStatus([buildTenantStatus("acme", [buildAddition("outlook.com")])]);
    expect(await new FleetNotices(undefined, {}, file).send(status)).toEqual({
      notes: [expect.stringMatching(/^--notify has no receiver, because none of EMAIL_SECURITY_NOTIFY_WEBHOOK, /)],
    });
    expect(existsSync(file)).toBe(false);
    await using hook = await startHook();
    const environment = { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url };
    expect(await new FleetNotices({ slack: {} }, environment, file).send(status)).toEqual({
      notes: [expect.stringContaining("EMAIL_SECURITY_NOTIFY_SLACK is not set: no notice was sent to it.")],
    });
  });

  it("is rejected before sending when it can't be written", () => {
    file = join(directory.path, "nowhere", "sent.json");
    expect(() => new FleetNotices(undefined, {}, file)).toThrow(/^The sent notices can't be saved to ".*": ENOENT/);
  });

  it("causes notices to be resent when it can't be saved", async () => {
    await using hook = await startHook();
    const own = join(directory.path, "own");
    mkdirSync(own);
    const createNotices = () =>
      new FleetNotices(undefined, { EMAIL_SECURITY_NOTIFY_WEBHOOK: hook.url }, join(own, "sent.json"));
    const first = createNotices();
    rmSync(own, { recursive: true });
    const status = buildFleetStatus([buildTenantStatus("acme", [buildAddition("outlook.com")])]);
    expect(await first.send(status)).toEqual({
      problem: expect.stringMatching(
        /^The sent notices can't be saved to ".*": ENOENT.*The next run sends it again\.$/,
      ),
      notes: [],
    });
    mkdirSync(own);
    expect(await createNotices().send(status)).toEqual({ notes: [] });
    expect(hook.received).toHaveLength(2);
  });

  it("handles tenant names such as __proto__", () => {
    const drift = [buildAddition("outlook.com")];
    const status = buildFleetStatus([buildTenantStatus("constructor", drift), buildTenantStatus("__proto__", drift)]);
    const { currentState, drifted } = findUnsentChanges(status, { format: 1, drift: {}, expiring: [] });
    expect(drifted).toHaveLength(2);
    expect(findUnsentChanges(status, currentState).drifted).toEqual([]);
  });
});

describe("the sent notices of tenants that a run doesn't select", () => {
  const drift = [buildAddition("outlook.com")];
  const all = buildFleetStatus(
    [buildTenantStatus("acme", drift), { ...buildTenantStatus("globex", drift), acceptedSeq: 7 }],
    [
      buildExpiringEntry("partner.example", "2026-11-30"),
      buildExpiringEntry("globex.example", "2026-11-30", { tenants: ["globex"] }),
    ],
  );
  const sent = findUnsentChanges(all, { format: 1, drift: {}, expiring: [] }).currentState;
  const selected = buildFleetStatus(
    [buildTenantStatus("acme", drift)],
    [buildExpiringEntry("partner.example", "2026-11-30")],
  );

  it("stay until the next run that reads all tenants", () => {
    const after = findUnsentChanges(selected, sent, new Set(["globex"])).currentState;
    expect(after).toEqual(sent);
    expect(findUnsentChanges(all, after)).toMatchObject({ drifted: [], expiring: [] });
  });

  it("are dropped for tenants that left the targets file", () => {
    const after = findUnsentChanges(selected, sent).currentState;
    expect(findUnsentChanges(all, after)).toMatchObject({
      drifted: [{ name: "globex" }],
      expiring: [{ value: "globex.example" }],
    });
  });
});

describe("a name that means another tenant than before", () => {
  const missing: FleetDifference = { driftKind: "missing", list: "deny", value: "evil.example" };
  const before = findUnsentChanges(buildFleetStatus([buildTenantStatus("acme", [missing])]), {
    format: 1,
    drift: {},
    expiring: [],
  });

  it("gets a notice of the same drift", () => {
    const replaced = buildFleetStatus([setStack("acme-2", buildTenantStatus("acme", [missing]))]);
    expect(findUnsentChanges(replaced, before.currentState).drifted).toMatchObject([{ name: "acme" }]);
  });

  it("gets a notice of the same drift on the same stack once a person accepted it", () => {
    const accepted = buildFleetStatus([{ ...buildTenantStatus("acme", [missing]), acceptedSeq: 7 }]);
    const after = findUnsentChanges(accepted, before.currentState);
    expect(after.drifted).toMatchObject([{ name: "acme" }]);
    expect(findUnsentChanges(accepted, after.currentState).drifted).toEqual([]);
    const again = buildFleetStatus([{ ...buildTenantStatus("acme", [missing]), acceptedSeq: 9 }]);
    expect(findUnsentChanges(again, after.currentState).drifted).toHaveLength(1);
  });

  it("keeps its sent notices while it can't be read", () => {
    const accepted = { ...buildTenantStatus("acme", [missing]), acceptedSeq: 7 };
    const sent = findUnsentChanges(buildFleetStatus([accepted]), before.currentState).currentState;
    const unread = {
      ...accepted,
      drift: [],
      acceptedSeq: 9,
      error: { code: "ERR_AUTH", message: "The key is refused." },
    };
    const after = findUnsentChanges(buildFleetStatus([unread]), sent).currentState;
    expect(after).toEqual(sent);
    expect(findUnsentChanges(buildFleetStatus([{ ...accepted, acceptedSeq: 9 }]), after).drifted).toHaveLength(1);
  });

  it("isn't sent again for a renamed tenant", () => {
    const renamed = buildFleetStatus([setStack("acme", buildTenantStatus("globex", [missing]))]);
    expect(findUnsentChanges(renamed, before.currentState).drifted).toEqual([]);
  });
});
