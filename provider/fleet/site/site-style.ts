import { BASE_STYLE, FILTERS_STYLE } from "../../render/html-style";

export const SITE_STYLE = `${BASE_STYLE}${FILTERS_STYLE}
main, header, footer { max-width: 76rem; }
header { padding-top: 1rem; }
nav { display: flex; flex-wrap: wrap; gap: .25rem .35rem; margin: 0 0 1.5rem -.7rem; }
nav a { padding: .3rem .7rem; border-radius: .5rem; color: var(--soft); font-weight: 600; font-size: .925rem; text-decoration: none; }
nav a:hover { background: var(--sunk); color: var(--ink); }
nav a[aria-current] { background: var(--card); color: var(--ink); box-shadow: inset 0 0 0 1px var(--line); }
main a, footer a { color: var(--blue); text-underline-offset: .15em; }
[hidden] { display: none !important; }
.is-in-sync, .is-done { --tone: var(--green); --tone-card: var(--green-card); }
.is-behind, .is-unknown, .is-never-rolled-out, .is-skipped, .is-waiting, .is-gated, .is-abandoned, .is-rolled-back { --tone: var(--amber); --tone-card: var(--amber-card); }
.is-drifted, .is-wrong-key, .is-unreachable, .is-unusable, .is-failed, .is-stopped { --tone: var(--red); --tone-card: var(--red-card); }
.is-running, .is-soaking, .is-checking { --tone: var(--blue); --tone-card: var(--blue-card); }
.is-unchanged, .is-pending, .is-queued { --tone: var(--soft); --tone-card: var(--sunk); }
.state { display: inline-block; justify-self: start; padding: .05rem .55rem; border-radius: .4rem; background: var(--tone-card); color: var(--tone); font-size: .8125rem; font-weight: 650; white-space: nowrap; }
.tallies { grid-template-columns: repeat(auto-fit, minmax(7.25rem, 1fr)); }
.tallies li { font-size: .85rem; }
.tallies a { display: block; margin: -.7rem -1rem; padding: .7rem .8rem; border-radius: .75rem; color: var(--soft); text-decoration: none; }
.tallies li:hover { border-color: var(--soft); }
.tallies a:focus-visible, input:focus-visible, button:focus-visible { outline: 3px solid var(--focus); outline-offset: 2px; }
.tallies li[class^="is-"] b { color: var(--tone); }
.find { margin: 1.5rem 0; padding: 1.1rem 1.35rem 1.2rem; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; }
.find label.title { display: block; margin-bottom: .4rem; font-weight: 600; }
input[type=search] { width: 100%; padding: .6rem .8rem; border: 1px solid var(--soft); border-radius: .6rem; background: var(--page); color: var(--ink); font: inherit; }
.filters { display: flex; flex-wrap: wrap; gap: .5rem 1.5rem; align-items: center; margin: .7rem 0 0; }
.status { min-height: 1.55em; margin: .6rem 0 0; color: var(--soft); font-size: .9rem; }
.find h2 { margin: 1.1rem 0 .4rem; font-size: .875rem; color: var(--soft); }
.hits { display: grid; gap: .5rem; margin: 0; padding: 0; list-style: none; }
.hit { padding: .65rem .9rem; border: 1px solid var(--line); border-radius: .6rem; content-visibility: auto; contain-intrinsic-size: auto 6.5rem; }
.hit p { margin: .1rem 0; }
.hit .tenants { font-size: .9rem; }
.differs { color: var(--red); }
.value { font-family: var(--mono); font-size: .95em; font-weight: 600; }
.script { font-weight: 600; }
.kind, .facts { color: var(--soft); font-size: .875rem; }
.badge { display: inline-block; justify-self: start; min-width: 3.1rem; padding: .05rem .5rem; border-radius: .4rem; background: var(--sunk); color: var(--ink); font-size: .8125rem; font-weight: 650; text-align: center; }
.l-allow { background: var(--green-card); color: var(--green); }
.l-deny { background: var(--red-card); color: var(--red); }
.l-vip { background: var(--blue-card); color: var(--blue); }
.points { margin: 0; padding: 0; list-style: none; display: grid; gap: .5rem; }
.points > li { padding: .65rem 1rem; background: var(--card); border: 1px solid var(--line); border-radius: .75rem; }
.points b { display: block; font-weight: 600; }
.points p { margin: .1rem 0 0; color: var(--soft); font-size: .9rem; }
.points .rest { color: var(--soft); font-size: .9rem; }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(21rem, 100%), 1fr)); gap: 1rem; }
.chart { margin: 0; padding: 1rem 1.15rem; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; min-width: 0; }
.chart figcaption { font-weight: 600; margin-bottom: .5rem; }
.chart h3 { margin: 0; font-size: 1rem; }
.plot { display: block; width: 100%; height: 9rem; overflow: visible; }
.plot polyline { fill: none; stroke-width: 2.5; stroke-linejoin: round; vector-effect: non-scaling-stroke; }
.plot .grid { stroke: var(--line); stroke-width: 1; vector-effect: non-scaling-stroke; }
.axis-labels { display: flex; justify-content: space-between; color: var(--soft); font-size: .8125rem; font-variant-numeric: tabular-nums; }
.key { display: flex; flex-wrap: wrap; gap: .1rem 1.1rem; margin: .5rem 0 0; padding: 0; list-style: none; font-size: .875rem; }
.key li::before { content: ""; display: inline-block; width: 1.4rem; margin: 0 .45em .25em 0; border-top: 3px solid var(--series); }
.key .series-1::before { border-top-style: dashed; }
.key .series-2::before { border-top-style: dotted; }
.series-0 { --series: var(--bar-malicious); stroke: var(--series); }
.series-1 { --series: var(--bar-spam); stroke: var(--series); stroke-dasharray: 7 3; }
.series-2 { --series: var(--focus); stroke: var(--series); stroke-dasharray: 2 3; }
.chart details { margin-top: .6rem; font-size: .875rem; }
.chart summary { display: flex; gap: .6rem; color: var(--soft); }
.chart .table { max-height: 18rem; overflow-y: auto; }
.bars td:nth-child(2) { width: 100%; min-width: 6rem; }
.bars td:last-child { text-align: right; font-variant-numeric: tabular-nums; padding-right: 0; }
.bars svg { display: block; width: 100%; height: 1rem; }
.bars rect { fill: var(--bar-graymail); }
.bars .old rect { fill: var(--bar-spam); }
.timeline { margin: .6rem 0 0; padding: 0; list-style: none; display: grid; gap: .45rem; }
.timeline li { display: grid; grid-template-columns: 8rem 1fr 19rem; gap: 1rem; align-items: center; font-size: .925rem; }
.timeline .wave-name { font-weight: 600; }
.timeline .duration { color: var(--soft); font-size: .875rem; }
.track { display: block; width: 100%; height: 1rem; border-radius: .3rem; background: var(--sunk); }
.track .ran { fill: var(--tone); }
.track .soaked { fill: var(--blue-line); }
.rollout { margin: .9rem 0 0; padding: 1rem 1.25rem 1.1rem; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; scroll-margin-top: 1rem; }
.rollout .edits { margin: .5rem 0; }
.edits { display: grid; gap: .5rem; margin: 0; padding: 0; list-style: none; font-size: .925rem; }
.edits li { display: flex; gap: .1rem .8rem; align-items: baseline; }
.edits li > div { min-width: 0; }
.edits p { margin: 0; }
.names summary { display: inline-flex; gap: .5rem; color: var(--soft); }
.log { margin: 0; padding: 0; list-style: none; display: grid; gap: .3rem; font-size: .925rem; }
.log li { display: grid; grid-template-columns: 9.5rem 1fr; gap: .2rem 1rem; }
.log time { color: var(--soft); font-variant-numeric: tabular-nums; }
.tallies + .card { margin-top: 1rem; }
.points .reason { color: var(--red); }
.rollout h2 { margin: 0; flex-wrap: wrap; font-size: 1.05rem; }
.card { padding: .35rem 1.25rem .9rem; background: var(--card); border: 1px solid var(--line); border-radius: .9rem; }
.card dl { grid-template-columns: 8rem 1fr; }
.rows { max-width: 100%; }
.rows td { min-width: 0; }
.entries td:nth-child(2), .entries td:nth-child(4) { min-width: 10rem; overflow-wrap: anywhere; }
.entries td:nth-child(3) { min-width: 8.5rem; }
.entries td:nth-child(5) { white-space: nowrap; color: var(--soft); }
.entries td:last-child { white-space: normal; overflow-wrap: anywhere; min-width: 8.5rem; color: var(--soft); }
.wide td:last-child { white-space: normal; }
button { margin: .8rem 0; padding: .4rem 1rem; border: 1px solid var(--line); border-radius: .5rem; background: var(--card); color: var(--ink); font: inherit; cursor: pointer; }
.strip { display: flex; flex-wrap: wrap; gap: 2px; margin: .5rem 0 0; padding: 0; list-style: none; }
@media (max-width: 46rem) {
  .timeline li { grid-template-columns: 1fr; gap: .15rem; margin-bottom: .4rem; }
  .card dl, .log li { grid-template-columns: 1fr; }
  .edits li { flex-wrap: wrap; }
  .edits .operation { min-width: 0; }
  .outcomes tr { display: flex; flex-wrap: wrap; gap: .1rem .8rem; }
  .outcomes td[data-label] { display: block; }
  .outcomes td[data-label]::before { content: none; }
  .find { padding: .9rem; }
  nav { gap: 0; margin-left: -.5rem; }
  nav a { padding: .3rem .5rem; font-size: .875rem; }
  .tallies { grid-template-columns: repeat(3, 1fr); }
  .table td[data-label] { grid-template-columns: 6.5rem minmax(0, 1fr); }
  .entries td { min-width: 0; }
  .bars table, .bars tbody { display: table; width: 100%; }
  .bars tbody { display: table-row-group; }
  .bars tr { display: table-row; }
  .bars td, .bars th { display: table-cell; padding: .3rem .6rem .3rem 0; white-space: nowrap; }
}
@media (min-width: 62rem) {
  .entries td:nth-child(3) { width: 13rem; }
  .entries td:last-child { min-width: 12.5rem; }
}
@media print { nav, .find, .filters, button { display: none; } }
`;
