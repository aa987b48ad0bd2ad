import { spawnSync } from 'node:child_process';

/** These tests kill their own redis-server, so they are skipped without one on the PATH. */
export const hasRedisServer = spawnSync('redis-server', ['--version']).status === 0;
