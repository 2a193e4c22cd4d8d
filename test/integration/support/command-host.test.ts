import { expect, it } from "vitest";
import { emailSecurity } from "../../support/command";
import { createSettingsDirectory } from "../../support/settings-directory";

it("gives each command in a shared process its own environment, directory and exit code", async () => {
  using directory = createSettingsDirectory({ "acme.yaml": "version: 1\ndeny: [evil.example]\n" });
  const failed = await emailSecurity(directory.path, ["lint"], { EMAIL_SECURITY_API_KEYS: "x" });
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("[ERR_CONFIGURATION]")]);
  const exited = await emailSecurity(directory.path, ["lint", "--unknown"]);
  expect([exited.code, exited.stdout, exited.stderr]).toEqual([1, "", expect.stringContaining("--unknown")]);
  const succeeded = await emailSecurity(directory.path, ["lint", "acme.yaml"]);
  expect([succeeded.code, succeeded.stderr]).toEqual([0, ""]);
});
