import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { requireEngine } from "../../provider/engine";
import { createTestDirectory } from "../support/test-directory";

const run = promisify(execFile);

const SCHEMA = resolve("provider/dist/plugin/schema.json");

it("passes Pulumi's schema check", async () => {
  const { command, environment } = await requireEngine();
  using home = createTestDirectory();
  const env = { ...environment(), PULUMI_HOME: home.path };
  const { stdout, stderr } = await run(command, ["schema", "check", SCHEMA, "--color", "never"], { env });
  expect(stdout + stderr).toBe("");
});

it.each([
  ["nodejs", "package.json"],
  ["python", "pulumi_email_security/pulumi-plugin.json"],
  ["go", "emailsecurity/pulumi-plugin.json"],
  ["dotnet", "pulumi-plugin.json"],
  ["java", "src/main/resources/com/pulumiemailsecurity/email-security/plugin.json"],
])("names the plugin's download URL in the SDK of %s", async (language, file) => {
  const { name, version, pluginDownloadURL } = JSON.parse(await readFile(SCHEMA, "utf8"));
  const pluginMetadata = JSON.parse(await readFile(resolve("sdk", language, file), "utf8"));
  expect(pluginMetadata.pulumi ?? pluginMetadata).toEqual({ resource: true, name, version, server: pluginDownloadURL });
});
