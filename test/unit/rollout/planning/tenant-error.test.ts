import { describe, expect, it } from "vitest";
import { EmailSecurityError } from "../../../../provider/model/email-security-error";
import { CliError } from "../../../../provider/rollout/engine/engine-command";
import { buildProcessExitFailure, buildUpFailure } from "../../../../provider/rollout/engine/engine-failure";
import { buildTenantError } from "../../../../provider/rollout/planning/tenant-error";
import { TENANT_ERROR_CODES } from "../../../../provider/rollout/report/failure-advice";

const NEXT = {
  resume: "email-security rollout resume 20261121-a",
  newRollout: "email-security rollout tenants.yaml",
};

/**
 * Pulumi commands that need a program, which a rollout's repository doesn't have. Commands that remove a lock or a
 * state don't need one.
 */
const PROGRAM = /pulumi (up|refresh|preview|destroy|import)|--refresh/;

it.each(TENANT_ERROR_CODES)("starts with the cause of %s", (code) => {
  const cause = "The service returned 500 to POST /entries.";
  const applied = buildTenantError(new EmailSecurityError(code, cause), "apply", [], NEXT);
  expect(applied).toMatchObject({ code, phase: "apply", message: cause });
  expect(applied.advice).toMatch(/`email-security rollout (resume 20261121-a|tenants\.yaml)`\.$/);
  const planned = buildTenantError(new EmailSecurityError(code, cause), "plan");
  expect(planned.advice).toMatch(/; then plan the rollout again\.$/);
  for (const { advice } of [applied, planned]) expect(advice).not.toMatch(PROGRAM);
});

it("puts the cause of a list failure before its summary", () => {
  const summary =
    "3 of 9 entries could not be applied; the reasons are below. Everything else is applied, and the stack's state contains what the service reported. Fix the reported causes, then run again: a run does only the rest. [ERR_LIST_NOT_APPLIED]\n2 alike (deny a.example, deny b.example): POST /api/v1/settings/allow_deny_entries at https://x returned 500: down. The service failed. You can safely run again. [ERR_SERVER]\ndeny 2001:db8::/32: not attempted, because others failed: down [ERR_NOT_ATTEMPTED]\nupdate failed";
  const error = new EmailSecurityError("ERR_PULUMI", summary);
  expect(buildTenantError(error, "apply", [], NEXT)).toEqual({
    code: "ERR_SERVER",
    message:
      "POST /api/v1/settings/allow_deny_entries at https://x returned 500: down. The service failed. You can safely run again. [ERR_SERVER] This concerns 2 alike (deny a.example, deny b.example).\nnot attempted, because others failed: down [ERR_NOT_ATTEMPTED] This concerns deny 2001:db8::/32.\n3 of 9 entries could not be applied. Everything else is applied, and the stack's state contains what the service reported.",
    advice: "Check whether the service has an outage; then continue: `email-security rollout resume 20261121-a`.",
    phase: "apply",
  });
});

describe("a failed Pulumi run", () => {
  const PROGRESS = "Updating (t003):\n\n +  pulumi:pulumi:Stack fleet-t003 creating (0s)";
  const buildCliFailure = (ended: number | string, stderr: string, errors: readonly string[] = []) =>
    buildUpFailure("t003", new CliError(["up"], ended, PROGRESS, stderr), errors);
  const MEMORY = "Check whether the machine ran out of memory (`dmesg`, or the limits of the job)";
  const CASES: readonly (readonly [label: string, message: string, lead: string, act: string])[] = [
    [
      "killed",
      buildCliFailure("SIGKILL", "").message,
      "The Pulumi CLI was killed by SIGKILL (out of memory?) in the middle of t003. The next run verifies which of its changes took effect.",
      MEMORY,
    ],
    [
      "killed below a shell",
      buildCliFailure(137, "Killed").message,
      "The Pulumi CLI was killed by SIGKILL (out of memory?) in the middle of t003. The next run verifies which of its changes took effect.",
      MEMORY,
    ],
    [
      "killed by another signal",
      buildCliFailure("SIGSEGV", "").message,
      "The Pulumi CLI was killed by SIGSEGV in the middle of t003. The next run verifies which of its changes took effect.",
      MEMORY,
    ],
    [
      "out of memory",
      buildCliFailure(2, "fatal error: runtime: out of memory\n\ngoroutine 1 [running]:").message,
      "The Pulumi CLI crashed (fatal error: runtime: out of memory) in the middle of t003. The next run verifies which of its changes took effect.",
      MEMORY,
    ],
    [
      "the process around it",
      buildProcessExitFailure("t003", null, "SIGKILL").message,
      "The process that runs Pulumi was killed by SIGKILL (out of memory?) in the middle of t003. The next run verifies which of its changes took effect.",
      MEMORY,
    ],
    [
      "no program",
      buildUpFailure("t003", Object.assign(new Error("spawn /opt/pulumi ENOENT"), { code: "ENOENT" }), []).message,
      "The Pulumi CLI can't be started for t003: spawn /opt/pulumi ENOENT.",
      "Check that the program in the message exists and is executable",
    ],
    [
      "nothing reported",
      buildCliFailure(7, "").message,
      "The Pulumi CLI exited with 7 in the middle of t003, without an error message. The next run verifies which of its changes took effect. The end of its output:",
      MEMORY,
    ],
    [
      "a provider killed",
      buildCliFailure(1, "", ["error reading from server: EOF"]).message,
      "The provider's process ended unexpectedly. The next run verifies which of its changes took effect.",
      "Check whether it was killed",
    ],
    [
      "a full disk",
      buildCliFailure(1, "error: writing snapshot: write /b/.pulumi/stacks/p/t.json.1.tmp: no space left on device")
        .message,
      "The disk of the stacks' state or of the temporary files is full.",
      "Free space on it",
    ],
    [
      "another passphrase",
      buildCliFailure(1, "error: getting stack configuration: get stack secrets manager: incorrect passphrase").message,
      "PULUMI_CONFIG_PASSPHRASE isn't the passphrase of the stack. This tenant was not changed.",
      "Set the correct passphrase",
    ],
    [
      "no passphrase",
      buildCliFailure(
        1,
        "error: getting stack configuration: get stack secrets manager: passphrase must be set with PULUMI_CONFIG_PASSPHRASE or PULUMI_CONFIG_PASSPHRASE_FILE environment variables",
      ).message,
      "The stack is encrypted with a passphrase, and none is set. This tenant was not changed.",
      "Set PULUMI_CONFIG_PASSPHRASE",
    ],
    [
      "a directory that is gone",
      'The state of the stack "t003" can\'t be read:\nerror: unable to open state directory "file:///tmp/nope": stat /tmp/nope: no such file or directory',
      "The directory of the state backend is missing. This tenant was not changed.",
      "Mount or restore the directory",
    ],
    [
      "a database out of reach",
      'error: unable to open state database "postgres://u:p@127.0.0.1:1/x": failed to ping PostgreSQL: dial tcp 127.0.0.1:1: connect: connection refused',
      "The state backend can't be reached.",
      "Check that it is up",
    ],
    [
      "a bucket out of reach",
      'error: read ".pulumi/meta.yaml": blob (key ".pulumi/meta.yaml") (code=Unknown): operation error S3: GetObject, get identity: get credentials: failed to refresh cached credentials, no EC2 IMDS role found',
      "This run can't access the state backend's bucket: the credentials are missing or rejected.",
      "Give the run credentials for the bucket (for S3: `AWS_ACCESS_KEY_ID`",
    ],
    [
      "a bucket that is not there",
      "error: could not list bucket: blob (code=NotFound): operation error S3: ListObjectsV2, https response error StatusCode: 404, RequestID: 2, NoSuchBucket: The specified bucket does not exist",
      "The bucket of the state backend doesn't exist. This tenant was not changed.",
      "Fix PULUMI_BACKEND_URL",
    ],
    [
      "a bucket's server that is down",
      'error: read ".pulumi/meta.yaml": blob (key ".pulumi/meta.yaml") (code=Unknown): operation error S3: GetObject, exceeded maximum number of attempts, 3, https response error StatusCode: 0, request send failed, Get "http://127.0.0.1:9000/states/.pulumi/meta.yaml": dial tcp 127.0.0.1:9000: connect: connection refused',
      "The state backend can't be reached.",
      "Check that it is up",
    ],
  ];

  it.each(CASES)("is reported by its cause: %s", (_label, message, lead, act) => {
    const tenantError = buildTenantError(new EmailSecurityError("ERR_PULUMI", message), "apply", [], NEXT);
    expect(tenantError.message.split("\n")[0]).toBe(lead);
    expect(tenantError.advice.startsWith(act)).toBe(true);
    expect(tenantError.advice).toMatch(/; then (?:continue|go on): `email-security rollout resume 20261121-a`\.$/);
  });
});
