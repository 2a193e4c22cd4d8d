/**
 * Prepares a release in the work tree: writes the version everywhere, adds its changelog section, and regenerates the
 * SDKs. It commits nothing. Pushing the tag later starts the release: .github/workflows/release.yml.
 *
 *   npm run release -- 0.2.0
 */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import semver from "semver";
import { releaseChangelog } from "./changelog.mts";
import { readPackageVersion, writeVersion } from "./version-files.mts";

try {
  const version = parseReleaseVersion(process.argv.slice(2));
  const changelog = releaseChangelog(
    readFileSync("CHANGELOG.md", "utf8"),
    version,
    new Date().toISOString().slice(0, 10),
  );
  try {
    writeFileSync("CHANGELOG.md", changelog);
    writeVersion(".", version);
    // In a separate process, because it first builds the package with the new version.
    execFileSync(process.execPath, ["scripts/setup.mjs", "--then", "scripts/update-sdks.mts"], { stdio: "inherit" });
  } catch (error) {
    // Safe, because the work tree had no uncommitted changes.
    runGit("restore", ".");
    runGit("clean", "--force", "-d", "--quiet");
    throw new Error(`The SDKs can't be generated; see the output above. All changes were undone.`, { cause: error });
  }
  console.log(`
This is ${version}. Check \`git diff\` (\`git checkout .\` undoes it). Then store the data that it leaves at its users as test fixtures, and release it:

  EMAIL_SECURITY_TEST_KEEP_RELEASE=1 npm run test:all -- test/engine/upgrade
  git add --all
  git commit --message "Release ${version}"
  git tag v${version}
  git push --atomic origin HEAD v${version}
`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

/**
 * Returns the requested version.
 *
 * @throws {Error} if the version is invalid or not later than the current one, or if there are uncommitted changes.
 */
function parseReleaseVersion([version, ...extraArguments]: readonly string[]): string {
  const current = readPackageVersion(".");
  const nextVersion = semver.inc(current, "minor");
  if (version === undefined || extraArguments.length > 0 || semver.valid(version) !== version) {
    throw new Error(
      `Specify the version to release, for example: npm run release -- ${nextVersion} (the current version is ${current}).`,
    );
  }
  if (semver.prerelease(version) !== null) {
    throw new Error(
      `${version} is a pre-release, which can't be published here. Use a version such as ${nextVersion}.`,
    );
  }
  if (runGit("tag", "--list", `v${version}`) !== "" || semver.lt(version, current)) {
    throw new Error(
      `${version} isn't later than the released version ${current}. Use a later one, such as ${nextVersion}.`,
    );
  }
  if (runGit("status", "--porcelain") !== "") {
    throw new Error("There are uncommitted changes, which `git status` lists. Commit them first.");
  }
  return version;
}

function runGit(...args: string[]): string {
  return execFileSync("git", args, { encoding: "utf8" }).trim();
}
