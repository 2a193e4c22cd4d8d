import { expect, test } from "vitest";
import { collectSecrets } from "../../../provider/model/secrets";
import { buildTenantError } from "../../../provider/rollout/planning/tenant-error";

test("redacts backend passwords and secret variables from stored errors", () => {
  const environment = {
    PULUMI_BACKEND_URL: "postgres://pulumi:p%40ss%2Fword@db.example/state",
    PULUMI_CONFIG_PASSPHRASE: "correct horse",
    AWS_SECRET_ACCESS_KEY: "wJalrXUtnFEMI",
    LANG: "C.UTF-8",
    TOKEN_TTL: "5",
  };
  const secrets = collectSecrets(environment);
  expect(secrets).toEqual(["p%40ss%2Fword", "p@ss/word", "correct horse", "wJalrXUtnFEMI"]);
  const message = `can't open "${environment.PULUMI_BACKEND_URL}" (p@ss/word), with correct horse and wJalrXUtnFEMI, 5 times`;
  expect(buildTenantError(new Error(message), "plan", secrets).message).toBe(
    `can't open "postgres://pulumi:***@db.example/state" (***), with *** and ***, 5 times`,
  );
});
