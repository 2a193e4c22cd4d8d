/**
 * `npm run release:build`: all that a release publishes, in `dist/release/`, a folder for each place it goes to. It publishes
 * nothing. It wants Python. The packages for Java and .NET are left out, and told, where Maven or the .NET SDK is not on this
 * machine; for a release that is an error.
 *
 *   npm run release:build [-- --only linux-amd64,node]
 *
 * --only  the plugin's archives for these platforms alone
 */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { partOf } from "#scripts/changelog";
import { kindsOf, makePluginArchives } from "#scripts/plugin-archives";
import { packageBom, pluginBom } from "#scripts/sbom";
import { versionOf } from "#scripts/version";

const FOLDER = resolve("dist", "release");

const { values } = parseArgs({ options: { only: { type: "string" } } });
const version = versionOf(".");
const scratch = mkdtempSync(join(tmpdir(), "email-security-release-"));
const missing: string[] = [];
try {
  if (!has("python3", ["-c", "import venv, ensurepip"])) {
    throw new Error(
      "There is no Python 3 with venv and pip: the package for PyPI and the archives of the plugin need it.",
    );
  }
  rmSync(FOLDER, { recursive: true, force: true });
  for (const folder of ["npm", "python", "sbom"]) mkdirSync(join(FOLDER, folder), { recursive: true });
  writeNotes();
  packNpm();
  buildPython();
  buildJava();
  buildDotnet();
  const archives = join(FOLDER, "plugin");
  await makePluginArchives(".", archives, kindsOf(values.only), say);
  writeBom("package", packageBom(join(FOLDER, "npm", `pulumi-email-security-${version}.tgz`), scratch));
  writeBom("plugin", pluginBom("."));
  for (const reason of missing) say(`left out: ${reason}`);
  if (missing.length > 0 && process.env["GITHUB_ACTIONS"] === "true") process.exitCode = 1;
  say(`All else of ${version} is in ${FOLDER}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(scratch, { recursive: true, force: true });
}

/** What the changelog says of the version; before it is released, what is unreleased. */
function writeNotes(): void {
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const notes = partOf(changelog, version) ?? partOf(changelog, "Unreleased") ?? "";
  writeFileSync(join(FOLDER, "notes.md"), `${notes}\n`);
}

function packNpm(): void {
  for (const folder of ["provider", "sdk/nodejs"]) {
    run("npm", ["pack", "--silent", "--pack-destination", join(FOLDER, "npm")], folder);
  }
  say("the packages for npm");
}

function buildPython(): void {
  const source = copyOf("python");
  const tools = join(scratch, "python-tools");
  run("python3", ["-m", "venv", tools]);
  const python = join(tools, process.platform === "win32" ? "Scripts" : "bin", "python");
  run(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "build==1.6.1"]);
  run(python, ["-m", "build", "--outdir", join(FOLDER, "python"), source]);
  say("the package for PyPI");
}

function buildJava(): void {
  if (!has("mvn", ["--version"])) return void missing.push("Java's, without Maven");
  const source = copyOf("java");
  const options = ["--batch-mode", "--quiet", "--activate-profiles", "release", "-Dgpg.skip"];
  run("mvn", [...options, "package"], source);
  mkdirSync(join(FOLDER, "maven"));
  for (const jar of globSync("target/*.jar", { cwd: source })) {
    cpSync(join(source, jar), join(FOLDER, "maven", basename(jar)));
  }
  say("the package for Maven Central");
}

function buildDotnet(): void {
  if (!has("dotnet", ["--version"])) return void missing.push(".NET's, without the .NET SDK");
  const source = copyOf("dotnet");
  run(
    "dotnet",
    [
      "pack",
      "--configuration",
      "Release",
      "-p:GeneratePackageOnBuild=false",
      "--output",
      join(FOLDER, "nuget"),
    ],
    source,
  );
  say("the package for NuGet");
}

/** Where what is built of an SDK does not come between what is committed. */
function copyOf(language: string): string {
  const copy = join(scratch, language);
  cpSync(join("sdk", language), copy, { recursive: true });
  return copy;
}

function writeBom(name: string, bom: string): void {
  writeFileSync(join(FOLDER, "sbom", `pulumi-email-security-${name}-v${version}.cdx.json`), `${bom}\n`);
  say(`the bill of materials of the ${name}`);
}

/** What it prints is shown only where it fails. */
function run(command: string, args: readonly string[], cwd = "."): void {
  const shell = process.platform === "win32";
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, shell, encoding: "utf8" });
  if (status === 0) return;
  const why =
    error === undefined ? `ended with ${status}:\n${stdout}${stderr}` : `can't be run: ${error.message}`;
  throw new Error(`${command} ${args.join(" ")} ${why}`);
}

function has(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore", shell: process.platform === "win32" }).status === 0;
}

function say(line: string): void {
  console.log(line);
}
