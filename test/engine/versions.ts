import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { expect } from "vitest";
import { requireEngine } from "../../provider/engine";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject, PLUGIN_LINES } from "../support/engine-project";
import { buildNumberedDenies, formatBadDomain } from "../support/numbered-domains";
import { install, PACKAGE, type PackedPackage } from "../support/packed-package";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";
import { extractEntryLines, takeListWrites } from "./native-list";

/*
 * The packed package with a version of `@pulumi/pulumi`, installed as by a user: the lifecycle of a stack with both
 * providers (a list of 30 entries, of which three change), a rollout, and the types.
 */

const MODULES = { dynamic: PACKAGE, native: `${PACKAGE}/native` } as const;
export type InstalledProviderKind = keyof typeof MODULES;

export const PROVIDERS: readonly InstalledProviderKind[] = ["dynamic", "native"];

/** The SDK's internals that this package uses, and their names after {@link Installation.hideInternals}. */
const HIDDEN = [
  ["proto", "messages"],
  ["version.js", "hidden-version.js"],
  ["version.d.ts", "hidden-version.d.ts"],
  ["runtime/debuggable.js", "runtime/hidden-debuggable.js"],
  ["runtime/debuggable.d.ts", "runtime/hidden-debuggable.d.ts"],
] as const;

const PATCHED_METHODS = `
const { createRequire } = require("node:module");
const host = require.resolve("@pulumi/pulumi/cmd/dynamic-provider");
process.argv.splice(1, 0, host, "127.0.0.1:1");
require(host);
const messages = Object.entries(createRequire(host).cache).find(([file]) => file.endsWith("provider_pb.js"))[1].exports;
const methods = { CreateRequest: "getProperties", UpdateRequest: "getNews", DeleteRequest: "getId" };
const before = Object.entries(methods).map(([name, method]) => [name, method, messages[name].prototype[method]]);
require("pulumi-email-security/runtime");
const patched = before.filter(([name, method, own]) => messages[name].prototype[method] !== own);
console.log(JSON.stringify(patched.map(([name, method]) => name + "." + method)));
process.exit();
`;

const KEY = "sandbox-acme-ci";
const ENTRIES = buildNumberedDenies(30);
const { [formatBadDomain(7)]: _removed, ...REST } = ENTRIES;
const CHANGED = { ...REST, [formatBadDomain(8)]: "deny: INC-2", "partner.example": "allow" };

/** A directory with an installed version of the SDK, and programs below it. */
export class Installation implements AsyncDisposable {
  readonly #directory: TestDirectory;

  private constructor(directory: TestDirectory) {
    this.#directory = directory;
  }

  static async install(sdk: string, packed: PackedPackage): Promise<Installation> {
    const directory = createTestDirectory();
    await install(directory.path, "npm", packed, { "@pulumi/pulumi": sdk });
    return new Installation(directory);
  }

  /** Renames all undocumented parts of the installed SDK, as a later release might. */
  async hideInternals(): Promise<void> {
    const sdk = join(this.#directory.path, "node_modules", "@pulumi", "pulumi");
    for (const [before, after] of HIDDEN) await rename(join(sdk, before), join(sdk, after));
    for (const file of await readdir(sdk, { recursive: true })) {
      if (file.startsWith("node_modules") || !/\.(js|d\.ts)$/.test(file)) continue;
      const text = await readFile(join(sdk, file), "utf8");
      const renamed = text
        .replace(/(["'](?:\.{1,2}\/)+)proto\//g, "$1messages/")
        .replace(/\/(debuggable|version)(["'])/g, "/hidden-$1$2")
        .replace(/\b(isKnown|isConfigSecret|__pulumiRunError)\b/g, "hidden_$1");
      if (renamed !== text) await writeFile(join(sdk, file), renamed);
    }
  }

  /** Returns the methods of Pulumi's protocol messages that this package replaces when the host loads it. */
  async listPatchedMethods(): Promise<string[]> {
    const { stdout } = await promisify(execFile)(process.execPath, ["-e", PATCHED_METHODS], {
      cwd: this.#directory.path,
    });
    // The host also prints its port.
    return JSON.parse(stdout.split("\n").find((line) => line.startsWith("[")) ?? "");
  }

  /** Runs a stack with a provider, from its first `up` to `destroy`. */
  async runStack(providerKind: InstalledProviderKind): Promise<void> {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const buildProgram = (entries: object) => buildProviderProgram(providerKind, sandbox.url, entries);
    const plugin = providerKind === "native" ? PLUGIN_LINES.replace("node_modules", "../node_modules") : "";
    const directory = await this.#below(providerKind, {
      "Pulumi.yaml": `name: settings\nruntime: nodejs\n${plugin}`,
      "package.json": '{ "name": "settings", "private": true, "main": "index.ts" }',
      "index.ts": buildProgram(ENTRIES),
    });
    await using project = await EngineProject.open(directory, {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: KEY,
      PULUMI_NODEJS_TRANSPILE_ONLY: "true",
    });
    await project.runOrThrow("stack", "init", "dev");
    expect(await project.up()).toContain("+ 7 created");
    sandbox.clearRequests();

    await project.write(buildProgram(CHANGED));
    const preview = await project.runOrThrow("preview", "--diff");
    expect(extractEntryLines(preview).sort()).toEqual(
      [
        `+ partner.example: "allow"`,
        `- ${formatBadDomain(7)}: "deny: INC-1"`,
        `~ ${formatBadDomain(8)}: "deny: INC-1" => "deny: INC-2"`,
      ].sort(),
    );
    await project.up();
    expect(takeListWrites(sandbox)).toEqual(["DELETE", "PATCH", "POST partner.example"]);
    expect(await project.runOrThrow("preview", "--refresh", "--expect-no-changes")).toContain("7 unchanged");
    expect(takeListWrites(sandbox)).toEqual([]);
    await project.destroy();
    expect([...sandbox.allowDenyEntries("acme"), ...sandbox.allowDenyEntries("globex")]).toEqual([]);
  }

  /** Rolls out to one tenant with the installed command, the only user of Pulumi's Automation API. */
  async rollOut(): Promise<void> {
    await using sandbox = await startSandbox({ scenario: "empty" });
    const directory = await this.#below("rollout", {
      "Pulumi.yaml": "name: fleet\nruntime: nodejs\n",
      "acme.yaml": "version: 1\ndeny:\n  - evil.example\n",
      "tenants.yaml": `version: 1
tenants:
  acme: { baseUrl: "${sandbox.url}", key: { environment: ACME_KEY }, settings: acme.yaml }
`,
    });
    await mkdir(join(directory, ".state"));
    const engine = await requireEngine();
    const command = join(this.#directory.path, "node_modules", PACKAGE, "dist", "commands", "main.js");
    await promisify(execFile)(process.execPath, [command, "rollout", "--yes"], {
      cwd: directory,
      env: {
        ...engine.environment({ PATH: process.env["PATH"], HOME: this.#directory.path }),
        PULUMI_BACKEND_URL: `file://${join(directory, ".state")}`,
        PULUMI_HOME: join(directory, ".home"),
        PULUMI_CONFIG_PASSPHRASE: "a passphrase for tests",
        ACME_KEY: KEY,
        EMAIL_SECURITY_KEY_VARIABLES: "ACME_KEY",
      },
    });
    expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["evil.example"]);
  }

  /** Returns the compiler's errors in our declarations and in a program of each provider, with `skipLibCheck` off. */
  async typeErrors(): Promise<string[]> {
    const files = await Promise.all(
      PROVIDERS.map(async (providerKind) => {
        const directory = await this.#below(`types-${providerKind}`, {
          "index.ts": buildProviderProgram(providerKind, "http://127.0.0.1", {}),
        });
        return join(directory, "index.ts");
      }),
    );
    const options = ["--noEmit", "--strict", "--skipLibCheck", "false", "--ignoreConfig", "--target", "es2022"];
    const compiler = resolve("node_modules/typescript/bin/tsc");
    const types = ["--types", "node", "--typeRoots", resolve("node_modules/@types")];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [compiler, ...options, ...types, "--module", "node16", ...files],
      { cwd: this.#directory.path },
    ).catch((error: { stdout: string }) => error);
    // Errors in Pulumi's own declarations aren't ours.
    return stdout.split("\n").filter((line) => /^(types-|node_modules\/pulumi-email-security\/)/.test(line));
  }

  async #below(name: string, files: Readonly<Record<string, string>>): Promise<string> {
    const directory = join(this.#directory.path, name);
    await mkdir(directory);
    for (const [file, text] of Object.entries(files)) await writeFile(join(directory, file), text);
    return directory;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#directory[Symbol.dispose]();
  }
}

/**
 * Returns the same program for either provider: each kind of resource, a Provider, an output of ours, and a function.
 */
function buildProviderProgram(providerKind: InstalledProviderKind, url: string, entries: object): string {
  return `import type { Output } from "@pulumi/pulumi";
import { AllowDenyEntry, AllowDenyList, getAllowDenyEntriesOutput, Provider, VipEmployee, VipList } from "${MODULES[providerKind]}";

const entry = new AllowDenyEntry("look-alike", { list: "deny", value: "acme-login.example", comment: "INC-7" });
new VipEmployee("payroll", { email: "Yuki.Sato@acme.example" });
new AllowDenyList("blocklist", { entries: ${JSON.stringify(entries)} });
new VipList("finance", { members: { "diego.santos@acme.example": "Approves invoices" } });
const globex = new Provider("globex", { baseUrl: "${url}", apiKey: "sandbox-globex-ci" });
new AllowDenyEntry("theirs", { list: "deny", value: "theirs.example" }, { provider: globex });
export const id: Output<string> = entry.entryId;
export const isRead: Output<boolean> = getAllowDenyEntriesOutput({ list: "deny" }).apply((read) => read !== undefined);
`;
}
