import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, expect, it } from "vitest";
import { EngineUnavailableError } from "../../../provider/engine/engine-unavailable-error";
import { findEngine, requireEngine } from "../../../provider/engine/find-engine";
import { getInstallationName, getProgramFileName } from "../../../provider/engine/installed-engines";

const directory = mkdtempSync(join(tmpdir(), "email-security-find-engine-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

/** Creates a cache with these versions; returns an environment without any other engine. */
function createEngineCache(name: string, versions: readonly string[]): NodeJS.ProcessEnv {
  const home = join(directory, name);
  for (const version of versions) {
    const installation = join(home, "cache/engine", getInstallationName(version));
    mkdirSync(join(installation, "bin"), { recursive: true });
    writeFileSync(join(installation, "bin", getProgramFileName("pulumi")), "", { mode: 0o755 });
    writeFileSync(join(installation, "engine.json"), JSON.stringify({ version }));
  }
  return { HOME: home, EMAIL_SECURITY_CACHE_DIR: join(home, "cache"), PATH: join(home, "programs") };
}

it("picks the newest version in the cache", async () => {
  const env = createEngineCache("several", ["3.259.0", "3.1000.0", "3.260.1"]);
  expect(await findEngine({ env })).toMatchObject({ version: "3.1000.0", source: "cache" });
});

it("ignores an unfinished, old or foreign installation in the cache", async () => {
  const env = createEngineCache("ignored", ["3.100.0", "3.300.0"]);
  const engines = join(directory, "ignored/cache/engine");
  rmSync(join(engines, getInstallationName("3.300.0"), "engine.json"));
  for (const name of ["3.400.0-plan9-mips", `${getInstallationName("3.500.0")}.unfinished-1`])
    mkdirSync(join(engines, name));
  expect(await findEngine({ env })).toBeUndefined();
});

it("reports where it looked and how to install Pulumi", async () => {
  const env = createEngineCache("nothing", []);
  const failure = requireEngine({ env });
  await expect(failure).rejects.toBeInstanceOf(EngineUnavailableError);
  await expect(failure).rejects.toMatchObject({
    code: "ERR_ENGINE_UNAVAILABLE",
    message: `No Pulumi CLI 3.200.0 or later was found on PATH, in ${join(directory, "nothing/.pulumi/bin")}, in ${join(directory, "nothing/cache/engine")}. Install Pulumi 3.200.0 or later (https://www.pulumi.com/docs/iac/download-install/) and put it on PATH.`,
  });
});

it("builds an environment in which the CLI finds Node.js", async () => {
  const engine = await requireEngine({ env: createEngineCache("environment", ["3.259.0"]) });
  expect(engine.directory).toBe(dirname(engine.command));
  expect(engine.environment({ Path: "/usr/bin", OTHER: "kept", EMAIL_SECURITY_CACHE_DIR: "/cache" })).toEqual({
    OTHER: "kept",
    EMAIL_SECURITY_CACHE_DIR: "/cache",
    NODE_COMPILE_CACHE: join("/cache", "compiled"),
    PULUMI_SKIP_UPDATE_CHECK: "true",
    NO_PROXY: "127.0.0.1,localhost",
    no_proxy: "127.0.0.1,localhost",
    Path: [engine.directory, dirname(process.execPath), "/usr/bin"].join(delimiter),
  });
  const own = engine.environment({ NODE_COMPILE_CACHE: "/own" });
  expect(own["NODE_COMPILE_CACHE"]).toBe("/own");
});
