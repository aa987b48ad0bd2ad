import type { Database } from '@odograph/database/database';
import { findRecords } from '../imports/record-queries.ts';
import type { Source } from '../lookup/rules.ts';

/** The records that the operator imported. */
export function createImportedSource(db: Database): Source {
  return {
    name: 'imported',
    async find(subject, scope) {
      const records = await findRecords(db, subject, scope);
      return { records, outcome: records.length > 0 ? 'found' : 'unknown' };
    },
  };
}
