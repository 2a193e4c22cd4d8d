import { describe, expect, it } from "vitest";
import { startSandbox } from "../../provider/sandbox";
import { EngineProject } from "../support/engine-project";

const bad = (at: number): string => `bad-${String(at).padStart(4, "0")}.example`;

/** A program with one list whose content is in a file beside it. */
const PROGRAM = `
import { readFileSync } from "node:fs";
import { AllowDenyList } from "pulumi-email-security";
new AllowDenyList("blocklist", JSON.parse(readFileSync("list.json", "utf8")));
`;

describe("a partial failure of thousands", () => {
  it("puts what was applied into state, names the rest, and the next up does just that", async () => {
    let isBroken = true;
    await using sandbox = await startSandbox({
      scenario: "empty",
      intercept: ({ method, body }) =>
        isBroken && method === "POST" && /bad-0[012]00/.test((body as { value: string }).value)
          ? { status: 400, body: { error: "no such registry" } }
          : undefined,
    });
    const entries = Array.from({ length: 5_000 }, (_, at) => ({
      list: "deny",
      value: bad(at),
      comment: "INC-1",
    }));
    await using project = await EngineProject.create({
      program: PROGRAM,
      environment: { EMAIL_SECURITY_BASE_URL: sandbox.url, EMAIL_SECURITY_API_KEY: "sandbox-acme-ci" },
      files: { "list.json": JSON.stringify({ entries }) },
    });
    const { code, output } = await project.run("up", "--yes", "--skip-preview");
    console.log(output.slice(0, 3000));
    expect(code).not.toBe(0);
    expect(output).toContain("deny bad-0100.example: ");
    const [list] = (await project.state()).resources;
    expect(Object.keys(list?.outputs?.["entries"] as object)).toHaveLength(4_997);
    isBroken = false;
    sandbox.clearRequests();
    console.log(await project.up());
    expect(sandbox.requests.filter(({ method }) => method !== "GET")).toHaveLength(3);
    sandbox.clearRequests();
    console.log(await project.up());
    expect(sandbox.requests).toHaveLength(0);
  });
});
