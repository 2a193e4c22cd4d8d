import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join, resolve } from "node:path";
import { expect, it } from "vitest";
import { ensureEngine } from "../../provider/engine";
import { startSandbox } from "../../provider/sandbox";
import { commandLine } from "../support/command-line";
import { startPostgres } from "../support/postgres";

const COMMAND = resolve("provider/dist/cli/main.js");

it("email-security worker changes the tenants of a rollout that another process conducts, and ends when asked to", async () => {
  await using postgres = await startPostgres();
  await using sandbox = await startSandbox({ scenario: "empty" });
  const folder = await mkdtemp(join(tmpdir(), "email-security-worker-"));
  const environment = await environmentIn(folder, postgres.url);
  for (const [file, text] of Object.entries(tenantsOf(sandbox.url)))
    await writeFile(join(folder, file), text);

  // Where the worker stands it has nothing: what it needs comes from the journal and its environment.
  const worker = spawn(process.execPath, [COMMAND, "worker", "--concurrency", "2"], {
    cwd: join(folder, "elsewhere"),
    env: environment,
    stdio: ["ignore", "pipe", "pipe"],
  });
  const said = textOf(worker);
  const rollout = await commandLine(folder, environment)("rollout", "--yes", "--json", "report.json");
  expect(rollout.output).toContain("2 changed");
  expect(rollout.code).toBe(0);
  for (const tenant of ["acme", "globex"]) {
    expect(sandbox.allowDenyEntries(tenant).map(({ value }) => value)).toEqual(["phish.example"]);
    expect(said()).not.toContain(`sandbox-${tenant}-ci`);
  }
  worker.kill("SIGINT");
  const [code] = (await once(worker, "exit")) as [number];
  expect(
    said()
      .replaceAll(/rollout \S+/g, "rollout ID")
      .replace(/worker \S+:\d+/, "worker HOST:PID")
      .split("\n")
      .sort(),
  ).toEqual(
    [
      "",
      '"acme": begins, for the rollout ID',
      '"acme": changed',
      '"globex": begins, for the rollout ID',
      '"globex": changed',
      "Finishing what is under way, and beginning no more. Once more to stop at once.",
      "The worker HOST:PID takes up to 2 tenants at once.",
      "The worker has ended.",
    ].sort(),
  );
  expect(code).toBe(0);
  await rm(folder, { recursive: true });
});

async function environmentIn(folder: string, database: string): Promise<NodeJS.ProcessEnv> {
  for (const name of ["state", "home", "elsewhere"]) await mkdir(join(folder, name));
  const engine = await ensureEngine();
  return engine.environment({
    PATH: [dirname(process.execPath), process.env["PATH"]].join(delimiter),
    HOME: join(folder, "home"),
    PULUMI_HOME: join(folder, "home", ".pulumi"),
    PULUMI_BACKEND_URL: `file://${join(folder, "state")}`,
    PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
    EMAIL_SECURITY_DATABASE: database,
    ACME_KEY: "sandbox-acme-ci",
    GLOBEX_KEY: "sandbox-globex-ci",
  });
}

/** Two tenants, and what both are to hold. */
function tenantsOf(url: string): Record<string, string> {
  const settings = "version: 1\ndeny:\n  - value: phish.example\n    comment: Seen in March\n";
  return {
    "tenants.yaml": [
      "version: 1",
      `defaults: { baseUrl: "${url}", key: { environment: "{NAME}_KEY" }, settings: "{name}.yaml" }`,
      "tenants: { acme: {}, globex: {} }",
      "waves: [{ name: all, maxConcurrent: 2 }]",
      "",
    ].join("\n"),
    "acme.yaml": settings,
    "globex.yaml": settings,
  };
}

/** All that a process has said so far. */
function textOf(child: ChildProcess): () => string {
  let text = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding("utf8").on("data", (part: string) => {
      text += part;
    });
  }
  return () => text;
}
