import { expect, it } from "vitest";
import { getChangelogSection, releaseChangelog } from "#scripts/changelog";

const BEFORE = `# Changelog

All notable changes.

## Unreleased

### Added

- A verb.

## 0.1.0 - 2026-01-01

### Added

- All.
`;

it("moves unreleased notes under the new version", () => {
  const after = releaseChangelog(BEFORE, "0.2.0", "2026-11-23");
  expect(after).toBe(BEFORE.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 - 2026-11-23\n"));
  expect(getChangelogSection(after, "Unreleased")).toBe("");
  expect(getChangelogSection(after, "0.2.0")).toBe("### Added\n\n- A verb.");
  expect(getChangelogSection(after, "0.1.0")).toBe("### Added\n\n- All.");
  expect(getChangelogSection(after, "0.1")).toBeUndefined();
});

it("refuses an empty Unreleased section and an existing version", () => {
  expect(() => releaseChangelog(BEFORE, "0.1.0", "2026-11-23")).toThrow("CHANGELOG.md already has a section 0.1.0.");
  const after = releaseChangelog(BEFORE, "0.2.0", "2026-11-23");
  expect(() => releaseChangelog(after, "0.3.0", "2026-11-23")).toThrow(
    'CHANGELOG.md has nothing under "## Unreleased"',
  );
});
