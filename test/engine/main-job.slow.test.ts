import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

it("recreates an entry that was deleted by hand", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  const buildProgram = (comment: string, list: "deny" | "allow", job: string) => `
    import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";
    const entry = new AllowDenyEntry("look-alike", { list: "${list}", value: "acme-portal.example", comment: "${comment}" });
    new VipEmployee("payroll", { email: "Yuki.Sato@acme.example", comment: "${job}" });
    export const entryId = entry.entryId;
  `;
  await using project = await EngineProject.create({
    program: buildProgram("INC-7", "deny", "Signs payments"),
    environment,
  });
  const listEntries = () => sandbox.allowDenyEntries("acme");
  const findVip = () => sandbox.vips("acme").find((row) => row.email === "yuki.sato@acme.example");

  await project.up();
  const id = listEntries()[0]?.id ?? "";

  // Comments and moves between the lists are in-place edits.
  await project.write(buildProgram("INC-7, closed", "allow", "Signs payments over 10k"));
  expect(await project.up()).toContain("~ 2 updated");
  expect(listEntries()).toMatchObject([{ id, list: "allow", comment: "INC-7, closed" }]);
  expect(findVip()).toMatchObject({ comment: "Signs payments over 10k" });

  // A refresh removes manually deleted entries from the state, and the next `up` recreates them.
  await click(sandbox, "DELETE", `/allow_deny_entries/${id}`);
  expect(await project.refresh()).toContain("- 1 deleted");
  expect(await project.up()).toContain("+ 1 created");
  expect(listEntries()).toMatchObject([{ value: "acme-portal.example" }]);

  // An entry that was deleted and recreated manually counts as the same one, under its new ID.
  await click(sandbox, "DELETE", `/allow_deny_entries/${listEntries()[0]?.id}`);
  const again = {
    list: "allow",
    entry_type: "domain",
    value: "acme-portal.example",
    comment: "INC-7, closed",
  };
  await click(sandbox, "POST", "/allow_deny_entries", again);
  sandbox.clearRequests();
  expect(await project.up("--refresh")).toContain("3 unchanged");
  expect(listWrites(sandbox)).toEqual([]);
  expect(JSON.parse(await project.runOrThrow("stack", "output", "--json")).entryId).toBe(listEntries()[0]?.id);
});

/** Invalid declarations, and the expected messages. */
const MISTAKES = [
  [
    'new AllowDenyEntry("x", { list: "deny", value: "hxxps://evil[.]example/login", verdictScope: "", comment: 7 as never })',
    ["property value", 'write "evil.example"', "property verdictScope", "property comment"],
  ],
  ['new VipEmployee("x", { email: "yuki.sato.acme.example" })', ["property email", "it has no @"]],
] as const;

it("accepts outputs as arguments", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  await using project = await EngineProject.create({
    environment,
    typeCheck: true,
    program: `
      import { AllowDenyEntry } from "pulumi-email-security";
      const first = new AllowDenyEntry("first", { list: "deny", value: "first.example" });
      new AllowDenyEntry("second", {
        list: first.list,
        value: first.entryId.apply((id) => "x" + id.length + ".example"),
        comment: first.createdBy.apply((by) => "after " + by),
      });
    `,
  });
  // This includes the preview, which doesn't know the outputs yet.
  expect(await project.runOrThrow("up", "--yes")).toMatch(/\+ 3 to create[\s\S]*\+ 3 created/);
  expect(sandbox.allowDenyEntries("acme").map((row) => row.comment)).toContain("after Pulumi (ci)");
  expect(await project.up()).toContain("3 unchanged");

  sandbox.clearRequests();
  for (const [declaration, fragments] of MISTAKES) {
    await project.write(`import { AllowDenyEntry, VipEmployee } from "pulumi-email-security"; ${declaration};`);
    const { code, output } = await project.run("preview");
    expect(code).not.toBe(0);
    for (const words of fragments) expect(output).toContain(words);
  }
  expect(sandbox.requests).toEqual([]);
});

it("renames resources without any write", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" };
  const buildTwoEntryProgram = (a: string, b: string) => `
    import { AllowDenyEntry, VipEmployee } from "pulumi-email-security";
    new AllowDenyEntry("${a}", { list: "deny", value: "one.example" });
    new AllowDenyEntry("${b}", { list: "deny", value: "two.example" });
    new VipEmployee("vip-${a}", { email: "yuki.sato@acme.example" });
  `;
  await using project = await EngineProject.create({ program: buildTwoEntryProgram("a", "b"), environment });
  await project.up();
  const before = sandbox.allowDenyEntries("acme");
  for (const names of [
    ["b", "a"],
    ["c", "d"],
  ] as const) {
    await project.write(buildTwoEntryProgram(names[0], names[1]));
    sandbox.clearRequests();
    await project.up();
    expect(listWrites(sandbox)).toEqual([]);
    expect(sandbox.allowDenyEntries("acme")).toEqual(before);
    expect(sandbox.exclusions("acme")).toEqual([]);
  }
  expect(await project.up()).toContain("4 unchanged");
});
