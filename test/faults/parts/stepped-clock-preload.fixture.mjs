// Preloaded with `--import`: shifts the wall clock by the milliseconds in a file, and confirms each change in a second file.
// Timers and `performance.now()` are unaffected, as when a clock is set.
import { readFileSync, writeFileSync } from 'node:fs';

const file = new URL(import.meta.url).searchParams.get('file');
const RealDate = Date;
let offsetMs = 0;
let seen;

function look() {
  let text;
  try {
    text = readFileSync(file, 'utf8');
  } catch {
    return;
  }
  if (text === seen || text === '') return;
  offsetMs = Number(text);
  seen = text;
  writeFileSync(`${file}.seen`, text);
}
look();
setInterval(look, 20).unref();

const now = () => RealDate.now() + offsetMs;
const SteppedDate = new Proxy(RealDate, {
  apply: () => new RealDate(now()).toString(),
  construct: (target, given, newTarget) => Reflect.construct(target, given.length === 0 ? [now()] : given, newTarget),
  get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
});
RealDate.prototype.constructor = SteppedDate;
globalThis.Date = SteppedDate;
