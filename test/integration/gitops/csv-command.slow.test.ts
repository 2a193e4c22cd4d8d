import { expect, it } from "vitest";
import { readSettings } from "../../../provider/files/read-settings";
import { emailSecurity } from "../../support/command";
import { LintedDirectory } from "../../support/linted-directory";

it("imports 5,000 CSV rows", async () => {
  const rows = Array.from({ length: 5_000 }, (_one, at) => `host${at}.example,INC-${at}\n`);
  using directory = new LintedDirectory({ "table.csv": `value,ticket\n${rows.join("")}` });
  const args = ["csv", "import", "table.csv", "--to", "settings.yaml", "--list", "deny"];
  expect((await emailSecurity(directory.root, args)).stdout).toBe("Added 5000 rows to settings.yaml.\n");
  expect(readSettings(directory.path("settings.yaml")).entries).toHaveLength(5_000);
});
