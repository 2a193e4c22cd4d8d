import { execFile, execFileSync } from "node:child_process";
import { chmodSync, cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { EmailSecurityError } from "../../../provider/model/email-security-error";
import { openSqlite } from "../../../provider/rollout/database/sqlite-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import type { ClaimedJob, RolloutSpec } from "../../../provider/rollout/journal/rollout-record";
import { PulumiLockStore } from "../../../provider/rollout/locks/pulumi-lock-store";
import { RolloutLocks } from "../../../provider/rollout/locks/rollout-locks";
import type { TenantError } from "../../../provider/rollout/model/rollout-report";
import { buildTenantError } from "../../../provider/rollout/planning/tenant-error";
import { resolveStateBackend } from "../../../provider/rollout/stack/state-backend";
import { COMMAND } from "../../support/command-process";
import { getCompileCacheVariables } from "../../support/compile-cache";
import { createTarget } from "../../support/rollout-target";
import { runEnvironment } from "../../support/run-environment";

/*
 * Each printed command is run exactly as printed, in the state in which it was printed, with a real journal and the
 * real command. The tenants have no keys, so that no engine has to run: a resumed rollout fails at the missing key. The
 * engine tests (test/engine/rollout-kills.slow, journal-storage-failures.slow) run the printed commands too.
 */

const NAMES = ["t0", "t1"];
const FAILED: TenantError = { code: "ERR_AUTH", message: "Refused.", advice: "Fix it.", phase: "apply" };
const NEXT = { resume: "email-security rollout resume", newRollout: "email-security rollout tenants.yaml" };
const REFUSED = buildTenantError(new EmailSecurityError("ERR_AUTH", "Refused."), "apply", [], NEXT);
const UNPLANNED: TenantError = { ...FAILED, phase: "plan" };
const NEEDS_OTHER_FILES = buildTenantError(
  new EmailSecurityError("ERR_SETTINGS_FILE", "An entry is invalid."),
  "apply",
  [],
  NEXT,
);

let base: string;
let copies = 0;

beforeAll(() => {
  base = mkdtempSync(join(tmpdir(), "email-security-remedies-"));
  const template = join(base, "template");
  for (const part of ["template/settings", "template/.email-security", "state", "bin"]) {
    mkdirSync(join(base, part), { recursive: true });
  }
  for (const name of NAMES) writeFileSync(join(template, `settings/${name}.yaml`), "version: 1\n");
  writeFileSync(
    join(template, "tenants.yaml"),
    `version: 1
project: fleet
defaults:
  baseUrl: https://mail-security.example
  key: { environment: "{NAME}_NO_SUCH_KEY" }
  settings: settings/{name}.yaml
tenants: { t0: {}, t1: {} }
waves:
  - { name: one, limit: 1, gate: true, failureTolerance: 100% }
  - { name: two, failureTolerance: 100% }
`,
  );
  writeFileSync(join(base, "bin/email-security"), `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
  chmodSync(join(base, "bin/email-security"), 0o755);
  const runGit = (...args: string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@a.example", ...args], { cwd: template });
  runGit("init", "--quiet", "--template=");
  runGit("add", "settings", "tenants.yaml");
  runGit("commit", "--quiet", "-m", "first");
});

afterAll(() => rmSync(base, { recursive: true, force: true }), 60_000);

/** A state of a rollout, and the commands printed for it. */
interface RemedyCase {
  /** Brings a rollout into this state and returns its id. */
  readonly make: (journal: Journal) => Promise<string>;
  /** The subcommands that its report names. */
  readonly status: readonly string[];
  /** The subcommands named when another rollout over the same tenants starts. */
  readonly rival: readonly string[];
  /** The subcommands named when the rollout is abandoned. */
  readonly abandon: readonly string[];
}

const STATES: Readonly<Record<string, RemedyCase>> = {
  "waits at its gate": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: undefined });
      await journal.recordWaiting(id, 0, "The wave one is finished, and its gate waits for approval.");
      return id;
    },
    status: ["resume", "rollback"],
    rival: ["resume", "rollback", "abandon"],
    abandon: ["rollback"],
  },
  "stopped where a tenant failed": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: FAILED });
      await journal.stop(id, "1 tenant failed in the wave one, which tolerates 0.");
      return id;
    },
    status: ["resume", "rollback", "skip"],
    rival: ["resume", "rollback", "abandon"],
    abandon: ["rollback"],
  },
  "stopped before it began a tenant": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, {});
      await journal.stop(id, "It was stopped by a person.");
      return id;
    },
    status: ["resume"],
    rival: ["resume", "abandon"],
    abandon: [],
  },
  "was killed in the middle of a tenant": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, {});
      await claimTenant(journal, id, "t0");
      return id;
    },
    status: ["resume", "rollback"],
    rival: ["resume", "rollback", "abandon"],
    abandon: ["rollback"],
  },
  "is done, and a tenant failed": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: FAILED, t1: undefined });
      return await finishWaves(journal, id);
    },
    status: ["resume"],
    rival: ["plan"],
    abandon: ["status"],
  },
  "is done, and a tenant could not be planned": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t1: undefined }, {}, { t0: UNPLANNED });
      return await finishWaves(journal, id);
    },
    status: ["plan"],
    rival: ["plan"],
    abandon: ["status"],
  },
  "is done, and a tenant needs other files": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: NEEDS_OTHER_FILES, t1: undefined });
      return await finishWaves(journal, id);
    },
    status: ["plan", "resume"],
    rival: ["plan"],
    abandon: ["status"],
  },
  "was abandoned": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: REFUSED });
      await journal.abandon(id, "It was abandoned by a person.");
      return id;
    },
    status: ["rollback"],
    rival: ["plan"],
    abandon: [],
  },
  "is not rolled back everywhere": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: undefined, t1: undefined });
      await journal.markRolledBack(id, "It was rolled back by another.");
      await finishWaves(journal, await runUntilRollout(journal, { t0: FAILED, t1: undefined }, { rollsBack: id }));
      return id;
    },
    status: ["rollback"],
    rival: ["plan"],
    abandon: [],
  },
  "rolls another back, and a tenant could not be planned": {
    make: async (journal) => {
      const other = await runUntilRollout(journal, { t0: undefined, t1: undefined });
      await journal.markRolledBack(other, "It was rolled back by another.");
      const rollbackFields = { rollsBack: other, rollsBackTo: "the files of the revision HEAD" };
      return await finishWaves(
        journal,
        await runUntilRollout(journal, { t1: undefined }, rollbackFields, { t0: UNPLANNED }),
      );
    },
    status: ["rollback"],
    rival: ["plan"],
    abandon: ["status"],
  },
  "stopped where a tenant needs other files": {
    make: async (journal) => {
      const id = await runUntilRollout(journal, { t0: NEEDS_OTHER_FILES });
      await journal.stop(id, "1 tenant failed in the wave one, which tolerates 0.");
      return id;
    },
    status: ["plan", "resume", "rollback", "skip", "abandon"],
    rival: ["resume", "rollback", "abandon"],
    abandon: ["rollback"],
  },
};

// Every second case has an earlier, completed rollout and a journal that must be named.
const cases = Object.keys(STATES).map((name, index) => [name, index % 2 === 1] as const);

it.each(cases)("prints commands that work for a rollout that %s (one before it: %s)", async (name, hasBefore) => {
  const { make, status, rival, abandon } = STATES[name] as RemedyCase;
  const place = hasBefore ? "my journal.db" : ".email-security/rollouts.db";
  const named = hasBefore ? ["--database", place] : [];
  const directory = copyDirectory(join(base, "template"));
  rmSync(join(base, "state"), { recursive: true, force: true });
  mkdirSync(join(base, "state"));
  const journal = await openTestJournal(directory, place);
  if (hasBefore) await finishWaves(journal, await runUntilRollout(journal, { t0: undefined, t1: undefined }));
  const id = await make(journal);
  using locks = new RolloutLocks(new PulumiLockStore(buildEnvironment(), "here"), journal, place);
  await locks.update(id);
  await journal.close();
  keepState();

  const readAdvice = async (...args: string[]): Promise<readonly [after: string, commands: readonly string[]]> => {
    const after = copyDirectory(directory);
    bringStateBack();
    return [after, extractCommands(await runCommandLine(after, COMMAND, "rollout", ...args, ...named))];
  };
  // Run them one after the other: all share the same locks next to the stacks.
  const all = [
    await readAdvice("status", id),
    await readAdvice("tenants.yaml", "--yes"),
    await readAdvice("abandon", id),
  ] as const;
  expect(all.map(([, commands]) => commands.map(getSubcommand))).toEqual([status, rival, abandon]);
  const [[, statusAdvice], [, rivalAdvice]] = all;
  for (const [after, commands] of all) {
    for (const command of commands) {
      // A command that both outputs name is run once.
      if (commands === rivalAdvice && statusAdvice.includes(command)) continue;
      expect(command.endsWith("--database 'my journal.db'")).toBe(hasBefore);
      bringStateBack();
      await expectToWork(copyDirectory(after), place, command);
    }
  }
});

async function expectToWork(directory: string, place: string, command: string): Promise<void> {
  const output = await runShell(directory, command);
  expect(output, command).not.toMatch(/ERR_ROLLOUT_NOT_FOUND|ERR_ROLLOUT_BUSY|ERR_CONFIGURATION|error: unknown/);
  const [, id = ""] = /^email-security rollout (?:\S+ )?(\S+?)(?: --|$)/.exec(command) ?? [];
  const subcommand = getSubcommand(command);
  const journal = await openTestJournal(directory, place);
  try {
    if (subcommand === "skip") {
      expect(output, command).toContain('Skipped from now on: "t0"');
      return;
    }
    if (subcommand === "plan") {
      expect(output, command).toContain(`Plan of ${id}: 2 tenants in 2 waves`);
      return;
    }
    const events = (await journal.listEvents(id, 0)).map(({ kind }) => kind);
    const { state } = await journal.getRollout(id);
    if (subcommand === "rollback") expect(output, command).toContain(`Plan to roll back the rollout ${id}`);
    if (subcommand === "abandon") expect(state, command).toBe("abandoned");
    if (subcommand === "status") expect(output, command).toContain(`Rollout ${id}`);
    // The rollout started again and got as far as the missing key.
    if (subcommand === "resume") {
      expect(
        events.filter((kind) => kind === "started"),
        command,
      ).toHaveLength(2);
      // Tenants to be retried count as remaining, from the first line on.
      const through = (await journal.listTenants(id)).filter((tenant) => tenant.state === "done").length;
      expect(output, command).toContain(`  ${through}/2  rollout resumed\n`);
      expect(output, command).toContain("ERR_ROLLOUT_KEY");
    }
  } finally {
    await journal.close();
  }
}

/** Returns the commands that a text names: between backquotes, or on their own lines. */
function extractCommands(output: string): string[] {
  const commandMatches = output.matchAll(/`(email-security rollout [^`]+)`|^ {4}(email-security rollout .+)$/gm);
  return [...new Set([...commandMatches].map(([, quoted, line]) => quoted ?? line ?? ""))];
}

function getSubcommand(command: string): string {
  return /^email-security rollout (resume|status|abandon|rollback|skip)\b/.exec(command)?.[1] ?? "plan";
}

function copyDirectory(directory: string): string {
  const copy = join(base, `copy-${copies++}`);
  cpSync(directory, copy, { recursive: true });
  return copy;
}

/** Saves the current state of the stacks, with the rollouts' files next to them. */
function keepState(): void {
  rmSync(join(base, "state-then"), { recursive: true, force: true });
  cpSync(join(base, "state"), join(base, "state-then"), { recursive: true });
}

function bringStateBack(): void {
  rmSync(join(base, "state"), { recursive: true, force: true });
  cpSync(join(base, "state-then"), join(base, "state"), { recursive: true });
}

function buildEnvironment(): NodeJS.ProcessEnv {
  return {
    ...runEnvironment(),
    PATH: `${join(base, "bin")}:${process.env["PATH"]}`,
    ...getCompileCacheVariables(),
    PULUMI_BACKEND_URL: `file://${join(base, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "",
    EMAIL_SECURITY_KEY_VARIABLES: "T0_NO_SUCH_KEY,T1_NO_SUCH_KEY",
    EMAIL_SECURITY_SERVICES: "https://mail-security.example",
  };
}

/** Returns everything a program prints, whether it succeeds or fails. */
async function runCommandLine(directory: string, ...args: readonly string[]): Promise<string> {
  return await captureOutput(process.execPath, args, directory);
}

async function runShell(directory: string, command: string): Promise<string> {
  return await captureOutput("sh", ["-c", command], directory);
}

async function captureOutput(program: string, args: readonly string[], directory: string): Promise<string> {
  return await new Promise((done) => {
    execFile(program, args, { cwd: directory, env: buildEnvironment() }, (_error, stdout, stderr) =>
      done(`${stdout}${stderr}`),
    );
  });
}

async function openTestJournal(directory: string, place: string): Promise<Journal> {
  const database = await openSqlite(join(directory, place));
  // Durability doesn't matter: the data is discarded with the test.
  await database.query("PRAGMA synchronous = OFF");
  return await Journal.open(database);
}

/** Starts a rollout with the given outcomes for some tenants; an error is that of a failed tenant. */
async function runUntilRollout(
  journal: Journal,
  went: Readonly<Record<string, TenantError | undefined>>,
  rollbackFields: Pick<RolloutSpec, "rollsBack" | "rollsBackTo"> = {},
  unplanned: Readonly<Record<string, TenantError>> = {},
): Promise<string> {
  const buildWave = (name: string, tenants: string[], gate: boolean) =>
    ({ name, maxConcurrent: 1, tolerated: 1, soakMs: 0, gate, tenants }) as const;
  const id = await journal.create(
    {
      source: "tenants.yaml",
      project: "fleet",
      today: "2026-11-21",
      waves: [buildWave("one", ["t0"], true), buildWave("two", ["t1"], false)],
      services: [],
      keyVariables: [],
      backend: resolveStateBackend(buildEnvironment(), base).fingerprint,
      ...rollbackFields,
    },
    NAMES.map((name) => ({
      ...createTarget(name, "https://mail-security.example"),
      settings: `settings/${name}.yaml`,
      key: { from: "environment", variable: `${name.toUpperCase()}_NO_SUCH_KEY` } as const,
    })),
  );
  await journal.recordPlans(
    id,
    NAMES.map((name) => {
      const error = unplanned[name];
      if (error !== undefined) return { name, state: "failed" as const, digest: "", error };
      return { name, state: "pending" as const, digest: "d", plan: "{}" };
    }),
  );
  const bundle = new Map(NAMES.map((name) => [`settings/${name}.yaml`, Buffer.from("version: 1\n")] as const));
  await journal.completePlanning(id, "d", { bundle, directory: "." });
  await journal.start(id, { retry: false });
  for (const [name, error] of Object.entries(went)) {
    await journal.finish(await claimTenant(journal, id, name), error);
  }
  return id;
}

async function claimTenant(journal: Journal, rollout: string, tenant: string): Promise<ClaimedJob> {
  const wave = NAMES.indexOf(tenant);
  await journal.setWaveState(rollout, wave, "running");
  await journal.dispatch(rollout, wave, [tenant], {
    enqueue: async () => {},
    start: () => {},
    drain: async () => {},
  });
  const claimed = await journal.claim({ rollout, wave, tenant, retryRound: 0 }, "host:1");
  if (claimed === undefined) throw new Error("It was not begun.");
  return claimed;
}

async function finishWaves(journal: Journal, id: string): Promise<string> {
  for (const wave of NAMES.keys()) await journal.setWaveState(id, wave, "done");
  await journal.finishRollout(id);
  return id;
}
