import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { formatDuration } from "../../../../provider/rollout/model/duration";
import { renderReportText } from "../../../../provider/rollout/report/report-text";
import { findTerminalCommands, hostileText } from "../../../support/hostile-text";
import { playRollout, playTextRollout, rollouts } from "../../../support/rollouts";

describe("a rollout report as text", () => {
  test("shows the stop reason, failures, waves and next command", () => {
    const text = renderReportText(rollouts.stopped.after);
    const order = [
      "Rollout of tenants.yaml",
      'STOPPED  3 tenants of wave "early" failed, and 2 may.',
      "✗ 3 failed   ✓ 32 changed   = 60 unchanged   · 205 pending",
      "Failed (3)",
      "✗ hooli-020 (wave early, mail-security-0.example)",
      "Failed while planning; the tenant was not changed.",
      "fix    Plan the rollout again.",
      "[ERR_AUTH]",
      "Waves (3)",
      "✓ canary    6/6  5 changed and 1 unchanged, took 51 s",
      "✗ early   39/45  stopped; 3 failed (2 tolerated), 27 changed",
      "· rest   50/249  50 unchanged and 199 pending",
      "Next steps",
      "    email-security rollout resume r-20261121-7f3a\n",
      "Digest sha256:5d3c0f6a",
    ].map((fragment) => text.indexOf(fragment));
    expect(order).not.toContain(-1);
    expect(order).toEqual(order.toSorted((a, b) => a - b));
  });

  test("is short for a successful rollout", () => {
    const text = renderReportText(rollouts.small.after);
    expect(text).toContain("DONE  All 3 tenants match their files.");
    expect(text).not.toMatch(/Failed|next/);
    expect(text.split("\n").length).toBeLessThan(15);
  });

  test("counts no tenant as changed in part that a wrong key opened", () => {
    const { after } = rollouts.stopped;
    const renderAttempts = (attempts: number) => {
      const error = { code: "ERR_OTHER_TENANT", message: "No.", advice: "Try.", phase: "apply" as const };
      const tenants = after.tenants.map((tenant) =>
        tenant.state === "failed" ? { ...tenant, error, attempts } : tenant,
      );
      return renderReportText({ ...after, tenants }, { width: 1_000 });
    };
    expect(renderAttempts(1)).toContain("Unchanged, because the key belongs to another tenant: 3 tenants.");
    expect(renderAttempts(1)).not.toContain("partly");
    expect(renderAttempts(2)).toContain("Possibly partly changed: 3 failed.");
  });

  test("shows only some of many failures in full", () => {
    const { after } = playRollout({
      tenants: 100,
      failing: Array.from({ length: 100 }, (_, n) => n),
      unchangedEvery: 0,
      tolerated: 100,
    });
    // The first wave tolerates no failures; the other errors are those that later waves would have reported.
    const failed = after.tenants.map((tenant) => ({
      ...tenant,
      state: "failed" as const,
      error: {
        code: tenant.name.startsWith("acme") ? "ERR_AUTH" : "ERR_TIMEOUT",
        message: "No.",
        advice: "Try.",
        phase: "apply" as const,
      },
    }));
    const text = renderReportText({ ...after, tenants: failed, counts: { ...after.counts, failed: 100 } });
    expect(text.match(/ {2}✗ .*\(wave /g)).toHaveLength(10);
    expect(text).toContain("… and 90 more:");
    expect(text).toMatch(/79 × ERR_TIMEOUT: .* and\s+69 more/s);
    expect(text).toMatch(/11 × ERR_AUTH: .* and\s+1 more/s);
  });

  test.each([
    ["planned", true, "PLANNED  300 tenants in 3 waves: 240 tenants to change, 60 unchanged."],
    ["running", true, "RUNNING  60 of 300 tenants match their files, 0 failed, 240 pending."],
    ["running", false, "INTERRUPTED  60 of 300"],
    ["waiting", false, "WAITING  Wave canary is through. 60 of 300"],
  ] as const)("shows the state of a rollout that is %s, held: %s", (state, isActive, expectedText) => {
    const reason = state === "waiting" ? { reason: "Wave canary is through." } : {};
    const text = renderReportText({ ...rollouts.stopped.before, state, isActive, ...reason }, { width: 200 });
    expect(text).toContain(expectedText);
  });

  test("contains hostile text only as plain text", () => {
    fc.assert(
      fc.property(hostileText, (text) => {
        expect(findTerminalCommands(renderReportText(playTextRollout(text).after))).toEqual([]);
      }),
      { numRuns: 50 },
    );
  });
});

test.each([
  [0, "0 s"],
  [Number.NaN, "0 s"],
  [-5, "0 s"],
  [432, "0.4 s"],
  [9_940, "9.9 s"],
  [9_999, "10 s"],
  [59_600, "1 min"],
  [252_000, "4 min 12 s"],
  [3_599_700, "1 h"],
  [7_500_000, "2 h 5 min"],
  [86_399_000, "1 d"],
  [273_600_000, "3 d 4 h"],
])("formats %d ms as %s", (ms, expectedText) => {
  expect(formatDuration(ms)).toBe(expectedText);
});
