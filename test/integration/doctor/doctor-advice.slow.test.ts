import { describe, expect, it } from "vitest";
import { CHECK_NAMES } from "../../../provider/commands/doctor/run-checks";
import { startSandbox } from "../../../provider/sandbox";
import { createTestDirectory } from "../../support/test-directory";
import { canary, Examination, KEY, settings, startServer } from "./doctor-fixture";

describe("email-security doctor", () => {
  it("reports no problem for a correct setup", async () => {
    await using sandbox = await startSandbox();
    using state = createTestDirectory();
    const environment = {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: KEY,
      EMAIL_SECURITY_OWN_DOMAINS: "acme.example",
      PULUMI_BACKEND_URL: `file://${state.path}`,
    };
    const examination = await Examination.run(environment, { files: settings });
    expect(examination.checks.map(({ check }) => check)).toEqual(CHECK_NAMES);
    expect(examination.with("skipped")).toEqual(["tls", "plugin", "preview"]);
    expect(examination.findCheck("own-domains")?.result).toMatch(/own domain: it seems to be the right tenant/);
    expect(examination.with("warn")).toEqual([]);
    expect(examination.with("fail")).toEqual([]);
    expect(examination.code).toBe(0);
    expect(examination.findCheck("engine")?.result).toMatch(/^Pulumi \d+\.\d+\.\d+, /);
    expect(examination.findCheck("backend")?.result).toBe(`logged in to file://${state.path}`);
    expect(examination.findCheck("settings")?.result).toBe("1 file, no errors");
    // The doctor only reads.
    expect(sandbox.requests.filter(({ method }) => method !== "GET")).toEqual([]);
  });

  it("prints advice below each failed check", async () => {
    const { code, output } = await Examination.run({}, { args: [] });
    expect(code).toBe(1);
    expect(output).toMatch(/^ok +node +Node\.js \d+/);
    expect(output).toMatch(/^fail +address +no address is set\n +→ Set EMAIL_SECURITY_BASE_URL/m);
    expect(output).toMatch(/^fail +key +no key is set\n +→ Set EMAIL_SECURITY_API_KEY/m);
    expect(output).toMatch(/^- +clock +not checked, because address failed$/m);
    expect(output).toMatch(/^warn +backend +Pulumi is not logged in\n +→ Run `pulumi login`/m);
  });

  it("reports a port that nothing listens on", async () => {
    const closed = await startServer(() => {});
    await closed[Symbol.asyncDispose]();
    const examination = await Examination.run({
      EMAIL_SECURITY_BASE_URL: closed.url,
      EMAIL_SECURITY_API_KEY: KEY,
    });
    expect(examination.findCheck("tcp")).toMatchObject({
      status: "fail",
      result: `port ${closed.port} of localhost can't be reached (ECONNREFUSED)`,
    });
    expect(examination.findCheck("key-accepted")?.status).toBe("skipped");
    expect(examination.code).toBe(1);
  });

  it("reports a wrong API key", async () => {
    await using sandbox = await startSandbox();
    const environment = { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "some-other-key" };
    const examination = await Examination.run(environment);
    expect(examination.findCheck("key-accepted")).toMatchObject({
      status: "fail",
      result: "the service rejects the key (401)",
    });
    expect(examination.with("skipped")).toEqual(
      expect.arrayContaining(["vips-access", "threats-access", "reports-access"]),
    );
    expect(examination.code).toBe(1);
  });

  it("prints the native provider plugin's Pulumi.yaml lines verbatim", async () => {
    const files = {
      "Pulumi.yaml": "name: native\nruntime: nodejs\n",
      "index.ts": 'import { VipList } from "pulumi-email-security/native";\n',
      "node_modules/pulumi-email-security/dist/plugin/schema.json": "{}",
    };
    const { code, output } = await Examination.run({}, { files, args: [] });
    expect(code).toBe(1);
    const [pluginCheck = ""] = /^fail +plugin[\s\S]*?(?=^\S+ +preview)/m.exec(output) ?? [];
    expect(pluginCheck.split("\n").map((line) => line.replace(/^ {23}/, ""))).toEqual([
      'fail  plugin         "index.ts" uses the native plugin, but Pulumi.yaml',
      "doesn't specify its path",
      "                     → Add to Pulumi.yaml:",
      "plugins:",
      "  providers:",
      "    - name: email-security",
      "      path: node_modules/pulumi-email-security/dist/plugin",
      "",
    ]);
  });

  it("warns when previews don't refresh", async () => {
    const runPreview = async (options: string) => {
      const files = { "Pulumi.yaml": `name: x\nruntime: nodejs\n${options}` };
      return (await Examination.run({}, { files })).findCheck("preview");
    };
    expect(await runPreview("options:\n  refresh: always\n")).toMatchObject({ status: "ok" });
    const blind = {
      status: "warn",
      advice: "Add to Pulumi.yaml, or run both with --refresh:\noptions:\n  refresh: always",
    };
    expect(await runPreview("")).toMatchObject(blind);
    expect(await runPreview("options: { refresh: Always }\n")).toMatchObject({
      status: "fail",
      result: 'Pulumi.yaml has options.refresh: "Always", which Pulumi rejects',
    });
  });

  it("reports errors in settings files", async () => {
    const files = { "settings/acme.yaml": "version: 1\ndeny: [evil.example, 'no domain']\n" };
    const examination = await Examination.run({}, { files });
    expect(examination.findCheck("settings")).toMatchObject({
      status: "fail",
      advice: expect.stringMatching(/^settings\/acme\.yaml:2:22 error: /),
    });
  });

  it("hides the API key even if the service echoes it", async () => {
    await using service = await startServer((request, response) => {
      const key = request.headers["x-api-key"];
      response.writeHead(key === undefined ? 401 : 400, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: `the key ${key} is bad`, key }));
    });
    const environment = { EMAIL_SECURITY_BASE_URL: service.url, EMAIL_SECURITY_API_KEY: canary.key };
    for (const args of [["--format", "json"], []]) {
      const { output } = await Examination.run(environment, { args });
      expect(output).toContain("key-accepted");
      expect(canary.find("output", output)).toEqual([]);
    }
  });
});
