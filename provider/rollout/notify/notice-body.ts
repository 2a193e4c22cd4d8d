import type { NoticeKind, ReceiverName } from "../model/notification-settings";
import type { Notice } from "./notice";

export function buildNoticeBody(receiver: ReceiverName, notice: Notice): string {
  return JSON.stringify(BODY_BUILDERS[receiver](notice));
}

const BODY_BUILDERS: Readonly<Record<ReceiverName, (notice: Notice) => unknown>> = {
  webhook: (notice) => notice,
  slack: (notice) => ({
    text: [
      `*${escapeSlack(formatNoticeTitle(notice))}*`,
      ...buildNoticeLines(notice).map(({ text, command }) => escapeSlack(text) + formatSlackCode(command)),
    ].join("\n"),
    // Prevents Slack from expanding links and from notifying people by name.
    unfurl_links: false,
    unfurl_media: false,
    link_names: false,
  }),
  teams: (notice) => ({
    type: "message",
    attachments: [
      {
        contentType: "application/vnd.microsoft.card.adaptive",
        content: {
          $schema: "http://adaptivecards.io/schemas/adaptive-card.json",
          type: "AdaptiveCard",
          version: "1.4",
          body: [
            buildTeamsBlock(formatNoticeTitle(notice), { weight: "Bolder", size: "Medium" }),
            ...buildNoticeLines(notice).flatMap(({ text, command }) => [
              buildTeamsBlock(text),
              ...(command === undefined ? [] : [buildTeamsBlock(command, { fontType: "Monospace" })]),
            ]),
          ],
        },
      },
    ],
  }),
  mail: (notice) => ({
    subject: formatNoticeTitle(notice),
    text: `${buildNoticeLines(notice)
      .map(({ text, command }) => (command === undefined ? text : `${text}\n    ${command}`))
      .join("\n")}\n`,
  }),
};

const TITLES: Readonly<Record<NoticeKind, string>> = {
  waiting: "waits for approval",
  stopped: "stopped",
  unhealthy: "stopped: a wave is unhealthy",
  done: "is finished",
  drift: "tenants drifted",
  expiring: "entries expire soon",
};

/** `tenants.yaml: rollout 20261121-0800-7f3a91 waits for approval`. */
function formatNoticeTitle({ kind, source, rollout }: Notice): string {
  return `${source}: ${rollout === undefined ? "" : `rollout ${rollout.id} `}${TITLES[kind]}`;
}

interface NoticeLine {
  readonly text: string;
  readonly command?: string;
}

function buildNoticeLines({ summary, tenants, changes = [], advice }: Notice): readonly NoticeLine[] {
  return [
    { text: summary },
    ...(tenants.length === 0 ? [] : [{ text: `Tenants: ${tenants.join(", ")}` }]),
    ...changes.map(({ tenant, operation, list, value }) => ({
      text: `${{ add: "+", change: "~", remove: "-" }[operation]} ${list ?? "VIP"} ${value} (${tenant})`,
    })),
    ...advice.map(({ reason, command }) => (command === undefined ? { text: reason } : { text: reason, command })),
  ];
}

/** Escapes text so that Slack renders no links, mentions or headings. */
function escapeSlack(text: string): string {
  return text
    .replaceAll("&", "&amp;")
    .replaceAll("<", "&lt;")
    .replaceAll(">", "&gt;")
    .replace(/[*_~`]/g, "\u200b$&");
}

function formatSlackCode(command: string | undefined): string {
  if (command === undefined) return "";
  const escaped = command.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  return ` \`${escaped.replaceAll("`", "'")}\``;
}

/** Builds a text block that Teams doesn't render as Markdown. */
function buildTeamsBlock(text: string, style: Readonly<Record<string, string>> = {}): unknown {
  return { type: "TextBlock", text: text.replace(/[\\*_[\]()#>`~!<|-]/g, "\\$&"), wrap: true, ...style };
}
