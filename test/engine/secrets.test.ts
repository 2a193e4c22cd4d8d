import { expect, it } from "vitest";
import { buildSecretsProgram, canary, createWatchedProject, FAILS } from "./secrets";

it("keeps a key from the environment out of every output and file", async () => {
  await using run = await createWatchedProject({ EMAIL_SECURITY_API_KEY: canary.key });
  const { project, sandbox } = run;
  const outputs: Record<string, string> = {};
  const recordOutput = async (...args: string[]): Promise<number> => {
    const { code, output } = await project.run(...args);
    outputs[args.join(" ")] = output;
    return code;
  };
  // Pulumi's most verbose output.
  expect(await recordOutput("up", "--yes", "--skip-preview", "--logtostderr", "-v=9")).toBe(0);
  expect(sandbox.allowDenyEntries("acme").map((entry) => entry.value)).toContain("worse.example");
  await project.write(buildSecretsProgram().replace("evil.example", FAILS).replace("INC-7", "INC-8"));
  expect(await recordOutput("up", "--yes", "--skip-preview", "--diff")).not.toBe(0);
  expect(Object.values(outputs).at(-1)).toContain("refused, sent with <API_KEY>");
  expect(await recordOutput("stack", "export", "--show-secrets")).toBe(0);

  const findings = Object.entries(outputs).flatMap(([command, output]) => canary.find(command, output));
  expect(findings).toEqual([]);
  // The state with its history and backups, the CLI's own files, and those of the project.
  expect(await canary.findInDirectory(project.directory)).toEqual([]);
  expect(await canary.findInDirectory(run.directory)).toEqual([]);
  const leaks = await Promise.all(
    ["/sandbox/requests", "/sandbox/audit", "/openapi.json"].map(async (path) => {
      const response = await fetch(sandbox.url + path, { headers: { "x-api-key": canary.key } });
      return canary.find(path, await response.text());
    }),
  );
  expect(leaks.flat()).toEqual([]);
  expect(canary.find("audit", JSON.stringify(sandbox.audit("acme")))).toEqual([]);
  expect(sandbox.audit("acme").at(-1)?.keyLabel).toBe("canary");
});
