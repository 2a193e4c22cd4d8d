/**
 * Stands for a value that is not known yet: in a preview, an argument may be the output of a resource that does not
 * exist. Every front translates its engine's own placeholder to this one, and back.
 */
export const UNKNOWN: unique symbol = Symbol.for("pulumi-email-security.unknown");
