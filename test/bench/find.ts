import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { availableParallelism, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { deniedDomain, Service, tenantName } from "#bench/service";
import { table } from "#bench/table";
import { FREE_PERMITS } from "../../provider/dist/client/permits.js";
import { findInFleet } from "../../provider/dist/fleet/find-in-fleet.js";
import { readEach } from "../../provider/dist/fleet/read-each.js";
import { Matcher } from "../../provider/dist/gitops/find/matcher.js";
import { wantedOf } from "../../provider/dist/gitops/find/wanted.js";
import { readTargets } from "../../provider/dist/rollout/targets/read-targets.js";

const TENANTS = 300;
const ENTRIES = 500;
/** Of these, each tenant declares so many in its own file, and the others in a baseline that all include. */
const OWN = 20;
const CONCURRENCY = 16;
const RUNS = 3;
/** `find` is to take at most so many times as long. */
const LIMIT = 1.2;

/** `find` over a fleet beside the reading of all its lists alone, in turns. */
export async function findReport(): Promise<string> {
  await using service = await Service.start({ tenants: TENANTS, entries: ENTRIES });
  const folder = mkdtempSync(join(tmpdir(), "email-security-bench-find-"));
  const before = process.cwd();
  process.chdir(folder);
  try {
    const names = Array.from({ length: TENANTS }, (_, index) => tenantName(index));
    layOut(names, service.url);
    const variables = names.map((name) => [`KEY_${name.toUpperCase()}`, `sandbox-${name}-ci`] as const);
    const environment = {
      ...process.env,
      ...Object.fromEntries(variables),
      EMAIL_SECURITY_KEY_VARIABLES: variables.map(([variable]) => variable).join(","),
    };
    const { targets } = readTargets("tenants.yaml");
    const reach = { environment, permits: () => FREE_PERMITS };
    const matcher = new Matcher(wantedOf([deniedDomain(7)]));
    const ways: Readonly<Record<string, () => Promise<number>>> = {
      "reading the lists alone": async () => {
        let rows = 0;
        await readEach(targets, {
          reach,
          concurrency: CONCURRENCY,
          read: async (client) =>
            await Promise.all([
              client.allowDenyEntries.readAll("allow"),
              client.allowDenyEntries.readAll("deny"),
            ]),
          settled: (_target, { read }) => {
            for (const list of read ?? []) rows += list.length;
          },
        });
        return rows / ENTRIES;
      },
      find: async () => {
        const found = await findInFleet(matcher, targets, { reach, concurrency: CONCURRENCY });
        return found.filter(({ found: [one] }) => one?.state === "agrees").length;
      },
    };
    const seconds = new Map<string, number[]>();
    const processor = new Map<string, number[]>();
    // The first turn only warms up.
    for (let run = 0; run <= RUNS; run++) {
      for (const [way, work] of Object.entries(ways)) {
        const startedAt = performance.now();
        const before = process.cpuUsage();
        const tenants = await work();
        if (tenants !== TENANTS) throw new Error(`${way}: ${tenants} tenants of ${TENANTS}`);
        const { user, system } = process.cpuUsage(before);
        if (run === 0) continue;
        seconds.set(way, [...(seconds.get(way) ?? []), (performance.now() - startedAt) / 1_000]);
        processor.set(way, [...(processor.get(way) ?? []), (user + system) / 1_000_000]);
      }
    }
    const median = (of: Map<string, number[]>, way: string): number =>
      (of.get(way) ?? []).toSorted((one, other) => one - other)[Math.floor(RUNS / 2)] ?? Number.NaN;
    const rows = Object.keys(ways).map((way) => [
      way,
      median(seconds, way).toFixed(2),
      median(processor, way).toFixed(2),
    ]);
    const ratio = median(seconds, "find") / median(seconds, "reading the lists alone");
    const load = loadavg()[0]?.toFixed(1) ?? "";
    const about = `${TENANTS} tenants of ${ENTRIES} entries, ${CONCURRENCY} at once, the medians of ${RUNS}; the machine's load was ${load} on ${availableParallelism()} processors`;
    return `${about}:\n${table(["", "seconds", "of its processor"], rows, 0)}\n\n${ratio.toFixed(2)} ×, at most ${LIMIT}: ${ratio <= LIMIT ? "held" : "NOT HELD"}`;
  } finally {
    process.chdir(before);
    rmSync(folder, { recursive: true, force: true });
  }
}

function layOut(names: readonly string[], url: string): void {
  mkdirSync("settings");
  const deny = (from: number, to: number): string =>
    Array.from({ length: to - from }, (_, index) => `  - ${deniedDomain(from + index)}\n`).join("");
  writeFileSync("settings/baseline.yaml", `version: 1\ndeny:\n${deny(0, ENTRIES - OWN)}`);
  for (const name of names) {
    const own = `version: 1\ninclude: [baseline.yaml]\ndeny:\n${deny(ENTRIES - OWN, ENTRIES)}`;
    writeFileSync(`settings/${name}.yaml`, own);
  }
  const tenants = names.map((name) => `  ${name}: { key: { environment: KEY_${name.toUpperCase()} } }\n`);
  writeFileSync(
    "tenants.yaml",
    `version: 1\nproject: bench\ndefaults: { baseUrl: "${url}", settings: "settings/{name}.yaml" }\ntenants:\n${tenants.join("")}waves: [{ name: all }]\n`,
  );
}
