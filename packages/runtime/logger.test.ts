import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from './logger.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

interface Line {
  msg: string;
  suppressed?: number;
  sqlState?: string;
}

function logTo(lines: Line[]) {
  return createLogger('debug', { write: (line) => void lines.push(JSON.parse(line)) });
}

it('writes ten lines of a cause in ten seconds, and then says how many it suppressed', () => {
  const lines: Line[] = [];
  const logger = logTo(lines);
  for (let n = 0; n < 500; n += 1) logger.child({ n }).warn({ sqlState: '22003' }, 'not stored');
  expect(lines).toHaveLength(10);
  vi.advanceTimersByTime(10_001);
  logger.error({ sqlState: '22003' }, 'not stored');
  logger.error({ sqlState: '22003' }, 'not stored');
  expect(lines.slice(10).map(({ msg, suppressed }) => [msg, suppressed])).toEqual([
    ['not stored', 490],
    ['not stored', undefined],
  ]);
});

it('writes the first lines of another message, SQLSTATE or error code', () => {
  const lines: Line[] = [];
  const logger = logTo(lines);
  for (let n = 0; n < 50; n += 1) logger.warn({ sqlState: '22003' }, 'not stored');
  logger.warn({ sqlState: '40001' }, 'not stored');
  logger.warn({ err: Object.assign(new Error('refused'), { code: 'ECONNREFUSED' }) }, 'not stored');
  logger.warn('not sent');
  expect(lines.slice(10).map(({ msg, sqlState }) => [msg, sqlState])).toEqual([
    ['not stored', '40001'],
    ['not stored', undefined],
    ['not sent', undefined],
  ]);
});

it('does not limit lines below the level of a warning', () => {
  const lines: Line[] = [];
  const logger = logTo(lines);
  for (let n = 0; n < 50; n += 1) logger.info('stored');
  expect(lines).toHaveLength(50);
});
