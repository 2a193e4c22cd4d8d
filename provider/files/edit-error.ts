import { EmailSecurityError } from "../settings/email-security-error";

/** A file that can't be edited (`ERR_SETTINGS_EDIT`). */
export class EditError extends EmailSecurityError {
  /** @param what the name of the edited file in the message. */
  constructor(reason: string, what = "The settings file") {
    super("ERR_SETTINGS_EDIT", `${what} can't be edited, and nothing was written: ${reason}.`);
  }
}
