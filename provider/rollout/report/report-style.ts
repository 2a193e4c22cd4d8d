export const REPORT_STYLE = `
main, header, footer { max-width: 84rem; }
.is-done, .is-none { --tone: var(--green); --tone-card: var(--green-card); --tone-line: var(--green-line); }
.is-unchanged { --tone: var(--soft); --tone-card: var(--sunk); --tone-line: var(--line); }
.is-failed, .is-stopped { --tone: var(--red); --tone-card: var(--red-card); --tone-line: var(--red-line); }
.is-running, .is-soaking, .is-checking { --tone: var(--blue); --tone-card: var(--blue-card); --tone-line: var(--blue-line); }
.is-gated, .is-skipped { --tone: var(--amber); --tone-card: var(--amber-card); --tone-line: var(--amber-line); }
.is-pending, .is-queued { --tone: var(--soft); --tone-card: var(--card); --tone-line: var(--line); }
i { font: 700 1em var(--mono); }
.tallies a { color: inherit; }
.tenant dl { grid-template-columns: 5.5rem 1fr; gap: .15rem 1rem; }
.tenant dd { margin: 0; }
.tallies b, .state { color: var(--tone); }
.red { color: var(--red); }
.advice pre { border-color: var(--line); margin: .3rem 0 1rem; }
.timeline { margin: 0; padding: 0; list-style: none; display: grid; gap: .45rem; }
.timeline li { display: grid; grid-template-columns: 10rem 1fr 13rem; gap: 1rem; align-items: center; font-size: .925rem; }
.timeline .wave-name { font-weight: 600; max-height: 3em; overflow: hidden; }
.timeline .duration { color: var(--soft); font-variant-numeric: tabular-nums; }
.track { position: relative; height: 1rem; border-radius: .3rem; background: var(--sunk); overflow: hidden; }
.track span { position: absolute; top: 0; bottom: 0; min-width: 3px; }
.ran { background: var(--tone); }
.soaked { background: repeating-linear-gradient(135deg, var(--blue-line) 0 4px, var(--blue-card) 4px 8px); }
.wave { margin-top: 2.5rem; }
.wave h2 { margin: 0 0 .6rem; flex-wrap: wrap; }
.wave h2 .state { font-size: .95rem; font-weight: 600; }
.bar span { background: var(--tone); }
.bar .is-pending, .bar .is-queued { background: var(--sunk); }
.bar .is-unchanged { background: var(--bar-other); }
.facts { margin: .5rem 0 .8rem; color: var(--soft); font-size: .9rem; }
.facts .untrusted { font-family: inherit; font-size: inherit; }
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(11rem, 47%), 1fr)); gap: .3rem; margin: 0; padding: 0; list-style: none; }
.dense { grid-template-columns: repeat(auto-fill, minmax(min(9.75rem, 47%), 1fr)); gap: .2rem; }
.grid li { min-width: 0; }
.grid a { display: block; padding: .22rem .6rem; border: 1px solid var(--tone-line); border-left-width: 4px; border-radius: .35rem; background: var(--tone-card); color: var(--tone); font-size: .8125rem; text-decoration: none; white-space: nowrap; overflow: hidden; text-overflow: ellipsis; }
.dense a { padding: .1rem .4rem; font-size: .75rem; }
.grid a bdi { color: var(--ink); }
.grid a.is-failed { border-color: var(--red); font-weight: 700; }
.grid a.is-pending, .grid a.is-queued { border-style: dashed; border-left-style: solid; }
.grid a:hover { border-color: var(--ink); }
.hidden { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
.tenants { display: grid; gap: .35rem; margin: 0; padding: 0; list-style: none; }
.aside .tenants { padding: 0 .8rem .8rem; }
.aside h3 { display: inline; margin: 0; font-size: 1rem; max-height: 3em; overflow: hidden; }
.tenant { background: var(--card); border: 1px solid var(--line); border-left: 5px solid var(--tone); border-radius: .6rem; min-width: 0; }
.many .tenant { content-visibility: auto; contain-intrinsic-size: auto 2.6rem; }
.tenant.is-failed { border-color: var(--red-line); border-left-color: var(--red); }
.tenant summary { display: flex; gap: .8rem; align-items: baseline; padding: .5rem .9rem; }
.tenant summary, .aside .tenant summary { padding: .5rem .9rem; font-weight: 400; }
.tenant .state { flex: none; min-width: 6.5rem; font-size: .875rem; font-weight: 600; }
.tenant .name { flex: 1 1 auto; min-width: 0; font-weight: 600; }
.tenant .counts, .tenant .duration { flex: none; color: var(--soft); font-size: .875rem; font-variant-numeric: tabular-nums; }
.tenant .counts { font-family: var(--mono); }
.tenant .duration { min-width: 5.5rem; text-align: right; }
.tenant .body { scroll-margin-top: 4.5rem; }
.tenant:has(.body:target) { outline: 3px solid var(--focus); }
.reason { margin: .1rem 0; color: var(--red); font-weight: 600; }
.reason .untrusted { font-family: inherit; }
.touched { color: var(--soft); }
.touched:empty { display: none; }
.tenant .edits { margin: .7rem 0 0; padding: 0; list-style: none; display: grid; gap: .25rem; font-size: .925rem; }
.edits li { display: flex; flex-wrap: wrap; gap: .1rem .5rem; align-items: baseline; }
.edits .list { min-width: 6.75rem; font-weight: 600; }
@media (max-width: 46rem) {
  .timeline li { grid-template-columns: 1fr auto; gap: .1rem 1rem; margin-bottom: .4rem; }
  .timeline .track { grid-row: 2; grid-column: 1 / -1; }
  .tenant summary { flex-wrap: wrap; gap: .1rem .7rem; padding: .5rem .7rem; }
  .tenant .state { min-width: 0; }
  .tenant .name { flex-basis: 60%; }
  .tenant .duration { min-width: 0; }
  .aside .tenants { padding: 0 .4rem .6rem; }
  .edits .operation, .edits .list { min-width: 0; }
}
@media print {
  .tenant { break-inside: avoid; }
  .many .tenant { content-visibility: visible; }
  .grid a { break-inside: avoid; }
}
`;
