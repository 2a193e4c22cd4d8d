import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cp, readdir, readFile, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { basename, join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { getCurrentPlatform } from "#scripts/node-runtime";
import { CHECKSUMS_FILE, makePluginArchives } from "#scripts/plugin-archives";
import manifest from "../../provider/package.json";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { startFaultyProxy } from "../support/faulty-proxy";
import { findProviderProcess, isProcessRunning } from "../support/killable-stack";
import { buildLanguageHost, findMissingToolchain, prependToPath } from "../support/language-hosts";
import { click } from "../support/tenant-console";
import { createTestDirectory, type TestDirectory } from "../support/test-directory";
import { LANGUAGES } from "./languages";

const missing =
  findMissingToolchain("python") ??
  (spawnSync("python3", ["-m", "pip", "--version"]).status === 0 ? undefined : "there is no pip");
const skipped = missing === undefined ? "" : ` (skipped: ${missing})`;

const KEY = "sandbox-acme-ci";
/** The docs page that explains the CLI's message for a missing plugin. */
const PAGE = "docs/reference/native-plugin.md";
const PLUGIN = ["resource", "email-security", manifest.version];

/** Declares all four resources and calls a function. Nothing specifies the plugin's location. */
const PROGRAM = `name: settings
runtime: yaml
resources:
  entry:
    type: email-security:AllowDenyEntry
    properties: { list: deny, value: single.example, comment: INC-1 }
  blocklist:
    type: email-security:AllowDenyList
    properties: { entries: { listed.example: "deny: INC-2" } }
  vip:
    type: email-security:VipEmployee
    properties: { email: lena.hartmann@acme.example }
  vips:
    type: email-security:VipList
    properties: { members: { greta.nilsen@acme.example: "" } }
variables:
  ranking:
    fn::invoke: { function: email-security:getTopTargetedEntities, arguments: { days: 30 } }
outputs:
  mostTargeted: \${ranking.entities}
`;

interface WriteBody {
  readonly value?: string;
  readonly emails?: readonly string[];
}

const WRITTEN = [
  "POST /allow_deny_entries listed.example",
  "POST /allow_deny_entries single.example",
  "POST /vip_employees greta.nilsen@acme.example",
  "POST /vip_employees lena.hartmann@acme.example",
];

const REMOVAL_REQUESTS = [
  ...Array<string>(3).fill("DELETE /allow_deny_entries/…"),
  "POST /vip_employees/remove greta.nilsen@acme.example",
  "POST /vip_employees/remove lena.hartmann@acme.example",
];

describe.skipIf(missing)(`the archives of the plugin${skipped}`, () => {
  let directory: TestDirectory;
  let single: string;
  let script: string;

  beforeAll(async () => {
    directory = createTestDirectory();
    const buildDirectory = join(directory.path, "made");
    await makePluginArchives(".", buildDirectory, ["node", getCurrentPlatform()]);
    const name = `pulumi-resource-email-security-v${manifest.version}`;
    single = join(buildDirectory, `${name}-${getCurrentPlatform()}.tar.gz`);
    script = join(buildDirectory, `${name}-node.tar.gz`);
  });

  afterAll(async () => {
    directory[Symbol.dispose]();
  });

  it("has reproducible archives and correct checksums", async () => {
    await makePluginArchives(".", join(directory.path, "again"), ["node", getCurrentPlatform()]);

    const [resources, again] = [await hashFiles("made"), await hashFiles("again")];
    expect(again).toEqual(resources);
    const sums = await readFile(join(directory.path, "made", CHECKSUMS_FILE), "utf8");
    const lines = [...resources]
      .filter(([name]) => name !== CHECKSUMS_FILE)
      .map(([name, digest]) => `${digest}  ${name}\n`);
    expect(lines).toHaveLength(2);
    expect(sums).toBe(lines.join(""));
    // The command from the docs.
    const { stdout } = spawnSync("sha256sum", ["-c", "--ignore-missing", CHECKSUMS_FILE], {
      cwd: join(directory.path, "made"),
      encoding: "utf8",
    });
    expect(stdout.match(/: OK$/gm)).toHaveLength(2);
  });

  it("installs a working plugin with and without `node`", async () => {
    await using sandbox = await startSandbox({ scenario: "acme" });
    await using proxy = await startFaultyProxy({ target: sandbox.url });
    await using archives = await serveDirectory(join(directory.path, "made"));
    const host = await buildLanguageHost("yaml");
    expect(spawnSync("node", { env: { PATH: host } }).error).toMatchObject({ code: "ENOENT" });
    await using project = await EngineProject.create({
      program: "",
      files: { "Pulumi.yaml": PROGRAM },
      environment: { EMAIL_SECURITY_BASE_URL: proxy.url, EMAIL_SECURITY_API_KEY: KEY, PATH: host },
    });
    /** Returns the writes since the last call, one line per entry and per mailbox. */
    const takeWrites = (): string[] => {
      const written = sandbox.requests.filter(({ method }) => method !== "GET");
      sandbox.clearRequests();
      return written.flatMap(({ method, path, body }) => {
        const { value = "", emails = [value] } = (body ?? {}) as WriteBody;
        const endpoint = path.replace("/api/v1/settings", "").replace(/ade_\w+$/, "…");
        return emails.map((label) => `${method} ${endpoint} ${label}`.trim());
      });
    };

    // A path to the plugin's directory fails with the error that the docs quote.
    const built = resolve("provider/dist/plugin");
    const directoryRun = await project.runWith(prependToPath(host), "package", "get-schema", built);
    const [, documentedMessage = ""] = /`(expected "" to have [^`]+)`/.exec(await readFile(PAGE, "utf8")) ?? [];
    expect(documentedMessage).not.toBe("");
    expect(directoryRun.output).toContain(documentedMessage);
    const programPath = join(built, "pulumi-resource-email-security");
    const schema = await project.runWith(prependToPath(host), "package", "get-schema", programPath);
    expect(schema.output).toContain('"email-security:index:VipList"');

    await project.runOrThrow("plugin", "install", ...PLUGIN, "--file", single);
    // These commands accept the installed plugin, although the project doesn't specify one.
    await project.runOrThrow("install");
    await project.runOrThrow("plugin", "install");
    await project.up();
    expect(takeWrites().sort()).toEqual(WRITTEN);
    expect(await project.runOrThrow("stack", "output", "mostTargeted")).toContain("fullName");

    // Kills the engine after it has sent a change. The proxy forwards the change only after the plugin has exited too.
    await project.writeFile("Pulumi.yaml", PROGRAM.replaceAll("INC-2", "INC-3"));
    let plugin = 0;
    proxy.hooks = {
      async beforeForward({ method }) {
        if (method === "GET" || plugin !== 0) return;
        plugin = findProviderProcess(run.pid, "native") ?? 0;
        run.kill();
        while (isProcessRunning(plugin)) await sleep(20);
      },
    };
    const run = project.start({}, "up", "--yes", "--skip-preview");
    await run.result;
    expect(plugin).toBeGreaterThan(0);
    while (isProcessRunning(plugin)) await sleep(20);
    proxy.hooks = {};
    await project.runOrThrow("cancel", "--yes");
    await project.up();
    expect(getComment("listed.example")).toBe("INC-3");

    // This time, the plugin is installed from a server.
    await click(sandbox, "POST", "/allow_deny_entries", {
      list: "deny",
      entry_type: "domain",
      value: "clicked.example",
      verdict_scope: "global",
    });
    sandbox.clearRequests();
    await project.runOrThrow("plugin", "rm", "--all", "--yes");
    const server = ["--server", `${archives.url}/v\${VERSION}`];
    await project.runOrThrow("plugin", "install", ...PLUGIN, ...server);
    expect(archives.requests).toEqual([`/v${manifest.version}/${basename(single)}`]);
    await project.runOrThrow(
      "import",
      "email-security:index:AllowDenyEntry",
      "clicked",
      "deny:clicked.example",
      "--yes",
      "--skip-preview",
      "--generate-code=false",
      "--protect=false",
    );
    await project.destroy();
    expect(takeWrites().sort()).toEqual(REMOVAL_REQUESTS);
    const values = sandbox.allowDenyEntries("acme").map(({ value }) => value);
    for (const missingPath of ["single", "listed", "clicked"]) expect(values).not.toContain(`${missingPath}.example`);

    // The archive with the script, which needs `node`.
    await project.runOrThrow("plugin", "rm", "--all", "--yes");
    await project.runOrThrow("plugin", "install", ...PLUGIN, "--file", script);
    const pluginlessRun = await project.run("up", "--yes", "--skip-preview");
    expect(pluginlessRun.output).toMatch(/node.*No such file/);
    expect(takeWrites()).toEqual([]);
    await project.runWith(prependToPath(host), "up", "--yes", "--skip-preview");
    expect(takeWrites()).toEqual(expect.arrayContaining(WRITTEN.slice(0, 2)));

    function getComment(value: string): string | undefined {
      return sandbox.allowDenyEntries("acme").find((entry) => entry.value === value)?.comment;
    }
  });

  it("downloads the plugin in `pulumi up` of a Python program", async () => {
    await using sandbox = await startSandbox({ scenario: "acme" });
    await using archives = await serveDirectory(join(directory.path, "made"));
    using program = createTestDirectory();
    await cp(resolve("examples/native-python"), program.path, { recursive: true });
    const file = join(program.path, "Pulumi.yaml");
    await writeFile(file, (await readFile(file, "utf8")).replace(/^plugins:\n( .*\n)+/m, ""));
    await using project = await EngineProject.open(program.path, {
      ...(await LANGUAGES.python.prepare(program.path)),
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: KEY,
    });
    await project.runOrThrow("stack", "init", "dev");
    const buildDownloadEnvironment = (url: string) => ({
      // The SDK's download URL is on GitHub.
      PULUMI_PLUGIN_DOWNLOAD_URL_OVERRIDES: `^github://.*/pulumi-email-security=${url}/v\${VERSION}`,
    });

    const nothing = await project.runWith(
      buildDownloadEnvironment(`${archives.url}/none`),
      "up",
      "--yes",
      "--skip-preview",
    );
    expect(nothing.code).not.toBe(0);
    const [, documentedMessage = ""] =
      /`error: (Could not automatically[^`]+)`/.exec(await readFile(PAGE, "utf8")) ?? [];
    expect(documentedMessage).not.toBe("");
    expect(nothing.output).toContain(
      documentedMessage.replace("…", "").replace(/(?<=version v)[\d.]+/, manifest.version),
    );

    archives.requests.splice(0);
    const { code } = await project.runWith(buildDownloadEnvironment(archives.url), "up", "--yes", "--skip-preview");
    expect(code).toBe(0);
    expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toContain("trade-fair.example");
    expect(archives.requests).toEqual([`/v${manifest.version}/${basename(single)}`]);
  });

  async function hashFiles(name: string): Promise<Map<string, string>> {
    const names = await readdir(join(directory.path, name));
    const digests = new Map<string, string>();
    // In the order of the checksums file, which is the order in which the archives are built.
    for (const file of names.sort((a, b) => Number(b.includes("-node.")) - Number(a.includes("-node.")))) {
      const content = await readFile(join(directory.path, name, file));
      digests.set(file, createHash("sha256").update(content).digest("hex"));
    }
    return digests;
  }
});

/** Serves a directory on the loopback interface, as the files of a release. */
async function serveDirectory(directory: string) {
  const requestUrls: string[] = [];
  const server = createServer(({ url = "" }, response) => {
    requestUrls.push(url);
    const [, name] = new RegExp(`^/v${manifest.version}/([\\w.-]+)$`).exec(url) ?? [];
    readFile(join(directory, name ?? "none")).then(
      (content) => response.end(content),
      () => response.writeHead(404).end(),
    );
  });
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: requestUrls,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
}
