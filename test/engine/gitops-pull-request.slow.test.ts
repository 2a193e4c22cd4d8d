import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { SimulatedGitHubRepository } from "../support/github/simulated-github-repository";
import { listWrites } from "../support/write-requests";

/*
 * The example's workflows from the pull request to the tenant: their own commands, in a Git repository, with the real
 * engine against the sandbox. The tests share one repository and depend on their order. gitops.slow.test.ts covers
 * other events.
 */

/** The service's clock, fixed so that its mail is always the same. */
const NOW = new Date("2026-11-21T12:00:00.000Z");

let sandbox: Sandbox;
let repository: SimulatedGitHubRepository;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme", clock: () => NOW });
  repository = await SimulatedGitHubRepository.create({ url: sandbox.url, key: "sandbox-acme-ci" });
});

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

const findEntry = (value: string) => sandbox.allowDenyEntries("acme").find((row) => row.value === value);

/** Returns a sender on no list whose mail the analysis has recently found malicious. */
function findAttacker(): string {
  const aMonthAgo = NOW.getTime() - 20 * 86_400_000;
  const listed = new Set(sandbox.allowDenyEntries("acme").map(({ value }) => value));
  const threat = sandbox.threats("acme").find(
    ({ verdict, sender_email: sender = "", time }) =>
      verdict === "malicious" &&
      Date.parse(time) > aMonthAgo &&
      // Lint would reject a look-alike of the own domain.
      /@(?:shipping-notice\.test|order-desk\.example|supplier-portal\.test)$/.test(sender) &&
      !listed.has(sender),
  );
  if (threat?.sender_email === undefined) throw new Error("the sandbox has no such mail");
  return threat.sender_email;
}

const formatAllow = (value: string): string => `allow:
  - value: ${value}
    comment: Supplier, waits for an answer
    ticket: CHG-77
    owner: Marcus Bell
    approvedBy: Dana Reyes
    expires: never
`;

describe("pull request that allows an attacker", () => {
  const pull = { number: 7, branch: "allow-supplier" };

  it("shows the attacker first in its only comment", async () => {
    const value = findAttacker();
    await repository.git.pushBranch(pull.branch, async () => {
      await repository.git.edit("settings/acme.yaml", "allow:\n", formatAllow(value));
      await repository.git.edit("settings/baseline.yaml", "deny:\n", "deny:\n  - harmless.test\n");
      await repository.git.edit(
        "settings/baseline.yaml",
        "requireComment: [allow, deny, vips]",
        "requireComment: [allow]",
      );
    });
    repository.startNextRun();
    const lint = await repository.pullRequest("lint", pull);
    expect(lint).toMatchObject({ result: "success" });
    const plan = await repository.pullRequest("plan", pull);
    expect(plan).toMatchObject({ result: "failure", code: 3 });
    expect(plan.ran.at(-1)).toBe("Fail on risky changes");

    const { comments } = await repository.readState();
    expect(comments.map(({ issue }) => issue)).toEqual([7]);
    const [{ body = "" } = {}] = comments;
    expect(body.indexOf(value)).toBeGreaterThan(0);
    expect(body.indexOf(value)).toBeLessThan(body.indexOf("harmless.test"));
    expect(body).toMatch(/malicious/);
    expect(plan.summary).toBe(body);
  });

  it("replaces its comment after the fix", async () => {
    const [before] = (await repository.readState()).comments;
    await repository.change(({ comments }) => {
      comments.push({
        id: 200,
        issue: 7,
        user: { login: "mallory" },
        body: "<!-- email-security-plan --> all is fine",
      });
    });
    await repository.git.pushBranch(pull.branch, async () => {
      await repository.git.edit(
        "settings/acme.yaml",
        "deny:\n",
        "deny:\n  - value: supplier-desk.test\n    comment: Asks for other bank details\n    ticket: INC-1101\n",
      );
    });
    repository.startNextRun();
    const plan = await repository.pullRequest("plan", pull);
    expect(plan).toMatchObject({ result: "success" });
    const [after, stranger, ...more] = (await repository.readState()).comments;
    expect(more).toEqual([]);
    expect(stranger?.body).toContain("all is fine");
    expect(after?.id).toBe(before?.id);
    expect(after?.body).toContain("supplier-desk.test");
    expect(after?.body).not.toContain("Supplier, waits");
    const tree = await repository.git.git("rev-parse", `${pull.branch}:settings`);
    expect(await repository.readArtifact(`email-security-plan-${tree}`, "plan.html")).toContain("supplier-desk.test");
  });

  it("is applied as reviewed after a squash merge", async () => {
    await repository.git.squash(pull.branch);
    repository.startNextRun();
    sandbox.clearRequests();
    const merge = await repository.runJobOnMain("merge", "apply");
    expect(merge).toMatchObject({ result: "success", outputs: { code: "0", changes: "" } });
    // The tenant's existing entries that match the declarations were adopted without a write. The plan also listed the
    // VIPs that main declares.
    expect(listWrites(sandbox).sort()).toEqual([
      "PATCH /vip_employees",
      "PATCH /vip_employees",
      "POST /allow_deny_entries",
      "POST /vip_employees",
    ]);
    expect(findEntry("supplier-desk.test")).toMatchObject({
      list: "deny",
      comment: "Asks for other bank details",
    });
    const approved = await repository.runJobOnMain("merge", "approved", { needs: { apply: merge } });
    expect(approved.result).toBe("skipped");
  });
});

it("exposes the key in no log, summary, comment or artifact", async () => {
  const artifacts = await repository.readArtifacts();
  expect(artifacts.join("\n")).toContain("supplier-desk.test");
  const texts = [...repository.outputs, ...artifacts, JSON.stringify(await repository.readState())];
  expect(texts.filter((text) => text.includes("sandbox-acme-ci"))).toEqual([]);
});
