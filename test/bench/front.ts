/** By what a program's resources are managed: Pulumi's dynamic resources, or the native plugin. */
export type Front = "dynamic" | "native";

/** What a program imports. */
export function packageOf(front: Front): string {
  return front === "dynamic" ? "pulumi-email-security" : "pulumi-email-security/native";
}
