/** The provider that manages a program's resources: Pulumi's dynamic provider or the native plugin. */
export type BenchProviderKind = "dynamic" | "native";

/** Returns the package that a program imports. */
export function getPackageName(providerKind: BenchProviderKind): string {
  return providerKind === "dynamic" ? "pulumi-email-security" : "pulumi-email-security/native";
}
