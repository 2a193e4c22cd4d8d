import { openJournalDatabase } from "../../../provider/rollout/database/open-database";
import { Journal } from "../../../provider/rollout/journal/journal";
import { createAddition, writeRollout } from "../../support/rollout-fixtures";

/** Writes a journal with a rollout that added an entry at acme and stopped before globex. Returns the rollout's id. */
export async function writePartialRollout(file: string): Promise<string> {
  const journal = await Journal.open(await openJournalDatabase(file), () => Date.UTC(2026, 10, 2, 9));
  const changes = [createAddition("flood.example")];
  const wave = { maxConcurrent: 2, tolerated: 0, soakMs: 0, gate: false };
  const id = await writeRollout(journal, {
    tenants: { acme: changes, globex: changes },
    end: "stopped",
    spec: {
      waves: [
        { ...wave, name: "canary", tenants: ["acme"] },
        { ...wave, name: "rest", tenants: ["globex"] },
      ],
    },
  });
  await journal.close();
  return id;
}
