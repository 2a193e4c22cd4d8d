import { PARTS, type Part, type PartName } from "#long/parts";

/** Some cases of a part that run together. */
export interface Shard {
  readonly part: string;
  readonly from: number;
  readonly count: number;
}

/** Returns all shards of a part. */
export function listShards(part: string, { cases, shard }: Pick<Part, "cases" | "shard">): readonly Shard[] {
  return Array.from({ length: Math.ceil(cases / shard) }, (_, index) => {
    const from = index * shard;
    return { part, from, count: Math.min(shard, cases - from) };
  });
}

/** Formats a shard as typed on the command line: `kills:40+10`, or `kills:40` for one case. */
export function formatShardName({ part, from, count }: Shard): string {
  return `${part}:${from}${count === 1 ? "" : `+${count}`}`;
}

/** The parts or cases to run, as named on the command line. */
export interface Selection {
  readonly parts: readonly PartName[];
  readonly shards: readonly Shard[];
}

/**
 * Parses the command line.
 *
 * @throws {Error} if it names an unknown part or case.
 */
export function parseShardSelection(typed: readonly string[]): Selection {
  const names = Object.keys(PARTS) as PartName[];
  const selectedShards = typed.map((text) => {
    const [, name, from, count = "1"] = /^([^:]*)(?::(\d+)(?:\+([1-9]\d*))?)?$/.exec(text) ?? [];
    const part = names.find((candidate) => candidate === name);
    if (part === undefined) {
      throw new Error(`"${text}" is none of the parts, which are ${names.join(", ")}. Nothing was run.`);
    }
    if (from === undefined) return part;
    const shard = { part, from: Number(from), count: Number(count) };
    const { cases } = PARTS[part];
    if (shard.from + shard.count > cases) {
      throw new Error(`"${text}" is beyond the ${cases} cases of ${part}, which begin at 0. Nothing was run.`);
    }
    return shard;
  });
  const parts = selectedShards.filter((candidate) => typeof candidate === "string");
  return {
    parts: selectedShards.length === 0 ? names : names.filter((name) => parts.includes(name)),
    shards: selectedShards.filter((candidate) => typeof candidate !== "string"),
  };
}
