import { EmailSecurityError } from "../model/email-security-error";

/** A file that can't be edited (`ERR_SETTINGS_EDIT`). */
export class EditError extends EmailSecurityError {
  /** @param subject the name of the edited file in the message. */
  constructor(reason: string, subject = "The settings file") {
    super("ERR_SETTINGS_EDIT", `${subject} can't be edited: ${reason}. Nothing was written.`);
  }
}
