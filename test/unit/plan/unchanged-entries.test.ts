import { expect, it } from "vitest";
import type { AllowDenyEntryRow } from "../../../provider/client";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { readSettings } from "../../../provider/settings-files/read-settings";

const COUNT = 500;
const AT = "2026-11-21T08:00:00.000Z";

it("reads the value of each unchanged entry only twice", () => {
  const domains = Array.from({ length: COUNT }, (_, index) => `evil${index}.example`);
  let looks = 0;
  const rows = domains.map((domain): AllowDenyEntryRow => {
    const row = { id: domain, list: "deny", entry_type: "domain", value: domain, comment: undefined };
    const countLook = (): string => {
      looks += 1;
      return domain;
    };
    return Object.defineProperty(row, "value", { get: countLook }) as unknown as AllowDenyEntryRow;
  });
  const readFile = () => `version: 1\ndeny:\n${domains.map((domain) => `  - ${domain}\n`).join("")}`;
  const settings = readSettings("acme.yaml", { readFile, ownDomains: [], today: "2026-11-21" });
  const plan = makePlan({
    desired: buildDesiredState(settings, undefined),
    observed: buildObservedState(AT, rows, []),
    tenant: { host: "mail-security.example", name: "acme" },
    source: { kind: "files", files: settings.files },
    mail: buildEmptyEvidence(AT, "It was not asked."),
  });
  expect(plan.counts).toEqual({ added: 0, changed: 0, removed: 0, unchanged: COUNT, unmanaged: 0 });
  // Once to compute its key, and once to check for duplicates.
  expect(looks).toBe(2 * COUNT);
});
