import { expect, it } from "vitest";
import { buildSecretsProgram, canary, createWatchedProject } from "./secrets";

it("exposes a key only when secrets are requested", async () => {
  await using run = await createWatchedProject({ PLAIN_KEY: canary.key });
  const { project } = run;
  // The engine stores the inputs of dynamic resources as they are, so a plaintext key is rejected.
  await project.runOrThrow("config", "set", "--plaintext", "email-security:apiKey", "written-in-the-clear");
  const rejection = await project.run("up", "--yes", "--skip-preview");
  expect(rejection.code).not.toBe(0);
  expect(rejection.output).toContain("`pulumi config set --secret email-security:apiKey` prompts for it.");
  expect((await project.exportState("--show-secrets")).text).not.toContain("written-in-the-clear");
  await project.runOrThrow("config", "set", "--secret", "email-security:apiKey", canary.key);
  const instance = `provider: new Provider("acme", {
    baseUrl: process.env.EMAIL_SECURITY_BASE_URL!,
    apiKey: process.env.PLAIN_KEY!,
  })`;
  const replacePackage = (text: string) => text.replace('"pulumi-email-security"', '"pulumi-email-security/native"');
  const outputs: Record<string, string> = {};
  const programs = {
    default: buildSecretsProgram(),
    explicit: buildSecretsProgram(instance),
    "explicit native": replacePackage(buildSecretsProgram(instance)),
  };
  for (const [name, text] of Object.entries(programs)) {
    await project.write(text);
    outputs[`up of ${name}`] = await project.up("--diff");
    outputs[`export of ${name}`] = (await project.exportState()).text;
    // Decrypted, the key is only where Pulumi stores a provider's configuration.
    const state = JSON.parse(await project.runOrThrow("stack", "export", "--show-secrets"));
    const holders = state.deployment.resources.filter(
      (resource: unknown) => canary.find("", JSON.stringify(resource)).length > 0,
    );
    expect(new Set(holders.map(({ type }: { type: string }) => type)), name).toEqual(
      new Set([`pulumi:providers:${name.endsWith("native") ? "email-security" : "pulumi-nodejs"}`]),
    );
  }
  expect(Object.entries(outputs).flatMap(([name, text]) => canary.find(name, text))).toEqual([]);
  expect(await canary.findInDirectory(project.directory)).toEqual([]);
  expect(await canary.findInDirectory(run.directory)).toEqual([]);
  expect(outputs["export of explicit"]).toContain("ciphertext");
  expect(outputs["export of explicit native"]).toContain("ciphertext");
});
