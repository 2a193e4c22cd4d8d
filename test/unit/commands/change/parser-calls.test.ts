import { writeFileSync } from "node:fs";
import { expect, it, vi } from "vitest";
import { Lexer } from "yaml";
import { prepareListChange } from "../../../../provider/commands/change/prepare-list-change";
import { refang } from "../../../../provider/model/refang";
import { createTestDirectory } from "../../../support/test-directory";

it("runs the YAML parser only on entries that need it", () => {
  const plain = Array.from(
    { length: 3_000 },
    (_, index) => `  - value: host-${index}.example\n    comment: seen in campaign ${index}\n    expires: 2027-01-31\n`,
  );
  const other = "  - value: mid.example\n    comment: |\n      Two\n      lines\n";
  const before = `version: 1\ndeny:\n${plain.slice(0, 2_000).join("")}${other}${plain.slice(2_000).join("")}`;
  using directory = createTestDirectory({});
  writeFileSync(directory.at("settings.yaml"), before);
  const value = refang("evil[.]example");
  if (!value.ok) throw new Error(value.reason);

  const lex = vi.spyOn(Lexer.prototype, "lex");
  try {
    const { files, steps } = prepareListChange(
      { file: directory.at("settings.yaml"), today: "2026-11-23" },
      { action: "add", section: "deny", values: [value.value], metadata: { expires: "2026-12-23" } },
    );
    expect(steps.map(({ description }) => description)).toEqual(["deny evil.example until 2026-12-23"]);
    const added = "  - value: evil.example\n    expires: 2026-12-23\n";
    expect(files.map(({ after }) => after)).toEqual([before + added]);
    // The remainder of the file before and after the change, and the element that serves as a model for the new one.
    const lexed = lex.mock.calls.map(([text]) => text.length);
    expect(lexed).toHaveLength(3);
    expect(Math.max(...lexed)).toBeLessThan(200);
  } finally {
    lex.mockRestore();
  }
});
