import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { gunzipSync } from "node:zlib";
import { expect } from "vitest";
import { getEngineCapacity } from "../../provider/rollout/model/capacity";
import { Fleet, type RunningCommand } from "../support/fleet";

/* Many tenants of one service, each with its own key. No key, value or error of one tenant reaches another. */

const FAILING = "t2";

/** Starts a fleet in which one tenant's run fails with hostile text. */
export async function startFleetWithKeys(tenants: number): Promise<Fleet> {
  return await Fleet.start({
    tenants,
    waves: "waves:\n  - { name: all, maxConcurrent: 50, failureTolerance: 1 }\n",
    sandbox: {
      intercept({ method, body }) {
        if (method !== "POST" || (body as { value?: string }).value !== `only-${FAILING}.example`) return undefined;
        // An error that leaks the key and contains hostile text.
        const error = `no: sandbox-${FAILING}-ci \u001b[31m<img src=x> [click](javascript:x) "quoted" MARK-OF-ONE`;
        return { status: 400, body: { error } };
      },
    },
  });
}

/** The keys of the tenants of a {@link Fleet}. */
export const KEY = /sandbox-t\d+-(?:ci|console)/g;
const VALUE = /only-(t\d+)\.example/g;

/** Returns the tenants whose own value is in a text. */
const listTenantsIn = (text: string): string[] => [...new Set([...text.matchAll(VALUE)].map(([, name = ""]) => name))];

/**
 * Polls all processes of a run until it ends. Returns the coordinator's peak memory, the keys in the environments of
 * the other processes, and the processes that had a wrong key.
 */
export async function watchRun(
  fleet: Fleet,
  run: RunningCommand,
): Promise<{ peakMb: number; keysSeen: Set<string>; wrong: string[] }> {
  const keysSeen = new Set<string>();
  const wrong: string[] = [];
  let peakMb = 0;
  let isOver = false;
  void run.result.then(() => {
    isOver = true;
  });
  while (!isOver) {
    peakMb = Math.max(peakMb, readPeakMemory(run.process.pid ?? 0));
    for (const { id, command, environment } of fleet.listProcesses()) {
      if (command.match(KEY) !== null) wrong.push(command);
      // A process that was just forked is a copy of the command until it executes its own program.
      if (id === run.process.pid || command.includes("commands/main.js")) continue;
      const keys = [...new Set(environment.match(KEY))];
      const stack = /--stack (t\d+)/.exec(command)?.[1];
      for (const key of keys) keysSeen.add(key);
      const isOwn =
        keys.length === 0 || (keys.length === 1 && (stack === undefined || keys[0] === `sandbox-${stack}-ci`));
      if (!isOwn) wrong.push(`${command}: ${keys.join(" ")}`);
    }
    await sleep(100);
  }
  return { peakMb, keysSeen, wrong };
}

/** Returns the peak memory of a process, in MB. */
function readPeakMemory(pid: number): number {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024);
  } catch {
    return 0;
  }
}

/** Changes the first `changed` tenants of a fleet, and asserts that none of one tenant's data is found at another. */
export async function expectChangedApart(fleet: Fleet, changed: number): Promise<void> {
  const names = fleet.names.slice(0, changed);
  const selected = changed === fleet.names.length ? [] : ["--only", ...names];
  const reports = ["--output", "report.md", "--output", "report.html"];
  const run = fleet.start({}, "rollout", "--yes", ...selected, "--output", "report.json");
  const { keysSeen, wrong } = await watchRun(fleet, run);
  const { code, output, events } = await run.result;
  // The machine's capacity limits concurrency, however high the wave's limit is.
  let concurrency = 0;
  const busy = events.map(({ kind }) => {
    concurrency += kind === "tenant-started" ? 1 : kind === "tenant-finished" ? -1 : 0;
    return concurrency;
  });
  expect(Math.max(...busy)).toBeLessThanOrEqual(getEngineCapacity());
  expect({ code, wrong }).toEqual({ code: 1, wrong: [] });
  // Proves that the watch saw processes that could have held other keys.
  expect(keysSeen.size).toBeGreaterThan(changed / 2);
  for (const name of names) {
    const declared = fleet.listDeclaredContents(name).filter((line) => name !== FAILING || !line.includes("only-"));
    expect(fleet.listContents(name)).toEqual(declared);
  }
  for (const name of fleet.names.slice(changed)) expect(fleet.listContents(name)).toEqual([]);
  for (const { tenant, body } of fleet.takeRequests().filter(({ method }) => method === "POST")) {
    expect([[], [tenant]]).toContainEqual(listTenantsIn(JSON.stringify(body)));
  }

  const status = await fleet.start({}, "rollout", "status", "--output", "json=-", ...reports).result;
  const report = await fleet.report();
  expect(report.tenants.find(({ name }) => name === FAILING)?.error?.message).toContain("MARK-OF-ONE");
  // Events, reports, rows and states contain values of their own tenant only.
  for (const [name, text] of [
    ...events.map((event) => ["tenant" in event ? event.tenant : "", JSON.stringify(event)] as const),
    ...report.tenants.map((tenant) => [tenant.name, JSON.stringify(tenant)] as const),
    ...readJournalRows(join(fleet.directory, ".email-security/rollouts.db")),
    ...readFiles(join(fleet.directory, ".state")).map(
      ([path, text]) => [/\b(t\d+)\b/.exec(path.split(".state")[1] ?? "")?.[1] ?? "", text] as const,
    ),
  ]) {
    expect([[], [name]]).toContainEqual(listTenantsIn(text));
    expect({ name, key: text.match(KEY) }).toEqual({ name, key: null });
    if (name !== FAILING) expect({ name, hasText: text.includes("MARK-OF-ONE") }).toEqual({ name, hasText: false });
  }
  for (const text of [
    output,
    status.output,
    ...["report.md", "report.html", "report.json"].map((file) => readFileSync(join(fleet.directory, file), "utf8")),
  ]) {
    expect(text.match(KEY)).toBeNull();
    expect(text).not.toContain("\u001b[31m");
  }
  for (const [path, text] of readFiles(fleet.directory)) expect([path, text.match(KEY)]).toEqual([path, null]);
  await fleet.waitForQuiet();
}

/**
 * Returns the rows of a journal with the tenant that each belongs to (empty: none). Compressed columns are
 * decompressed.
 */
function readJournalRows(file: string): (readonly [tenant: string, text: string])[] {
  const journal = new DatabaseSync(file, { readOnly: true });
  const tables = journal
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table'")
    .all()
    .map(({ name }) => String(name));
  expect(tables).toContain("rollout_tenants");
  const rows = tables.flatMap((table) =>
    journal
      .prepare(`SELECT * FROM ${table}`)
      .all()
      .map((row) => {
        const text = Object.values(row)
          .map((value) => (value instanceof Uint8Array ? gunzipSync(value).toString() : String(value)))
          .join("\n");
        const happening =
          typeof row["happening"] === "string"
            ? (JSON.parse(row["happening"]) as { tenant?: string }).tenant
            : undefined;
        const path = /(t\d+)\.yaml$/.exec(String(row["path"] ?? ""))?.[1];
        return [happening ?? path ?? String(row["name"] ?? ""), text] as const;
      }),
  );
  journal.close();
  return rows;
}

function readFiles(directory: string): (readonly [path: string, text: string])[] {
  return readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((file) => file.isFile())
    .map((file) => join(file.parentPath, file.name))
    .filter((path) => !path.includes("/node_modules/"))
    .map((path) => {
      const bytes = readFileSync(path);
      return [path, (bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes).toString("latin1")] as const;
    });
}
