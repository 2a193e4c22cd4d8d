import { type Finding, mistakesText } from "../../files/finding";
import { EmailSecurityError } from "../../settings/email-security-error";

/** The targets file can't be used: every mistake in it and in what it includes, each with its place. No tenant was asked. */
export class TargetsFileError extends EmailSecurityError {
  /** All findings, warnings among them; those of level `error` are why. */
  readonly findings: readonly Finding[];

  /** @param file the file that was asked for. */
  constructor(file: string, findings: readonly Finding[]) {
    super("ERR_ROLLOUT_TARGETS", mistakesText(file, findings));
    this.findings = findings;
  }
}
