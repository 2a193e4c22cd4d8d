/**
 * `npm run bench` measures the cost of the resources, next to the floor under all of them and next to alternatives, in
 * one run through the real engine against the sandbox in its own process.
 *
 *   npm run bench                                    everything, about 30 minutes; writes results.md and the docs'
 *   table
 *   npm run bench -- --resume                        resumes an interrupted bench
 *   npm run bench -- --quick                         the main rows in under five minutes, only printed; `--save FILE`
 *   stores them
 *   npm run bench -- --quick --compare FILE          prints the results that became worse by more than the noise, and
 *   fails if there are any
 *   npm run bench -- --only floor,list --runs 1      some peers, only printed
 *   npm run bench -- --entries 100 --growth 100,500  with other sizes, only printed
 *   npm run bench -- providers                          only the dynamic provider and the native plugin, about 10 minutes;
 *   writes the
 *                                                    docs' table that compares the two
 *   npm run bench -- find                            `find` over 300 tenants of 500 entries, compared with only reading
 *   their lists,
 *                                                    in a minute; only printed
 *   npm run bench -- fleet                           `fleet status` over the same fleet, compared with only reading
 *   what it reads,
 *                                                    in a minute; only printed
 *   npm run bench -- fleet-scale --sizes 1000,10000  `fleet status`, `fleet site` and the journal over fleets of these
 *   sizes, in some
 *                                                    minutes; only printed
 *   npm run bench -- --only pipeline                    the jobs of a pull request and of a merge, from an empty home, in
 *                                                    three minutes; only printed
 *   npm run bench -- connections                     own and shared connections, HTTP/1.1 and HTTP/2, at a TLS server; only
 *                                                    printed
 *   npm run bench -- --latency 50                    commands at a service that answers 50 ms late, compared with the
 *                                                    same requests alone, in ten minutes; with `--quick`, smaller lists
 *                                                    in four; only printed
 *   npm run bench -- rollout-simulation              rollouts of up to 10,000 tenants in virtual time, in seconds; only
 *   printed
 */
import { readFileSync, writeFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { areCommandsStopped, stopCommands } from "#bench/command";
import { type Comparison, compareMeasurements, type SavedMeasurements } from "#bench/compare";
import { collectMachineFacts } from "#bench/machine";
import type { Bench, Measurement, Observation, Peer } from "#bench/measurement";
import { MeasurementJournal } from "#bench/measurement-journal";
import { getFloorPeer, peers, providerPeers, quickPeers } from "#bench/peers";
import { renderProvidersReport, renderReport, writeProvidersReport, writeReport } from "#bench/report";

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    only: { type: "string" },
    quick: { type: "boolean", default: false },
    save: { type: "string" },
    compare: { type: "string" },
    resume: { type: "boolean", default: false },
    date: { type: "string", default: new Date().toISOString().slice(0, 10) },
    runs: { type: "string" },
    entries: { type: "string" },
    members: { type: "string" },
    growth: { type: "string" },
    sizes: { type: "string" },
    latency: { type: "string" },
  },
});
const runs = parseWholeNumber(values.runs, values.quick ? 2 : 3);
/** The parts that only print a report. `--only` selects them too. */
const reports: Readonly<Record<string, () => Promise<string>>> = {
  find: async () => await (await import("#bench/find")).findReport(),
  fleet: async () => await (await import("#bench/fleet")).reportFleet(),
  "fleet-scale": async () => {
    const fleetSizes = (values.sizes ?? "300,1000,3000,10000").split(",").map((size) => parseWholeNumber(size, 0));
    return await (await import("#bench/fleet-scale")).reportFleetScale(fleetSizes);
  },
  "rollout-simulation": async () => await (await import("#bench/simulation-report")).reportSimulation(),
  connections: async () => await (await import("#bench/connections")).reportConnections(),
  pipeline: async () => await (await import("#bench/pipeline")).reportPipeline(runs),
};
const [part, ...others] = values.only !== undefined && values.only in reports ? [values.only] : positionals;
if ((part !== undefined && part !== "providers" && !(part in reports)) || others.length > 0) {
  throw new Error(
    `The parts by name are providers, ${Object.keys(reports).join(", ")}; not ${positionals.join(" ")}. Peers are chosen by --only.`,
  );
}
const report = reports[part ?? ""];
if (report !== undefined) {
  console.log(await report());
  process.exit();
}
const sizes = {
  manyEntries: parseWholeNumber(values.entries, 5_000),
  singleEntries: parseWholeNumber(values.entries, values.quick ? 300 : 2_000),
  members: parseWholeNumber(values.members, 2_000),
  growth: (values.growth ?? "1000,10000,50000").split(",").map((size) => parseWholeNumber(size, 0)),
};
const before = values.compare === undefined ? undefined : readSavedMeasurements(values.compare);
const selected = part === "providers" ? providerPeers : selectPeers(values.only, values.quick ? quickPeers : peers);
// The tables are written only from a complete bench, or a complete part, with the default sizes.
const isWhole =
  !values.quick &&
  [values.only, values.runs, values.entries, values.members, values.growth].every((option) => option === undefined);

for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, stopCommands);

if (values.latency !== undefined) {
  if (part !== undefined) throw new Error("--latency measures its own commands, and no part by name.");
  const latencyMs = values.latency === "0" ? 0 : parseWholeNumber(values.latency, 0);
  const entries = parseWholeNumber(values.entries, values.quick ? 1_000 : 5_000);
  const { latencyReport } = await import("#bench/latency");
  console.log(`\n${await latencyReport({ latencyMs, entries, runs })}`);
  process.exit();
}

const startedAt = performance.now();
const countMinutes = (): number => (performance.now() - startedAt) / 60_000;
const facts = await collectMachineFacts(values.date);
const journal = new MeasurementJournal(
  JSON.stringify({ part, runs, sizes, commit: facts.commit, pulumi: facts.pulumi, cpu: facts.cpu }),
  values.resume,
);

try {
  // The fast peers alternate, so that a machine that slows down affects all of them equally.
  for (let run = 1; run <= runs; run++) {
    for (const peer of selected) if (!peer.isSlow) await measurePeer(peer, run);
  }
  for (const peer of selected) if (peer.isSlow) await measurePeer(peer, 1);

  const isOneCommit = (await collectMachineFacts(values.date)).commit === facts.commit;
  if (isWhole && !isOneCommit)
    console.error("\nNot written down: the work tree became another commit meanwhile, so no table is of one.");
  const listMeasured = (): Observation[] =>
    journal.observations.filter(({ peer }) => selected.some(({ name }) => name === peer));
  const observations = listMeasured();
  if (part === "providers") {
    const table = renderProvidersReport(observations, facts, runs);
    console.log(`\n${table}\n\nIt took ${countMinutes().toFixed(1)} minutes.`);
    if (isWhole && isOneCommit) await writeProvidersReport(table);
  } else {
    const results = renderReport(observations, facts, runs);
    console.log(`\n${results.all}\nIt took ${countMinutes().toFixed(1)} minutes.`);
    if (isWhole && isOneCommit) await writeReport(results);
  }
  const now: SavedMeasurements = { facts, observations };
  if (values.save !== undefined) writeFileSync(values.save, `${JSON.stringify(now, null, 1)}\n`);
  if (before !== undefined) {
    const first = compareMeasurements(before, now, getFloorPeer);
    const { text, worse, slower } = await compareAgain(first, () =>
      compareMeasurements(before, { facts, observations: listMeasured() }, getFloorPeer),
    );
    console.log(`\n${text}\n`);
    const noise = [...first.slower].filter((name) => !slower.has(name));
    if (noise.length > 0) console.log(`Slower at first, and not when measured again: ${noise.join(", ")}.`);
    for (const line of worse) console.log(`WORSE  ${line}`);
    console.log(worse.length === 0 ? "Nothing became worse by more than the noise." : `${worse.length} became worse.`);
    if (worse.length > 0) process.exitCode = 1;
  }
} catch (error) {
  if (!areCommandsStopped()) throw error;
  console.error("\nStopped. `npm run bench -- --resume` continues.");
  process.exitCode = 1;
}

/**
 * Measures peers that seem slower again, up to twice, before reporting them: with few runs, all of a peer's may have
 * hit a slow moment.
 */
async function compareAgain(first: Comparison, compare: () => Comparison): Promise<Comparison> {
  let comparison = first;
  for (let again = 1; again <= 2 && comparison.slower.size > 0; again++) {
    const { slower } = comparison;
    // Slow peers take minutes and aren't measured again. Neither are their floors, which would only seem noisier.
    const doubted = selected.filter(({ name, isSlow }) => !isSlow && slower.has(name));
    const names = new Set(doubted.flatMap(({ name }) => [name, getFloorPeer(name)]));
    for (const peer of selected) if (names.has(peer.name) && !peer.isSlow) await measurePeer(peer, runs + again);
    comparison = compare();
  }
  return comparison;
}

/** A failing peer is a row of the table too; the other peers still run. */
async function measurePeer(peer: Peer, run: number): Promise<void> {
  const step = `${peer.name} ${run}`;
  if (journal.isDone(step)) return;
  const head = peer.isSlow ? peer.name : `${peer.name}, ${run > runs ? "again" : `run ${run} of ${runs}`}`;
  const logStep = (label: string): void =>
    console.log(`${countMinutes().toFixed(1).padStart(5)} min  ${head}: ${label}`);
  logStep("starts");
  const observed: Observation[] = [];
  const bench: Bench = {
    ...sizes,
    isStateKnown: journal.observations.some(
      (observation) =>
        observation.peer === peer.name && "operation" in observation && observation.operation === "state",
    ),
    log: logStep,
    record(measurement) {
      observed.push({ ...measurement, peer: peer.name });
      logStep(describeObservation(measurement));
    },
  };
  try {
    await peer.measure(bench);
  } catch (error) {
    if (areCommandsStopped()) throw error;
    process.exitCode = 1;
    const failure = error instanceof Error ? error.message : String(error);
    observed.push({ peer: peer.name, failure });
    logStep(`FAILED: ${failure}`);
  }
  journal.keep(step, observed);
}

/** Reads an earlier bench. Called before any measurement, because a mistyped file name shouldn't cost half an hour. */
function readSavedMeasurements(file: string): SavedMeasurements {
  const kept = JSON.parse(readFileSync(file, "utf8")) as Partial<SavedMeasurements>;
  if (kept.facts !== undefined && kept.observations !== undefined) return kept as SavedMeasurements;
  throw new Error(`${file} is not what --save writes.`);
}

function selectPeers(only: string | undefined, otherwise: readonly Peer[]): readonly Peer[] {
  const names = only?.split(",") ?? otherwise.map(({ name }) => name);
  const unknown = names.filter((name) => !peers.some((peer) => peer.name === name));
  if (unknown.length === 0) return peers.filter(({ name }) => names.includes(name));
  throw new Error(`--only knows ${peers.map(({ name }) => name).join(", ")}; not ${unknown.join(", ")}`);
}

function parseWholeNumber(text: string | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  if (/^[1-9]\d*$/.test(text)) return Number(text);
  throw new Error(`${text} isn't a whole number above 0`);
}

/** Formats one measurement as a progress line. */
function describeObservation({
  operation,
  count,
  variant,
  seconds,
  requests,
  stateAnEntry,
  peakBytes,
}: Measurement): string {
  const parts = [
    seconds !== undefined && `${seconds.toFixed(1)} s`,
    requests && `${requests.reads} reads, ${requests.writes} writes`,
    stateAnEntry &&
      `${stateAnEntry.compactBytes.toFixed(0)} bytes an entry, ${stateAnEntry.fileBytes.toFixed(0)} in the file`,
    peakBytes && `${(peakBytes / 1e6).toFixed(0)} MB`,
  ];
  return `${operation} of ${count}${variant ? `, ${variant}` : ""}: ${parts.filter(Boolean).join("; ")}`;
}
