/** The types that the package doesn't have. */
declare module "textlint-rule-terminology" {
  const rule: import("@textlint/types").TextlintFixableRuleModule;
  export default rule;
}
