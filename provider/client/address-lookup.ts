import dns, { type LookupAddress } from "node:dns";
import type { LookupFunction } from "node:net";

/** How long addresses are kept, in milliseconds. A service may move while a long process runs. */
const LIFETIME_MS = 10_000;

interface Lookup {
  readonly addresses: Promise<LookupAddress[]>;
  readonly startedAt: number;
}

const lookups = new Map<string, Lookup>();

/** Looks up a host once for all connections that open at about the same time, instead of once per connection. */
export const lookupOnce: LookupFunction = (host, options, done) => {
  const id = JSON.stringify([host, options.family, options.hints]);
  const now = performance.now();
  let lookup = lookups.get(id);
  if (lookup === undefined || now - lookup.startedAt > LIFETIME_MS) {
    lookup = { addresses: lookUpAll(host, options), startedAt: now };
    lookups.set(id, lookup);
    // A failure isn't kept, because the next attempt may succeed.
    lookup.addresses.catch(() => lookups.delete(id));
  }
  lookup.addresses.then(
    (addresses) => {
      const [first] = addresses;
      if (options.all === true) done(null, addresses);
      else done(null, first?.address ?? "", first?.family);
    },
    (error: NodeJS.ErrnoException) => done(error, ""),
  );
};

function lookUpAll(host: string, options: Parameters<LookupFunction>[1]): Promise<LookupAddress[]> {
  return new Promise((resolve, reject) => {
    dns.lookup(host, { ...options, all: true }, (error, addresses) => {
      if (error === null) resolve(addresses);
      else reject(error);
    });
  });
}
