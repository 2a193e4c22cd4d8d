import { describe, expect, it } from "vitest";
import { buildApprovedChange, change, formatAllowEntry, formatTenantFile, old } from "../../support/approved-change";
import { runCli } from "../../support/cli";

const AS_OF = ["--today", "2026-11-23"];

const formatReviews = (login: string, commit: string): string =>
  JSON.stringify([[{ user: { login }, state: "APPROVED", commit_id: commit, submitted_at: "2026-11-23T08:00:00Z" }]]);

describe("email-security lint with a policy that requires approvals", () => {
  it("requires --approvals or --no-approvals", async () => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    const { path } = approvedChange.history;
    const rejection = await runCli(path, ["lint", ...AS_OF]);
    expect(rejection.code).toBe(2);
    expect(rejection.stdout).toMatch(
      /^settings\/acme\.yaml:1:1 error: the policy for "settings\/acme\.yaml" requires proof of approval \(requireApproval\), but no approvals were given\. In a pipeline, run `lint --approvals FILE --base REVISION --author LOGIN`; on your own machine, run `lint --no-approvals`, which leaves the check to the pipeline \(approval-unchecked\)\n/,
    );
    const uncheckedRun = await runCli(path, ["lint", "--no-approvals", ...AS_OF]);
    expect(uncheckedRun.code).toBe(0);
    expect(uncheckedRun.stdout).toMatch(/The pipeline checks the approvals\.\n$/);
  });

  it("checks approvals from the pipeline's file", async () => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    approvedChange.history.write("reviews.json", formatReviews("tomas-l", approvedChange.head));
    const args = ["lint", ...AS_OF, "--approvals", "reviews.json", "--base", "main", "--author", "dana"];
    const { code, stdout } = await runCli(approvedChange.history.path, args);
    expect(stdout).toMatch(/ in 2 files\. Approvals: 1 checked, 1 unchanged\.\n$/);
    expect(code).toBe(0);

    approvedChange.history.write("reviews.json", formatReviews("mei", approvedChange.head));
    const json = await runCli(approvedChange.history.path, [
      ...args,
      "--format",
      "json",
      "--output",
      "sarif=lint.sarif",
    ]);
    expect(json.code).toBe(2);
    const report = JSON.parse(json.stdout) as { findings: { code: string }[]; approvals: object };
    expect(report.approvals).toEqual({ checked: 1, unchanged: 1, notRequired: 0 });
    expect(report.findings.filter(({ code: item }) => item === "approval-unproven")).toHaveLength(1);
    const sarif = await runCli(approvedChange.history.path, [...args, "--format", "sarif"]);
    expect(JSON.parse(sarif.stdout)).toMatchObject({
      runs: [{ results: expect.arrayContaining([expect.objectContaining({ ruleId: "approval-unproven" })]) }],
    });
  });

  it("sanitizes text from reviews and settings files", async () => {
    const hostile = "\u202eTomas ::error::x";
    using approvedChange = change({
      "settings/acme.yaml": formatTenantFile(old, formatAllowEntry({ approvedBy: "##[group]Tom" })),
    });
    approvedChange.history.write("reviews.json", JSON.stringify({ message: `\u001b]0;x\u0007${hostile}` }));
    const args = ["lint", ...AS_OF, "--approvals", "reviews.json", "--base", "main", "--author", "dana"];
    const rejection = await runCli(approvedChange.history.path, args);
    expect(rejection).toMatchObject({ code: 1, stdout: "" });
    expect(rejection.stderr).toContain("[ERR_APPROVALS]");
    // biome-ignore lint/suspicious/noControlCharactersInRegex: these must not come.
    expect(rejection.stderr).not.toMatch(/[\u001b\u0007\u202e]/);
    approvedChange.history.write("reviews.json", "[]");
    const { stdout } = await runCli(approvedChange.history.path, args);
    expect(stdout).toContain(
      "error: approvedBy contains text that a terminal, Pulumi or a build pipeline would interpret",
    );
    expect(stdout).not.toMatch(/##\[group\]/);
  });

  it.each([
    [["--approvals", "reviews.json"]],
    [["--approvals", "reviews.json", "--base", "main"]],
    [["--approvals", "reviews.json", "--base", "main", "--author", ""]],
    [["--base", "main"]],
    [["--no-approvals", "--author", "dana"]],
  ])("rejects an incomplete set of approval options: %j", async (args) => {
    using approvedChange = change(buildApprovedChange("Tomas Lindqvist"));
    const { code, stdout, stderr } = await runCli(approvedChange.history.path, ["lint", ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: "" });
    expect(stderr).toContain("--approvals, --base and --author must be used together");
  });
});
