const UNRELEASED = "## Unreleased";

/**
 * Moves the unreleased changes under the heading of a version and leaves an empty section for unreleased changes.
 *
 * @param date such as `2026-11-23`
 * @throws {Error} if there is nothing to release, or the version already has a section.
 */
export function releaseChangelog(changelog: string, version: string, date: string): string {
  if (getChangelogSection(changelog, version) !== undefined)
    throw new Error(`CHANGELOG.md already has a section ${version}.`);
  if (!getChangelogSection(changelog, "Unreleased")) {
    throw new Error(
      `CHANGELOG.md has nothing under "${UNRELEASED}". Describe the changes for users there, and try again.`,
    );
  }
  return changelog.replace(`${UNRELEASED}\n`, `${UNRELEASED}\n\n## ${version} - ${date}\n`);
}

/** Returns the section of a version without its heading; undefined if there is no such section. */
export function getChangelogSection(changelog: string, version: string): string | undefined {
  const [, ...sections] = changelog.split(/^## /m);
  const section = sections.find((candidate) => candidate.split(/\s/, 1)[0] === version);
  return section?.slice(section.indexOf("\n")).trim();
}
