/**
 * `npm run release:build`: builds everything that a release publishes in `dist/release/`, with a directory for each
 * destination. It publishes nothing. It requires Python. If Maven or the .NET SDK is missing, it skips the packages for
 * Java or .NET and reports that; in GitHub Actions, this is an error.
 *
 *   npm run release:build [-- --only linux-amd64,node]
 *
 * --only  build only the plugin archives for these platforms
 */
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { getChangelogSection } from "#scripts/changelog";
import { makePluginArchives, selectArchiveKinds } from "#scripts/plugin-archives";
import { buildPackageBom, buildPluginBom } from "#scripts/sbom";
import { readPackageVersion } from "#scripts/version-files";

const RELEASE_DIRECTORY = resolve("dist", "release");

const { values } = parseArgs({ options: { only: { type: "string" } } });
const version = readPackageVersion(".");
const temporaryDirectory = mkdtempSync(join(tmpdir(), "email-security-release-"));
const skippedPackages: string[] = [];
try {
  if (!hasCommand("python3", ["-c", "import venv, ensurepip"])) {
    throw new Error(
      "Python 3 with venv and pip is missing; the package for PyPI and the archives of the plugin need it.",
    );
  }
  rmSync(RELEASE_DIRECTORY, { recursive: true, force: true });
  for (const directory of ["npm", "python", "sbom"]) mkdirSync(join(RELEASE_DIRECTORY, directory), { recursive: true });
  writeReleaseNotes();
  packNpm();
  buildPython();
  buildJava();
  buildDotnet();
  const archives = join(RELEASE_DIRECTORY, "plugin");
  await makePluginArchives(".", archives, selectArchiveKinds(values.only), log);
  writeBom(
    "package",
    buildPackageBom(join(RELEASE_DIRECTORY, "npm", `pulumi-email-security-${version}.tgz`), temporaryDirectory),
  );
  writeBom("plugin", buildPluginBom("."));
  for (const reason of skippedPackages) log(`skipped: ${reason}`);
  if (skippedPackages.length > 0 && process.env["GITHUB_ACTIONS"] === "true") process.exitCode = 1;
  log(`All other files of ${version} are in ${RELEASE_DIRECTORY}.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
} finally {
  rmSync(temporaryDirectory, { recursive: true, force: true });
}

/** Writes the release notes: the changelog section of the version, or the unreleased changes before the release. */
function writeReleaseNotes(): void {
  const changelog = readFileSync("CHANGELOG.md", "utf8");
  const notes = getChangelogSection(changelog, version) ?? getChangelogSection(changelog, "Unreleased") ?? "";
  writeFileSync(join(RELEASE_DIRECTORY, "notes.md"), `${notes}\n`);
}

function packNpm(): void {
  for (const directory of ["provider", "sdk/nodejs"]) {
    runReleaseCommand("npm", ["pack", "--silent", "--pack-destination", join(RELEASE_DIRECTORY, "npm")], directory);
  }
  log("the packages for npm");
}

function buildPython(): void {
  const source = copySdk("python");
  const tools = join(temporaryDirectory, "python-tools");
  runReleaseCommand("python3", ["-m", "venv", tools]);
  const python = join(tools, process.platform === "win32" ? "Scripts" : "bin", "python");
  runReleaseCommand(python, ["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "build==1.6.1"]);
  runReleaseCommand(python, ["-m", "build", "--outdir", join(RELEASE_DIRECTORY, "python"), source]);
  log("the package for PyPI");
}

function buildJava(): void {
  if (!hasCommand("mvn", ["--version"])) return void skippedPackages.push("Java package, because Maven is missing");
  const source = copySdk("java");
  const options = ["--batch-mode", "--quiet", "--activate-profiles", "release", "-Dgpg.skip"];
  runReleaseCommand("mvn", [...options, "package"], source);
  mkdirSync(join(RELEASE_DIRECTORY, "maven"));
  for (const jar of globSync("target/*.jar", { cwd: source })) {
    cpSync(join(source, jar), join(RELEASE_DIRECTORY, "maven", basename(jar)));
  }
  log("the package for Maven Central");
}

function buildDotnet(): void {
  if (!hasCommand("dotnet", ["--version"]))
    return void skippedPackages.push(".NET package, because the .NET SDK is missing");
  const source = copySdk("dotnet");
  runReleaseCommand(
    "dotnet",
    [
      "pack",
      "--configuration",
      "Release",
      "-p:GeneratePackageOnBuild=false",
      "--output",
      join(RELEASE_DIRECTORY, "nuget"),
    ],
    source,
  );
  log("the package for NuGet");
}

/** Copies an SDK, so that build output doesn't mix with committed files. */
function copySdk(language: string): string {
  const copy = join(temporaryDirectory, language);
  cpSync(join("sdk", language), copy, { recursive: true });
  return copy;
}

function writeBom(name: string, bom: string): void {
  writeFileSync(join(RELEASE_DIRECTORY, "sbom", `pulumi-email-security-${name}-v${version}.cdx.json`), `${bom}\n`);
  log(`the SBOM of the ${name}`);
}

/** Runs a command and shows its output only if it fails. */
function runReleaseCommand(command: string, args: readonly string[], cwd = "."): void {
  const shell = process.platform === "win32";
  const { status, error, stdout, stderr } = spawnSync(command, args, { cwd, shell, encoding: "utf8" });
  if (status === 0) return;
  const failure = error === undefined ? `ended with ${status}:\n${stdout}${stderr}` : `can't be run: ${error.message}`;
  throw new Error(`${command} ${args.join(" ")} ${failure}`);
}

function hasCommand(command: string, args: readonly string[]): boolean {
  return spawnSync(command, args, { stdio: "ignore", shell: process.platform === "win32" }).status === 0;
}

function log(line: string): void {
  console.log(line);
}
