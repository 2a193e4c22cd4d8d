import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import {
  type Format,
  type Output,
  type OutputOptions,
  parseOutputs,
} from "../../../../provider/cli/output/output-options";
import { writeOutputs } from "../../../../provider/cli/output/write-outputs";

const FORMATS = ["text", "markdown", "json"] as const;

let directory = "";
const getPath = (name: string): string => join(directory, name);

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "outputs-"));
});
afterEach(() => {
  vi.restoreAllMocks();
  rmSync(directory, { recursive: true, force: true });
});

/** Formats each output as `format:place`, with the file's base name. */
function readOutputOptions(options: OutputOptions<(typeof FORMATS)[number]>, stdoutUse?: string): string[] {
  const placed = (options.output ?? []).map((item) => item.replace(/^((?:\w+=)?)(\w[\w.]*)$/, `$1${directory}/$2`));
  const inputs = options.output === undefined ? options : { ...options, output: placed };
  return parseOutputs(inputs, FORMATS, stdoutUse).map(
    ({ format, to }) => `${format}:${typeof to === "object" ? to.file.replace(`${directory}/`, "") : to}`,
  );
}

it.each<[string, OutputOptions<(typeof FORMATS)[number]>, string[]]>([
  ["text to stdout by default", {}, ["text:stdout"]],
  ["the format to stdout", { format: "json" }, ["json:stdout"]],
  ["the format to a file, and text to stdout", { format: "json", output: ["a.out"] }, ["json:a.out", "text:stdout"]],
  ["the format of the extension", { output: ["a.md"] }, ["markdown:a.md", "text:stdout"]],
  ["the format before the file", { output: ["json=a.out"] }, ["json:a.out", "text:stdout"]],
  [
    "the option's format rather than the extension's",
    { format: "json", output: ["a.md"] },
    ["json:a.md", "text:stdout"],
  ],
  ["several files", { output: ["markdown=a", "b.json"] }, ["markdown:a", "json:b.json", "text:stdout"]],
  [
    "a file in addition to the printed format",
    { format: "markdown", output: ["json=a"] },
    ["json:a", "markdown:stdout"],
  ],
  ["no text in addition to an output on stdout", { output: ["json=-", "a.md"] }, ["json:stdout", "markdown:a.md"]],
  ["the format to -", { format: "json", output: ["-"] }, ["json:stdout"]],
  ["text to -", { output: ["-"] }, ["text:stdout"]],
])("writes %s", (_, options, outputs) => {
  expect(readOutputOptions(options)).toEqual(outputs);
});

it("treats ./name=value as a file name", () => {
  expect(parseOutputs({ format: "json", output: ["./json=a"] }, FORMATS)[0]).toEqual({
    format: "json",
    to: { file: "./json=a" },
  });
});

it.each<[string, OutputOptions<(typeof FORMATS)[number]>, RegExp]>([
  [
    "an unknown format",
    { output: ["jsn=a"] },
    /doesn't support the format "jsn".*text, markdown, json\. Did you mean json\?$/,
  ],
  ["another command's format", { output: ["csv=a"] }, /doesn't support the format "csv".*text, markdown, json\.$/],
  ["another command's extension", { output: ["a.html"] }, /doesn't support the format "html"/],
  [
    "a file without a format",
    { output: ["a.dat"] },
    /format of --output ".*a\.dat" is unknown\. Put one of text, markdown, json before it/,
  ],
  ["no file", { output: ["json="] }, /has no file name/],
  ["two outputs on stdout", { output: ["-", "json=-"] }, /^Two outputs use standard output/],
  ["two outputs in one file", { output: ["a.md", "json=./a.md"] }, /^Two outputs use the file/],
  ["a missing directory", { output: ["none/a.md"] }, /can't be written: the directory .* doesn't exist/],
])("refuses %s", (_, options, message) => {
  const output = options.output?.map((item) =>
    /^(?:\w+=)?(?:-|$)/.test(item) ? item : item.replace(/^(\w+=)?(?:\.\/)?(.+)$/, `$1${directory}/$2`),
  );
  expect(() => parseOutputs({ ...options, ...(output && { output }) }, FORMATS)).toThrow(message);
});

it("refuses a file that can't be written", () => {
  mkdirSync(getPath("there.md"));
  writeFileSync(getPath("kept.md"), "kept", { mode: 0o400 });
  for (const [name, reasonPattern] of [
    ["there.md", /it is a directory/],
    ["kept.md", /is read-only/],
  ] as const) {
    expect(() => parseOutputs({ output: [getPath(name)] }, FORMATS)).toThrow(reasonPattern);
  }
});

it("moves text to stderr when another option uses stdout", () => {
  expect(readOutputOptions({}, "--events")).toEqual(["text:stderr"]);
  expect(readOutputOptions({ output: ["a.md"] }, "--events")).toEqual(["markdown:a.md", "text:stderr"]);
  for (const options of [{ format: "json" as const }, { output: ["-"] }, { output: ["json=-"] }]) {
    expect(() => readOutputOptions(options, "--events")).toThrow(
      "--events writes to standard output itself. Write the report to a file, for example --output markdown=FILE.",
    );
  }
});

it("prints no text for a command without a text format", () => {
  expect(parseOutputs({}, ["csv"])).toEqual([{ format: "csv", to: "stdout" }]);
  const to = { file: getPath("a.dat") };
  expect(parseOutputs({ output: [to.file] }, ["csv"])).toEqual([{ format: "csv", to }]);
});

const RENDERERS = { text: () => "text\n", markdown: () => "# text\n", json: async () => "{}\n" };

async function writeToOutputs(outputs: readonly Output<keyof typeof RENDERERS>[]): Promise<string[]> {
  const lines: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(`stdout: ${text}`) > 0);
  vi.spyOn(console, "error").mockImplementation((text) => lines.push(`stderr: ${text}`));
  await writeOutputs(outputs, RENDERERS);
  vi.restoreAllMocks();
  return lines;
}

it("writes each output in its format", async () => {
  const json = { format: "json", to: { file: getPath("a.json") } } as const;
  const output = await writeToOutputs([json, { format: "text", to: "stdout" }]);
  expect(output).toEqual(["stdout: text\n", `stderr: Wrote ${json.to.file}.`]);
  expect(readFileSync(json.to.file, "utf8")).toBe("{}\n");
  expect(statSync(json.to.file).mode & 0o777).toBe(0o600);
});

it("keeps a file's mode", async () => {
  writeFileSync(getPath("real.md"), "before");
  chmodSync(getPath("real.md"), 0o644);
  symlinkSync("real.md", getPath("link.md"));
  await writeToOutputs([{ format: "markdown", to: { file: getPath("link.md") } }]);
  expect(readFileSync(getPath("real.md"), "utf8")).toBe("# text\n");
  expect(statSync(getPath("real.md")).mode & 0o777).toBe(0o644);
});

it("writes no file when one of them fails to render", async () => {
  const outputs: Output<Format>[] = [
    { format: "markdown", to: { file: getPath("a.md") } },
    { format: "json", to: { file: getPath("a.json") } },
  ];
  const renderers = {
    ...{ text: () => "", html: () => "", csv: () => "", sarif: () => "", markdown: () => "x" },
    json: () => Promise.reject(new Error("no")),
  };
  await expect(writeOutputs(outputs, renderers)).rejects.toThrow("no");
  expect(existsSync(getPath("a.md"))).toBe(false);
});

it("writes to a device without replacing it", async () => {
  await writeToOutputs([{ format: "json", to: { file: "/dev/null" } }]);
  expect(statSync("/dev/null").isCharacterDevice()).toBe(true);
});
