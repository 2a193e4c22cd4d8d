/** The provider that manages a program's resources: Pulumi's dynamic provider or the native plugin. */
export type Front = "dynamic" | "native";

/** Returns the package that a program imports. */
export function packageOf(front: Front): string {
  return front === "dynamic" ? "pulumi-email-security" : "pulumi-email-security/native";
}
