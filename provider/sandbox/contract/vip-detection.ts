/**
 * The rules for automatic VIP detection; one match is enough. The reference only says "detected automatically from job
 * title and department", so these rules are the sandbox's own.
 */
const rules: readonly { field: "jobTitle" | "department"; pattern: RegExp }[] = [
  // Chief Executive Officer, Chief of Staff; CEO, CFO and similar titles as whole words.
  { field: "jobTitle", pattern: /\bchief\b|\bC[EFIOPRT]O\b|\bCISO\b/i },
  // Only at the start: matches a president, but not a vice president.
  { field: "jobTitle", pattern: /^(president|managing director|general counsel|founder|co-founder)\b/i },
  { field: "jobTitle", pattern: /\bboard (member|chair)|\b(chair|member) of the board\b/i },
  { field: "department", pattern: /^board of directors$/i },
];

/** Assistants to an executive have the executive's title in their own. */
const assistants = /\bassistant\b|\bsecretary to\b/i;

/** Reports whether this job title and department make a person an auto-detected VIP. */
export function isAutoDetectedVip(jobTitle: string, department: string): boolean {
  if (assistants.test(jobTitle)) return false;
  const person = { jobTitle, department };
  return rules.some((rule) => rule.pattern.test(person[rule.field]));
}
