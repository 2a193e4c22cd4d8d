import { formatDangerCounts } from "../../model/danger";
import { excerpt } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { NoticeKind, NotificationSettings } from "../model/notification-settings";
import type { RolloutEvent } from "../model/rollout-event";
import type { RolloutReport } from "../model/rollout-report";
import { getReportedTransition, rankTenantChange } from "../report/change-danger";
import { countOmittedChanges } from "../report/rollout-report-view";
import { NOTICE_FORMAT, type Notice } from "./notice";
import { Notifier } from "./notifier";
import { findUnsetAddressVariables, getReceivers } from "./receivers";

/** Sends notices about the progress of a rollout. Failures here never fail the rollout. */
export class RolloutNotifier {
  readonly #notifier: Notifier;
  readonly #readReport: () => Promise<RolloutReport>;
  readonly #unsetVariables: readonly string[];
  /** The wave whose check failed, until the rollout stops because of it. */
  #unhealthyWave: string | undefined;

  /**
   * @param readReport returns the rollout's present report. Called only if a notice is sent.
   * @throws {ConfigurationError} for an invalid address.
   */
  constructor(
    notify: NotificationSettings | undefined,
    environment: Readonly<Record<string, string | undefined>>,
    readReport: () => Promise<RolloutReport>,
  ) {
    this.#notifier = new Notifier(getReceivers(notify, environment));
    this.#unsetVariables = findUnsetAddressVariables(notify, environment);
    this.#readReport = readReport;
  }

  /** Handles an event. Call it in the order of events. */
  handleEvent(event: RolloutEvent): void {
    if (event.kind === "wave-health") this.#unhealthyWave = event.isHealthy ? undefined : event.wave;
    const trigger = getNoticeTrigger(event, this.#unhealthyWave);
    if (trigger === undefined) return;
    this.#notifier.notify(trigger.kind, `${event.rollout}-${event.seq}`, async () =>
      buildNotice(trigger, event, await this.#readReport()),
    );
  }

  /**
   * Waits until all notices are sent: at most 30 seconds, or 5 if the user wants to end at once.
   *
   * @returns a sentence for each notice that could not be delivered.
   */
  async flush(aborted: AbortSignal): Promise<readonly string[]> {
    const problem = await this.#notifier.flush(aborted.aborted ? 5_000 : 30_000);
    return [
      ...(problem === undefined ? [] : [problem]),
      ...this.#unsetVariables.map(
        (variable) => `\`notify\` specifies a receiver, but ${variable} is not set: no notice was sent to it.`,
      ),
    ];
  }
}

interface NoticeTrigger {
  readonly kind: NoticeKind;
  readonly reason: string;
  readonly wave?: string;
}

function getNoticeTrigger(event: RolloutEvent, unhealthyWave: string | undefined): NoticeTrigger | undefined {
  switch (event.kind) {
    case "waiting":
      return { kind: "waiting", reason: event.reason, wave: event.wave };
    case "stopped":
      return unhealthyWave === undefined
        ? { kind: "stopped", reason: event.reason }
        : { kind: "unhealthy", reason: event.reason, wave: unhealthyWave };
    case "interrupted":
      return { kind: event.until === undefined ? "stopped" : "waiting", reason: event.reason };
    case "finished": {
      const { done, unchanged, failed, skipped = 0 } = event;
      // A nightly run without changes or failures notifies no one.
      if (done + failed === 0) return undefined;
      const reason = `${formatCount(done, "tenant")} changed, ${unchanged} needed no change, ${failed} failed${skipped === 0 ? "" : `, ${skipped} skipped`}.`;
      return { kind: "done", reason };
    }
    default:
      return undefined;
  }
}

const MAX_ITEMS = 20;

function buildNotice({ kind, reason, wave }: NoticeTrigger, event: RolloutEvent, report: RolloutReport): Notice {
  const { counts, tenants, source, id, digest, advice } = report;
  const failed = tenants.filter(({ state }) => state === "failed");
  const changed = tenants.filter(({ state }) => state === "done" || state === "failed");
  const changes = changed
    .flatMap(({ name, changes: tenantChanges }) =>
      tenantChanges.map((change) => ({ name, change, rank: rankTenantChange(change) })),
    )
    .sort((a, b) => a.rank - b.rank);
  const dangers = formatDangerCounts(changes.map(({ change }) => getReportedTransition(change)));
  // For a tenant with many changes, the report contains only the most dangerous ones.
  const isTruncated = changed.some((tenant) => countOmittedChanges(tenant) > 0);
  const summary =
    dangers === undefined ? reason : `${reason} Among the changes: ${isTruncated ? "at least " : ""}${dangers}.`;
  return {
    format: NOTICE_FORMAT,
    kind,
    occurredAt: event.occurredAt,
    summary: excerpt(summary, 1_000),
    source: excerpt(source, 300),
    rollout: {
      id: excerpt(id),
      digest: excerpt(digest),
      ...(wave === undefined ? {} : { wave: excerpt(wave) }),
      done: counts.done,
      failed: counts.failed,
      remaining: counts.pending + counts.queued + counts.running,
    },
    tenants: failed.slice(0, MAX_ITEMS).map(({ name }) => excerpt(name)),
    advice: advice.map(({ reason: adviceReason, command }) => ({
      reason: excerpt(adviceReason, 300),
      ...(command === undefined ? {} : { command: excerpt(command, 500) }),
    })),
    changes: changes.slice(0, MAX_ITEMS).map(({ name, change: { operation, list, value } }) => ({
      tenant: excerpt(name),
      operation,
      ...(list === undefined ? {} : { list }),
      value: excerpt(value, 320),
    })),
  };
}
