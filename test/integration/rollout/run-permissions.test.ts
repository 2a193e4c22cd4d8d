import { execFile } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { quoteShellWord } from "../../../provider/model/shell-word";
import { Rollouts } from "../../../provider/rollout/rollouts";
import { createCli } from "../../support/cli";
import { COMMAND } from "../../support/command-process";
import { getCompileCacheVariables } from "../../support/compile-cache";
import { runEnvironment } from "../../support/run-environment";
import { unwrapError } from "../../support/unwrap-error";

/*
 * A targets file from a pull request and a journal written by a stranger, against the pipeline that plans them: with
 * secrets in its environment, through the real command.
 */

// The subprocess runs the built package; `npm test` builds it before the tests.

let directory: string;
let service: RecordingListener;
let stranger: RecordingListener;

beforeAll(async () => {
  [service, stranger] = [await startListener(), await startListener()];
});

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "email-security-not-allowed-"));
  for (const item of ["settings", "state", "keys"]) mkdirSync(join(directory, item));
  for (const name of ["acme", "globex"]) writeFileSync(join(directory, `settings/${name}.yaml`), "version: 1\n");
  writeFileSync(join(directory, "keys/globex"), "key-of-globex\n");
  for (const listener of [service, stranger]) listener.receivedKeys.length = 0;
  return () => rmSync(directory, { recursive: true, force: true });
});

afterAll(() => {
  for (const { server } of [service, stranger]) server.close();
});

const writeTargets = (tenants: string, more = ""): void =>
  writeFileSync(
    join(directory, "tenants.yaml"),
    `version: 1\nproject: p\ndefaults: { baseUrl: "${service.url}", settings: "settings/{name}.yaml" }\ntenants:\n${tenants}${more}`,
  );

const buildEnvironment = (more: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv => ({
  ...runEnvironment(),
  ...getCompileCacheVariables(),
  PULUMI_HOME: join(directory, ".home"),
  PULUMI_BACKEND_URL: `file://${join(directory, "state")}`,
  PULUMI_CONFIG_PASSPHRASE: "",
  AWS_SECRET_ACCESS_KEY: "secret-of-the-pipeline",
  EMAIL_SECURITY_API_KEY_ACME: "key-of-acme",
  ...more,
});

interface ProgramResult {
  readonly code: number;
  readonly output: string;
}

async function runProgram(program: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<ProgramResult> {
  return await new Promise((done) => {
    const child = execFile(program, args, { cwd: directory, env }, (_error, stdout, stderr) =>
      done({ code: child.exitCode ?? -1, output: unwrapError(`${stdout}${stderr}`) }),
    );
  });
}

const runRollout = async (more: NodeJS.ProcessEnv = {}, ...args: string[]): Promise<ProgramResult> =>
  await createCli(directory, buildEnvironment(more))("rollout", ...args);

it("does nothing that the run doesn't allow", async () => {
  writeTargets(
    `  acme: { key: { command: [touch, "${join(directory, "key-was-run")}"] } }
  globex: { baseUrl: "${stranger.url}", key: { environment: AWS_SECRET_ACCESS_KEY } }
  initech: { settings: settings/acme.yaml, key: { file: keys/globex } }
`,
    `waves: [{ name: all, health: { command: [touch, "${join(directory, "health-was-run")}"] } }]\n`,
  );
  const { code, output } = await runRollout({ EMAIL_SECURITY_SERVICES: service.url }, "--yes");
  expect(code).toBe(1);
  expect(
    output,
  ).toBe(`error: This run does not allow the following, which "tenants.yaml" requires. Nothing was run, and no key was read or sent. [ERR_ROLLOUT_NOT_ALLOWED]
  the command '["touch","${join(directory, "key-was-run")}"]', for "acme" (tenants.yaml:5)
  the address "${stranger.url}", for "globex" (tenants.yaml:6)
  the environment variable AWS_SECRET_ACCESS_KEY, for "globex" (tenants.yaml:6)
  the file "keys/globex", for "initech" (tenants.yaml:7)
  the command '["touch","${join(directory, "health-was-run")}"]', for the health of the wave "all"
A change to that file must not decide this. If all of this is intended, set it where the run starts:
  EMAIL_SECURITY_SERVICES=${service.url},${stranger.url}
  EMAIL_SECURITY_KEY_VARIABLES=AWS_SECRET_ACCESS_KEY
  EMAIL_SECURITY_KEY_FILES=${quoteShellWord(join(directory, "keys/globex"))}
  EMAIL_SECURITY_COMMANDS='["touch","${join(directory, "key-was-run")}"]
["touch","${join(directory, "health-was-run")}"]'
`);
  expect([...service.receivedKeys, ...stranger.receivedKeys]).toEqual([]);
  expect(["key-was-run", "health-was-run"].filter((candidate) => existsSync(join(directory, candidate)))).toEqual([]);
});

it("accepts the settings that its error message suggests", async () => {
  writeTargets(`  acme: { key: { command: [echo, "key-of-{name}"] } }\n  globex: { key: { file: "keys/{name}" } }\n`);
  const rejection = await runRollout({ EMAIL_SECURITY_SERVICES: "https://elsewhere.example" });
  const [, lines = ""] = rejection.output.split("run starts:\n");
  // Pastes the lines before the command, as a person would.
  const script = `${lines.replaceAll(/^ {2}(?=EMAIL_SECURITY_)/gm, "export ")}exec "$0" "$1" rollout`;
  const { output } = await runProgram("sh", ["-c", script, process.execPath, COMMAND], buildEnvironment());
  expect(output.replace(/\n {4}(?=\S)/g, " ")).toContain(`Keys

  · ${service.url} receives the key of acme, from the output of the command "echo"
  · ${service.url} receives the key of globex, from the file "keys/globex"
`);
  expect(new Set(service.receivedKeys)).toEqual(new Set(["key-of-acme", "key-of-globex"]));
});

it("allows conventional key variables for a local service", async () => {
  writeTargets(`  acme: { key: { environment: "EMAIL_SECURITY_API_KEY_{NAME}" } }\n`);
  const { code } = await runRollout();
  expect(code).toBe(2);
  expect(new Set(service.receivedKeys)).toEqual(new Set(["key-of-acme"]));
});

it("rejects a remote state backend that only the project names", async () => {
  writeTargets(`  acme: { key: { environment: "EMAIL_SECURITY_API_KEY_{NAME}" } }\n`);
  writeFileSync(join(directory, "Pulumi.yaml"), `name: p\nruntime: nodejs\nbackend: { url: "${stranger.url}" }\n`);
  const { code, output } = await runRollout({ PULUMI_BACKEND_URL: "", PULUMI_ACCESS_TOKEN: "pul-token" });
  expect(code).toBe(1);
  expect(output).toContain(`PULUMI_BACKEND_URL=${stranger.url} [ERR_ROLLOUT_NOT_ALLOWED]`);
  expect(stranger.receivedKeys).toEqual([]);
});

it("applies the same permissions to a rollout in the journal as to a file", async () => {
  writeTargets(`  acme: { baseUrl: "${stranger.url}", key: { environment: AWS_SECRET_ACCESS_KEY } }\n`);
  const database = join(directory, ".email-security/rollouts.db");
  mkdirSync(join(directory, ".email-security"));
  const foreignRollouts = await Rollouts.open({
    database,
    environment: buildEnvironment({
      AWS_SECRET_ACCESS_KEY: "a-key-of-their-own",
      EMAIL_SECURITY_KEY_VARIABLES: "AWS_SECRET_ACCESS_KEY",
    }),
  });
  const { id } = await foreignRollouts.plan({ file: join(directory, "tenants.yaml") });
  await foreignRollouts.journal.start(id, { retry: false });
  await foreignRollouts.close();
  for (const args of [["resume"], ["rollback"]]) {
    const { code, output } = await runRollout({}, ...args);
    expect(code, output).toBe(1);
    if (args[0] === "resume") expect(output).toContain("[ERR_ROLLOUT_NOT_ALLOWED]");
    expect(stranger.receivedKeys, output).not.toContain("secret-of-the-pipeline");
  }
});

it("sends the API key only to addresses that the run allows", async () => {
  writeFileSync(join(directory, "settings/acme.yaml"), "version: 1\n");
  const access = { EMAIL_SECURITY_BASE_URL: stranger.url, EMAIL_SECURITY_API_KEY: "the-one-key" };
  for (const args of [
    ["plan", "settings/acme.yaml"],
    ["export", "--to", "exported"],
    ["drift", "settings/acme.yaml"],
    ["doctor"],
  ]) {
    const environment = buildEnvironment({ ...access, EMAIL_SECURITY_SERVICES: service.url });
    const { code, output } = await createCli(directory, environment)(...args);
    expect(code, output).toBe(1);
    expect(output).toContain(`EMAIL_SECURITY_SERVICES=${service.url},${stranger.url}`);
    expect(stranger.receivedKeys, output).toEqual([]);
  }
});

interface RecordingListener {
  readonly url: string;
  /** The keys that it received. */
  readonly receivedKeys: string[];
  readonly server: Server;
}

/** Starts a service whose lists are empty. */
async function startListener(): Promise<RecordingListener> {
  const receivedKeys: string[] = [];
  const server = createServer((request, response) => {
    receivedKeys.push(String(request.headers["x-api-key"]));
    response.writeHead(200, { "content-type": "application/json" });
    const pagination = { page: 1, page_size: 200, total: 0 };
    response.end(JSON.stringify({ results: { items: [], ...pagination } }));
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, receivedKeys, server };
}
