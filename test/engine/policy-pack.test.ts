import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { ANALYZER, BAD, parseViolations } from "./policy-pack";

it("fails the preview on a violation without showing its comment", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    program: BAD,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  const { code, output } = await project.run("up", "--yes", "--policy-pack", ANALYZER);
  expect(code).toBe(1);
  expect(output).toContain("Previewing update");
  expect(output).not.toContain("Updating");
  expect(parseViolations(output)).toEqual({
    "[mandatory] policy-comment": ["lena.hartmann@acme.example: has no comment"],
    "[mandatory] policy-max-days": [
      "acme-login.example: has no expiry date, or one beyond the limit",
      "partner.example: has no expiry date, or one beyond the limit",
    ],
    "[mandatory] policy-ticket": ["partner.example: has no ticket"],
    "[mandatory] policy-two-people": ["partner.example: has no approver other than its owner"],
    "[mandatory] policy-whole-domain": [
      "acme-login.example: allows a whole domain",
      "partner.example: allows a whole domain",
    ],
    // The stack's own configuration doesn't contain own domains.
    "[mandatory] risky-entry": ["acme-login.example: allows a look-alike of your own domain (allow-look-alike)"],
  });
  expect(output).not.toMatch(/Mallory|Trent/);
  expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
});
