import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Sandbox, startSandbox } from "../../provider/sandbox";
import { FeedServer } from "../integration/sources/feed-server";
import { TOKEN } from "../support/gitlab/small-gitlab";
import { click } from "../support/tenant-console";
import { listWrites } from "../support/write-requests";
import { SimulatedGitLabProject } from "./simulated-gitlab-project";

/*
 * The example's pipeline on GitLab, where it differs from the one on GitHub: plans stored in the package registry, and
 * notes and issues through the API. Runs the example's own scripts with the real engine against the sandbox. The tests
 * share one project and depend on their order.
 */

let sandbox: Sandbox;
let project: SimulatedGitLabProject;

beforeAll(async () => {
  sandbox = await startSandbox({ scenario: "acme" });
  project = await SimulatedGitLabProject.create({ url: sandbox.url, key: "sandbox-acme-ci" });
});

afterAll(async () => {
  await project?.[Symbol.asyncDispose]();
  await sandbox?.close();
});

const findEntry = (value: string) => sandbox.allowDenyEntries("acme").find((row) => row.value === value);

const printer = "198.51.100.24";

describe("merge request", () => {
  it("is described in one note as it will be merged", async () => {
    await project.git.pushBranch("printers", async () => {
      await project.git.edit("settings/acme.yaml", "Office printer's scan-to-mail relay", "Printers, all floors");
    });
    // The target branch has changed elsewhere in the settings since the branch was created.
    await project.git.edit("settings/baseline.yaml", "Parcel scam, reported by reception", "Parcel scam");
    await project.git.commit("Shorter");
    await project.git.git("push", "--quiet", "origin", "main");

    expect((await project.run("lint", "printers")).code).toBe(0);
    for (const time of ["first", "second"]) {
      const plan = await project.run("plan", "printers");
      expect(plan.code, `${time}: ${plan.log}`).toBe(0);
    }
    expect(project.notes).toHaveLength(1);
    expect(project.notes[0]?.body).toContain("Printers, all floors");
    expect(project.notes[0]?.body).toContain("Parcel scam");
    expect(project.packages.size).toBe(1);
    expect(listWrites(sandbox)).toEqual([]);
  });

  it("is applied as reviewed after the merge", async () => {
    await project.git.squash("printers");
    const tree = await project.git.git("rev-parse", "main:settings");
    expect([...project.packages.keys()]).toEqual([`email-security-plan/${tree}`]);
    const apply = await project.run("apply");
    expect(apply.code, apply.log).toBe(0);
    expect(findEntry(printer)?.comment).toBe("Printers, all floors");
    // Nothing is left for the manual approval job.
    const approve = await project.run("approve", "main", apply);
    expect(approve).toMatchObject({ code: 0, log: expect.stringContaining("there is nothing to approve") });
  });
});

describe("entry that changed since the review", () => {
  it("is planned again for approval", async () => {
    await project.git.pushBranch("printers-again", async () => {
      await project.git.edit("settings/acme.yaml", "Printers, all floors", "Printers of the ground floor");
    });
    expect((await project.run("plan", "printers-again")).code).toBe(0);
    await click(sandbox, "PATCH", `/allow_deny_entries/${findEntry(printer)?.id}`, {
      comment: "keep, it is broken",
    });
    await project.git.squash("printers-again");
    sandbox.clearRequests();
    const apply = await project.run("apply");
    expect(apply.code, apply.log).toBe(3);
    expect(apply.log).toContain("ERR_PLAN_STALE");
    expect(apply.log).toMatch(/198\.51\.100\.24.*keep, it is broken/);
    expect(listWrites(sandbox)).toEqual([]);
    expect(await project.readArtifact(apply, "new-plan/comment.md")).toContain("keep, it is broken");

    const approve = await project.run("approve", "main", apply);
    expect(approve.code, approve.log).toBe(0);
    expect(findEntry(printer)?.comment).toBe("Printers of the ground floor");
  });
});

describe("nightly drift check", () => {
  it("proposes console additions", async () => {
    const body = { list: "deny", entry_type: "domain", value: "clicked.example", comment: "phish at 2 am" };
    await click(sandbox, "POST", "/allow_deny_entries", body);
    const drift = await project.run("drift");
    expect(drift.code, drift.log).toBe(2);
    for (const night of [1, 2]) {
      const report = await project.run("report", "main", drift);
      expect(report.code, `night ${night}: ${report.log}`).toBe(0);
    }
    expect(project.issues).toMatchObject([{ state: "opened", title: "Drift between the tenant and main" }]);
    expect(project.issues[0]?.description).toContain("clicked.example");
    const propose = await project.run("propose", "main", drift);
    expect(propose.code, propose.log).toBe(0);
    await project.git.git("fetch", "--quiet", "origin");
    const adopted = await project.git.git("show", "origin/email-security-drift:settings/acme.yaml");
    expect(adopted).toContain("- value: clicked.example");
  });

  it("closes the issue when the drift is gone", async () => {
    await click(sandbox, "DELETE", `/allow_deny_entries/${findEntry("clicked.example")?.id}`);
    const drift = await project.run("drift");
    expect(drift.code, drift.log).toBe(0);
    expect((await project.run("report", "main", drift)).code).toBe(0);
    expect(project.issues).toMatchObject([{ state: "closed" }]);
  });
});

describe("approval", () => {
  const allow =
    "allow:\n  - value: jo@new-partner.example\n    comment: Contract\n    ticket: CHG-90\n    owner: Marcus Bell\n    approvedBy: Tomas Lindqvist\n    expires: never\n";

  it("is verified against GitLab's approvals", async () => {
    await project.git.edit(
      "settings/baseline.yaml",
      "  # requireApproval: [allow]\n  # approvers:",
      "  requireApproval: [allow]\n  approvers:",
    );
    await project.git.commit("Who may approve");
    await project.git.git("push", "--quiet", "origin", "main");
    await project.git.pushBranch("new-partner", async () => {
      await project.git.edit("settings/acme.yaml", "allow:\n", allow);
    });
    expect((await project.run("lint", "new-partner")).code).toBe(0);
    const early = await project.run("approvals", "new-partner");
    expect(early.code, early.log).toBe(2);
    expect(early.log).toContain('the last review of this change by "tlindqvist" isn\'t an approval');
    project.approvedBy.push("tlindqvist");
    const approved = await project.run("approvals", "new-partner");
    expect(approved.code, approved.log).toBe(0);
    expect(approved.log).toMatch(/Approvals: 1 checked, \d+ unchanged\./);
  });

  it("is not verified for a fork", async () => {
    const fork = await project.run("approvals", "new-partner", undefined, {
      CI_MERGE_REQUEST_SOURCE_PROJECT_ID: "8",
    });
    expect(fork).toMatchObject({
      code: 1,
      log: expect.stringContaining("Push the branch to this project"),
    });
  });
});

describe("monthly review", () => {
  const listReviewIssues = () => project.issues.filter(({ labels }) => labels === "email-security-review");

  it("closes the issue when nothing is left", async () => {
    const look = await project.run("review");
    expect(look.code, look.log).toBe(0);
    const push = await project.run("report-review", "main", look);
    expect(push.code, push.log).toBe(0);
    expect(listReviewIssues()).toEqual([]);
    for (const month of [1, 2]) {
      const variables = { CI_PIPELINE_SOURCE: "schedule" };
      const report = await project.run("report-review", "main", look, variables);
      expect(report.code, `month ${month}: ${report.log}`).toBe(0);
    }
    expect(listReviewIssues()).toMatchObject([{ title: "Review entries at acme", state: "opened" }]);
    expect(listReviewIssues()[0]?.description).toMatch(/^- \[ \] /m);
    await writeFile(join(look.workspace, "review/code"), "0\n");
    expect((await project.run("report-review", "main", look)).code).toBe(0);
    expect(listReviewIssues()).toMatchObject([{ state: "closed" }]);
  });
});

describe("nightly sync", () => {
  const branch = "email-security/sync-phish";
  const variables = { CI_PIPELINE_SOURCE: "schedule" };
  let feed: FeedServer;

  beforeAll(async () => {
    feed = await FeedServer.start();
    await project.git.edit(
      "settings/acme.yaml",
      "include: [baseline.yaml]\n",
      "include: [baseline.yaml, sources/phish.yaml]\n",
    );
    await project.git.edit(
      "settings/acme.yaml",
      "vips:\n  - email",
      `sources:\n  phish: { kind: url, url: ${feed.origin}/phish.txt, into: deny, expires: 14d }\n\nvips:\n  - email`,
    );
    await project.git.commit("Follow a feed");
    await project.git.git("push", "--quiet", "origin", "main");
  });
  afterAll(() => feed[Symbol.asyncDispose]());

  const sync = () =>
    project.run("sync", "main", undefined, { ...variables, EMAIL_SECURITY_SOURCES: `phish=${feed.origin}/` });

  it("opens a merge request without the tenant's key", async () => {
    feed.list(["evil.test", "acme.example"]);
    sandbox.clearRequests();
    const run = await sync();
    expect(run.code, run.log).toBe(0);
    expect(project.mergeRequests).toMatchObject([{ source_branch: branch, state: "opened" }]);
    expect(project.mergeRequests[0]?.description).toMatch(
      /Added \(1\)[\s\S]*`evil\.test`[\s\S]*Rejected:[\s\S]*`acme\.example`/,
    );
    expect(await project.readArtifact(run, "sync/sync.md")).toContain("evil.test");
    await project.git.git("fetch", "--quiet", "origin");
    const generated = await project.git.git("show", `origin/${branch}:settings/sources/phish.yaml`);
    expect(generated).toContain("value: evil.test");
    expect(sandbox.requests).toEqual([]);
  });

  it("updates the merge request only when the feed changes", async () => {
    feed.list(["evil.test", "bad.test"]);
    const changed = await sync();
    expect(changed.code, changed.log).toBe(0);
    expect(project.mergeRequests).toMatchObject([{ description: expect.stringContaining("`bad.test`") }]);
    await project.git.git("fetch", "--quiet", "origin");
    const tip = await project.git.git("rev-parse", `origin/${branch}`);
    expect(await project.git.git("rev-list", "--count", `main..origin/${branch}`)).toBe("1");

    const same = await sync();
    expect(same.code, same.log).toBe(0);
    await project.git.git("fetch", "--quiet", "origin");
    expect(await project.git.git("rev-parse", `origin/${branch}`)).toBe(tip);
    expect(project.mergeRequests).toHaveLength(1);
  });

  it("keeps the tokens out of all output", async () => {
    const run = await sync();
    const config = await project.readArtifact(run, ".git/config");
    const report = await project.readArtifact(run, "sync/sync.md");
    expect([run.log, config, report].filter((text) => text.includes(TOKEN))).toEqual([]);
  });
});
