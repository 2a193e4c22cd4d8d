import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { Canary } from "../support/leak-canary";
import { buildNumberedDenies, formatBadDomain } from "../support/numbered-domains";
import { createTestDirectory } from "../support/test-directory";
import { startTestKeySandbox } from "../support/test-key-sandbox";
import {
  createListProject,
  expectRepaired,
  expectThree,
  extractEntryLines,
  takeListWrites,
  testListSteps,
} from "./native-list";

it("keeps progress when the service refuses one of 5,000 entries", async () => {
  let isBroken = true;
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && (body as { value: string }).value === formatBadDomain(100)
        ? { status: 400, body: { error: "no such registry" } }
        : undefined,
  });
  // The engine receives a partial failure in the trailers of a gRPC response, with the whole state, which is a megabyte
  // here.
  const entries = buildNumberedDenies(5_000, `deny: INC-1 ${"x".repeat(200)}`);
  await using project = await createListProject(sandbox, entries);
  // The other entries are stored, and the next run sends only the failed one.
  const broken = await project.run("up", "--yes", "--skip-preview");
  expect(broken.code).not.toBe(0);
  expect(broken.output).toMatch(/deny bad-0100\.example: .*no such registry/);
  const [partial] = (await project.exportState()).resources.filter(({ type }) => type.endsWith(":AllowDenyList"));
  expect(Object.keys(partial?.outputs?.["entries"] as object)).toHaveLength(4_999);
  isBroken = false;
  sandbox.clearRequests();
  expect(extractEntryLines(await project.up("--diff"))).toEqual([`+ ${formatBadDomain(100)}: "deny: INC-1"`]);
  expect(takeListWrites(sandbox)).toEqual([`POST ${formatBadDomain(100)}`]);
  await project.refresh("--expect-no-changes");
  await expectThree(project, entries);
  await expectRepaired(project, sandbox);
});

it("exposes a plaintext key only in a Provider's state with secrets shown", async () => {
  const [ours, theirs] = [new Canary(), new Canary('sparrow-4Wd8&Hb1"Ys6gF2<vU9/nX5+Ea3=Kt7zC')];
  using directory = createTestDirectory();
  const getPath = (name: string) => join(directory.path, name);
  for (const name of ["cache", "temporary", "ours", "theirs"]) await mkdir(getPath(name));
  await using sandbox = await startTestKeySandbox(getPath("ours"), ours.key);
  await using other = await startTestKeySandbox(getPath("theirs"), theirs.key);
  const environmentProgram = `
    import { AllowDenyEntry, AllowDenyList, Provider } from "pulumi-email-security/native";
    new AllowDenyEntry("by the environment", { list: "deny", value: "environment.example" });
  `;
  const providersProgram = `
    ${environmentProgram}
    const { ONE_URL, ONE_KEY, OTHER_URL, OTHER_KEY } = process.env;
    const one = new Provider("one", { baseUrl: ONE_URL, apiKey: ONE_KEY });
    const other = new Provider("other", { baseUrl: OTHER_URL, apiKey: OTHER_KEY, ownDomains: ["acme.example"] });
    new AllowDenyEntry("one", { list: "deny", value: "one.example" }, { provider: one });
    new AllowDenyList("other", { entries: { "other.example": "deny" } }, { provider: other });
  `;
  await using project = await EngineProject.create({
    program: environmentProgram,
    plugin: true,
    environment: {
      ONE_URL: sandbox.url,
      ONE_KEY: ours.key,
      OTHER_URL: other.url,
      OTHER_KEY: theirs.key,
      EMAIL_SECURITY_BASE_URL: other.url,
      EMAIL_SECURITY_API_KEY: theirs.key,
      EMAIL_SECURITY_CACHE_DIR: getPath("cache"),
      TMPDIR: getPath("temporary"),
    },
  });
  const findInBoth = (place: string, text: string) => [ours, theirs].flatMap((key) => key.find(place, text));
  // Pulumi's most verbose output. It isn't checked for explicit providers, because Pulumi logs too much of their
  // arguments.
  const spoken = await project.up("--diff", "--logtostderr", "--logflow", "-v=9");
  expect(findInBoth("a verbose run", spoken)).toEqual([]);
  expect(findInBoth("state", await project.runOrThrow("stack", "export", "--show-secrets"))).toEqual([]);

  await project.write(providersProgram);
  const outputs = { up: await project.up("--diff"), state: (await project.exportState()).text };
  expect(sandbox.allowDenyEntries("acme").map(({ value }) => value)).toEqual(["one.example"]);
  expect(
    other
      .allowDenyEntries("acme")
      .map(({ value }) => value)
      .sort(),
  ).toEqual(["environment.example", "other.example"]);
  expect(Object.entries(outputs).flatMap(([place, text]) => findInBoth(place, text))).toEqual([]);
  for (const key of [ours, theirs]) {
    expect(await key.findInDirectory(project.directory)).toEqual([]);
    expect(await key.findInDirectory(directory.path)).toEqual([]);
  }
  const state = JSON.parse(await project.runOrThrow("stack", "export", "--show-secrets")) as {
    deployment: { resources: { urn: string }[] };
  };
  const holders = state.deployment.resources.filter((resource) => findInBoth("", JSON.stringify(resource)).length > 0);
  expect(holders.map(({ urn }) => urn.split("::").slice(2).join(" ")).sort()).toEqual([
    "pulumi:providers:email-security one",
    "pulumi:providers:email-security other",
  ]);
  await project.up("--expect-no-changes");
});

it("applies each change of a list of 300 by entry", async () => {
  await testListSteps(300);
});
