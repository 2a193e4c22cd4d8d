import { isAlias, isMap, isNode, isScalar, isSeq, type Pair, type Scalar, type YAMLMap, type YAMLSeq } from "yaml";
import { quote, sanitizeLine } from "../model/text";
import { MAX_DEPTH, type ReportProblem } from "./yaml-parser";

/**
 * Converts the document to plain data, and reports valid YAML that is a trap: values that are read differently than they look, or that
 * can't be reviewed line by line. All keys are own text properties, including `__proto__`.
 */
export function toPlainData(contents: unknown, report: ReportProblem, getLine: (offset: number) => number): unknown {
  const reportAt = (code: string, message: string, node: unknown): void => {
    const [start, end] = (isNode(node) ? node.range : undefined) ?? [];
    report(code, message, start, end);
  };
  const checkKey = (pair: Pair, keys: Map<string, number>, parentKey: string | undefined): string => {
    const { key } = pair;
    const text = getKeyText(pair);
    if (isScalar(key)) {
      // The key `on` of a review is exempt from the boolean check, because only this package reads it.
      checkNode(key, parentKey === "reviewed" && text === "on");
      if (typeof key.value !== "string" && text !== "") {
        const message = `${sanitizeLine(text)} is read as ${JSON.stringify(key.value)} by YAML, not as text; write ${JSON.stringify(text)} in quotes`;
        reportAt("yaml-not-text", message, key);
      }
    } else if (isNode(key)) reportAt("yaml-syntax", "isn't a simple key; write a word followed by a colon", key);
    if (text === "<<") {
      reportAt("yaml-anchor", "<< merges values from elsewhere; write them out, so that reviewers see them here", key);
    } else if (keys.has(text)) {
      const firstLine = getLine(keys.get(text) ?? 0);
      const message = `${quote(text)} is a duplicate key, first on line ${firstLine}, and only one can take effect; keep one`;
      reportAt("yaml-duplicate-key", message, key);
    } else keys.set(text, (isNode(key) ? key.range?.[0] : undefined) ?? 0);
    return text;
  };
  const checkNode = (node: Scalar | YAMLMap | YAMLSeq, isOwnKeyword = false): void => {
    if (node.anchor !== undefined) {
      const message = `&${node.anchor} is an anchor; remove it, and write out each reference to it`;
      reportAt("yaml-anchor", message, node);
    }
    if (node.tag !== undefined) {
      const message = `has the tag ${quote(node.tag)}; remove it, and quote the text`;
      reportAt("yaml-tag", message, node);
    }
    if (isScalar(node)) {
      const message = isOwnKeyword ? undefined : checkLegacyBoolean(node);
      if (message !== undefined) reportAt("yaml-boolean", message, node);
      const numberProblem = checkLegacyNumber(node);
      if (numberProblem !== undefined) reportAt("yaml-not-text", numberProblem, node);
    }
  };
  const readNode = (node: unknown, depth: number, parentKey?: string): unknown => {
    if (isAlias(node)) {
      const message = `*${node.source} is an alias for a value elsewhere; write the value out, so that reviewers see it on this line`;
      reportAt("yaml-anchor", message, node);
      return null;
    }
    if (isScalar(node)) {
      checkNode(node);
      return node.value;
    }
    if (!isMap(node) && !isSeq(node)) return null;
    checkNode(node);
    if (depth >= MAX_DEPTH) {
      reportAt("yaml-syntax", `is nested more than ${MAX_DEPTH} levels deep`, node);
      return null;
    }
    if (isSeq(node)) return node.items.map((item) => readNode(item, depth + 1));
    const keys = new Map<string, number>();
    return Object.fromEntries(
      node.items.map(
        (pair) => [checkKey(pair, keys, parentKey), readNode(pair.value, depth + 1, getKeyText(pair))] as const,
      ),
    );
  };
  return readNode(contents, 0);
}

export function getKeyText({ key }: Pair): string {
  return isScalar(key) ? String(key.source ?? key.value) : String(key);
}

/** Numbers in YAML 1.1: with underscores, or sexagesimal. */
const LEGACY_NUMBER = /^[-+]?(?:\d[\d_]*_[\d_]*(?:\.[\d_]*)?|\d[\d_]*(?::[0-5]?\d)+(?:\.[\d_]*)?)$/;

function checkLegacyNumber(node: Scalar): string | undefined {
  if (node.type !== "PLAIN" || typeof node.value !== "string" || !LEGACY_NUMBER.test(node.value)) return undefined;
  return `${node.value} is read as text by some tools and as a number by others; write ${JSON.stringify(node.value)} in quotes`;
}

/** Booleans in YAML 1.1, which many tools still use. */
const LEGACY_BOOLEAN = /^(?:y|yes|n|no|on|off)$/i;

function checkLegacyBoolean(node: Scalar): string | undefined {
  if (node.type !== "PLAIN" || typeof node.value !== "string" || node.value.length > 3) return undefined;
  if (!LEGACY_BOOLEAN.test(node.value)) return undefined;
  const booleanText = /^(?:y|yes|on)$/i.test(node.value) ? "true" : "false";
  return `${node.value} is read as text by some tools and as ${booleanText} by others; write ${JSON.stringify(node.value)} in quotes for text, or ${booleanText}`;
}
