import { describe, expect, it } from "vitest";
import { formatErrorMessage } from "../../../provider/cli/print-error";
import { unwrapError } from "../../support/unwrap-error";

const LONG =
  'GET https://mail-security.example/api/v1/settings/allow_deny_entries returned 401: the key is not valid. Set it, and run `email-security doctor --format json --output /tmp/report.json` with "/home/dana/settings of acme/tenant settings.yaml". [ERR_AUTH]';

describe("an error message", () => {
  it("is wrapped to 80 columns in a pipe", () => {
    expect(formatErrorMessage(LONG, {})).toBe(`\
error: GET https://mail-security.example/api/v1/settings/allow_deny_entries
       returned 401: the key is not valid. Set it, and run
       \`email-security doctor --format json --output /tmp/report.json\` with
       "/home/dana/settings of acme/tenant settings.yaml". [ERR_AUTH]`);
  });

  it("is wrapped to the width of the terminal", () => {
    const lines = formatErrorMessage(LONG, { isTTY: true, columns: 120 }).split("\n");
    expect(lines.map(({ length }) => length).every((length) => length <= 120)).toBe(true);
    expect(lines).toHaveLength(3);
  });

  it("is complete if its lines are joined", () => {
    expect(unwrapError(formatErrorMessage(LONG, {}))).toBe(`error: ${LONG}`);
  });

  it("keeps an indented command on one line", () => {
    const command = `  npm install ${"a-package-of-a-long-name ".repeat(5).trim()}`;
    expect(formatErrorMessage(`Packages are missing:\n${command}`, { isTTY: true, columns: 80 })).toBe(
      `error: Packages are missing:\n${command}`,
    );
  });

  it("keeps the lines of findings in a pipe", () => {
    const finding = `  settings/acme.yaml:5:14 error: ${"too long ".repeat(12).trim()}`;
    expect(formatErrorMessage(`2 mistakes.\n${finding}`, {})).toBe(`error: 2 mistakes.\n${finding}`);
    expect(formatErrorMessage(`2 mistakes.\n${finding}`, { isTTY: true }).split("\n")).toHaveLength(3);
  });
});
