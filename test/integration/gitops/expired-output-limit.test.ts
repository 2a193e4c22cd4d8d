import { describe, expect, it } from "vitest";
import { startSandbox } from "../../../provider/sandbox";
import { createCli } from "../../support/cli";
import { buildTenant, buildConsoleEntry as entry } from "../../support/scenario-tenant";
import { FakeToolchain, hasShell } from "../engine-setup/fake-toolchain";

/*
 * `email-security apply --only-expired` through the real command, with many expired entries that this stack may not
 * remove.
 */

const PAST_EXPIRY = "expires: 2026-10-31";

describe.skipIf(!hasShell)("apply --only-expired", () => {
  it("lists a deny turned into an allow before denies that stay", async () => {
    const denied = Array.from({ length: 30 }, (_, index) => `a${index}.example`);
    await using sandbox = await startSandbox({
      scenario: {
        name: "lapsed",
        tenants: [
          buildTenant("acme", [
            ...denied.map((value) => entry("deny", value)),
            entry("allow", "zz.example"),
            entry("deny", "kept.example"),
          ]),
        ],
      },
    });
    using toolchain = new FakeToolchain();
    toolchain.write(
      "settings/acme.yaml",
      `version: 1\ndeny:\n  - kept.example\n${denied.map((value) => `  - { value: ${value}, ${PAST_EXPIRY} }\n`).join("")}  - { value: zz.example, ${PAST_EXPIRY} }\n`,
    );
    const type = "email-security:index:TenantSettings";
    const buildListState = (name: string, kind: string, outputs: object) => ({
      urn: `urn:pulumi:acme::mail::${type}$email-security:index:${kind}::acme`,
      type: `email-security:index:${kind}`,
      inputs: {},
      outputs: { [name]: outputs },
    });
    const resources = [
      { urn: `urn:pulumi:acme::mail::${type}::acme`, type },
      buildListState("entries", "AllowDenyList", { "kept.example": "deny", "zz.example": "deny" }),
      buildListState("members", "VipList", {}),
    ];
    const state = toolchain.write("state.json", JSON.stringify({ version: 3, deployment: { resources } }));
    for (const host of ["pulumi-language-nodejs", "pulumi-resource-pulumi-nodejs"]) toolchain.addProgram(host, "");
    toolchain.addProgram(
      "pulumi",
      `case "$*" in version) echo v3.300.0 ;; *"stack export"*) cat "${state}" ;; *) echo "$*" >&2; exit 1 ;; esac`,
    );
    const { code, output, stdout } = await createCli(toolchain.directory, {
      ...toolchain.env,
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: sandbox.tenants[0]?.apiKeys.ci,
    })("apply", "settings/acme.yaml", "--stack", "acme", "--only-expired", "--no-evidence");
    expect(code, output).toBe(0);
    // Continuation lines are indented.
    const lines = stdout.replace(/\n +/g, " ").split("\n");
    const summaryLines = lines.filter((line) => /^Expired, |^…/.test(line));
    expect(summaryLines).toHaveLength(21);
    expect(summaryLines[0]).toMatch(/^Expired, but not removed: allow zz\.example: it was put on the allow list/);
    expect(summaryLines[20]).toBe(
      "… and 11 more, none of them a new allow, a removed deny or a removed VIP; `email-security plan --all --stack acme` shows all of them",
    );
  });
});
