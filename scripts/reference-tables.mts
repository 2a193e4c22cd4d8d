import { readFileSync } from "node:fs";
import { join } from "node:path";
import { docsFolder } from "../docs/.vitepress/pages.mts";
import { SettingsClient } from "../provider/dist/client/settings-client.js";
import * as assumptions from "../provider/dist/model/assumptions.js";
import { RISKS } from "../provider/dist/model/risk.js";
import { FINDING_RULES, type FindingRule, POLICY_ADVICE } from "../provider/dist/settings-files/finding-rules.js";

/** The cells that the code determines, by the first cell of their row. An undefined cell is written by hand. */
type Rows = ReadonlyMap<string, readonly (string | undefined)[]>;

interface TablePage {
  readonly path: string;
  /** The tables by the name in their comments, `<!-- table: NAME -->` and `<!-- /table -->`. */
  readonly tables: Readonly<Record<string, () => Rows>>;
}

const PAGES: readonly TablePage[] = [
  { path: "reference/assumptions.md", tables: { constants: buildConstantRows } },
  { path: "reference/client.md", tables: { methods: buildMethodRows } },
  {
    path: "reference/findings.md",
    tables: {
      "file format": () => buildFindingRows(({ code }) => isFileFormat(code)),
      declarations: () => buildFindingRows(({ code }) => !isFileFormat(code) && !isPolicy(code)),
      "team policy": () => buildFindingRows(({ code }) => isPolicy(code)),
    },
  },
  { path: "reference/schemas.md", tables: { schemas: buildSchemaRows } },
];

/** Builds the hand-written pages that contain tables from code. */
export function buildTablePages(): ReadonlyMap<string, string> {
  return new Map(PAGES.map(({ path, tables }) => [path, fillTables(path, tables)]));
}

function fillTables(path: string, tables: TablePage["tables"]): string {
  let text = readFileSync(join(docsFolder, path), "utf8");
  for (const [name, buildRows] of Object.entries(tables)) {
    const [begin, end] = [`<!-- table: ${name} -->\n`, "<!-- /table -->"];
    const [before = "", rest] = text.split(begin);
    const [table, ...after] = rest?.split(end) ?? [];
    if (table === undefined || after.length === 0) throw new Error(`docs/${path} has no table "${name}".`);
    text = `${before}${begin}${fillTable(path, table, buildRows())}${end}${after.join(end)}`;
  }
  return text;
}

function fillTable(path: string, table: string, rows: Rows): string {
  const [head = "", rule = "", ...lines] = table.trim().split("\n");
  const written = new Map(lines.map((line) => [splitRow(line)[0], splitRow(line)]));
  // The order is written by hand, because a module's names come in alphabetical order. New rows are last.
  const position = [...written.keys(), ...rows.keys()];
  const ordered = [...rows].toSorted(([a], [b]) => position.indexOf(a) - position.indexOf(b));
  const filled = ordered.map(([key, cells]) => {
    const all = [key, ...cells].map((cell, index) => cell ?? written.get(key)?.[index]);
    if (all.includes(undefined)) throw new Error(`Add a row for ${key} to the table in docs/${path}.`);
    return `| ${all.join(" | ")} |`;
  });
  return `\n${[head, rule, ...filled].join("\n")}\n\n`;
}

function splitRow(line: string): string[] {
  return line
    .split("|")
    .slice(1, -1)
    .map((cell) => cell.trim());
}

function buildConstantRows(): Rows {
  // A CommonJS module also has names like `default`.
  const constants = Object.entries(assumptions).filter(([name]) => /^[A-Z_]+$/.test(name));
  return new Map(constants.map(([name, value]) => [`\`${name}\``, [`\`${JSON.stringify(value)}\``, undefined]]));
}

function buildMethodRows(): Rows {
  const client = new SettingsClient({ baseUrl: "http://127.0.0.1", apiKey: "key" });
  return new Map(
    Object.entries(client).map(([group, api]: [string, object]) => {
      const methods = Object.getOwnPropertyNames(Object.getPrototypeOf(api)).filter((name) => name !== "constructor");
      return [`\`${group}\``, [methods.map((name) => `\`${name}\``).join(", ")]];
    }),
  );
}

function buildFindingRows(isIncluded: (rule: FindingRule) => boolean): Rows {
  const rules = [...FINDING_RULES.values()].filter((rule) => !Object.hasOwn(RISKS, rule.code) && isIncluded(rule));
  return new Map(
    rules.map(({ code, level, title, help }) => {
      const name = title.replace(/^Policy: (.)/, (_all, first: string) => first.toUpperCase());
      // The paragraph above the table covers the advice that all policy rules share.
      const text = `${name}. ${help.replace(POLICY_ADVICE, "").trim()}`;
      return [`\`${code}\``, [level, text]];
    }),
  );
}

function isFileFormat(code: string): boolean {
  return /^(?:yaml|json|file|include)-|^(?:unknown-key|invalid-value)$/.test(code);
}

function isPolicy(code: string): boolean {
  return /^(?:policy|approval)-/.test(code);
}

function buildSchemaRows(): Rows {
  const { exports } = JSON.parse(readFileSync("provider/package.json", "utf8")) as {
    readonly exports: Readonly<Record<string, unknown>>;
  };
  const schemas = Object.entries(exports).filter(([name]) => name.startsWith("./schemas/"));
  return new Map(
    schemas.map(([name, file]) => [
      `\`${name.replace(/^.*\/|\.json$/g, "")}\``,
      [undefined, `\`pulumi-email-security${name.slice(1)}\``, `\`${String(file).replace(/^\.\//, "")}\``],
    ]),
  );
}
