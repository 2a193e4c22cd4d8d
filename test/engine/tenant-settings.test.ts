import { execFile } from "node:child_process";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { type CommandLine, commandLine } from "../support/command-line";
import { EngineProject } from "../support/engine-project";

/*
 * Settings files from the pull request to the tenant, through the real engine: one project, whose story goes on from
 * test to test.
 */

const PROGRAM = `
import { TenantSettings } from "pulumi-email-security";
new TenantSettings("acme", { file: "settings/acme.yaml" });
`;

const BASELINE = `version: 1
deny:
  - value: evil.example
    comment: INC-7
  - noisy.example
`;

const SETTINGS = `version: 1
include: [baseline.yaml]
remove:
  deny: [noisy.example]
vips:
  - email: lena.hartmann@acme.example
    comment: Releases payments
allow:
  - value: partner.example
    comment: Contract 2026-114
    expires: never
`;

/** A service that holds one entry of a value only, whatever its scope, while this is true. */
let holdsOneOfAValue = false;

function refusal(method: string, body: unknown) {
  const value = (body as { value?: string } | undefined)?.value;
  const isThere = sandbox.allowDenyEntries("acme").some((row) => row.value === value);
  if (!holdsOneOfAValue || method !== "POST" || !isThere) return undefined;
  return { status: 409, body: { errors: [{ message: `${value} is on the list` }] } };
}

let sandbox: Sandbox;
let project: EngineProject;
let cli: CommandLine;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "empty", intercept: ({ method, body }) => refusal(method, body) });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  project = await EngineProject.create({ program: PROGRAM, environment });
  await mkdir(join(project.folder, "settings"));
  await project.writeFile("settings/baseline.yaml", BASELINE);
  await project.writeFile("settings/acme.yaml", SETTINGS);
  cli = commandLine(project.folder, project.environment);
});

afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

const writes = (): string[] =>
  sandbox.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path.replace("/api/v1/settings", "")}`);

const held = (): string[] => [
  ...sandbox.allowDenyEntries("acme").map(({ list, value, comment }) => `${list} ${value} ${comment}`.trim()),
  ...sandbox
    .vips("acme")
    .filter(({ source }) => source === "manual")
    .map(({ email, comment }) => `VIP ${email} ${comment}`),
];

it("plans a new stack, and applies what was reviewed", async () => {
  const planned = await cli(
    "plan",
    "settings/acme.yaml",
    "--stack",
    "dev",
    "--no-evidence",
    "--json",
    "plan.json",
  );
  expect(planned.output).toContain("settings/baseline.yaml:3");
  expect(planned.code).toBe(2);
  const digest = /v2-[0-9a-f-]+/.exec(planned.output)?.[0] ?? "";
  sandbox.clearRequests();
  const applied = await cli(
    "apply",
    "settings/acme.yaml",
    "--stack",
    "dev",
    "--plan",
    "plan.json",
    "--plan-digest",
    digest,
    "--yes",
  );
  expect(applied.output).toContain("4 created");
  expect(applied.code).toBe(0);
  expect(held().sort()).toEqual([
    "VIP lena.hartmann@acme.example Releases payments",
    "allow partner.example Contract 2026-114",
    "deny evil.example INC-7",
  ]);
  const again = await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence");
  expect(again.code).toBe(0);
  expect((await cli("drift", "settings/acme.yaml")).code).toBe(0);
});

it("refuses what moved since the review, naming it, and writes nothing", async () => {
  await project.writeFile("settings/acme.yaml", SETTINGS.replace("Contract 2026-114", "Contract 2027-001"));
  await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence", "--json", "plan.json");
  const row = sandbox.allowDenyEntries("acme").find(({ value }) => value === "partner.example");
  await console_("PATCH", `/allow_deny_entries/${row?.id}`, { comment: "do not touch" });
  sandbox.clearRequests();
  const refused = await cli("apply", "settings/acme.yaml", "--stack", "dev", "--plan", "plan.json", "--yes");
  expect(refused.code).toBe(3);
  expect(refused.output).toContain(
    'allow partner.example: was allow: "Contract 2026-114" at the review, is allow: "do not touch" now',
  );
  // `pulumi up` by itself is held to the plan just so.
  const up = await project.runWith(
    { EMAIL_SECURITY_PLAN: "plan.json" },
    "up",
    "--yes",
    "--skip-preview",
    "--refresh",
  );
  expect(up.output).toContain("ERR_PLAN_MOVED");
  expect(up.output).toContain(
    'was allow: "Contract 2026-114" at the review, and is allow: "do not touch" now',
  );
  expect(up.code).not.toBe(0);
  // So is one on other files than were reviewed: then nothing is registered.
  await project.writeFile("settings/acme.yaml", SETTINGS.replace("Contract 2026-114", "Contract 2028"));
  const others = await project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "preview");
  expect(others.output).toContain("does not declare what was reviewed");
  expect(others.code).not.toBe(0);
  // And on what only the files say: a reviewed end, a policy.
  const reviewed = SETTINGS.replace("Contract 2026-114", "Contract 2027-001");
  for (const other of [
    reviewed.replace("expires: never", "expires: 2999-12-31"),
    `${reviewed}policy: { maxDays: 90000 }\n`,
  ]) {
    await project.writeFile("settings/acme.yaml", other);
    const moved = await project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "preview");
    expect(moved.output).toContain("does not declare what was reviewed");
    expect(moved.code).not.toBe(0);
  }
  expect(writes()).toEqual([]);
  await project.writeFile("settings/acme.yaml", reviewed);
});

it("takes over what the console put into another scope, as its plan says, where the service holds one of a value", async () => {
  const row = sandbox.allowDenyEntries("acme").find(({ value }) => value === "partner.example");
  await console_("PATCH", `/allow_deny_entries/${row?.id}`, { verdict_scope: "graymail" });
  holdsOneOfAValue = true;
  const reviewed = SETTINGS.replace("Contract 2026-114", "Contract 2027-001");
  const adopting = `${reviewed}lists: { entries: { adopt: true } }\n`;
  try {
    await project.writeFile("settings/acme.yaml", reviewed);
    const without = await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence");
    expect(without.output).toMatch(
      /allow partner\.example \(graymail\) is at the tenant.*set `adopt: true`/s,
    );
    await project.writeFile("settings/acme.yaml", adopting);
    const planned = await cli(
      "plan",
      "settings/acme.yaml",
      "--stack",
      "dev",
      "--no-evidence",
      "--json",
      "plan.json",
    );
    expect(planned.output.replace(/\s+/g, " ")).toContain(
      "it takes the place of allow partner.example (graymail) (made by",
    );
    sandbox.clearRequests();
    const applied = await cli(
      "apply",
      "settings/acme.yaml",
      "--stack",
      "dev",
      "--plan",
      "plan.json",
      "--yes",
    );
    expect([applied.code, writes()]).toEqual([
      0,
      ["POST /allow_deny_entries", `PATCH /allow_deny_entries/${row?.id}`],
    ]);
    expect(held()).toContain("allow partner.example Contract 2027-001");
    expect((await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence")).code).toBe(0);
  } finally {
    holdsOneOfAValue = false;
    await project.writeFile("settings/acme.yaml", reviewed);
    await console_("PATCH", `/allow_deny_entries/${row?.id}`, { comment: "do not touch" });
  }
});

it("shows, adopts and reverts what the console did", async () => {
  const clicked = (): Promise<void> =>
    console_("POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "clicked.example",
      comment: "saw it",
    });
  await clicked();
  const drift = await cli("drift", "settings/acme.yaml", "--revert");
  expect(drift.code).toBe(2);
  expect(drift.output).toMatch(
    /deny clicked\.example\n +comment: "saw it"\n +made by Dana Reyes \(console\)/,
  );
  // What it shows is run as a person would.
  const commands = drift.stdout.slice(drift.stdout.indexOf("service()"));
  await promisify(execFile)("bash", ["-euc", commands], { env: project.environment });
  expect(held().some((line) => line.includes("clicked.example"))).toBe(false);
  await clicked();
  const adopted = await cli("drift", "settings/acme.yaml", "--adopt");
  // What was changed is left to the next run.
  expect(adopted.code).toBe(2);
  const plan = await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence", "--format", "json");
  const { changes, unmanaged } = JSON.parse(plan.stdout) as {
    changes: { key: string }[];
    unmanaged: unknown[];
  };
  expect(changes.map(({ key }) => key)).toEqual(["partner.example"]);
  expect(unmanaged).toEqual([]);
});

it("says that a plan of another day is not this run's, without a stack trace", async () => {
  const late = SETTINGS.replace("Contract 2026-114", "do not touch").replace(
    "expires: never",
    "expires: 2030-01-01",
  );
  await project.writeFile("settings/acme.yaml", `${late}lists: { entries: { maxRemovalFraction: 1 } }\n`);
  const day = ["--today", "2030-01-02"];
  sandbox.clearRequests();
  const applied = await cli("apply", "settings/acme.yaml", "--stack", "dev", "--yes", ...day);
  expect(applied.code).toBe(1);
  expect(applied.output).toContain("the plan was made for another day");
  expect(applied.output).toContain("Run this again without --today");
  expect(applied.output).not.toMatch(/^\s+at .*\(.*:\d+:\d+\)$/m);
  expect(writes()).toEqual([]);
});

it("tells a mistake at its line in a preview, and registers nothing", async () => {
  await project.writeFile("settings/acme.yaml", `${SETTINGS}deny: [010]\n`);
  const preview = await project.run("preview");
  expect(preview.output).toMatch(/settings\/acme\.yaml:12:8 error: value: 010 is read as 10 by YAML/);
  expect(preview.output).not.toContain("unhandled exception");
  expect(preview.code).not.toBe(0);
  expect((await cli("plan", "settings/acme.yaml")).code).toBe(1);
});

it("plans a program of any shape by its preview", async () => {
  await project.writeFile("settings/acme.yaml", SETTINGS.replace("evil", "evil"));
  await project.write(`${PROGRAM}
import { AllowDenyEntry } from "pulumi-email-security";
new AllowDenyEntry("one", { list: "deny", value: "typed.example", comment: "INC-9" });
`);
  const { code, stdout } = await cli(
    "plan",
    "--from-preview",
    "--stack",
    "dev",
    "--no-evidence",
    "--format",
    "json",
  );
  const { changes } = JSON.parse(stdout) as {
    changes: { sign: string; key: string; place?: { file: string; line: number } }[];
  };
  expect(changes.map(({ sign, key }) => `${sign} ${key}`).sort()).toEqual([
    "add typed.example",
    "change partner.example",
  ]);
  expect(changes.find(({ key }) => key === "typed.example")?.place).toMatchObject({
    file: "index.ts",
    line: 6,
  });
  expect(code).toBe(2);
  // A single resource is held to a reviewed plan like a list: this one was made before it was written.
  await project.writeFile("settings/acme.yaml", SETTINGS.replace("Contract 2026-114", "do not touch"));
  await cli("plan", "settings/acme.yaml", "--stack", "dev", "--no-evidence", "--json", "plan.json");
  sandbox.clearRequests();
  const up = await project.runWith({ EMAIL_SECURITY_PLAN: "plan.json" }, "up", "--yes", "--skip-preview");
  expect(up.output).toMatch(
    /deny typed\.example is not there, and the review did not show that it would be deny: "INC-9"/,
  );
  expect(writes()).toEqual([]);
});

async function console_(method: string, path: string, body: unknown): Promise<void> {
  const response = await fetch(`${sandbox.url}/api/v1/settings${path}`, {
    method,
    headers: { "x-api-key": "sandbox-acme-console", "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  if (!response.ok) throw new Error(`the console was answered ${response.status}`);
}
