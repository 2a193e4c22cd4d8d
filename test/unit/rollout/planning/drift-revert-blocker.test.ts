import { expect, it } from "vitest";
import type { ExpiredRemoval } from "../../../../provider/gitops/expired-removal";
import { buildDesiredState, type StackLists } from "../../../../provider/plan/desired-state";
import { canRevertDrift, getDriftRevertBlocker } from "../../../../provider/rollout/planning/drift-revert-blocker";
import { readSettings } from "../../../../provider/settings-files/read-settings";

const FILES = {
  "acme.yaml": `version: 1
include: [baseline.yaml]
deny:
  - stays.example
  - { value: gone.example, expires: 2026-01-02 }
vips: [ceo@acme.example]
`,
  "baseline.yaml": "version: 1\nonDrift: revert\ndeny: [{ value: shared.example, comment: INC-7 }]\n",
};

const ENTRIES = { "stays.example": "deny", "shared.example": "deny: INC-7" };
const VIPS = { "ceo@acme.example": "" };

function findBlocker(
  known: { entries?: Record<string, string>; vips?: Record<string, string>; isThere?: false } = {},
  {
    files = {},
    isApplied = false,
    kept = [],
  }: { files?: Record<string, string>; isApplied?: boolean; kept?: ExpiredRemoval["retained"] } = {},
): string | undefined {
  const all: Record<string, string> = { ...FILES, ...files };
  const settings = readSettings("acme.yaml", {
    today: "2026-11-21",
    ownDomains: [],
    readFile: (path) => all[path] ?? "",
  });
  const { entries = ENTRIES, vips = VIPS, isThere: exists = true } = known;
  const lists: StackLists = { entries: { content: entries, exists }, vips: { content: vips, exists } };
  return getDriftRevertBlocker(settings, buildDesiredState(settings, lists), lists, isApplied, kept);
}

it("returns no blocker when the files match the last run", () => {
  expect(findBlocker({}, { isApplied: true })).toBeUndefined();
});

it("blocks unless the settings say onDrift: revert", () => {
  const own = `${FILES["acme.yaml"]}onDrift: report\n`;
  expect(findBlocker({}, { files: { "acme.yaml": own }, isApplied: true })).toBe(
    "its settings don't set `onDrift: revert`",
  );
  const silent = FILES["baseline.yaml"].replace("onDrift: revert\n", "");
  expect(findBlocker({}, { files: { "baseline.yaml": silent }, isApplied: true })).toBe(
    "its settings don't set `onDrift: revert`",
  );
  expect(canRevertDrift({})).toBe(false);
});

it("suggests a full rollout for expired entries that --only-expired leaves", () => {
  const removedEntry = {
    key: "gone.example",
    kind: "entry",
    reason: "it was put on the allow list in the console",
  } as const;
  const known = { entries: { ...ENTRIES, "gone.example": "deny" } };
  expect(findBlocker(known, { kept: [removedEntry] })).toBe(
    "1 expired element is not removed, and `rollout --only-expired` keeps it; run `rollout` first",
  );
  // A VIP with the same key is a different object.
  expect(findBlocker(known, { kept: [{ ...removedEntry, kind: "vip" }] })).toBe(
    "1 expired element is not removed; run `rollout --only-expired` first",
  );
});

it.each<[string, Parameters<typeof findBlocker>[0], string]>([
  [
    "a comment of the files waits",
    { entries: { ...ENTRIES, "shared.example": "deny: INC-6" } },
    "1 change of the files is not rolled out (or a refresh has read console changes into the state); run `rollout` first",
  ],
  [
    "an addition, a removal and a VIP wait",
    { entries: { "shared.example": "deny: INC-7", "old.example": "allow" }, vips: {} },
    "3 changes of the files are not rolled out (or a refresh has read console changes into the state); run `rollout` first",
  ],
  [
    "what has ended stands",
    { entries: { ...ENTRIES, "gone.example": "deny" } },
    "1 expired element is not removed; run `rollout --only-expired` first",
  ],
  [
    "both",
    { entries: { ...ENTRIES, "gone.example": "deny", "old.example": "deny" } },
    "1 change of the files is not rolled out (or a refresh has read console changes into the state), and 1 expired element is not removed; run `rollout` first",
  ],
  [
    "an option of the lists, or a run that was cut short",
    { entries: { ...ENTRIES, "console.example": "(unmanaged) deny" } },
    "its stack's last run was interrupted, or an option of its lists is not rolled out; run `rollout` first",
  ],
  [
    "no run has come there",
    { entries: {}, vips: {}, isThere: false },
    "its settings were never applied; run `rollout` first",
  ],
])("explains the blocker: %s", (_label, known, expectedReason) => {
  expect(findBlocker(known)).toBe(expectedReason);
});
