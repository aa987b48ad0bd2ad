import { EventEmitter } from 'node:events';
import { createLogger } from '@odograph/runtime/logger';
import { expect, it } from 'vitest';
import { logUnhandledErrors } from './process-lifetime.ts';

it('logs an unhandled error and keeps the process running', () => {
  const lines: { msg: string; err: { message: string } }[] = [];
  const source = new EventEmitter();
  logUnhandledErrors(createLogger('error', { write: (line) => void lines.push(JSON.parse(line)) }), source);
  expect(source.emit('uncaughtException', new Error('EMFILE'))).toBe(true);
  expect(source.emit('unhandledRejection', new Error('no listener'))).toBe(true);
  expect(lines.map(({ msg, err }) => [msg, err.message])).toEqual([
    ['unhandled error', 'EMFILE'],
    ['unhandled error', 'no listener'],
  ]);
});
