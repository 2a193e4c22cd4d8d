import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const COUNT = 60;

const program = `
  import { AllowDenyEntry } from "pulumi-email-security";
  for (let at = 0; at < ${COUNT}; at += 1) {
    new AllowDenyEntry(\`bad-\${at}\`, { list: "deny", value: \`bad-\${at}.example\`, comment: "INC-1" });
  }
`;

it("an engine that is killed without checkpoints loses its state, and the next up repairs it by adopting", async () => {
  let kill: (() => void) | undefined;
  let writes = 0;
  await using sandbox = await startSandbox({
    scenario: "empty",
    afterHandle({ method }) {
      if (method === "POST") writes += 1;
      if (writes === COUNT / 2) kill?.();
      return undefined;
    },
  });
  await using project = await EngineProject.create({
    program,
    environment: {
      EMAIL_SECURITY_BASE_URL: sandbox.url,
      EMAIL_SECURITY_API_KEY: "sandbox-acme-ci",
      PULUMI_SKIP_CHECKPOINTS: "true",
    },
  });
  const killed = new AbortController();
  kill = () => killed.abort();
  const { code } = await project.runUntil(killed.signal, "up", "--yes", "--skip-preview");
  kill = undefined;
  expect(code).not.toBe(0);
  expect((await project.state()).resources.length).toBeLessThan(COUNT / 2);

  await project.run("cancel", "--yes");
  await project.up();
  expect((await project.state()).resources).toHaveLength(COUNT);
  const created = sandbox.requests.filter(({ method, status }) => method === "POST" && status === 201);
  expect(created).toHaveLength(COUNT);
  expect(new Set(created.map(({ body }) => (body as { value: string }).value)).size).toBe(COUNT);
  await project.succeed("up", "--yes", "--skip-preview", "--expect-no-changes");
});
