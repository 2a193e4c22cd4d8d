import { readFile } from "node:fs/promises";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { allFunctions, KEY } from "./functions";

it("reads in a preview too, in a program whose types are checked", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  const { program } = await allFunctions(sandbox);
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    checksTypes: true,
    program,
  });
  sandbox.clearRequests();
  await project.succeed("preview");
  expect(sandbox.requests.length).toBeGreaterThan(0);
  expect(sandbox.requests.filter((request) => request.method !== "GET")).toEqual([]);
});

it("tells a mistake in a function's arguments before any request", async () => {
  await using sandbox = await startSandbox({ scenario: "acme" });
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program: `
      import { getThreats } from "pulumi-email-security";
      export const threats = getThreats({ minutesAgo: -5 });
    `,
  });
  const { code, output } = await project.run("preview");
  expect(code).not.toBe(0);
  expect(output).toContain("minutesAgo must be a whole number of 1 or more, not -5");
  expect(sandbox.requests).toEqual([]);
});

it.each(["top-targeted-vips", "deny-confirmed-phishing"])(
  "the example %s does its work once, and is safe to run again",
  async (example) => {
    await using sandbox = await startSandbox({ scenario: "acme" });
    await using project = await EngineProject.create({
      environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
      program: await readFile(`examples/${example}/index.ts`, "utf8"),
    });
    await project.succeed("config", "set", "--path", "ownDomains[0]", "acme.example");
    const commentsBefore = new Map(sandbox.vips("acme").map((row) => [row.email, row.comment]));
    const allowedBefore = sandbox.allowDenyEntries("acme").filter((row) => row.list === "allow");
    const writes = () => sandbox.requests.filter((request) => request.method !== "GET");

    expect(await project.up()).toMatch(/\+ \d+ created/);
    const { resources } = await project.state();
    expect(resources.length).toBeGreaterThan(0);
    if (example === "top-targeted-vips") {
      const vips = new Map(sandbox.vips("acme").map((row) => [row.email, row]));
      for (const resource of resources) expect(vips.has(String(resource.id))).toBe(true);
      for (const [email, comment] of commentsBefore) expect(vips.get(email)?.comment).toBe(comment);
    } else {
      const denied = sandbox.allowDenyEntries("acme").filter((row) => row.list === "deny");
      const values = new Set(denied.map((row) => row.value));
      for (const resource of resources) expect(values.has(String(resource.inputs?.["value"]))).toBe(true);
      expect(denied.filter((row) => row.value.endsWith("@acme.example"))).toEqual([]);
      expect(sandbox.allowDenyEntries("acme").filter((row) => row.list === "allow")).toEqual(allowedBefore);
    }

    sandbox.clearRequests();
    await project.up("--expect-no-changes");
    expect(writes()).toEqual([]);

    // Taking the stack away takes nothing from the tenant: a VIP stays one, a denied sender stays denied.
    const settings = JSON.stringify([sandbox.vips("acme"), sandbox.allowDenyEntries("acme")]);
    await project.destroy();
    expect(writes()).toEqual([]);
    expect(JSON.stringify([sandbox.vips("acme"), sandbox.allowDenyEntries("acme")])).toBe(settings);
  },
);

it("the example deny-confirmed-phishing is not led astray by what an attacker writes", async () => {
  const senders = [
    '"support@innocent.example" <evil@bad-one.example>',
    "CEO <ceo@mail.acme.example>",
    "evil@bad_host",
    "evil@[203.0.113.9]",
    "",
    "evil@bad-two.example",
  ];
  const reports = senders.map((sender, index) => ({ id: `r${index}`, sender, verdict: "malicious" }));
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: (request) =>
      request.path === "/api/v1/sonar/phishing-reports"
        ? {
            status: 200,
            body: {
              status: 200,
              pagination: { page: 1, page_size: reports.length, total: reports.length },
              results: { items: reports },
            },
          }
        : undefined,
  });
  // A colleague has denied one of them as graymail only, which lets its phishing through.
  await fetch(`${sandbox.url}/api/v1/settings/allow_deny_entries`, {
    method: "POST",
    headers: { "x-api-key": "sandbox-acme-console", "content-type": "application/json" },
    body: JSON.stringify({
      list: "deny",
      entry_type: "email_address",
      value: "evil@bad-two.example",
      verdict_scope: "graymail",
    }),
  });
  await using project = await EngineProject.create({
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: KEY },
    program: await readFile("examples/deny-confirmed-phishing/index.ts", "utf8"),
  });
  const unsafe = await project.run("preview");
  expect(unsafe.output).toContain("ownDomains");
  expect(unsafe.code).not.toBe(0);
  await project.succeed("config", "set", "--path", "ownDomains[0]", "acme.example");
  const output = await project.up();
  expect(output).toContain("ceo@mail.acme.example claims to be one of your own");
  expect(output).toContain("report r2 names no sender that could be denied");
  const denied = sandbox
    .allowDenyEntries("acme")
    .filter((row) => row.verdict_scope === "global")
    .map((row) => row.value);
  expect(denied.sort()).toEqual(["evil@bad-one.example", "evil@bad-two.example"]);
});
