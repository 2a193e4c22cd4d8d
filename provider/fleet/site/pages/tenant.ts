import { htmlVerdict, type PageMood } from "../../../render/html-page";
import { Html, html, htmlWords } from "../../../render/html-text";
import { counted, given, minute, say, sentence, type Words } from "../../../render/words";
import type { StackOutcome } from "../../../rollout/history/recent-rollouts";
import { TENANT_STATES } from "../../../rollout/report/state-words";
import { plannedText } from "../../../rollout/report/told-rollout";
import { excerpt } from "../../../settings/text";
import type { FleetEnd, FleetFinding, FleetStanding, FleetStatus, TenantStatus } from "../../status/status-schema";
import { toldStatus } from "../../status/told-status";
import { ENTRY_FACTS, ENTRY_FIELDS, type TenantEntries } from "../data/entry-store";
import type { MailSeen } from "../data/mail-seen";
import { type SiteRun, sinceWhen } from "../data/runs";
import { rolloutPage, tenantPage } from "./paths";
import { scriptJson } from "./script-json";
import { listChoices, NO_SCRIPT, ownSectionHtml, type Shell, STANDING_NAMES, shellPage } from "./shell";

/** The data of a tenant's page. */
export interface TenantPage {
  readonly tenant: TenantStatus;
  readonly entries: TenantEntries;
  /** The facts about its files. */
  readonly ends: readonly FleetEnd[];
  readonly reviews: readonly FleetFinding[];
  readonly findings: readonly FleetFinding[];
  /** The outcomes of its rollouts, newest first. */
  readonly history: readonly StackOutcome[];
  readonly runs: readonly SiteRun[];
  /** The data files with its entries, relative to the site. */
  readonly data: readonly string[];
}

/** The maximum number of a tenant's rollouts to show. */
const MAX_ROLLOUTS = 30;

/** Renders a tenant: its status, its differences, all of its entries, and its rollouts. */
export function tenantHtml(layout: Shell, page: TenantPage): string {
  const { tenant, entries, ends, reviews, findings, history, data } = page;
  // The headline already shows the error.
  const { error: _told, ...shown } = tenant;
  const tenantStatus: FleetStatus = { ...layout.status, tenants: [shown], ends, reviews, findings };
  const isRead = tenant.error === undefined;
  const scriptData = {
    fields: ENTRY_FIELDS,
    facts: ENTRY_FACTS,
    isRead,
    ranges: entries.ranges,
    unlike: entries.unlike,
    ...(entries.mail && { mail: entries.mail.seen }),
  };
  return shellPage(layout, {
    title: tenant.name,
    path: tenantPage(tenant.name),
    data,
    main: html`<p class="eyebrow">Tenant</p>
<h1><bdi>${excerpt(tenant.name)}</bdi> <span class="host">at <bdi>${excerpt(tenant.host, 200)}</bdi></span></h1>
${htmlVerdict(SEVERITIES[tenant.standing], sentenceCase(STANDING_NAMES[tenant.standing]), formatTenantHeadline(page))}
<div class="card"><dl>${buildTenantFacts(tenant).map(([label, text]) => html`<dt>${label}</dt><dd>${htmlWords(text)}</dd>`)}</dl></div>
${toldStatus(tenantStatus).sections.map(ownSectionHtml)}
<section><h2 id="lists">Lists</h2>
<form role="search"><label class="source" for="entry-filter">Value, comment, ticket, owner or file</label>
<input type="search" id="entry-filter" autocomplete="off" spellcheck="false" autocapitalize="off">
<div class="filters">${listChoices({ id: "list-odd", value: "odd", label: "Not as declared" })}</div>
<p class="status" id="entry-status" role="status"></p></form>${NO_SCRIPT}${renderMailNote(entries.mail)}
<div class="table" tabindex="0" role="region" aria-labelledby="lists"><table class="rows entries"><thead><tr>${[
      "List",
      "Value",
      "At the tenant",
      ...(entries.mail === undefined ? [] : ["Its mail"]),
      "Why",
      "Ends",
      "Declared at",
    ].map((name) => html`<th scope="col">${name}</th>`)}</tr></thead><tbody id="entries"></tbody></table></div>
<button type="button" id="more" hidden>Show more</button></section>
${renderRolloutHistory(history)}
<script type="application/json" id="own">${new Html(scriptJson(scriptData))}</script>`,
  });
}

const SEVERITIES: Readonly<Record<FleetStanding, PageMood>> = {
  "key-wrong": "danger",
  unreachable: "danger",
  unusable: "danger",
  drifted: "warning",
  "not-known": "warning",
  "never-rolled-out": "running",
  behind: "running",
  "in-step": "none",
};

function formatTenantHeadline({ tenant, runs }: TenantPage): Words {
  const { standing, error, drift, behind, unattributed = [], unchanged = 0 } = tenant;
  const firstRun = sinceWhen(tenant.name, runs);
  const sinceText: Words =
    firstRun === undefined || firstRun === runs.at(-1)
      ? []
      : say` So since ${minute(firstRun.at)}, as far as it was read.`;
  if (error !== undefined) return [sentence(error.message), ...sinceText];
  const parts = [
    ...(drift.length > 0 ? [`${counted(drift.length, "entry", "entries")} changed past its files`] : []),
    ...(behind.length > 0 ? [`${counted(behind.length, "entry", "entries")} that no rollout has brought`] : []),
    ...(unattributed.length > 0
      ? [
          `${counted(unattributed.length, "entry", "entries")} not as declared, ${standing === "not-known" ? "and it is not known here since when" : "before any rollout"}`,
        ]
      : []),
    `${counted(unchanged, "entry", "entries")} as declared`,
  ];
  return standing === "in-step"
    ? say`It holds all ${counted(unchanged, "entry", "entries")} as its files declare them.`
    : [`${parts.join(", ")}.`, ...sinceText];
}

function buildTenantFacts({
  settings,
  stack,
  labels,
  holds,
  readAt,
  lastRollout,
  notReachedBy,
}: TenantStatus): [label: string, words: Words][] {
  const formatValue = (text: string): Words => [given(excerpt(text, 300))];
  const labelTexts = Object.entries(labels).map(([key, value]) => `${key}=${value}`);
  return [
    ["Settings", formatValue(settings)],
    ["Stack", formatValue(stack)],
    ...(labelTexts.length === 0 ? [] : [["Labels", formatValue(labelTexts.join(" "))] as [string, Words]]),
    ...(holds === undefined
      ? []
      : [
          ["Holds", say`${holds.allow} allowed, ${holds.deny} denied, ${counted(holds.vips, "VIP")}`] as [
            string,
            Words,
          ],
        ]),
    ...(readAt === undefined ? [] : [["Read", minute(readAt)] as [string, Words]]),
    [
      "Last rollout",
      lastRollout === undefined
        ? ["none that the journal knows"]
        : say`${given(excerpt(lastRollout.id))}, in the wave ${given(excerpt(lastRollout.wave))}, ${minute(lastRollout.at)}`,
    ],
    ...(notReachedBy === undefined
      ? []
      : [
          [
            "Not reached by",
            say`${given(excerpt(notReachedBy.id))} (${notReachedBy.rolloutState}), ${notReachedBy.state} in the wave ${given(excerpt(notReachedBy.wave))}`,
          ] as [string, Words],
        ]),
  ];
}

/** Describes the mail that the mail column is based on. */
function renderMailNote(mail: MailSeen | undefined): Html | undefined {
  if (mail === undefined) return undefined;
  const { days, threats, reports, missing } = mail;
  const summary = `Its mail: ${counted(threats, "threat")} and ${counted(reports, "report")} of users, of the last ${counted(days, "day")}. Of IP addresses it says nothing.`;
  return html`<p class="source">${[summary, ...missing].join(" ")}</p>`;
}

function renderRolloutHistory(history: readonly StackOutcome[]): Html | undefined {
  if (history.length === 0) return undefined;
  const olderCount = history.length - MAX_ROLLOUTS;
  const rows = history.slice(0, MAX_ROLLOUTS).map(({ rollout, wave, state, at, planned, code }) => {
    const plannedChanges = plannedText({ planned });
    return html`<tr><td data-label="Rollout"><a href="../${rolloutPage(rollout)}"><bdi>${excerpt(rollout)}</bdi></a></td><td data-label="When">${htmlWords(minute(at))}</td><td data-label="Wave"><bdi>${excerpt(wave)}</bdi></td><td data-label="Changes">${plannedChanges === "" ? "none" : plannedChanges}</td><td data-label="Became"><span><span class="state is-${state}">${TENANT_STATES[state].word}</span>${code === undefined ? "" : html` <code>${excerpt(code)}</code>`}</span></td></tr>
`;
  });
  return html`<section><h2 id="history">Rollouts</h2><div class="table" tabindex="0" role="region" aria-labelledby="history"><table><thead><tr>${[
    "Rollout",
    "When",
    "Wave",
    "Changes",
    "Became",
  ].map(
    (name) => html`<th scope="col">${name}</th>`,
  )}</tr></thead><tbody>${rows}</tbody></table></div>${olderCount > 0 ? html`<p class="source">and ${olderCount} before</p>` : ""}</section>`;
}

function sentenceCase(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}
