import { expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";
import { formatBadDomain } from "../support/numbered-domains";

const COUNT = 200;

/** A program with one list whose content is in `list.json`. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyList } from "pulumi-email-security";
new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
`;

it("keeps the progress of a partly failed list", async () => {
  let isBroken = true;
  await using sandbox = await startSandbox({
    scenario: "empty",
    intercept: ({ method, body }) =>
      isBroken && method === "POST" && /bad-01[012]0/.test((body as { value: string }).value)
        ? { status: 400, body: { error: "no such registry" } }
        : undefined,
  });
  const entries = Object.fromEntries(
    Array.from({ length: COUNT }, (_, index) => [formatBadDomain(index), "deny: INC-1"]),
  );
  await using project = await EngineProject.create({
    program: PROGRAM,
    environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
    files: { "list.json": JSON.stringify({ entries }) },
  });
  const writeList = (declared: object) => project.writeFile("list.json", JSON.stringify(declared));
  /** Returns the write requests since the last call. */
  const takeWrites = (): string[] => {
    const lines = sandbox.requests
      .filter(({ method }) => method !== "GET")
      .map(({ method, body }) => `${method} ${(body as { value?: string })?.value ?? ""}`.trim());
    sandbox.clearRequests();
    return lines.sort();
  };

  // The applied entries are in the state, and the failed ones are named.
  const { code, output } = await project.run("up", "--yes", "--skip-preview");
  expect(code).not.toBe(0);
  for (const index of [100, 110, 120]) expect(output).toContain(`deny ${formatBadDomain(index)}: `);
  const { resources } = await project.exportState();
  const list = resources.find(({ type }) => type.endsWith("AllowDenyList"));
  expect(Object.keys(list?.outputs?.["entries"] as object)).toHaveLength(COUNT - 3);
  // Each entry was sent once, and the next run sends only the failed ones.
  expect(takeWrites()).toEqual(Object.keys(entries).map((value) => `POST ${value}`));
  isBroken = false;
  await project.up();
  expect(takeWrites()).toEqual([100, 110, 120].map((index) => `POST ${formatBadDomain(index)}`));
  expect(sandbox.allowDenyEntries("acme")).toHaveLength(COUNT);

  // A preview shows the entries that change, without any request.
  const { [formatBadDomain(7)]: _removed, ...rest } = entries;
  await writeList({ entries: { ...rest, [formatBadDomain(8)]: "deny: INC-2", "partner.example": "allow" } });
  const preview = await project.runOrThrow("preview", "--diff");
  expect(preview).toContain('+ partner.example : "allow"');
  expect(preview).toContain('~ bad-0008.example: "deny: INC-1" => "deny: INC-2"');
  expect(preview).toContain('- bad-0007.example: "deny: INC-1"');
  expect(preview.trim().split("\n").length).toBeLessThan(20);

  // The removal guard's message is short and doesn't contain the whole list.
  const few = Object.fromEntries(Object.entries(entries).slice(0, 20));
  await writeList({ entries: few });
  const rejection = await project.run("preview");
  expect(rejection.code).not.toBe(0);
  expect(rejection.output).toContain("would lose 180 of 200 entries (90 %). One run may remove at most 30 %.");
  expect(rejection.output).toContain("confirmRemovals: 180");
  expect(rejection.output).toContain("deny bad-0020.example");
  expect(rejection.output.split("\n").length).toBeLessThan(50);
  expect(sandbox.requests).toHaveLength(0);
});
