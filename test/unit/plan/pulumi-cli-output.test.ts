import { expect, it } from "vitest";
import { formatPulumiOutput } from "../../../provider/plan/pulumi-cli";

it("shows the CLI's error without AWS SDK log lines", () => {
  const stderr = [
    "SDK 2026/11/23 16:34:11 WARN falling back to IMDSv1: operation error ec2imds: getToken",
    'error: read ".pulumi/meta.yaml": no EC2 IMDS role found\u001b[31m\u001b[0m',
    "  SDK 2026/11/23 is what a person called it",
    "",
  ].join("\n");
  expect(formatPulumiOutput({ code: 1, stdout: "", stderr })).toBe(
    'error: read ".pulumi/meta.yaml": no EC2 IMDS role found\n  SDK 2026/11/23 is what a person called it',
  );
});
