import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { Canary } from "../support/canary";
import { EngineProject } from "../support/engine-project";
import { EmptyFolder } from "../support/packed-package";
import { sandboxWithKey } from "../support/sandbox-with-key";

const COUNT = 5_000;

const bad = (at: number): string => `bad-${String(at).padStart(4, "0")}.example`;

/** A program with one list whose content is in a file beside it. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyList } from "pulumi-email-security/native";
new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
`;

function writesOf(sandbox: Sandbox): string[] {
  const requests = sandbox.requests.filter(({ method }) => method !== "GET");
  sandbox.clearRequests();
  return requests
    .map(({ method, body }) => `${method} ${(body as { value?: string })?.value ?? ""}`.trim())
    .sort();
}

/** The lines of a detailed preview that tell of entries. */
function entriesIn(preview: string): string[] {
  return (
    preview
      .split("\n")
      // Pulumi puts keys that are added in columns.
      .map((line) => line.trim().replace(/ +: /, ": "))
      .filter((line) => /^[-+~] \S+\.example\b/.test(line))
  );
}

it("shows, applies and repairs a list of 5,000 by its entries", async () => {
  let isBroken = true;
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && (body as { value: string }).value === bad(100)
        ? { status: 400, body: { error: "no such registry" } }
        : undefined,
  });
  const entries = Object.fromEntries(Array.from({ length: COUNT }, (_, at) => [bad(at), "deny: INC-1"]));
  await using project = await EngineProject.create({
    program: PROGRAM,
    plugin: true,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "list.json": JSON.stringify({ entries }) },
  });

  // One entry is refused: the others stay, and the next run does what is left.
  const broken = await project.run("up", "--yes", "--skip-preview");
  expect(broken.code).not.toBe(0);
  expect(broken.output).toMatch(/deny bad-0100\.example: .*no such registry/);
  const [partial] = (await project.state()).resources.filter(({ type }) => type.endsWith(":AllowDenyList"));
  expect(Object.keys(partial?.outputs?.["entries"] as object)).toHaveLength(COUNT - 1);
  isBroken = false;
  sandbox.clearRequests();
  expect(entriesIn(await project.succeed("preview", "--diff"))).toEqual([`+ ${bad(100)}: "deny: INC-1"`]);
  await project.up();
  expect(writesOf(sandbox)).toEqual([`POST ${bad(100)}`]);

  // Three changes of 5,000, before and after a refresh that finds nothing.
  const { [bad(7)]: _removed, ...rest } = entries;
  const changed = { ...rest, [bad(8)]: "deny: INC-2", "partner.example": "allow" };
  await project.writeFile("list.json", JSON.stringify({ entries: changed }));
  const three = [
    `+ partner.example: "allow"`,
    `- ${bad(7)}: "deny: INC-1"`,
    `~ ${bad(8)}: "deny: INC-1" => "deny: INC-2"`,
  ];
  const expectThree = async (): Promise<void> => {
    const preview = await project.succeed("preview", "--diff");
    expect(entriesIn(preview).sort()).toEqual([...three].sort());
    expect(preview.trim().split("\n").length).toBeLessThan(20);
  };
  await expectThree();
  await project.succeed("refresh", "--yes", "--skip-preview", "--expect-no-changes");
  await expectThree();

  // A colleague removes one and changes another; a refresh tells by which.
  const there = new Map(sandbox.allowDenyEntries("acme").map(({ value, id }) => [value, id]));
  const colleague = async (method: string, value: string, body?: object): Promise<void> => {
    const response = await fetch(`${sandbox.url}/api/v1/settings/allow_deny_entries/${there.get(value)}`, {
      method,
      headers: { "x-api-key": "sandbox-acme-console", "content-type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    expect(response.ok).toBe(true);
  };
  await colleague("DELETE", bad(50));
  await colleague("PATCH", bad(60), { comment: "by hand" });
  sandbox.clearRequests();
  const drift = await project.succeed("refresh", "--preview-only", "--diff");
  expect(entriesIn(drift).sort()).toEqual([
    `- ${bad(50)}: "deny: INC-1"`,
    `~ ${bad(60)}: "deny: INC-1" => "deny: by hand"`,
  ]);
  expect(drift.trim().split("\n").length).toBeLessThan(20);
  await project.refresh();
  three.push(`+ ${bad(50)}: "deny: INC-1"`, `~ ${bad(60)}: "deny: by hand" => "deny: INC-1"`);
  await expectThree();
  expect(writesOf(sandbox)).toEqual([]);
  await project.up();
  expect(writesOf(sandbox)).toEqual(["DELETE", "PATCH", "PATCH", `POST ${bad(50)}`, "POST partner.example"]);
  await project.up("--expect-no-changes");
  expect(writesOf(sandbox)).toEqual([]);
  const { resources } = await project.state();
  // Arguments and outputs hold each entry once, by some 30 bytes.
  expect(JSON.stringify(resources).length / COUNT).toBeLessThan(70);
});

it("has keys in the clear nowhere but at the provider, where Pulumi is asked for secrets", async () => {
  const [ours, theirs] = [new Canary(), new Canary('sparrow-4Wd8&Hb1"Ys6gF2<vU9/nX5+Ea3=Kt7zC')];
  await using folder = await EmptyFolder.create();
  const at = (name: string) => join(folder.path, name);
  for (const name of ["cache", "temporary", "ours", "theirs"]) await mkdir(at(name));
  await using one = await sandboxWithKey(at("ours"), ours.key);
  await using other = await sandboxWithKey(at("theirs"), theirs.key);
  const byEnvironment = `
    import { AllowDenyEntry, AllowDenyList, Provider } from "pulumi-email-security/native";
    new AllowDenyEntry("by the environment", { list: "deny", value: "environment.example" });
  `;
  const byProviders = `
    ${byEnvironment}
    const { ONE_URL, ONE_KEY, OTHER_URL, OTHER_KEY } = process.env;
    const one = new Provider("one", { baseUrl: ONE_URL, apiKey: ONE_KEY });
    const other = new Provider("other", { baseUrl: OTHER_URL, apiKey: OTHER_KEY, ownDomains: ["acme.example"] });
    new AllowDenyEntry("one", { list: "deny", value: "one.example" }, { provider: one });
    new AllowDenyList("other", { entries: { "other.example": "deny" } }, { provider: other });
  `;
  await using project = await EngineProject.create({
    program: byEnvironment,
    plugin: true,
    environment: {
      ONE_URL: one.url,
      ONE_KEY: ours.key,
      OTHER_URL: other.url,
      OTHER_KEY: theirs.key,
      EMAIL_SECURITY_BASE_URL: other.url,
      EMAIL_SECURITY_API_KEY: theirs.key,
      EMAIL_SECURITY_CACHE_DIR: at("cache"),
      TMPDIR: at("temporary"),
    },
  });
  const found = (place: string, text: string) => [ours, theirs].flatMap((key) => key.find(place, text));
  // All that Pulumi can be made to say. Of the arguments of an explicit provider it says more than it should.
  const spoken = await project.up("--diff", "--logtostderr", "--logflow", "-v=9");
  expect(found("a verbose run", spoken)).toEqual([]);
  expect(found("state", await project.succeed("stack", "export", "--show-secrets"))).toEqual([]);

  await project.write(byProviders);
  const shown = { up: await project.up("--diff"), state: (await project.state()).text };
  expect(one.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["one.example"]);
  expect(
    other
      .allowDenyEntries("acme")
      .map(({ value }) => value)
      .sort(),
  ).toEqual(["environment.example", "other.example"]);
  expect(Object.entries(shown).flatMap(([place, text]) => found(place, text))).toEqual([]);
  for (const key of [ours, theirs]) {
    expect(await key.findInFolder(project.folder)).toEqual([]);
    expect(await key.findInFolder(folder.path)).toEqual([]);
  }
  const state = JSON.parse(await project.succeed("stack", "export", "--show-secrets")) as {
    deployment: { resources: { urn: string }[] };
  };
  const holders = state.deployment.resources.filter(
    (resource) => found("", JSON.stringify(resource)).length > 0,
  );
  expect(holders.map(({ urn }) => urn.split("::").slice(2).join(" ")).sort()).toEqual([
    "pulumi:providers:email-security one",
    "pulumi:providers:email-security other",
  ]);
  await project.up("--expect-no-changes");
});
