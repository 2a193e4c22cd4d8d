import { z } from "zod";

/** Fields that the JSON formats of several commands share. */
export const text = (description: string) => z.string().describe(description);

export const count = (description: string) => z.int().min(0).describe(description);

export const time = (description: string) => z.string().describe(`${description} (ISO 8601, UTC).`);
