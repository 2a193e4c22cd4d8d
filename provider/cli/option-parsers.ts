import { InvalidArgumentError } from "commander";

export function parsePositiveInteger(text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new InvalidArgumentError("Give a whole number, 1 or more.");
}

export function parseDate(text: string): string {
  const parsed = new Date(`${text}T00:00:00Z`);
  // JavaScript converts an invalid day to one of the next month.
  if (!Number.isNaN(parsed.getTime()) && parsed.toISOString().slice(0, 10) === text) return text;
  throw new InvalidArgumentError("Give a date such as 2026-11-21.");
}
