import { execFile, spawn } from "node:child_process";
import { glob, realpath, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { createInterface } from "node:readline";
import { promisify } from "node:util";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import manifest from "../../provider/package.json";
import { startSandbox } from "../../provider/sandbox";
import type { SyncReport } from "../../provider/sources/sync-report";
import { createCli } from "../support/cli";
import { EngineProject } from "../support/engine-project";
import {
  type InstalledProgram,
  install,
  listInstalledPackages,
  PACKAGE,
  type PackageManager,
  sharePackage,
  writeProgram,
} from "../support/packed-package";
import { runEnvironment } from "../support/run-environment";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";

const KEY = "sandbox-acme-ci";
const esm = `
  import { AllowDenyEntry, Provider, VipEmployee } from "${PACKAGE}";
  const acme = new Provider("acme", { baseUrl: "SANDBOX", apiKey: "${KEY}" });
  const entry = new AllowDenyEntry("look-alike", { list: "deny", value: "acme-login.example", comment: "INC-7" });
  const vip = new VipEmployee("payroll", { email: "Yuki.Sato@acme.example" }, { provider: acme });
  export const jobTitle = vip.jobTitle;
`;
const typed = `
  import type { Output } from "@pulumi/pulumi";
  ${esm}
  export const entryType: Output<string> = entry.entryType;
`;

/** "SANDBOX" in the source is replaced with the sandbox's URL. */
const PROGRAMS: Record<PackageManager, [string, InstalledProgram][]> = {
  npm: [
    ["a CommonJS program in TypeScript", { main: "index.ts", type: "commonjs", text: typed }],
    ["an ESM program in JavaScript", { main: "index.js", type: "module", text: esm }],
  ],
  pnpm: [
    // Pulumi lets Node.js strip the types.
    ["an ESM program in TypeScript", { main: "index.ts", type: "module", text: typed }],
  ],
};

/**
 * The limit on installed packages; there are about 22. The largest are zod (6.1 MB) and tldts (3.4 MB); the terminal
 * prompts account for six small ones.
 */
const MAX_PACKAGES = 26;
const MAX_BYTES = 17_000_000;

const packed = sharePackage();

describe.each(["npm", "pnpm"] as const)("package installed by %s", (manager) => {
  let directory: TestDirectory;
  let installed: string;
  const getCommandPath = () => join(directory.path, "node_modules", ".bin", "email-security");

  beforeAll(async () => {
    directory = createTestDirectory();
    await install(directory.path, manager, packed());
    installed = join(directory.path, "node_modules", PACKAGE);
  });

  afterAll(async () => {
    directory[Symbol.dispose]();
  });

  it.each(PROGRAMS[manager])("serves %s through its whole lifecycle", async (_kind, program) => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY };
    await writeProgram(directory.path, { ...program, text: program.text.replace("SANDBOX", sandbox.url) });
    await using project = await EngineProject.open(directory.path, environment);
    await project.runOrThrow("stack", "init", "dev");

    // A preview loads the same code as an update, so only the CommonJS programs run one.
    const preview = program.type === "commonjs" ? [] : ["--skip-preview"];
    const first = await project.runOrThrow("up", "--yes", ...preview);
    if (preview.length === 0) expect(first).toContain("+ 4 to create");
    expect(first).toContain("+ 4 created");
    expect(first).toMatch(/jobTitle *: "Payroll Specialist"/);
    expect(sandbox.allowDenyEntries("acme")).toMatchObject([
      { list: "deny", value: "acme-login.example", comment: "INC-7" },
    ]);
    expect(sandbox.vips("acme").map((row) => row.email)).toContain("yuki.sato@acme.example");

    if (program.main.endsWith(".ts")) {
      sandbox.clearRequests();
      expect(await project.up()).toContain("4 unchanged");
      expect(sandbox.requests).toEqual([]);
    }

    await project.destroy();
    expect(sandbox.allowDenyEntries("acme")).toEqual([]);
    expect(sandbox.vips("acme").map((row) => row.email)).not.toContain("yuki.sato@acme.example");
  });

  it.runIf(manager === "pnpm")("keeps a state from another directory unchanged", async () => {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY };
    const text = `
      import { AllowDenyEntry, VipEmployee } from "${PACKAGE}";
      new AllowDenyEntry("look-alike", { list: "deny", value: "acme-login.example", comment: "INC-7" });
      new VipEmployee("payroll", { email: "Yuki.Sato@acme.example", comment: "Signs payments" });
    `;

    // First the package is a link into a workspace.
    await using here = await EngineProject.create({ program: text, environment });
    await here.up();
    const exported = join(here.directory, "stack.json");
    await here.runOrThrow("stack", "export", "--file", exported);

    // Then, on a colleague's machine, it is in pnpm's store.
    await writeProgram(directory.path, { main: "index.js", type: "module", text });
    await using there = await EngineProject.open(directory.path, environment);
    await there.runOrThrow("stack", "init", "dev");
    await there.runOrThrow("stack", "import", "--file", exported);
    sandbox.clearRequests();

    await there.up("--expect-no-changes");
    expect(sandbox.requests).toEqual([]);

    await there.destroy();
    expect(sandbox.allowDenyEntries("acme")).toEqual([]);
  });

  it.runIf(manager === "npm")("installs few packages in addition to Pulumi", async () => {
    const { packages, bytes } = await listInstalledPackages(directory.path);
    // Indispensable packages, to prove that dependencies are counted at all.
    expect(packages).toEqual(expect.arrayContaining(["zod", "tldts-core", "undici"]));
    expect(packages.length).toBeLessThanOrEqual(MAX_PACKAGES);
    expect(bytes).toBeLessThan(MAX_BYTES);
  });

  it("includes a native provider plugin that runs in place", async () => {
    const plugin = join(installed, "dist", "plugin", "pulumi-resource-email-security");
    const { stdout } = await promisify(execFile)(plugin, ["--version"]);
    expect(stdout.trim()).toBe(manifest.version);
  });

  it("shares a single @pulumi/pulumi with the program", async () => {
    const copies: string[] = [];
    for await (const file of glob("node_modules/**/@pulumi/pulumi/package.json", { cwd: directory.path })) {
      copies.push(await realpath(join(directory.path, file)));
    }
    expect(new Set(copies).size).toBe(1);
    const resolveSdkFrom = async (path: string) =>
      createRequire(join(await realpath(path), "index.js")).resolve("@pulumi/pulumi");
    expect(await resolveSdkFrom(installed)).toBe(await resolveSdkFrom(directory.path));
  });

  it("prints its version", async () => {
    const { stdout } = await promisify(execFile)(getCommandPath(), ["--version"], { cwd: directory.path });
    expect(stdout).toBe(`${manifest.version}\n`);
  });

  it("runs the sandbox", async () => {
    const child = spawn(getCommandPath(), ["sandbox"], { cwd: directory.path, stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise((done) => child.once("close", done));
    try {
      let url: string | undefined;
      for await (const line of createInterface({ input: child.stdout })) {
        url ??= /http:\/\/127\.0\.0\.1:\d+/.exec(line)?.[0];
        if (line.includes("Ctrl-C")) break;
      }
      const answer = await fetch(`${url}/api/v1/settings/vip_employees`, { headers: { "x-api-key": KEY } });
      expect(answer.status).toBe(200);
    } finally {
      child.kill("SIGTERM");
    }
    expect(await ended).toBe(0);
  });

  // With pnpm, a package finds only its declared dependencies.
  it.runIf(manager === "pnpm")("installs optional packages by the command that its error prints", async () => {
    const environment = {
      ...runEnvironment(),
      EMAIL_SECURITY_DATABASE: "postgres://rollouts@127.0.0.1:1/rollouts",
      EMAIL_SECURITY_SOURCES:
        "entra=https://127.0.0.1:1/ workspace=https://127.0.0.1:1/ corporate=ldaps://127.0.0.1:1/",
      EMAIL_SECURITY_SOURCE_CORPORATE_USER: "cn=sync",
      EMAIL_SECURITY_SOURCE_CORPORATE_PASSWORD: "none",
    };
    const run = createCli(directory.path, environment, join(installed, "dist/commands/main.js"));
    await writeFile(
      join(directory.path, "sources.yaml"),
      `version: 1
sources:
  entra: { kind: microsoft-graph, group: Executives, into: vips }
  workspace: { kind: google-directory, group: executives@acme.example, into: vips }
  corporate: { kind: ldap, url: "ldaps://127.0.0.1:1", base: "dc=acme,dc=example", group: Executives, into: vips }
`,
    );

    const requiredVersions: Record<string, string> = {};
    const { stderr } = await run("rollout");
    expect(stderr).toContain("[ERR_MISSING_PACKAGE]");
    const report: SyncReport = JSON.parse((await run("sync", "sources.yaml", "--format", "json")).stdout);
    const problems = report.sources.map(({ problem }) => problem);
    expect(problems.map((problem) => problem?.code)).toEqual(Array(3).fill("ERR_MISSING_PACKAGE"));
    const messages = [stderr, ...problems.map((problem) => problem?.message)].join("\n");
    const matches = [...messages.matchAll(/`npm install ([^`]*)`/g)];
    expect(matches).toHaveLength(4);
    for (const [, list = ""] of matches) {
      for (const [, name = "", range = ""] of list.matchAll(/"?(@?[^@" ]+)@([^" ]+)"?/g))
        requiredVersions[name] = range;
    }
    expect(Object.keys(requiredVersions).sort()).toEqual(Object.keys(manifest.peerDependenciesMeta).sort());
    expect((await run("worker")).stderr).toContain("[ERR_MISSING_PACKAGE]");

    await install(directory.path, manager, packed(), requiredVersions);
    for (const subcommand of ["rollout", "worker"]) {
      expect((await run(subcommand)).stderr).toMatch(
        /^error: PostgreSQL at .*ECONNREFUSED.* \[ERR_ROLLOUT_DATABASE\]\n$/,
      );
    }
    expect((await run("sync", "sources.yaml", "--format", "json")).stdout).not.toContain("ERR_MISSING_PACKAGE");
    const { stdout } = await run("doctor");
    expect(stdout).toMatch(/^ok +postgresql +pg \d\S+, pg-boss \d/m);
  });

  it.runIf(manager === "npm").each([
    ["node16", "node16"],
    ["esnext", "bundler"],
  ])("gives its types to a program compiled with module %s and resolution %s", async (module, resolution) => {
    const program = join(directory.path, "types.ts");
    await writeFile(
      program,
      `
        import type { Output } from "@pulumi/pulumi";
        import { AllowDenyEntry, type AllowDenyEntryArgs, type List, Provider, VipEmployee } from "${PACKAGE}";
        import { SettingsClient } from "${PACKAGE}/client";
        import { requireEngine } from "${PACKAGE}/engine";
        import { startSandbox } from "${PACKAGE}/sandbox";
        const args: AllowDenyEntryArgs = { list: "deny", value: "acme-login.example" };
        const entry = new AllowDenyEntry("entry", args);
        export const list: Output<List> = entry.list;
        // @ts-expect-error: there are two lists, and nothing here is "any"
        new AllowDenyEntry("other", { list: "block", value: "acme-login.example" });
        export { requireEngine, Provider, SettingsClient, startSandbox, VipEmployee };
      `,
    );
    const options = ["--noEmit", "--strict", "--skipLibCheck", "--target", "es2022", "--ignoreConfig"];
    const compiler = resolve("node_modules/typescript/bin/tsc");
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [compiler, ...options, "--module", module, "--moduleResolution", resolution, program],
      { cwd: directory.path },
    ).catch((error: { stdout: string }) => error);
    expect(stdout).toBe("");
  });
});

it("declares types that pass library checks", () => {
  const entries = Object.values(manifest.exports).flatMap((entry) =>
    typeof entry === "string" ? [] : [resolve("provider", entry.types)],
  );
  const program = ts.createProgram(entries, {
    strict: true,
    noEmit: true,
    skipLibCheck: false,
    types: ["node"],
    target: ts.ScriptTarget.ES2022,
    module: ts.ModuleKind.Node16,
  });
  const ours = program.getSourceFiles().filter((file) => file.fileName.includes("/provider/dist/"));
  const errors = ours
    .flatMap((file) => [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)])
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, " ")}`);
  expect(ours.length).toBeGreaterThanOrEqual(entries.length);
  expect(errors).toEqual([]);
});
