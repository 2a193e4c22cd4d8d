import { expect, it } from "vitest";
import { prepareListChange } from "../../../../provider/commands/change/prepare-list-change";
import type { ListChange } from "../../../../provider/gitops/list-change";
import { refang } from "../../../../provider/model/refang";
import type { ChangedFile } from "../../../../provider/settings-files/edit-files";
import { countSteps } from "../../../support/step-count";
import { createTestDirectory } from "../../../support/test-directory";

/** The same deny list in each layout. */
const LAYOUTS: Readonly<Record<string, (hosts: readonly string[]) => string>> = {
  "lines of keys": (hosts) =>
    `version: 1\ndeny:\n${hosts.map((host) => `  - value: ${host}\n    ticket: INC-1\n    expires: 2027-01-31\n`).join("")}`,
  "lines of values": (hosts) => `version: 1\ndeny:\n${hosts.map((host) => `  - ${host}\n`).join("")}`,
  "expired lines": (hosts) =>
    `version: 1\ndeny:\n${hosts.map((host) => `  - value: ${host}\n    expires: 2026-01-31\n`).join("")}`,
  brackets: (hosts) => `version: 1\ndeny: [${hosts.join(", ")}]\n`,
  JSON: (hosts) => JSON.stringify({ version: 1, deny: hosts.map((value) => ({ value, ticket: "INC-1" })) }, null, 2),
};

const metadata = { expires: "2026-12-23" };
const reviewed = { on: "2026-11-23", by: "lena@acme.example" };
const CHANGES: Readonly<Record<string, ListChange>> = {
  "an addition": { action: "add", section: "deny", values: [], metadata },
  "a removal": { action: "remove", values: [], metadata: {} },
  "a move": { action: "move", to: "allow", values: [], metadata },
  "an extension": { action: "extend", values: [], metadata },
  "a review": { action: "keep", values: [], metadata: {}, reviewed },
};

const CASES = Object.keys(LAYOUTS).flatMap((layout) =>
  Object.entries(CHANGES)
    // Only an addition replaces expired entries; other changes treat them like all entries.
    .filter(([, change]) => layout !== "expired lines" || change.action === "add")
    .map(([name, change]) => ({ name, layout, change })),
);

it.each(CASES)("plans $name of many values in $layout in linear time", ({ layout, change }) => {
  const measureSteps = (scale: number): number => {
    const hosts = Array.from({ length: 200 * scale }, (_, index) => `host-${String(index).padStart(4, "0")}.example`);
    const some = hosts.filter((_host, index) => index % 4 === 0);
    // In reverse order, each value is inserted before those added so far.
    const isNew = change.action === "add" && layout !== "expired lines";
    const values = (isNew ? some.map((item) => `a-${item}`).toReversed() : some).map((item) => {
      const value = refang(item);
      if (!value.ok) throw new Error(value.reason);
      return value.value;
    });
    using directory = createTestDirectory({ "settings.yaml": LAYOUTS[layout]?.(hosts) ?? "" });
    let files: readonly ChangedFile[] = [];
    const steps = countSteps(() => {
      const place = { file: directory.at("settings.yaml"), today: "2026-11-23" };
      files = prepareListChange(place, { ...change, values }).files;
    });
    expect(files).not.toEqual([]);
    return steps;
  };
  // A full scan for each value would take 16 times the steps.
  expect(measureSteps(4) / measureSteps(1)).toBeLessThan(5);
});
