import { EmailSecurityError } from "../settings/email-security-error";

/** A file that is left as it is (`ERR_SETTINGS_EDIT`). */
export class EditError extends EmailSecurityError {
  /** @param what is edited, as a person calls it. */
  constructor(reason: string, what = "The settings file") {
    super("ERR_SETTINGS_EDIT", `${what} can't be edited, and nothing was written: ${reason}.`);
  }
}
