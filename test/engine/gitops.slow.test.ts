import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { FeedServer } from "../integration/sources/feed-server";
import { SimulatedGitHubRepository } from "../support/github/simulated-github-repository";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";

/*
 * Events in the example's repository other than a pull request applied as reviewed. The tests share one repository and
 * depend on their order.
 */

let sandbox: Sandbox;
let repository: SimulatedGitHubRepository;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme" });
  repository = await SimulatedGitHubRepository.create({ url: sandbox.url, key: "sandbox-acme-ci" });
});

afterAll(async () => {
  await repository?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

const findEntry = (value: string) => sandbox.allowDenyEntries("acme").find((row) => row.value === value);

describe("unplanned declaration on main", () => {
  it("is applied after approval", async () => {
    repository.startNextRun();
    sandbox.clearRequests();
    const merge = await repository.runJobOnMain("merge", "apply");
    expect(merge).toMatchObject({ result: "success", outputs: { code: "3", changes: "2" } });
    expect(merge.summary).toContain("No reviewed plan matches main and the tenant.");
    expect(merge.summary).toContain("ruth.castellan@acme.example");
    expect(listWrites(sandbox)).toEqual([]);

    const approved = await repository.runJobOnMain("merge", "approved", { needs: { apply: merge } });
    expect(approved.log).toContain("created");
    expect(approved.result).toBe("success");
    // The tenant's existing entries that match the declarations were adopted without a write.
    expect(new Set(listWrites(sandbox).map((line) => line.replace(/^\w+ /, "")))).toEqual(new Set(["/vip_employees"]));
    const vip = sandbox.vips("acme").find(({ email }) => email === "ruth.castellan@acme.example");
    expect(vip?.comment).toBe("Chief executive; protected whatever her title becomes");
  });
});

describe("pull request from a fork", () => {
  const pull = { number: 9, branch: "from-outside", from: "mallory/email-security" };

  it("is linted without a key", async () => {
    await repository.git.pushBranch(pull.branch, async () => {
      await repository.git.edit("settings/acme.yaml", "deny:\n", "deny:\n  - no domain\n");
    });
    repository.startNextRun();
    sandbox.clearRequests();
    const lint = await repository.pullRequest("lint", pull);
    expect(lint).toMatchObject({ result: "failure", code: 2 });
    expect(lint.log).toMatch(/settings\/acme\.yaml:\d+:5 error: .*no domain/);
    // The token of a fork can't upload, so the result is only in the log.
    expect(lint.ran.at(-1)).toBe("Lint");
    expect(await repository.pullRequest("plan", pull)).toMatchObject({ result: "skipped" });
    expect(sandbox.requests).toEqual([]);
  });
});

describe("approval", () => {
  const pull = { number: 10, branch: "new-partner" };
  const formatAllow = (value: string, approvedBy: string): string =>
    `allow:\n  - value: ${value}\n    comment: Contract\n    ticket: CHG-90\n    owner: Marcus Bell\n    approvedBy: ${approvedBy}\n    expires: never\n`;
  const submitReview = async (login: string, state: string, timestamp: string): Promise<void> => {
    const commit_id = await repository.git.git("rev-parse", pull.branch);
    await repository.change(({ reviews }) => {
      reviews.push({
        pull: pull.number,
        user: { login },
        state,
        commit_id,
        submitted_at: `2026-11-23T${timestamp}:00Z`,
      });
    });
  };

  it("is checked after each review once the policy requires it", async () => {
    await repository.git.edit(
      "settings/baseline.yaml",
      "  # requireApproval: [allow]\n  # approvers:",
      "  requireApproval: [allow]\n  approvers:",
    );
    await repository.git.commit("Who may approve");
    await repository.git.git("push", "--quiet", "origin", "main");
    await repository.git.pushBranch(pull.branch, async () => {
      await repository.git.edit(
        "settings/acme.yaml",
        "allow:\n",
        formatAllow("jo@new-partner.example", "Tomas Lindqvist"),
      );
    });
    repository.startNextRun();
    sandbox.clearRequests();
    expect(await repository.pullRequest("lint", pull)).toMatchObject({ result: "success" });
    await submitReview("dana-reyes", "APPROVED", "08:00");
    await submitReview("tlindqvist", "COMMENTED", "08:01");
    const early = await repository.runReviewWorkflow(pull);
    expect(early, early.log).toMatchObject({ result: "failure", code: 2 });
    expect(early.log).toMatch(
      /declares that "Tomas Lindqvist" approved it, but the last review of this change by "tlindqvist" isn't an approval/,
    );

    await submitReview("tlindqvist", "APPROVED", "08:02");
    const approved = await repository.runReviewWorkflow(pull);
    expect(approved, approved.log).toMatchObject({ result: "success" });
    expect(approved.log).toMatch(/Approvals: 1 checked, \d+ unchanged\.\n$/);
    // The job uses neither the key nor the service.
    expect(sandbox.requests).toEqual([]);
  });

  it("is required again for commits that follow it", async () => {
    await repository.git.git("switch", "--quiet", pull.branch);
    await repository.git.edit("settings/acme.yaml", "jo@new-partner.example", "mo@other-partner.example");
    await repository.git.commit("Rather that one");
    await repository.git.git("push", "--quiet", "origin", pull.branch);
    await repository.git.git("switch", "--quiet", "main");
    const after = await repository.runReviewWorkflow(pull);
    expect(after, after.log).toMatchObject({ result: "failure", code: 2 });
    expect(after.log).toContain("where it is different or missing");
  });
});

describe("entry that changes between review and merge", () => {
  const pull = { number: 11, branch: "scope-of-printer" };

  it("stops the merge from writing", async () => {
    await repository.git.pushBranch(pull.branch, async () => {
      await repository.git.edit("settings/acme.yaml", "Office printer's scan-to-mail relay", "Printers, all floors");
    });
    repository.startNextRun();
    expect(await repository.pullRequest("plan", pull)).toMatchObject({ result: "success" });
    const id = findEntry("198.51.100.24")?.id;
    await click(sandbox, "PATCH", `/allow_deny_entries/${id}`, { comment: "printer is broken, keep" });
    await repository.git.squash(pull.branch);
    repository.startNextRun();
    sandbox.clearRequests();
    const merge = await repository.runJobOnMain("merge", "apply");
    expect(merge).toMatchObject({ result: "success", outputs: { code: "3", changes: "2" } });
    expect(merge.log).toContain("ERR_PLAN_STALE");
    expect(merge.log).toMatch(/198\.51\.100\.24.*printer is broken, keep/);
    expect(merge.summary).toContain("printer is broken, keep");
    expect(listWrites(sandbox)).toEqual([]);
  });
});

describe("nightly drift check", () => {
  it("keeps one issue with change, author and time", async () => {
    const body = { list: "deny", entry_type: "domain", value: "clicked.example", comment: "phish at 2 am" };
    await click(sandbox, "POST", "/allow_deny_entries", body);
    repository.startNextRun();
    sandbox.clearRequests();
    const drift = await repository.runJobOnMain("drift", "drift");
    expect(drift).toMatchObject({ result: "success", outputs: { code: "2", patch: "" } });
    for (const night of [1, 2]) {
      const report = await repository.runJobOnMain("drift", "report", { needs: { drift } });
      expect(report, `night ${night}`).toMatchObject({ result: "failure", code: 2 });
    }
    const { issues } = await repository.readState();
    expect(issues).toMatchObject([{ number: 1, state: "open" }]);
    expect(issues[0]?.body).toContain("clicked.example");
    expect(issues[0]?.body).toContain("Dana Reyes (console)");
    expect(issues[0]?.body).toContain("printer is broken, keep");
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("proposes console additions in a job without a key", async () => {
    repository.startNextRun();
    const drift = await repository.runJobOnMain("drift", "drift", { inputs: { adopt: true } });
    expect(drift).toMatchObject({ result: "success", outputs: { code: "2", patch: "yes" } });
    for (const time of ["first", "second"]) {
      const propose = await repository.runJobOnMain("drift", "propose", { needs: { drift } });
      expect(propose.result, `${time}: ${propose.log}`).toBe("success");
    }
    expect((await repository.readState()).pulls).toMatchObject([{ head: "email-security-drift", state: "open" }]);

    // Once the pull request is merged or closed, the next run opens a new one. A stranger's with the same branch name
    // is left alone.
    const stranger = { head: "email-security-drift", state: "open", isCrossRepository: true, body: "mine" };
    for (const over of ["merged", "closed"]) {
      await repository.change(({ pulls }) => {
        Object.assign(pulls.at(-1) ?? {}, { state: over, body: "as it was" });
        if (over === "merged") pulls.push({ ...stranger, number: 2, title: "" });
      });
      const propose = await repository.runJobOnMain("drift", "propose", { needs: { drift } });
      expect(propose.result, propose.log).toBe("success");
      await repository.change(({ pulls }) => void pulls.sort((a, b) => a.number - b.number));
    }
    const { pulls } = await repository.readState();
    expect(pulls.map(({ number, state, body }) => [number, state, body.split("\n")[0]])).toEqual([
      [1, "merged", "as it was"],
      [2, "open", "mine"],
      [3, "closed", "as it was"],
      [4, "open", expect.stringContaining("drift")],
    ]);
    await repository.git.git("fetch", "--quiet", "origin");
    const diff = await repository.git.git("diff", "main", "origin/email-security-drift", "--", "settings");
    expect(diff).toMatch(/^\+ +- value: clicked\.example\n\+ +comment: phish at 2 am/m);
    // No existing line changes.
    expect(diff).not.toMatch(/^-[^-]/m);
  });

  it("closes the issue after main is applied again", async () => {
    repository.startNextRun();
    const merge = await repository.runJobOnMain("merge", "apply");
    expect(merge.outputs).toEqual({ code: "3", changes: "2" });
    expect(merge.summary).toContain("clicked.example");
    const approved = await repository.runJobOnMain("merge", "approved", { needs: { apply: merge } });
    expect(approved.result, approved.log).toBe("success");
    expect(findEntry("clicked.example")).toBeUndefined();
    expect(findEntry("198.51.100.24")?.comment).toBe("Printers, all floors");

    repository.startNextRun();
    const drift = await repository.runJobOnMain("drift", "drift");
    expect(drift.outputs).toEqual({ code: "0", patch: "" });
    const report = await repository.runJobOnMain("drift", "report", { needs: { drift } });
    expect(report.result).toBe("success");
    expect((await repository.readState()).issues).toMatchObject([{ number: 1, state: "closed" }]);
  });
});

describe("monthly review", () => {
  const listIssueTitles = async (): Promise<(readonly [string, string])[]> =>
    (await repository.readState()).issues
      .filter(({ label }) => label === "email-security-review")
      .map(({ title, state }) => [title, state] as const);

  it("opens one checklist issue per tenant on schedule only", async () => {
    repository.startNextRun();
    sandbox.clearRequests();
    const look = await repository.runJobOnMain("review", "review");
    expect(look, look.log).toMatchObject({ result: "success", outputs: { code: "2" } });
    const push = { needs: { review: look }, github: { event_name: "push" } };
    expect(await repository.runJobOnMain("review", "report", push)).toMatchObject({ result: "success" });
    expect(await listIssueTitles()).toEqual([]);
    // An issue about another tenant is left alone.
    await repository.change(({ issues }) => {
      issues.push({
        number: 2,
        state: "open",
        label: "email-security-review",
        title: "Review entries at globex",
        body: "mine",
      });
    });
    for (const month of [1, 2]) {
      const report = await repository.runJobOnMain("review", "report", { needs: { review: look } });
      expect(report, `month ${month}: ${report.log}`).toMatchObject({ result: "success" });
    }
    expect(await listIssueTitles()).toEqual([
      ["Review entries at globex", "open"],
      ["Review entries at acme", "open"],
    ]);
    const { issues } = await repository.readState();
    expect(issues.at(-1)?.body).toMatch(/^- \[ \] /m);
    expect(issues.find(({ title }) => title.endsWith("globex"))?.body).toBe("mine");
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("closes the issue when nothing is left", async () => {
    const decided = { result: "success", outputs: { code: "0" } };
    const contexts = { needs: { review: decided }, github: { event_name: "push" } };
    expect(await repository.runJobOnMain("review", "report", contexts)).toMatchObject({ result: "success" });
    expect(await listIssueTitles()).toEqual([
      ["Review entries at globex", "open"],
      ["Review entries at acme", "closed"],
    ]);
  });
});

describe("plan from a fork", () => {
  it("is ignored by the merge", async () => {
    const tree = await repository.git.git("rev-parse", "main:settings");
    repository.startNextRun();
    // A manual run uses no plan, not even that of an open pull request.
    const manualRun = await repository.runJobOnMain("merge", "apply", { github: { event_name: "workflow_dispatch" } });
    expect(manualRun.ran.join()).not.toContain("actions/download-artifact");
    expect(manualRun.outputs).toMatchObject({ code: "3" });
    repository.startNextRun();
    await repository.change(({ artifacts }) => {
      const mine = artifacts.find(({ name }) => name.endsWith(tree));
      artifacts.splice(0, artifacts.length, {
        name: `email-security-plan-${tree}`,
        expired: false,
        created_at: "2099-01-01T00:00:00Z",
        workflow_run: { id: 1, repository_id: 1, head_repository_id: 666 },
      });
      if (mine !== undefined) artifacts.push({ ...mine, expired: true });
    });
    const merge = await repository.runJobOnMain("merge", "apply");
    expect(merge.ran.join()).not.toContain("actions/download-artifact");
    expect(merge.outputs).toEqual({ code: "3", changes: "0" });
    const approved = await repository.runJobOnMain("merge", "approved", { needs: { apply: merge } });
    expect(approved.result).toBe("skipped");
  });
});

describe("nightly sync", () => {
  const SOURCE = "sources:\n  phish: { kind: url, url: URL, into: deny, expires: 14d }\n\n";
  let feed: FeedServer;

  beforeAll(async () => {
    feed = await FeedServer.start();
    feed.list(["evil.test", "acme.example"]);
    await repository.git.edit(
      "settings/acme.yaml",
      "include: [baseline.yaml]\n",
      "include: [baseline.yaml, sources/phish.yaml]\n",
    );
    await repository.git.edit(
      "settings/acme.yaml",
      "vips:\n  - email",
      `${SOURCE.replace("URL", `${feed.origin}/phish.txt`)}vips:\n  - email`,
    );
    await repository.git.commit("Follow a feed");
    await repository.git.git("push", "--quiet", "origin", "main");
  });
  afterAll(() => feed[Symbol.asyncDispose]());

  it("does nothing without allowed addresses", async () => {
    repository.startNextRun();
    expect(await repository.runJobOnMain("sync", "sync")).toMatchObject({ result: "skipped" });
  });

  it("proposes the changes of a source as a pull request, without the tenant's key", async () => {
    repository.startNextRun();
    sandbox.clearRequests();
    const vars = { EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/` };
    const sync = await repository.runJobOnMain("sync", "sync", { vars });
    expect(sync, sync.log).toMatchObject({ result: "success" });
    const pull = (await repository.readState()).pulls.at(-1);
    expect(pull).toMatchObject({ head: "email-security/sync-phish", state: "open" });
    expect(pull?.body).toMatch(/Added \(1\)[\s\S]*`evil\.test`[\s\S]*Rejected:[\s\S]*`acme\.example`/);
    expect(sync.summary).toContain("evil.test");
    await repository.git.git("fetch", "--quiet", "origin");
    const generated = await repository.git.git("show", "origin/email-security/sync-phish:settings/sources/phish.yaml");
    expect(generated).toContain("value: evil.test");
    expect(sandbox.requests).toEqual([]);
  });
});

it("exposes the key in no log, summary, comment, issue or artifact", async () => {
  const artifacts = await repository.readArtifacts();
  expect(artifacts.join("\n")).toContain("printer is broken, keep");
  const texts = [...repository.outputs, ...artifacts, JSON.stringify(await repository.readState())];
  expect(texts.filter((text) => text.includes("sandbox-acme-ci"))).toEqual([]);
});
