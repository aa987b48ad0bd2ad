import { startEmbeddedTimescale } from '../postgres/timescaledb.ts';
import { startEmbeddedRedis } from '../redis/redis.ts';

/** A process of its own that tests can kill: `argv` is what to start and the data directory; prints the URL. */
const [what, dataDirectory = ''] = process.argv.slice(2);
const start = what === 'redis' ? startEmbeddedRedis : startEmbeddedTimescale;
const { url } = await start({ dataDirectory });
console.log(url);
