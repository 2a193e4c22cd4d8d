import { writeFileSync } from "node:fs";
import { afterEach, expect, it, vi } from "vitest";
import { readDeclaredListArguments } from "../../../provider/plan/declared-list-arguments";
import { buildDesiredState } from "../../../provider/plan/desired-state";
import { buildEmptyEvidence } from "../../../provider/plan/mail-evidence";
import { makePlan } from "../../../provider/plan/make-plan";
import { buildObservedState } from "../../../provider/plan/observed-state";
import { formatPlanJson } from "../../../provider/plan/render/plan-json";
import { readSettings } from "../../../provider/settings-files/read-settings";
import { createTestDirectory } from "../../support/test-directory";

afterEach(() => vi.unstubAllEnvs());

it("rejects a program that reads other content than the plan's file", () => {
  using directory = createTestDirectory({
    "acme.yaml": "version: 1\ndeny: [a.example]\n",
    "globex.yaml": "version: 1\ndeny: [b.example]\n",
    "same.yaml": "version: 1\ndeny: [a.example]\n",
  });
  const today = "2026-11-21";
  const timestamp = "2026-11-21T00:00:00.000Z";
  const plan = makePlan({
    desired: buildDesiredState(readSettings(directory.at("acme.yaml"), { today }), undefined),
    observed: buildObservedState(timestamp, [], []),
    tenant: { host: "host", name: "acme" },
    source: { kind: "files", files: [directory.at("acme.yaml")], resource: "acme" },
    mail: buildEmptyEvidence(timestamp, "not asked"),
  });
  writeFileSync(directory.at("plan.json"), formatPlanJson(plan));
  vi.stubEnv("EMAIL_SECURITY_PLAN", directory.at("plan.json"));
  const readArguments = (file: string) => readDeclaredListArguments("acme", "dev", { file: directory.at(file), today });

  expect(readArguments("acme.yaml").entries.entries).toHaveLength(1);
  expect(readArguments("same.yaml").entries.entries).toHaveLength(1);
  expect(() => readArguments("globex.yaml")).toThrow(
    `"${directory.at("globex.yaml")}", which TenantSettings "acme" of the program reads, isn't the reviewed file: the plan is for "${directory.at("acme.yaml")}". Nothing was changed. Plan and apply the file that the program reads, or change the file in the program.`,
  );
  // A change of the file is reported as such.
  directory.write("acme.yaml", "version: 1\ndeny: [c.example]\n");
  expect(() => readArguments("acme.yaml")).toThrow("it has changed since, an entry in it has expired");
});
