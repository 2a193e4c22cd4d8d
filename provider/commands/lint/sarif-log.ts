import { createHash } from "node:crypto";
import { relative, resolve, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { type FileLocation, type Finding, type FindingLevel, sortBySeverity } from "../../settings-files/finding";
import { getFindingRule } from "../../settings-files/finding-rules";
import { isOutsideDirectory } from "../../settings-files/repository";

export interface SarifOptions {
  readonly version: string;
  /** The directory that paths in the log are relative to: the repository root. */
  readonly root: string;
  /** The directory that the findings' files are relative to. Default: the working directory. */
  readonly directory?: string;
}

/** The maximum number of results per run for GitHub code scanning, which rejects larger logs. */
const MAX_RESULTS = 25_000;

/**
 * Formats findings as a SARIF 2.1.0 log (OASIS), which code scanning shows in pull requests. Each finding has a fingerprint that survives
 * lines added above it. Above the limit of code scanning, the least serious findings are left out and counted in the log.
 */
export function buildSarifLog(
  findings: readonly Finding[],
  { version, root, directory = process.cwd() }: SarifOptions,
): Record<string, unknown> {
  const reported = selectMostSevere(findings, MAX_RESULTS);
  const codes = [...new Map(reported.map(({ code, level }) => [code, level]))].sort(([a], [b]) => (a < b ? -1 : 1));
  const ruleIndex = new Map(codes.map(([code], index) => [code, index]));
  const occurrences = new Map<string, number>();
  const omittedCount = findings.length - reported.length;
  return {
    $schema: "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json",
    version: "2.1.0",
    runs: [
      {
        tool: {
          driver: {
            name: "email-security",
            semanticVersion: version,
            rules: codes.map(([code, level]) => buildRuleDescriptor(code, level)),
          },
        },
        automationDetails: { id: "email-security/lint/" },
        columnKind: "utf16CodeUnits",
        originalUriBaseIds: { [URI_BASE_ID]: { description: { text: "The root of the repository." } } },
        invocations: [
          {
            executionSuccessful: true,
            toolExecutionNotifications:
              omittedCount === 0
                ? []
                : [
                    {
                      level: "warning",
                      message: {
                        text: `${omittedCount} less serious findings are omitted; \`lint\` shows all of them.`,
                      },
                    },
                  ],
          },
        ],
        results: reported.map((finding) => {
          const { code, level, message, place } = finding;
          const artifactLocation = place === undefined ? undefined : buildArtifactLocation(place.file, root, directory);
          return {
            ruleId: code,
            ruleIndex: ruleIndex.get(code),
            level,
            // Prevents text from turning into a Markdown link.
            message: { text: message.replaceAll("](", "] (") },
            locations:
              place === undefined || artifactLocation === undefined
                ? []
                : [{ physicalLocation: { artifactLocation: artifactLocation, region: buildRegion(place) } }],
            partialFingerprints: {
              "emailSecurityFinding/v1": computeFingerprint(finding, artifactLocation?.uri ?? "", occurrences),
            },
          };
        }),
      },
    ],
  };
}

const URI_BASE_ID = "%SRCROOT%";

/** Keeps the order of findings. */
function selectMostSevere(findings: readonly Finding[], count: number): readonly Finding[] {
  if (findings.length <= count) return findings;
  const selected = new Set(sortBySeverity(findings).slice(0, count));
  return findings.filter((finding) => selected.has(finding));
}

function buildRuleDescriptor(code: string, defaultLevel: FindingLevel): Record<string, unknown> {
  const { title, help, level } = getFindingRule(code, defaultLevel);
  return {
    id: code,
    name: code.replace(/(?:^|-)(\w)/g, (_all, letter: string) => letter.toUpperCase()),
    shortDescription: { text: title },
    fullDescription: { text: help },
    help: { text: help, markdown: help },
    defaultConfiguration: { level },
    properties: { tags: ["email-security"], "problem.severity": level === "note" ? "recommendation" : level },
  };
}

/** Uses a relative URI for a file in the repository, and an absolute one for any other. */
function buildArtifactLocation(file: string, root: string, directory: string): { uri: string; uriBaseId?: string } {
  const path = resolve(directory, file);
  if (isOutsideDirectory(root, path)) return { uri: pathToFileURL(path).href };
  const uri = relative(root, path)
    .split(sep)
    .map((segment) => encodeURIComponent(segment.toWellFormed()))
    .join("/");
  return { uri, uriBaseId: URI_BASE_ID };
}

function buildRegion({ line, column, endLine, endColumn }: FileLocation): Record<string, number> {
  return {
    startLine: line,
    startColumn: column,
    ...(endLine === undefined || endColumn === undefined ? {} : { endLine, endColumn }),
  };
}

/** Hashes the subject instead of the location, because lines move. A counter distinguishes identical findings. */
function computeFingerprint(
  { code, message, subject }: Finding,
  uri: string,
  occurrences: Map<string, number>,
): string {
  const subjectText =
    subject === undefined ? message.replace(/(?<=\S):\d+(?::\d+)?/g, "") : `${subject.kind} ${subject.key}`;
  const text = JSON.stringify([code, uri, subjectText]);
  const count = occurrences.get(text) ?? 0;
  occurrences.set(text, count + 1);
  return `${createHash("sha256").update(text).digest("hex").slice(0, 32)}:${count + 1}`;
}
