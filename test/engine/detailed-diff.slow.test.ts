import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { click } from "../support/tenant-console";

const buildProgram = (value: string, comment: string): string => `
  import { AllowDenyEntry } from "pulumi-email-security";
  new AllowDenyEntry("look-alike", { list: "deny", value: "${value}", comment: "${comment}" });
`;

/** Returns the lines below the resource's URN: the properties that a preview shows. */
function extractShownLines(preview: string): string[] {
  const lines = preview.split("\n");
  const from = lines.findIndex((line) => line.includes("::look-alike]")) + 1;
  return lines.slice(from, lines.indexOf("Resources:")).map((line) => line.trim());
}

it("shows only changed properties", async () => {
  await using sandbox = await startSandbox({ scenario: "empty" });
  await using project = await EngineProject.create({
    program: buildProgram("acme-login.example", "INC-7"),
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
  });
  await project.up();

  await project.write(buildProgram("acme-login.example", "INC-8"));
  expect(extractShownLines(await project.runOrThrow("preview", "--diff"))).toEqual(['~ comment: "INC-7" => "INC-8"']);

  await project.write(buildProgram("acme-l0gin.example", "INC-7"));
  const replaced = await project.runOrThrow("preview", "--diff");
  expect(replaced).toContain("+-1 to replace");
  expect(extractShownLines(replaced)).toEqual(['~ value: "acme-login.example" => "acme-l0gin.example"']);

  await project.write(buildProgram("acme-login.example", "INC-8"));
  await using other = await startSandbox({ scenario: "empty" });
  const moved = await project.runWith({ EMAIL_SECURITY_BASE_URL: other.url }, "preview", "--diff");
  expect(moved.output).toContain("+-1 to replace");
  expect(extractShownLines(moved.output)).toEqual([
    '~ comment: "INC-7" => "INC-8"',
    `- tenant : "${new URL(sandbox.url).host}"`,
  ]);

  const [entry] = sandbox.allowDenyEntries("acme");
  await click(sandbox, "PATCH", `/allow_deny_entries/${entry?.id}`, { comment: "is ok" });
  expect(extractShownLines(await project.runOrThrow("refresh", "--preview-only", "--diff"))).toEqual([
    '~ comment: "INC-7" => "is ok"',
  ]);
});
