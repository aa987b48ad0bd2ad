import { inflateSync } from 'node:zlib';
import { browserPath } from '@odograph/testkit/programs';
import axe from 'axe-core';
import { type Browser, type BrowserContextOptions, chromium, type LaunchOptions, type Page } from 'playwright-core';

const timeoutMs = 20_000;
/** Small, since the map is drawn by software. */
const viewport = { width: 960, height: 640 };

const webGlBySoftware = ['--use-angle=swiftshader', '--enable-unsafe-swiftshader'];
// Without these, pages are also drawn by software WebGL, which takes three times the CPU time.
const pagesWithoutGpu = ['--disable-gpu-compositing', '--disable-gpu-rasterization'];

/** Chromium without a screen. */
export const launchOptions: LaunchOptions = {
  executablePath: browserPath ?? '',
  args: ['--no-sandbox', '--disable-quic', ...webGlBySoftware, ...pagesWithoutGpu],
};

let shared: Promise<Browser> | undefined;

/**
 * Returns the Chromium instance of this worker; starts it on first use, because a start takes seconds of CPU time. It
 * ends with the worker; the caller closes its pages.
 */
export function startBrowser(): Promise<Browser> {
  shared ??= chromium.launch(launchOptions);
  return shared;
}

/** Closes every page of a test file. */
export async function closePages(browser: Browser | undefined): Promise<void> {
  await Promise.all((browser?.contexts() ?? []).map((context) => context.close()));
}

/** A page of the console, with all that went wrong in it. */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of scripts, answers that the page did not expect, and violations of the content security policy. */
  readonly errors: readonly string[];
  /** Addresses outside of the platform that the page asked for. */
  readonly foreignRequests: readonly string[];
}

/** Opens a page in a context of its own, whose cookies no other page has. */
export async function watchPage(
  browser: Browser,
  origin: string,
  options: BrowserContextOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    baseURL: origin,
    locale: 'en-GB',
    timezoneId: 'Europe/Paris',
    viewport,
    // Reduces motion because software draws each frame of a moving map or a spinner.
    reducedMotion: 'reduce',
    // Requests of a service worker bypass the routes of a test.
    serviceWorkers: 'block',
    ...options,
  });
  const page = await context.newPage();
  page.setDefaultTimeout(timeoutMs);
  const errors: string[] = [];
  const foreignRequests: string[] = [];
  page.on('pageerror', (error) => errors.push(String(error)));
  page.on('console', (message) => {
    // Chromium reports every answer from 400 on, such as the 401 that says that a person has to sign in.
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) errors.push(message.text());
  });
  context.on('request', (request) => {
    const url = new URL(request.url());
    if (url.protocol.startsWith('http') && url.origin !== origin) foreignRequests.push(request.url());
  });
  return { page, errors, foreignRequests };
}

/** Returns the cookies of a signed-in browser. @param cookie of the operator's session */
export function cookiesOf(domain: string, cookie: string) {
  const [name = '', value = ''] = cookie.split('=');
  return [
    { ...{ name, value, domain }, path: '/', expires: -1, httpOnly: true, secure: false, sameSite: 'Strict' as const },
  ];
}

/** Returns options for a signed-in browser with stored preferences. @param cookie of the operator's session */
export function signedInOptions(origin: string, cookie: string, preferences: object = {}): BrowserContextOptions {
  const cookies = cookiesOf(new URL(origin).hostname, cookie);
  const localStorage = [{ name: 'odograph-preferences', value: JSON.stringify(preferences) }];
  return { storageState: { cookies, origins: [{ origin, localStorage }] } };
}

/** The requests of a page since `watchLoads`. */
export interface Loads {
  readonly paths: readonly string[];
  /** Returns the total size of the bodies as transferred, in bytes. */
  total(): Promise<number>;
}

/** Records the requests of a page from now on. */
export function watchLoads(page: Page): Loads {
  const paths: string[] = [];
  const sizes: Promise<number>[] = [];
  page.on('requestfinished', (request) => {
    paths.push(new URL(request.url()).pathname);
    // Chromium reports no size for worker scripts, so prefer the header. The page may close before a request ends.
    const size = async () => {
      const length = await (await request.response())?.headerValue('content-length');
      return Number(length ?? (await request.sizes()).responseBodySize);
    };
    sizes.push(size().catch(() => 0));
  });
  return { paths, total: async () => (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0) };
}

/** Opens an address as a person does who has to sign in first. */
export async function openSignedIn(
  { page }: Pick<WatchedPage, 'page'>,
  path: string,
  { name, password }: { readonly name: string; readonly password: string },
): Promise<void> {
  await page.goto(path);
  await page.getByLabel('Name').fill(name);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname + url.search === path);
}

/** Reads the colour of a point of the page, such as #ff8000. */
export async function colourAt(page: Page, x: number, y: number): Promise<string> {
  const png = await page.screenshot({ clip: { x, y, width: 1, height: 1 } });
  const data: Buffer[] = [];
  // Chunks: length, type, data, checksum (PNG specification, 5.3).
  for (let at = 8, length = 0; at < png.length; at += length + 12) {
    length = png.readUInt32BE(at);
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + length));
  }
  // One row: its filter, which leaves the first pixel as it is, and the colour.
  const row = inflateSync(Buffer.concat(data));
  return `#${row.toString('hex', 1, 4)}`;
}

interface AxeResult {
  readonly violations: readonly {
    readonly id: string;
    readonly impact: string;
    readonly nodes: readonly { readonly html: string; readonly failureSummary: string }[];
  }[];
}

/** Lists the axe violations on the current page. @param rules default: all */
export async function findBarriers(page: Page, rules?: readonly string[]): Promise<string[]> {
  // Evaluated by the debugger, to which the content security policy does not apply. Loaded once: it has 600 kB.
  if (!(await page.evaluate('"axe" in globalThis'))) await page.evaluate(axe.source);
  const { violations } = (await page.evaluate(
    `axe.run(${JSON.stringify({ ...(rules && { runOnly: rules }), resultTypes: ['violations'] })})`,
  )) as AxeResult;
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id}: ${html}: ${failureSummary}`),
  );
}

/** Runs in the page; untyped because the tests have no DOM types. */
const overflowing = `(() => {
  const isScrolled = (element) => /auto|scroll|hidden|clip/.test(getComputedStyle(element).overflowX);
  const describe = ({ tagName, className, textContent }) =>
    \`\${tagName.toLowerCase()}.\${className}: \${textContent.trim().slice(0, 60)}\`;
  const found = [];
  for (const element of document.querySelectorAll('body *')) {
    const { right, left, width } = element.getBoundingClientRect();
    if (element.matches('.visually-hidden') || width <= 1 || !element.checkVisibility({ visibilityProperty: true })) continue;
    let frame = element.parentElement;
    while (frame && !isScrolled(frame)) frame = frame.parentElement;
    if (!frame && (right > innerWidth + 1 || left < -1)) found.push('beyond the page: ' + describe(element));
    const isText = [...element.childNodes].some(({ nodeType, data }) => nodeType === 3 && data.trim() !== '');
    const { textOverflow, display } = getComputedStyle(element);
    if (!isText || display === 'inline' || textOverflow === 'ellipsis' || element.matches('pre, select')) continue;
    if (element.scrollWidth > element.clientWidth + 1) found.push('cut off or overflowing: ' + describe(element));
  }
  for (const element of [document.documentElement, document.querySelector('#content')]) {
    if (element && element.scrollWidth > element.clientWidth) found.push('scrolls sideways: ' + describe(element));
  }
  return found;
})()`;

/** Lists the elements that overflow the page and the texts that overflow their elements. */
export async function findOverflow(page: Page): Promise<string[]> {
  return (await page.evaluate(overflowing)) as string[];
}
