import { BASE_STYLE } from "./html-style";
import { Html, html, renderHtmlText } from "./html-text";
import type { SafeText } from "./safe-text";

/**
 * Renders a self-contained HTML page without scripts or requests, for any screen width, light and dark mode, and print.
 *
 * @param style styles in addition to the shared style sheet.
 */
export function renderHtmlPage({
  title,
  style,
  body,
}: {
  readonly title: string;
  readonly style: string;
  readonly body: Html;
}): string {
  return renderDocument({
    title,
    policy: "default-src 'none'; style-src 'unsafe-inline'",
    head: html`<style>${new Html(BASE_STYLE)}${new Html(style)}</style>`,
    body: html`<body>
${body}
</body>`,
  });
}

/**
 * Renders a page of a site with its own style sheet and scripts, without external requests. Also works from a file.
 *
 * @param style the address of the style sheet, relative to the page.
 * @param scripts the addresses of the scripts, relative to the page.
 * @param fleet the address of the data that scripts load on demand.
 */
export function renderSitePage({
  title,
  style,
  scripts,
  fleet,
  body,
}: {
  readonly title: string;
  readonly style: string;
  readonly scripts: readonly string[];
  readonly fleet: string;
  readonly body: Html;
}): string {
  return renderDocument({
    title,
    policy:
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'",
    head: html`<meta name="robots" content="noindex, nofollow">
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${style}">
${scripts.map((script) => html`<script defer src="${script}"></script>\n`)}`,
    body: html`<body data-fleet="${fleet}">
${body}
</body>`,
  });
}

function renderDocument({
  title,
  policy,
  head,
  body,
}: {
  readonly title: string;
  readonly policy: string;
  readonly head: Html;
  readonly body: Html;
}): string {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${new Html(policy)}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="format-detection" content="telephone=no, email=no, address=no, date=no">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
${head}
</head>
${body}
</html>
`;
  return page.toString();
}

export type PageStatus = "refused" | "danger" | "accepted" | "warning" | "none" | "empty" | "running";

/** Renders the summary at the top: one or two words, and a sentence. */
export function renderStatusBanner(status: PageStatus, label: string, headline: SafeText): Html {
  return html`<div class="verdict is-${status}">${ICONS[status]}<div><strong>${label}</strong><p>${renderHtmlText(headline)}</p></div></div>`;
}

const createIcon = (path: string) =>
  new Html(
    `<svg viewBox="0 0 24 24" fill="none" stroke="currentColor" stroke-width="2" stroke-linecap="round" stroke-linejoin="round" aria-hidden="true">${path}</svg>`,
  );

const STOP_ICON = createIcon(
  '<path d="M8 2.5h8l5.5 5.5v8L16 21.500H8L2.500 16V8z"/><path d="M12 7.500v5.500M12 16.500v.01"/>',
);
const CHECK_ICON = createIcon('<circle cx="12" cy="12" r="9.5"/><path d="m7.500 12.500 3 3 6-6.500"/>');

const WARNING_ICON = createIcon('<path d="M12 3 2.500 20h19z"/><path d="M12 10v4.500M12 17v.01"/>');

const ICONS: Readonly<Record<PageStatus, Html>> = {
  refused: STOP_ICON,
  danger: STOP_ICON,
  accepted: WARNING_ICON,
  warning: WARNING_ICON,
  none: CHECK_ICON,
  empty: CHECK_ICON,
  running: createIcon('<circle cx="12" cy="12" r="9.5"/><path d="M12 6.500V12l3.500 2"/>'),
};
