import { expect, it } from "vitest";
import { runCli } from "../../support/cli";
import { createTestDirectory } from "../../support/test-directory";

it("gives each command in a shared process its own environment, directory and exit code", async () => {
  using directory = createTestDirectory({ "acme.yaml": "version: 1\ndeny: [evil.example]\n" });
  const failed = await runCli(directory.path, ["lint"], { EMAIL_SECURITY_API_KEYS: "x" });
  expect([failed.code, failed.stderr]).toEqual([1, expect.stringContaining("[ERR_CONFIGURATION]")]);
  const exited = await runCli(directory.path, ["lint", "--unknown"]);
  expect([exited.code, exited.stdout, exited.stderr]).toEqual([1, "", expect.stringContaining("--unknown")]);
  const succeeded = await runCli(directory.path, ["lint", "acme.yaml"]);
  expect([succeeded.code, succeeded.stderr]).toEqual([0, ""]);
});
