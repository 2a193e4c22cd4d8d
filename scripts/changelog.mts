const UNRELEASED = "## Unreleased";

/**
 * The changelog with what is unreleased under a version's heading, and the heading of what is unreleased above it, empty.
 *
 * @param date such as `2026-11-23`
 * @throws {Error} when there is nothing to release, or the version has a part already.
 */
export function released(changelog: string, version: string, date: string): string {
  if (partOf(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md has a part ${version} already.`);
  if (!partOf(changelog, "Unreleased")) {
    throw new Error(
      `CHANGELOG.md says nothing under "${UNRELEASED}": write there what users get, and try again.`,
    );
  }
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## ${version} - ${date}\n`);
}

/** What the changelog says of a version, without its heading; undefined when it says nothing of it. */
export function partOf(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((candidate) => candidate.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf("\n")).trim();
}
