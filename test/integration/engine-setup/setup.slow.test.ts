import { spawn } from "node:child_process";
import { cpSync, existsSync, readdirSync, readFileSync, readlinkSync, rmSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { FakeToolchain, hasShell } from "./fake-toolchain";

const COMPILER = resolve("node_modules/typescript");

/**
 * A small repository with the same setup script. Its only dependency is a link to this repository's compiler, and its
 * engine only reports that it was requested.
 */
class SetupRepository extends FakeToolchain {
  constructor() {
    super();
    cpSync(resolve("scripts/setup.mjs"), join(this.directory, "scripts/setup.mjs"));
    const lock = readFileSync(resolve("provider/engine/lock.js"), "utf8");
    this.write("provider/engine/lock.js", lock.replace("@ts-check", "@ts-nocheck: there are no types of Node.js here"));
    const compiler = relative(this.directory, COMPILER);
    const { version } = JSON.parse(readFileSync(join(COMPILER, "package.json"), "utf8"));
    const manifest = { name: "small", devDependencies: { typescript: `file:${compiler}` } };
    this.write("package.json", JSON.stringify(manifest));
    const packages = {
      "": manifest,
      [compiler]: { version, dev: true },
      "node_modules/typescript": { resolved: compiler, link: true },
    };
    this.write("package-lock.json", JSON.stringify({ name: "small", lockfileVersion: 3, requires: true, packages }));
    this.write(
      "tsconfig.json",
      JSON.stringify({
        compilerOptions: { target: "es2023", lib: ["es2023"], types: [], allowJs: true, skipLibCheck: true },
      }),
    );
    this.write(
      "provider/tsconfig.json",
      JSON.stringify({
        extends: "../tsconfig.json",
        compilerOptions: {
          ...{
            rootDir: ".",
            outDir: "dist",
            declaration: true,
            module: "commonjs",
            ignoreDeprecations: "6.0",
          },
          ...{ incremental: true, tsBuildInfoFile: "dist/.tsbuildinfo" },
        },
        exclude: ["dist"],
      }),
    );
    this.write("provider/package.json", JSON.stringify({ type: "commonjs" }));
    this.write("provider/commands/main.ts", "export {};");
    this.write(
      "provider/commands/json-schemas.ts",
      "export const buildPublishedSchemas = () => ({ 'small.json': {} });",
    );
    this.write("examples/gitops/.gitignore", "node_modules");
    this.write("scripts/build-plugin.mts", "export const buildPlugin = async () => {};");
    this.write(
      "scripts/build-native-sdk.mts",
      'import { mkdirSync } from "node:fs";\nexport const buildNativeSdk = async (root) => mkdirSync(root + "/sdk/nodejs/bin", { recursive: true });',
    );
    this.write("scripts/read-jsdoc.mts", "");
    this.write("sdk/nodejs/index.ts", "export {};");
    this.write(
      "sdk/tsconfig.json",
      JSON.stringify({
        extends: "../tsconfig.json",
        compilerOptions: {
          ...{ rootDir: "nodejs", outDir: "../provider/dist/native", declaration: true },
          ...{ module: "commonjs", ignoreDeprecations: "6.0", incremental: true },
          ...{ tsBuildInfoFile: "../provider/dist/.native.tsbuildinfo" },
        },
        include: ["nodejs"],
      }),
    );
    this.write("provider/engine/index.ts", "export const findEngine = async () => undefined;");
    this.write("scripts/build-engine.mts", "export const buildEngine = async ({ log }) => log('the engine');");
  }

  /** Runs the setup script. Returns its exit code and its output lines. */
  setUp(...args: string[]): Promise<{ code: number | null; lines: string[] }> {
    const child = spawn(process.execPath, ["scripts/setup.mjs", ...args], {
      cwd: this.directory,
      env: { ...process.env, npm_config_offline: "true", npm_config_cache: join(this.directory, "npm-cache") },
      stdio: ["ignore", "pipe", "pipe"],
    });
    let output = "";
    child.stdout.on("data", (data) => {
      output += data;
    });
    child.stderr.on("data", (data) => {
      output += data;
    });
    return new Promise((settle) => {
      child.once("close", (code) => settle({ code, lines: output.split("\n").filter(Boolean) }));
    });
  }
}

const INSTALLING = "Installing the npm packages, about half a minute ...";
const BUILDING = "Building the package, some seconds ...";

describe.skipIf(!hasShell)("scripts/setup.mjs", () => {
  let repository: SetupRepository;
  beforeAll(() => {
    repository = new SetupRepository();
  });
  afterAll(() => repository[Symbol.dispose]());

  const getBuiltPath = (file: string) => join(repository.directory, "provider/dist", file);

  it("sets up a fresh clone once for two concurrent runs", async () => {
    const runs = await Promise.all([repository.setUp(), repository.setUp()]);
    const allLines = runs.flatMap(({ lines }) => lines);
    expect(
      runs.map(({ code }) => code),
      allLines.join("\n"),
    ).toEqual([0, 0]);
    expect(allLines.filter((line) => !line.startsWith("Waiting")).sort()).toEqual([
      BUILDING,
      INSTALLING,
      "the engine",
      "the engine",
    ]);
    expect(allLines.some((line) => line.startsWith("Waiting for process"))).toBe(true);
    expect(existsSync(getBuiltPath("commands/init/template/gitignore"))).toBe(true);
    expect(existsSync(getBuiltPath("schemas/small.json"))).toBe(true);
    expect(statSync(getBuiltPath("commands/main.js")).mode & 0o111).toBe(0o111);
    expect(readlinkSync(join(repository.directory, "node_modules/.bin/email-security"))).toMatch(
      /dist\/commands\/main.js$/,
    );
    expect(readdirSync(repository.directory).filter((name) => name.includes("lock"))).toEqual(["package-lock.json"]);
  });

  it("does nothing on the second run", async () => {
    expect(await repository.setUp()).toEqual({ code: 0, lines: ["the engine"] });
    expect(await repository.setUp("--no-engine")).toEqual({ code: 0, lines: [] });
    expect(await repository.setUp("--build-only")).toEqual({ code: 0, lines: [] });
  });

  it("removes stale output in a rebuild", async () => {
    const source = repository.write("provider/extra.ts", "export const extra = 1;");
    expect(await repository.setUp("--no-engine")).toEqual({ code: 0, lines: [BUILDING] });
    expect(existsSync(getBuiltPath("extra.js"))).toBe(true);
    rmSync(source);
    expect(await repository.setUp("--no-engine")).toEqual({ code: 0, lines: [BUILDING] });
    expect(existsSync(getBuiltPath("extra.js"))).toBe(false);
    expect(existsSync(getBuiltPath("engine/index.js"))).toBe(true);
  });

  it("restores removed build output", async () => {
    rmSync(dirname(getBuiltPath("engine")), { recursive: true });
    expect(await repository.setUp("--no-engine")).toEqual({ code: 0, lines: [BUILDING] });
    expect(existsSync(getBuiltPath("engine/lock.js"))).toBe(true);
  });

  it("fails on type errors only with --build-only", async () => {
    const source = repository.write("provider/wrong.ts", "export const wrong: number = 'text';");
    expect(await repository.setUp("--no-engine")).toMatchObject({
      code: 0,
      lines: [BUILDING, expect.stringContaining("wrong.ts"), expect.stringContaining("The set-up continues")],
    });
    expect(await repository.setUp("--build-only")).toMatchObject({ code: 1 });
    rmSync(source);
  });

  it("runs the given script afterwards with its arguments", async () => {
    repository.write("scripts/after.mjs", "console.log(JSON.stringify(process.argv.slice(2)));");
    const { lines } = await repository.setUp("--then", "scripts/after.mjs", "up", "--build-only");
    expect(lines.at(-1)).toBe('["up","--build-only"]');
  });

  it("exits 1 with the builder's message when the engine build fails", async () => {
    repository.write(
      "scripts/build-engine.mts",
      "export const buildEngine = async () => { throw new Error('No Go'); };",
    );
    expect(await repository.setUp("--then", "scripts/after.mjs")).toEqual({ code: 1, lines: ["No Go"] });
  });

  it("skips the engine build when one is installed", async () => {
    repository.write("provider/engine/index.ts", "export const findEngine = async () => ({});");
    expect(await repository.setUp()).toEqual({ code: 0, lines: [BUILDING] });
  });
});
