import { isNumbered } from '@odograph/database/migrate';
import Type, { type Static } from 'typebox';

/** Version of the layout of backup files. */
export const formatVersion = 1;

/** `manifest.json`, the last entry of a backup. */
export const Manifest = Type.Object({
  formatVersion: Type.Literal(formatVersion),
  createdAt: Type.String(),
  /** Version of the platform. */
  version: Type.String(),
  engine: Type.Object({ postgres: Type.String(), timescaledb: Type.String() }),
  migrations: Type.Array(Type.Object({ name: Type.String(), sha256: Type.String() })),
  tables: Type.Array(
    Type.Object({
      name: Type.String(),
      columns: Type.Array(Type.String()),
      rows: Type.Integer(),
      sha256: Type.String(),
    }),
  ),
  sequences: Type.Array(Type.Object({ name: Type.String(), value: Type.Union([Type.String(), Type.Null()]) })),
  /** The chains of the audit; `fault` says why one does not verify. */
  audit: Type.Array(
    Type.Object({
      chain: Type.Integer(),
      length: Type.Integer(),
      head: Type.String(),
      fault: Type.Union([Type.String(), Type.Null()]),
    }),
  ),
  settings: Type.Record(Type.String(), Type.Unknown()),
  /** Jobs of acknowledged uploads that were still queued; null when Redis was unavailable. */
  queuedJobs: Type.Union([Type.Integer(), Type.Null()]),
});
export type Manifest = Static<typeof Manifest>;

/** Returns the newest migration of a backup, which names its schema. */
export function schemaOf({ migrations }: Pick<Manifest, 'migrations'>): string {
  return (
    migrations
      .map(({ name }) => name)
      .filter(isNumbered)
      .sort()
      .at(-1) ?? 'none'
  );
}
