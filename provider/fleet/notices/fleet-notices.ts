import { formatDangerCounts } from "../../model/danger";
import { omitUndefined } from "../../model/omit-undefined";
import { quoteShellWord } from "../../model/shell-word";
import { excerpt } from "../../model/text";
import { formatCount } from "../../render/safe-text";
import type { NotificationSettings } from "../../rollout/model/notification-settings";
import { NOTICE_FORMAT, type Notice } from "../../rollout/notify/notice";
import { Notifier } from "../../rollout/notify/notifier";
import { findUnsetAddressVariables, getReceivers, RECEIVER_ADDRESS_VARIABLES } from "../../rollout/notify/receivers";
import { getDifferenceTransition, groupDifferences, sortByWorstDrift } from "../status/difference-groups";
import type { FleetDifference, FleetStatus } from "../status/status-schema";
import { readSentNotices, type SentNotices, writeSentNotices } from "./sent-notices";
import { findUnsentChanges, selectReportableDrift, type UnsentChanges } from "./unsent-changes";

export interface NoticeResult {
  /** The reason why a receiver did not get a notice, as a sentence. */
  readonly problem?: string;
  /** Receivers that got nothing because their address isn't set, one sentence each. */
  readonly notes: readonly string[];
}

/** Notifies receivers about drifted tenants and entries that expire soon. Sends only what is new since the last notice. */
export class FleetNotices {
  readonly #notifier: Notifier;
  readonly #file: string;
  readonly #sentNotices: SentNotices;
  readonly #missingAddresses: readonly string[];
  readonly #hasReceivers: boolean;

  /**
   * @param file stores what the receivers were notified about.
   * @throws {ConfigurationError} if the address of a receiver isn't valid, or the file holds something else. No tenant has been read then.
   */
  constructor(
    notify: NotificationSettings | undefined,
    environment: Readonly<Record<string, string | undefined>>,
    file: string,
  ) {
    const receivers = getReceivers(notify, environment);
    this.#notifier = new Notifier(receivers);
    this.#hasReceivers = receivers.length > 0;
    this.#missingAddresses = findUnsetAddressVariables(notify, environment);
    this.#file = file;
    this.#sentNotices = readSentNotices(file);
  }

  /**
   * Sends the notices, and stores their contents once all receivers have accepted them. If one hasn't, the next run
   * sends them again.
   *
   * @param unselectedStacks the stacks of the targets file's tenants that the status leaves out. Default: none.
   * @param waitMs the maximum time to wait for receivers, in milliseconds. Default: half a minute.
   * @throws {ConfigurationError} if the contents can't be stored.
   */
  async send(status: FleetStatus, unselectedStacks?: ReadonlySet<string>, waitMs?: number): Promise<NoticeResult> {
    if (!this.#hasReceivers) {
      const variables = Object.values(RECEIVER_ADDRESS_VARIABLES).join(", ");
      return { notes: [`--notify has no receiver, because none of ${variables} is set. No notice was sent.`] };
    }
    const changes = findUnsentChanges(status, this.#sentNotices, unselectedStacks);
    const { drifted, expiring, ids, currentState } = changes;
    if (drifted.length > 0) this.#notifier.notify("drift", ids.drift, async () => buildDriftNotice(status, changes));
    if (expiring.length > 0)
      this.#notifier.notify("expiring", ids.expiring, async () => buildExpiryNotice(status, changes));
    const problem = (await this.#notifier.flush(waitMs)) ?? this.#store(currentState);
    return {
      ...(problem === undefined ? {} : { problem: `${problem} The next run sends it again.` }),
      notes: this.#missingAddresses.map(
        (variable) => `\`notify\` specifies a receiver, but ${variable} is not set: no notice was sent to it.`,
      ),
    };
  }

  /** @returns the reason why the contents could not be stored, as a sentence. */
  #store({ format, ...state }: SentNotices): string | undefined {
    // A kind of notice without receivers counts as not sent, so it is new for a receiver that is added later.
    const { drift, acceptedSeqs } = this.#notifier.isWanted("drift") ? state : this.#sentNotices;
    const { expiring } = this.#notifier.isWanted("expiring") ? state : this.#sentNotices;
    try {
      writeSentNotices(this.#file, { format, drift, ...omitUndefined({ acceptedSeqs }), expiring });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

const MAX_ITEMS = 20;

function buildDriftNotice(status: FleetStatus, { drifted }: UnsentChanges): Notice {
  const { tenants } = status;
  const driftedCount = tenants.filter((tenant) => selectReportableDrift(tenant).length > 0).length;
  const unknownCount = drifted.filter(({ syncStatus }) => syncStatus === "unknown").length;
  const unreadCount = tenants.filter(({ error }) => error !== undefined).length;
  const differences = drifted.flatMap(({ drift }) => drift);
  const riskyCount = differences.filter(({ risks }) => risks !== undefined).length;
  const dangers = formatDangerCounts(differences.map((difference) => getDifferenceTransition(difference, "drift")));
  const summary = [
    `New drift in ${formatCount(drifted.length, "tenant")}: ${formatCount(differences.length, "difference")}${riskyCount === 0 ? "" : `, ${riskyCount} of them risky`}.`,
    ...(dangers === undefined ? [] : [`Among the differences: ${dangers}.`]),
    `Drifted in total: ${driftedCount} of ${formatCount(tenants.length, "tenant")}.`,
    ...(unreadCount === 0 ? [] : [`${unreadCount} could not be read.`]),
    ...(unknownCount === 0
      ? []
      : [`For ${unknownCount} of them, the last rollout is unknown: only differences from the files are counted.`]),
  ];
  return {
    ...buildNoticeHeader("drift", status, summary),
    tenants: sortByWorstDrift(drifted)
      .slice(0, MAX_ITEMS)
      .map(({ name }) => excerpt(name)),
    advice: [
      {
        reason: "To see each difference, with its time and author if the service reports them:",
        command: formatStatusCommand(status),
      },
    ],
    changes: groupDifferences({ tenants: drifted }, "drift")
      .slice(0, MAX_ITEMS)
      .flatMap(({ difference, members: [first] }) =>
        first === undefined
          ? []
          : [buildNoticeChange(first.tenant.name, NOTICE_OPERATIONS[difference.driftKind], difference)],
      ),
  };
}

function buildExpiryNotice(status: FleetStatus, { expiring }: UnsentChanges): Notice {
  const names = new Set(expiring.flatMap(({ tenants }) => tenants));
  // The entries are sorted by expiry.
  const firstDate = expiring[0]?.expires ?? status.expiringUntil;
  return {
    ...buildNoticeHeader("expiring", status, [
      `${formatCount(expiring.length, "entry", "entries")} of ${formatCount(names.size, "tenant")} ${expiring.length === 1 ? "expires" : "expire"} by ${status.expiringUntil}, the first on ${firstDate}.`,
    ]),
    tenants: [...names].slice(0, MAX_ITEMS).map((name) => excerpt(name)),
    advice: [
      {
        reason: "To keep an entry longer, set a later expiry in its file. To list them:",
        command: formatStatusCommand(status),
      },
    ],
    changes: expiring
      .slice(0, MAX_ITEMS)
      .flatMap(({ tenants: [name], ...end }) => (name === undefined ? [] : [buildNoticeChange(name, "remove", end)])),
  };
}

type NoticeChange = NonNullable<Notice["changes"]>[number];

const NOTICE_OPERATIONS: Readonly<Record<FleetDifference["driftKind"], NoticeChange["operation"]>> = {
  added: "add",
  changed: "change",
  missing: "remove",
  "pending-removal": "change",
};

/** Names only the first tenant, because a change that several tenants share appears once. */
function buildNoticeChange(
  tenant: string,
  operation: NoticeChange["operation"],
  { list, value, actual }: Pick<FleetDifference, "list" | "value" | "actual">,
): NoticeChange {
  const listText = list === "vip" ? undefined : excerpt(actual?.list ?? list);
  return {
    tenant: excerpt(tenant),
    operation,
    ...(listText === undefined ? {} : { list: listText }),
    value: excerpt(value, 320),
  };
}

function buildNoticeHeader(kind: "drift" | "expiring", { readAt, file }: FleetStatus, summary: readonly string[]) {
  return {
    format: NOTICE_FORMAT,
    kind,
    occurredAt: readAt,
    summary: excerpt(summary.join(" "), 1_000),
    source: excerpt(file, 300),
  } as const;
}

function formatStatusCommand({ file }: FleetStatus): string {
  return excerpt(`email-security fleet status --targets ${quoteShellWord(file)}`, 500);
}
