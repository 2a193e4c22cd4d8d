/**
 * Represents a value that is not known yet. During a preview, an argument may be the output of a resource that does not exist yet. Every
 * provider converts its engine's own placeholder to this one and back.
 */
export const UNKNOWN: unique symbol = Symbol.for("pulumi-email-security.unknown");

/** Pulumi's placeholder for an unknown value, part of its wire protocol. */
export const PULUMI_UNKNOWN = "04da6b54-80e4-46f7-96ec-b56ff0331ba9";

/** Pulumi's placeholders for unknown values of all types. Its engine fails on a text that equals one of them. */
export const PULUMI_UNKNOWNS: readonly string[] = [
  PULUMI_UNKNOWN,
  "1c4a061d-8072-4f0a-a4cb-0ff528b18fe7",
  "3eeb2bf0-c639-47a8-9e75-3b44932eb421",
  "6a19a0b0-7e62-4c92-b797-7f8e31da9cc2",
  "030794c1-ac77-496b-92df-f27374a8bd58",
  "e48ece36-62e2-4504-bad9-02848725956a",
  "dd056dcd-154b-4c76-9bd3-c8f88648b5ff",
];
