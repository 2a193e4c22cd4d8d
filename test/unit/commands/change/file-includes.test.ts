import { expect, it } from "vitest";
import { prepareListChange } from "../../../../provider/commands/change/prepare-list-change";
import { type RefangedValue, refang } from "../../../../provider/model/refang";
import { createTestDirectory } from "../../../support/test-directory";

function parseValue(text: string): RefangedValue {
  const read = refang(text);
  if (!read.ok) throw new Error(read.reason);
  return read.value;
}

const FILES = {
  ".git/HEAD": "ref: refs/heads/main\n",
  "settings/baseline.yaml": "version: 1\ndeny: [old.example]\n",
  "settings/acme.yaml": "version: 1\ninclude: [baseline.yaml]\n",
  // It denies the value to be allowed, and has a mistake of its own already.
  "settings/globex.yaml": 'version: 1\n"include":\n  - baseline.yaml\ndeny: [new.example, com]\n',
  "settings/mid.yaml": "version: 1\ninclude: [./baseline.yaml] # for some\n",
  "tenants/initech.yaml": "version: 1\ninclude: [../settings/mid.yaml]\npolicy: { requireTicket: [allow] }\n",
  "tenants/hooli.yaml": "version: 1\ndeny: [new.example]\n",
  "settings/notes.yaml": "# include: baseline.yaml\ninclude: baseline.yaml\n",
};

it("refuses a change that breaks a file including the changed one", () => {
  using directory = createTestDirectory(FILES);
  const place = {
    file: directory.at("settings/baseline.yaml"),
    includedBy: directory.at("settings/acme.yaml"),
    tenantFiles: [directory.at("tenants/initech.yaml"), directory.at("tenants/hooli.yaml")],
    today: "2026-11-23",
  };
  const prepareAddition = (text: string, metadata = {}) =>
    prepareListChange(place, { action: "add", section: "allow", values: [parseValue(text)], metadata });
  let rejectedFile = "";
  try {
    prepareAddition("new.example");
  } catch (error) {
    rejectedFile = (error as Error).message.replaceAll(`${directory.path}/`, "");
  }
  const [first, ...reasons] = rejectedFile.split("\n");
  expect(first).toBe("Nothing was written:");
  expect(reasons).toEqual([
    expect.stringMatching(
      /^ {2}settings\/globex\.yaml:4:8 error: "new\.example" is on the allow list at .*baseline\.yaml:\d+, in an included file/,
    ),
    expect.stringMatching(/^ {2}settings\/baseline\.yaml:\d+:\d+ error: "new\.example" has no ticket/),
    "    Give --ticket.",
  ]);
  // An existing mistake in an including file doesn't block the change.
  expect(prepareAddition("other.example", { ticket: "INC-1" }).files).toHaveLength(1);
});

it("refuses to change a file that sync generates", () => {
  using directory = createTestDirectory({
    "sources/phish.yaml":
      "version: 1\nsource: { name: phish, kind: url, synced: 2026-11-29 }\ndeny:\n  - { value: old.example, expires: 2026-12-13 }\n",
  });
  const place = { file: directory.at("sources/phish.yaml"), today: "2026-11-29" };
  const refusal = "from the source phish, and would overwrite the change; change the source, or declare the exception";
  const addition = { action: "add", section: "deny", values: [parseValue("new.example")], metadata: {} } as const;
  expect(() => prepareListChange(place, addition)).toThrow(refusal);
  const removal = { action: "remove", values: [parseValue("old.example")], metadata: {} } as const;
  expect(() => prepareListChange(place, removal)).toThrow(refusal);
});

it("advises an exception in the tenant's own file for an entry of a source", () => {
  using directory = createTestDirectory({
    ".git/HEAD": "ref: refs/heads/main\n",
    "settings/sources/phish.yaml":
      "version: 1\nsource: { name: phish, kind: url, synced: 2026-11-29 }\ndeny:\n  - { value: old.example, expires: 2026-12-13 }\n",
    "settings/acme.yaml":
      "version: 1\ninclude: [sources/phish.yaml]\nsources: { phish: { kind: url, file: ../feed.txt, into: deny, expires: 14d } }\n",
  });
  const place = { file: directory.at("settings/acme.yaml"), today: "2026-11-29" };
  const removal = { action: "remove", values: [parseValue("old.example")], metadata: {} } as const;
  const refusal =
    /is from the source phish .*would overwrite a change there; write `remove: \{deny: \[old\.example\]\}` in ".*acme\.yaml"/;
  expect(() => prepareListChange(place, removal)).toThrow(refusal);
  expect(() => prepareListChange(place, removal)).not.toThrow("--file");
});
