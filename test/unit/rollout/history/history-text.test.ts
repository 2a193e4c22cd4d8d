import { expect, it } from "vitest";
import { renderHistoryText } from "../../../../provider/rollout/history/history-text";
import type { PastRollout } from "../../../../provider/rollout/model/history-schema";

function renderChanges(planned: PastRollout["planned"], changes: PastRollout["changes"]): string {
  const rollout: PastRollout = {
    id: "r-20261120-1",
    state: "done",
    isActive: false,
    source: "tenants.yaml",
    digest: "0123456789ab",
    startedAt: "2026-11-20T08:00:00Z",
    counts: { pending: 0, queued: 0, running: 0, unchanged: 0, done: 9, failed: 0, skipped: 0 },
    planned,
    changes,
  };
  return renderHistoryText({ format: 1, rollouts: [rollout], omittedCount: 0 }, { width: 200 });
}

const removal = { operation: "remove", kind: "entry", list: "deny", value: "a.example", tenants: 7 } as const;
const additions = ["b", "c", "d"].map(
  (name) => ({ operation: "add", kind: "entry", list: "deny", value: `${name}.example`, tenants: 1 }) as const,
);

it("counts the changes that a rollout in the history omits", () => {
  const text = renderChanges({ added: 1_200, changed: 0, removed: 7 }, [removal, ...additions]);
  expect(text).toContain(
    "+1,200 -7: - deny a.example in 7, + deny b.example, + deny c.example, and 1,198 more, none more dangerous\n",
  );
});

it("counts nothing when the history shows all changes", () => {
  const text = renderChanges({ added: 2, changed: 0, removed: 7 }, [removal, ...additions.slice(0, 2)]);
  expect(text).toContain("+2 -7: - deny a.example in 7, + deny b.example, + deny c.example\n");
});
