/**
 * Who is a VIP without anybody saying so. The reference only says "detected automatically from job title and
 * department"; these are the sandbox's rules, and one match is enough.
 */
const rules: readonly { field: "jobTitle" | "department"; pattern: RegExp }[] = [
  // Chief Executive Officer, Chief of Staff; CEO, CFO and their kin as a word of their own.
  { field: "jobTitle", pattern: /\bchief\b|\bC[EFIOPRT]O\b|\bCISO\b/i },
  // At the start only: a president, but no vice president.
  { field: "jobTitle", pattern: /^(president|managing director|general counsel|founder|co-founder)\b/i },
  { field: "jobTitle", pattern: /\bboard (member|chair)|\b(chair|member) of the board\b/i },
  { field: "department", pattern: /^board of directors$/i },
];

/** Whoever works for an officer bears the title's words without the role. */
const assistants = /\bassistant\b|\bsecretary to\b/i;

/** Whether automatic detection takes this job title and department for a VIP's. */
export function isDetectedVip(jobTitle: string, department: string): boolean {
  if (assistants.test(jobTitle)) return false;
  const person = { jobTitle, department };
  return rules.some((rule) => rule.pattern.test(person[rule.field]));
}
