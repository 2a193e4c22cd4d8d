import { createSettingsRepository, type SettingsRepository } from "./settings-repository";

/** A commit message that contains text interpreted where it is printed. */
export const HOSTILE = "Allow it \u001b[31m##vso[task.complete]done\u202e";

/** Creates a baseline that denies `flood.example`, in three commits. */
export function deniedFlood(): SettingsRepository {
  const repository = createSettingsRepository();
  repository.git("remote", "add", "origin", "https://someone:hunter2@github.com/acme/mail.git");
  repository.commit("Begin (#1)", {
    "settings.yaml": "version: 1\ninclude: [baseline.yaml]\n",
    "baseline.yaml": "version: 1\n",
  });
  repository.commit("Deny the flood (#7)", {
    "baseline.yaml": "version: 1\ndeny:\n  - value: Flood.example\n    ticket: INC-1\n    expires: 2099-10-01\n",
  });
  repository.commit(HOSTILE, {
    "baseline.yaml": "version: 1\ndeny:\n  - value: flood.example\n    ticket: INC-1\n    expires: 2099-12-31\n",
  });
  return repository;
}
