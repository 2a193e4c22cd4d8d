import { expect, it } from "vitest";
import { type Sandbox, type ServiceResponse, startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { findTerminalCommands, HOSTILE, HOSTILE_ID } from "../support/hostile-text";

const HOSTILE_LINES = Object.values(HOSTILE)
  .filter((text) => text.length < 200)
  .join("\n");

/** The start of the engine's own color sequences. */
const ESC = "\u001b";
const COLOURS = new RegExp(`${ESC}\\[[\\d;]*m`, "g");

async function createProject(sandbox: Sandbox) {
  return await EngineProject.create({
    program: `
      import { AllowDenyEntry, AllowDenyList, VipList } from "pulumi-email-security";
      new AllowDenyEntry("entry", { list: "deny", value: "evil.example", comment: "INC-7" });
      new AllowDenyList("list", { entries: { "worse.example": "deny: INC-8" }, mode: "exclusive", ignore: ["evil.example"] });
      new VipList("vips", { members: { "yuki.sato@acme.example": "Board" } });
    `,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
}

it("sanitizes hostile text from the service in every command", async () => {
  let answer: ((response: ServiceResponse, path: string) => ServiceResponse) | undefined;
  await using sandbox = await startSandbox({
    scenario: "empty",
    newId: (() => {
      let count = 0;
      return () => `${count++} ${HOSTILE_ID}`;
    })(),
    afterHandle: ({ method, path }, response) => (method === "GET" ? answer?.(response, path) : undefined),
    intercept: ({ method }) =>
      method === "PATCH" && answer !== undefined ? { status: 400, body: { error: HOSTILE_LINES } } : undefined,
  });
  await using project = await createProject(sandbox);
  const showOutput = async (...args: string[]): Promise<string> => {
    const { output } = await project.run(...args);
    // An internal failure of the engine.
    expect(output).not.toContain("panic:");
    expect(findTerminalCommands(output.replace(COLOURS, ""))).toEqual([]);
    return output;
  };
  expect(await showOutput("up", "--yes", "--skip-preview", "--diff")).toContain("+ 4 created");

  answer = ({ status, body }, path) => {
    const text = JSON.stringify(body, (key, value) =>
      ["comment", "created_by", "added_by", "full_name", "job_title", "source"].includes(key) ? HOSTILE_LINES : value,
    );
    const page = JSON.parse(text) as { results: { items: unknown[]; total: number } };
    const more = path.endsWith("vip_employees")
      ? { email: HOSTILE_LINES }
      : { id: "x", list: "deny", entry_type: "domain", value: HOSTILE_LINES, verdict_scope: HOSTILE_LINES };
    page.results.items.push(more);
    page.results.total += 1;
    return { status, body: page };
  };
  const drift = await showOutput("refresh", "--yes", "--skip-preview", "--diff", "--color", "always");
  expect(drift).toContain("INC-7");
  expect(drift).toContain("\\u{3c}{%nonsense%}>");
  await showOutput("preview", "--diff", "--color", "always");
  const failed = await showOutput("up", "--yes", "--skip-preview", "--color", "always");
  expect(failed).toContain("returned 400");
});

it("rejects hostile arguments in a preview", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await createProject(sandbox);
  const text = JSON.stringify(HOSTILE_LINES.toWellFormed());
  await project.write(`
    import { AllowDenyEntry, AllowDenyList, VipEmployee } from "pulumi-email-security";
    new AllowDenyEntry("value", { list: "deny", value: ${text} });
    new AllowDenyEntry("comment", { list: "deny", value: "a.example", comment: ${text} });
    new AllowDenyEntry("scope", { list: "deny", value: "b.example", verdictScope: ${text} });
    new AllowDenyEntry("unknown", { list: "deny", value: "c.example", [${text}]: ${text} } as never);
    new VipEmployee("email", { email: ${text} });
    new AllowDenyList("list", { entries: { [${text}]: "deny", "d.example": "deny: " + ${text} } });
  `);
  const { code, output } = await project.run("preview", "--diff", "--color", "always");
  expect(code).not.toBe(0);
  expect(output).not.toContain("panic:");
  expect(findTerminalCommands(output.replace(COLOURS, ""))).toEqual([]);
  // The engine stops at the first resource that it hears is rejected.
  expect(output).toMatch(/invalid arguments:\n\s*\S.*\\u\{1b\}/);
});
