/** The shared styles of all pages: light and dark mode, from phones to print. */
export const BASE_STYLE = `
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --sunk: #eef0f4; --line: #d9dde5; --ink: #171b24; --soft: #545d6e; --focus: #1f5fd6;
  --red: #b3161d; --red-card: #fdecec; --red-line: #efb4b6;
  --amber: #845000; --amber-card: #fdf3dc; --amber-line: #e6c98a;
  --green: #12693a; --green-card: #e3f5ea; --green-line: #a9d8bb;
  --blue: #1d4fa3; --blue-card: #e6eefb; --blue-line: #b3c8ee;
  --bar-malicious: #cf2a31; --bar-spam: #d98a00; --bar-graymail: #7d8aa3; --bar-safe: #2f9e62; --bar-other: #a3a9b5;
  --mono: ui-monospace, "SF Mono", "Cascadia Code", Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #10131a; --card: #191e28; --sunk: #222835; --line: #333b4b; --ink: #e9ecf3; --soft: #a5aec0; --focus: #82b1ff;
    --red: #ff9a9c; --red-card: #35171b; --red-line: #7a3238;
    --amber: #f3c267; --amber-card: #322710; --amber-line: #6d5722;
    --green: #7fdaa5; --green-card: #12301f; --green-line: #2b6344;
    --blue: #9cc1ff; --blue-card: #18294a; --blue-line: #2f4d83;
    --bar-malicious: #f0565c; --bar-spam: #e8a93a; --bar-graymail: #8e9bb5; --bar-safe: #4cc285; --bar-other: #6d7687;
  }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 1rem/1.55 system-ui, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; overflow-wrap: anywhere; }
main, header, footer { max-width: 68rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 2.25rem; }
.eyebrow { margin: 0; color: var(--soft); font-size: .8125rem; letter-spacing: .06em; text-transform: uppercase; font-weight: 600; }
h1 { margin: .1rem 0 .25rem; font-size: clamp(1.6rem, 5vw, 2.25rem); line-height: 1.15; letter-spacing: -.015em; }
h1 .host { color: var(--soft); font-weight: 400; }
h2 { display: flex; gap: .6rem; align-items: baseline; margin: 2.5rem 0 .75rem; font-size: 1.25rem; letter-spacing: -.01em; }
h2 .n { color: var(--soft); font-weight: 400; font-size: 1rem; }
p { margin: .4rem 0; }
.source { margin: 0; color: var(--soft); font-size: .9rem; }
.untrusted, code, pre { font-family: var(--mono); font-size: .9em; }
.verdict { display: flex; gap: 1rem; align-items: center; margin: 1.5rem 0 1rem; padding: 1.1rem 1.35rem; border-radius: .9rem; border: 1px solid; }
.verdict svg { flex: none; width: 2.4rem; height: 2.4rem; }
.verdict strong { display: block; font-size: 1.3rem; line-height: 1.2; }
.verdict p { margin: .15rem 0 0; color: var(--ink); }
.verdict.is-refused, .verdict.is-danger { background: var(--red-card); border-color: var(--red-line); color: var(--red); }
.verdict.is-warning, .verdict.is-accepted { background: var(--amber-card); border-color: var(--amber-line); color: var(--amber); }
.verdict.is-running { background: var(--blue-card); border-color: var(--blue-line); color: var(--blue); }
.verdict.is-none, .verdict.is-empty { background: var(--green-card); border-color: var(--green-line); color: var(--green); }
.tallies { display: grid; grid-template-columns: repeat(auto-fit, minmax(8.5rem, 1fr)); gap: .75rem; margin: 0; padding: 0; list-style: none; }
.tallies li { padding: .7rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; color: var(--soft); font-size: .9rem; }
.tallies b { display: block; color: var(--ink); font-size: 1.55rem; line-height: 1.2; font-variant-numeric: tabular-nums; letter-spacing: -.01em; }
.tallies .zero b { color: var(--soft); font-weight: 400; }
.s-add { --operation: var(--green); --operation-card: var(--green-card); }
.s-change { --operation: var(--amber); --operation-card: var(--amber-card); }
.s-remove { --operation: var(--red); --operation-card: var(--red-card); }
.tallies li[class^="s-"]:not(.zero) b { color: var(--operation); }
pre { margin: 0; padding: .9rem 1.1rem; background: var(--card); border: 1px solid var(--red-line); border-radius: .6rem; white-space: pre-wrap; }
.aside { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
summary { cursor: pointer; list-style: none; border-radius: .75rem; }
summary:focus-visible, a:focus-visible, .table:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
summary::-webkit-details-marker { display: none; }
summary::before { content: ""; flex: none; align-self: center; width: .45rem; height: .45rem; border: solid var(--soft); border-width: 0 2px 2px 0; transform: rotate(-45deg); transition: transform .12s; }
details[open] > summary::before { transform: rotate(45deg); }
.operation { flex: none; min-width: 6.1rem; padding: .05rem .55rem; border-radius: .4rem; background: var(--operation-card); color: var(--operation); font-size: .8125rem; font-weight: 650; }
.operation i { font: 700 1em var(--mono); margin-right: .3em; }
.body { padding: .1rem 1.25rem 1.1rem 2.15rem; }
dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .35rem 1rem; margin: .7rem 0 0; font-size: .925rem; }
dt { color: var(--soft); }
dd { margin: 0; }
.bar { display: flex; gap: 2px; height: .7rem; border-radius: 99px; overflow: hidden; background: var(--sunk); }
.bar span { min-width: 3px; background: var(--bar-other); }
.legend { display: flex; flex-wrap: wrap; gap: .1rem 1rem; margin: .35rem 0 0; padding: 0; list-style: none; font-size: .85rem; }
.legend li::before { content: ""; display: inline-block; width: .65rem; height: .65rem; margin-right: .4em; border-radius: 2px; background: var(--bar-other); }
.bar .c-red, .legend .c-red::before { background: var(--bar-malicious); }
.bar .c-amber, .legend .c-amber::before { background: var(--bar-spam); }
.bar .c-slate, .legend .c-slate::before { background: var(--bar-graymail); }
.bar .c-green, .legend .c-green::before { background: var(--bar-safe); }
.table { overflow-x: auto; margin-top: .9rem; }
table { border-collapse: collapse; width: 100%; font-size: .875rem; }
caption { padding-bottom: .35rem; text-align: left; color: var(--soft); font-weight: 600; font-size: .8125rem; }
th, td { padding: .35rem .9rem .35rem 0; min-width: 4.5rem; border-top: 1px solid var(--line); text-align: left; vertical-align: top; }
th { color: var(--soft); font-weight: 600; }
th, td:first-child, td:last-child { overflow-wrap: normal; white-space: nowrap; }
.aside { margin: .6rem 0; }
.aside summary { display: flex; gap: .7rem; align-items: baseline; padding: .7rem 1rem; font-weight: 600; }
.aside summary .n { color: var(--soft); font-weight: 400; }
.aside h2 { display: inline; margin: 0; font-size: 1rem; }
.aside .body > ul { margin: .2rem 0; padding-left: 1.1rem; font-size: .925rem; }
.aside .keys { columns: 16rem; }
footer { padding-top: 1.5rem; padding-bottom: 3rem; color: var(--soft); font-size: .875rem; }
@media (max-width: 46rem) {
  main, header, footer { padding-left: .9rem; padding-right: .9rem; }
  header { padding-top: 1.25rem; }
  .tallies { grid-template-columns: repeat(3, 1fr); gap: .5rem; }
  .tallies li { padding: .55rem .7rem; font-size: .8125rem; }
  .tallies b { font-size: 1.25rem; }
  .verdict { align-items: flex-start; padding: 1rem; }
  .body { padding: .1rem .9rem 1rem; }
  dl { grid-template-columns: 1fr; gap: 0; }
  dd { margin-bottom: .5rem; }
  .table table, .table tbody, .table tr, .table td { display: block; }
  .table thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .table caption { display: block; }
  .table tr { padding: .4rem 0; border-top: 1px solid var(--line); }
  .table td { padding: 0; border: 0; overflow-wrap: anywhere; white-space: normal; }
  .table td[data-label] { display: grid; grid-template-columns: 4.5rem minmax(0, 1fr); gap: .5rem; }
  .table td[data-label]::before { content: attr(data-label); color: var(--soft); }
}
@media print {
  :root { --page: #fff; --card: #fff; }
  body { font-size: 10pt; }
  summary::before { display: none; }
  details::details-content { content-visibility: visible; block-size: auto; }
}
.overrides { margin: 0; padding: .7rem 1rem .7rem 2rem; background: var(--amber-card); border: 1px solid var(--amber-line); border-radius: .75rem; }
`;

export const FILTERS_STYLE = `fieldset { display: flex; flex-wrap: wrap; gap: .4rem; margin: 0; padding: 0; border: 0; min-width: 0; }
legend { float: left; padding: .3rem .4rem .3rem 0; color: var(--soft); font-size: .875rem; }
.filters label { padding: .3rem .8rem; border: 1px solid var(--line); border-radius: 99px; background: var(--card); font-size: .875rem; cursor: pointer; }
.filters input { position: absolute; opacity: 0; width: 1px; height: 1px; }
.filters label:has(:checked) { background: var(--ink); border-color: var(--ink); color: var(--page); }
.filters label:has(:focus-visible) { outline: 3px solid var(--focus); outline-offset: 2px; }`;

export const PLAN_STYLE = `
.change { background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.blocker { margin: 0 0 1rem; }
.blocker h3 { margin: 0 0 .35rem; font-size: 1rem; color: var(--red); }
.filters { display: flex; flex-wrap: wrap; gap: .75rem 2rem; margin: 2rem 0 -1rem; }
${FILTERS_STYLE}
.changes { display: grid; grid-template-columns: minmax(0, 1fr); gap: .5rem; margin: 0; padding: 0; list-style: none; }
.many .change { content-visibility: auto; contain-intrinsic-size: auto 3.1rem; }
.change.is-danger { border-color: var(--red-line); border-left: 5px solid var(--red); }
.change.is-warning, .change.is-accepted { border-color: var(--amber-line); border-left: 5px solid var(--amber); }
.change summary, .change .line { display: flex; flex-wrap: wrap; margin: 0; gap: .7rem; align-items: baseline; padding: .65rem 1rem; }
.is-danger .operation { background: var(--red-card); color: var(--red); }
.list { flex: none; min-width: 3.1rem; font-weight: 600; font-size: .9rem; }
.subject { flex: 1 1 12rem; min-width: 0; }
.subject code { font-weight: 600; font-size: .95rem; }
.kind { color: var(--soft); font-size: .85rem; }
.note { display: flex; flex: 1 1 100%; flex-wrap: wrap; gap: .1rem .9rem; min-width: 0; padding-left: 1.15rem; color: var(--soft); font-size: .875rem; }
.note span { min-width: 0; }
.note .of-comment { color: var(--ink); }
.script { font-weight: 600; }
.rest { padding: .65rem 1rem; color: var(--soft); }
.lead { margin: .2rem 0 .7rem; font-weight: 600; font-size: 1.05rem; }
.is-danger .lead { color: var(--red); }
.is-warning .lead, .is-accepted .lead { color: var(--amber); }
.comment .untrusted, .note .untrusted { font-family: inherit; font-size: inherit; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(22rem, 100%), 1fr)); gap: .75rem 2.5rem; margin: .6rem 0; }
.chart h3, .recipients h3 { margin: 0 0 .3rem; font-size: .8125rem; font-weight: 600; color: var(--soft); }
.recipients ul { display: flex; flex-wrap: wrap; gap: .35rem; margin: 0; padding: 0; list-style: none; }
.recipients li { padding: .1rem .6rem; border-radius: .75rem; background: var(--sunk); font-size: .85rem; }
.recipients .is-vip { background: var(--blue-card); color: var(--blue); font-weight: 600; }
@media (max-width: 46rem) {
  .change summary, .change .line { gap: .15rem .6rem; padding: .65rem .8rem; }
  .change summary::before { order: -1; }
  .operation, .list { min-width: 0; }
  .subject, .note { flex-basis: 100%; padding-left: 1.1rem; }
}
@media print {
  .filters { display: none; }
  .change { break-inside: avoid; content-visibility: visible; }
}
`;
