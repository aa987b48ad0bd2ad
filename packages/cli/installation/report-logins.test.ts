import { expect, it } from 'vitest';
import { scramVerifierOf } from './report-logins.ts';

it('computes what PostgreSQL itself stores of a password', () => {
  // As `create role … password 'correct horse battery'` of PostgreSQL 15 stored it.
  const stored =
    'SCRAM-SHA-256$4096:yROpKukVH8eHV30QrAcowQ==$+X5q7u8+DOPyzkR1RlnhCzW/8+XgEfb6xHYsf21AiOk=:EimpbgC0rD1IeJ+wrSbNKX6RoYzOetEctp72sS9Q/Lw=';
  const salt = Buffer.from('yROpKukVH8eHV30QrAcowQ==', 'base64');
  expect(scramVerifierOf('correct horse battery', salt)).toBe(stored);
  expect(scramVerifierOf('correct horse batterx', salt)).not.toBe(stored);
});
