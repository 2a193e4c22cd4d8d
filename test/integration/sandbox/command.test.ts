import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { startSandboxCommand } from "../../support/sandbox-command";
import { createCaller, startService, THREATS, VIPS } from "./service";

test.each(["SIGINT", "SIGTERM"] as const)("runs until %s", async (signal) => {
  const command = startSandboxCommand(["--scenario", "empty"]);
  const url = await command.url;
  expect((await createCaller(url, "sandbox-globex-console").get(VIPS)).status).toBe(200);
  command.process.kill(signal);
  const { code, stdout, stderr } = await command.ended;
  expect([code, stderr]).toEqual([0, ""]);
  expect(stdout).toBe(
    [
      `The sandbox listens on ${url} and stores its data in memory.`,
      "",
      "Its tenants, each with a key for a pipeline and one for a colleague:",
      "  acme    sandbox-acme-ci    sandbox-acme-console",
      "  globex  sandbox-globex-ci  sandbox-globex-console",
      "",
      "Point a program at it:",
      `  export EMAIL_SECURITY_BASE_URL=${url} EMAIL_SECURITY_API_KEY=sandbox-acme-ci`,
      "",
      "Press Ctrl-C to stop it.",
      "",
    ].join("\n"),
  );
});

test("applies --threats and --rate-limit", async () => {
  const command = startSandboxCommand(["--threats", "60", "--rate-limit", "2/m", "--retry-after", "date"]);
  const acme = createCaller(await command.url, "sandbox-acme-ci");
  expect((await acme.get(`${THREATS}?minutes_ago=999999`)).body.pagination.total).toBe(60);
  expect((await acme.get(THREATS)).status).toBe(200);
  const { status, headers } = await acme.get(THREATS);
  expect([status, headers.get("Retry-After")]).toEqual([429, expect.stringMatching(/ GMT$/)]);
  command.process.kill("SIGTERM");
  expect((await command.ended).code).toBe(0);
});

test("exits 1 for an invalid option", async () => {
  await using other = await startService();
  const directory = mkdtempSync(join(tmpdir(), "sandbox-"));
  const diary = join(directory, "diary.txt");
  writeFileSync(diary, "Dear diary");
  const cases: [args: string[], message: RegExp][] = [
    [["--port", "http"], /'http' is invalid.*whole number from 0 to 65535/],
    [["--port", "65536"], /'65536' is invalid/],
    [["--port", new URL(other.sandbox.url).port], /port \d+: it is in use/],
    [["--threats", "many"], /'many' is invalid.*whole number/],
    [["--threats", "1000001"], /1000001 isn't a valid number of threats/],
    [["--rate-limit", "10"], /'10' is invalid.*"10\/s", "90\/m"/],
    [["--rate-limit", "0/s"], /'0\/s' is invalid/],
    [["--retry-after", "soon"], /'soon' is invalid.*seconds, date, none/],
    [["--scenario", "acne"], /The scenario "acne" doesn't exist.*acme, empty/],
    [["--data", diary], /diary\.txt isn't a sandbox database/],
    [["--data", directory], /can't be opened/],
  ];
  const results = await Promise.all(cases.map(([args]) => startSandboxCommand(args).ended));
  rmSync(directory, { recursive: true });
  results.forEach(({ code, stdout, stderr }, index) => {
    expect([code, stdout]).toEqual([1, ""]);
    expect(stderr).toMatch(cases[index]?.[1] ?? /^$/);
    expect(stderr).toMatch(/^error: .*\n$/);
  });
});
