import { counted } from "../../render/words";
import type { Notify } from "../../rollout/model/notify";
import { NOTICE_FORMAT, type Notice } from "../../rollout/notify/notice";
import { Notifier } from "../../rollout/notify/notifier";
import { ADDRESSES, receiversOf, unaddressed } from "../../rollout/notify/receivers";
import { countDangers } from "../../settings/danger";
import { shellWord } from "../../settings/shell-word";
import { excerpt } from "../../settings/text";
import { differenceTransition, groupedDifferences, sortByWorstDrift } from "../status/grouped-differences";
import type { FleetDifference, FleetStatus } from "../status/status-schema";
import { type News, newsOf, noticeableOf } from "./news";
import { readTold, type Told, writeTold } from "./told-file";

/** The result of sending notices. */
export interface TellingOutcome {
  /** Why a receiver did not get a notice, as a sentence. */
  readonly problem?: string;
  /** Receivers that got nothing because their address isn't set, one sentence each. */
  readonly notes: readonly string[];
}

/** Notifies receivers about drifted tenants and entries that expire soon. Sends only what is new since the last notice. */
export class FleetNotices {
  readonly #notifier: Notifier;
  readonly #file: string;
  readonly #before: Told;
  readonly #unaddressed: readonly string[];
  readonly #isAnybody: boolean;

  /**
   * @param notify the `notify` section of the targets file.
   * @param file stores what the receivers were notified about.
   * @throws {ConfigurationError} if the address of a receiver isn't valid, or the file holds something else. No tenant has been read then.
   */
  constructor(
    notify: Notify | undefined,
    environment: Readonly<Record<string, string | undefined>>,
    file: string,
  ) {
    const receivers = receiversOf(notify, environment);
    this.#notifier = new Notifier(receivers);
    this.#isAnybody = receivers.length > 0;
    this.#unaddressed = unaddressed(notify, environment);
    this.#file = file;
    this.#before = readTold(file);
  }

  /**
   * Sends the notices, and stores their contents once all receivers have accepted them. Otherwise the next run sends them again.
   *
   * @param waitMs the maximum time to wait for receivers, in milliseconds. Default: half a minute.
   * @throws {ConfigurationError} if the contents can't be stored.
   */
  async tell(status: FleetStatus, waitMs?: number): Promise<TellingOutcome> {
    if (!this.#isAnybody) {
      const variables = Object.values(ADDRESSES).join(", ");
      return { notes: [`--notify tells nobody, since none of ${variables} is set: nothing was sent.`] };
    }
    const news = newsOf(status, this.#before);
    const { drifted, ends, ids, now } = news;
    if (drifted.length > 0) this.#notifier.tell("drift", ids.drift, async () => driftNotice(status, news));
    if (ends.length > 0) this.#notifier.tell("expiring", ids.ends, async () => endsNotice(status, news));
    const problem = (await this.#notifier.end(waitMs)) ?? this.#keep(now);
    return {
      ...(problem === undefined ? {} : { problem: `${problem} It will be told again the next time.` }),
      notes: this.#unaddressed.map(
        (variable) =>
          `\`notify\` names somebody to tell, and ${variable} is not set: nothing was sent there.`,
      ),
    };
  }

  /** @returns why the contents could not be stored, as a sentence. */
  #keep(now: Told): string | undefined {
    try {
      writeTold(this.#file, {
        ...now,
        // A kind of notice without receivers counts as not sent, so it is new for a receiver that is added later.
        ...(this.#notifier.isWanted("drift") ? {} : { drift: this.#before.drift }),
        ...(this.#notifier.isWanted("expiring") ? {} : { ends: this.#before.ends }),
      });
      return undefined;
    } catch (error) {
      return (error as Error).message;
    }
  }
}

/** The maximum number of names and changes in a notice. */
const SHOWN = 20;

function driftNotice(status: FleetStatus, { drifted }: News): Notice {
  const { tenants } = status;
  const all = tenants.filter((tenant) => noticeableOf(tenant).length > 0).length;
  const unknown = drifted.filter(({ standing }) => standing === "not-known").length;
  const unread = tenants.filter(({ error }) => error !== undefined).length;
  const differences = drifted.flatMap(({ drift }) => drift);
  const risky = differences.filter(({ risks }) => risks !== undefined).length;
  const dangers = countDangers(differences.map((one) => differenceTransition(one, "drift")));
  const summary = [
    `New drift in ${counted(drifted.length, "tenant")}: ${counted(differences.length, "difference")}${risky === 0 ? "" : `, ${risky} of them risky`}.`,
    ...(dangers === undefined ? [] : [`Among the differences: ${dangers}.`]),
    `Drifted in all: ${all} of ${counted(tenants.length, "tenant")}.`,
    ...(unread === 0 ? [] : [`${unread} could not be read.`]),
    ...(unknown === 0
      ? []
      : [
          `Of ${unknown} of them nothing here tells what a rollout left: only what no file declares so is counted.`,
        ]),
  ];
  return {
    ...about("drift", status, summary),
    tenants: sortByWorstDrift(drifted)
      .slice(0, SHOWN)
      .map(({ name }) => excerpt(name)),
    next: [
      {
        why: "See what it is, since when and by whom, as far as the service tells:",
        command: statusCommand(status),
      },
    ],
    changes: groupedDifferences({ tenants: drifted }, "drift")
      .slice(0, SHOWN)
      .flatMap(({ difference, members: [first] }) =>
        first === undefined ? [] : [changeOf(first.tenant.name, SIGNS[difference.what], difference)],
      ),
  };
}

function endsNotice(status: FleetStatus, { ends }: News): Notice {
  const names = new Set(ends.flatMap(({ tenants }) => tenants));
  // The entries are sorted by expiry.
  const first = ends[0]?.expires ?? status.until;
  return {
    ...about("expiring", status, [
      `${counted(ends.length, "entry", "entries")} of ${counted(names.size, "tenant")} ${ends.length === 1 ? "ends" : "end"} until ${status.until}, the first on ${first}.`,
    ]),
    tenants: [...names].slice(0, SHOWN).map((name) => excerpt(name)),
    next: [
      {
        why: "Who needs one for longer gives it a later end in its file; see which they are:",
        command: statusCommand(status),
      },
    ],
    changes: ends
      .slice(0, SHOWN)
      .flatMap(({ tenants: [name], ...end }) => (name === undefined ? [] : [changeOf(name, "remove", end)])),
  };
}

type Change = NonNullable<Notice["changes"]>[number];

/** What somebody did at the tenant. */
const SIGNS: Readonly<Record<FleetDifference["what"], Change["sign"]>> = {
  added: "add",
  changed: "change",
  missing: "remove",
  leaving: "change",
};

/** Names only the first tenant, because a change that several tenants share appears once. */
function changeOf(
  tenant: string,
  sign: Change["sign"],
  { list, value, there }: Pick<FleetDifference, "list" | "value" | "there">,
): Change {
  const shown = list === "vip" ? undefined : excerpt(there?.list ?? list);
  return {
    tenant: excerpt(tenant),
    sign,
    ...(shown === undefined ? {} : { list: shown }),
    value: excerpt(value, 320),
  };
}

function about(kind: "drift" | "expiring", { at, file }: FleetStatus, summary: readonly string[]) {
  return {
    format: NOTICE_FORMAT,
    kind,
    at,
    summary: excerpt(summary.join(" "), 1_000),
    source: excerpt(file, 300),
  } as const;
}

function statusCommand({ file }: FleetStatus): string {
  return excerpt(`email-security fleet status --targets ${shellWord(file)}`, 500);
}
