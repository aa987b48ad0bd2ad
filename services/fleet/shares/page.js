// The page behind a link: plain enough for any phone, without the console's bundle.
/* global texts -- the server prepends the table of texts.json */
const language = Object.keys(texts).find((one) => navigator.language.startsWith(one)) ?? 'en';
const text = texts[language];
const byId = (id) => document.getElementById(id);
const token = location.hash.slice(1);
const pollMs = 5000;
const maxPoints = 5000;

let trail = [];
let after;
let answered;
let answeredAtMs = 0;

const number = (value, digits = 0) => value.toLocaleString(language, { maximumFractionDigits: digits });
const moment = (iso) => new Date(iso).toLocaleString(language, { dateStyle: 'medium', timeStyle: 'short' });

/** Formats an age: seconds, minutes or hours ago. */
function ago(seconds) {
  const format = new Intl.RelativeTimeFormat(language);
  if (seconds < 120) return format.format(-Math.round(seconds), 'second');
  if (seconds < 7200) return format.format(-Math.round(seconds / 60), 'minute');
  return format.format(-Math.round(seconds / 3600), 'hour');
}

/** Chooses the greatest of 1, 2, 5, 10 … metres that is not longer. */
function roundLength(metres) {
  const power = 10 ** Math.floor(Math.log10(metres));
  return [5, 2, 1].map((factor) => factor * power).find((length) => length <= metres) ?? power;
}

/** Draws the trail and the position in metres around the middle of both. */
function draw(position) {
  const points = [...trail, [position.latitude, position.longitude]];
  const [latitudes, longitudes] = [points.map(([latitude]) => latitude), points.map(([, longitude]) => longitude)];
  const middleOf = (values) => (values.reduce((a, b) => Math.min(a, b)) + values.reduce((a, b) => Math.max(a, b))) / 2;
  const [middle, centre] = [middleOf(latitudes), middleOf(longitudes)];
  const metres = points.map(([latitude, longitude]) => [
    (longitude - centre) * 111195 * Math.cos((middle * Math.PI) / 180),
    (middle - latitude) * 111195,
  ]);
  const reach = metres.reduce((most, [x, y]) => Math.max(most, Math.abs(x) / 250, Math.abs(y) / 150), 0.8);
  const onScreen = metres.map(([x, y]) => [300 + x / reach, 200 + y / reach].map((value) => value.toFixed(1)));
  byId('trail').setAttribute('points', onScreen.slice(0, trail.length).join(' '));
  byId('marker').setAttribute('transform', `translate(${onScreen.at(-1).join(' ')})`);
  const heading = position.speedKmh > 0 ? position.headingDegrees : undefined;
  byId('arrow').toggleAttribute('hidden', heading === undefined);
  byId('arrow').setAttribute('transform', `rotate(${heading ?? 0})`);
  const length = roundLength(reach * 150);
  byId('scale').setAttribute('d', `M20,348 v10 h${length / reach} v-10`);
  byId('length').textContent = length < 1000 ? `${number(length)} m` : `${number(length / 1000)} km`;
  byId('title').textContent = text.drawing;
}

/** Lists what is known; text from the platform is only ever set as text. */
function listFacts({ latitude, longitude, speedKmh, headingDegrees, time, ageSeconds }, { gridMetres, arrivalAt }) {
  const wind = text.winds[Math.round((headingDegrees ?? 0) / 45) % 8];
  const age = ageSeconds === undefined ? moment(time) : ago(ageSeconds + (Date.now() - answeredAtMs) / 1000);
  const facts = [
    [text.coordinates, `${latitude.toFixed(5)}, ${longitude.toFixed(5)}`],
    [text.accuracy, gridMetres && `± ${number(gridMetres / 2)} m`],
    [text.speed, speedKmh !== undefined && `${number(speedKmh)} km/h`],
    [text.heading, speedKmh > 0 && headingDegrees !== undefined && `${wind} (${number(headingDegrees)}°)`],
    [text.time, age],
    [text.arrival, arrivalAt && moment(arrivalAt)],
  ];
  byId('facts').replaceChildren(
    ...facts
      .filter(([, value]) => value)
      .flatMap((pair) =>
        pair.map((value, index) => {
          const element = document.createElement(index === 0 ? 'dt' : 'dd');
          element.textContent = value;
          return element;
        }),
      ),
  );
}

function show() {
  const { kind, name, until, isPrivate, position } = answered;
  byId('name').textContent = name || 'Odograph';
  document.title = name || 'Odograph';
  byId('shown').hidden = position === undefined;
  const missing = isPrivate ? ` · ${text.isPrivate}` : ` · ${text.none}`;
  byId('status').textContent = `${text[kind]} ${moment(until)}${position === undefined ? missing : ''}`;
  if (position === undefined) return;
  draw(position);
  listFacts(position, answered);
  const place = `${position.latitude},${position.longitude}`;
  // Only applications of Apple do not know geo: links.
  const isApple = /iPhone|iPad|Macintosh/.test(navigator.userAgent);
  byId('open').href = isApple ? `maps:?q=${place}` : `geo:${place}?q=${place}`;
  byId('open').textContent = text.open;
}

function end() {
  byId('shown').hidden = true;
  byId('facts').replaceChildren();
  byId('status').textContent = text.ended;
}

/** Asks for what is new. @returns whether to ask again */
async function poll() {
  const query = after === undefined ? '' : `?after=${encodeURIComponent(after)}`;
  const response = await fetch(`/v1/x/shared${query}`, { headers: { 'x-share-token': token }, cache: 'no-store' });
  if (response.status === 404) return false;
  if (!response.ok) throw new Error(`status ${response.status}`);
  const answer = await response.json();
  // The end of a trip is only in the first answer.
  const last = answer.kind === 'trip' && !answer.isPrivate ? answered?.position : undefined;
  answered = { ...answer, position: answer.position ?? last };
  answeredAtMs = Date.now();
  // Positions from before a privacy interval are not shown during it.
  trail = answer.isPrivate ? [] : [...trail, ...answer.trail].slice(-maxPoints);
  after = answer.after;
  show();
  return true;
}

async function run() {
  let goesOn = true;
  while (goesOn) {
    try {
      if (!document.hidden) {
        goesOn = await poll();
        if (!goesOn) end();
      }
    } catch {
      byId('status').textContent = text.away;
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs));
  }
}

document.documentElement.lang = language;
byId('status').textContent = text.loading;
addEventListener('hashchange', () => location.reload());
void run();
